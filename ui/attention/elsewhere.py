"""How much of a head's weight words don't get: what lies on special tokens, or on the first token."""

import streamlit as st

from analysis import Reading
from analysis.words.units import Kind
from model import AttentionTrace
from ui.attention import maps
from ui.attention import view as explorer_view
from ui.attention.find import MOSTLY_SPECIAL
from ui.attention.view import View
from ui.frame.languages import _

SINK = "A first token that takes the weight a head has no use for is an attention sink (Xiao et al. 2023)."


def told(trace: AttentionTrace, reading: Reading, view: View) -> str:
    """The share of this head's weight that lies on special tokens or the first one, and what a reading took away."""
    if view.reading == "without_special":
        return _removed(reading, view, reading.removed_labels)
    if view.reading == "without_first":
        is_special = trace.key_tokens.is_special[0]
        names = reading.removed_labels if is_special else tuple(f"“{label}”" for label in reading.removed_labels)
        return " ".join(filter(None, (_removed(reading, view, names), _(SINK), _empty_rows(reading))))
    on = maps.masses(trace, view)
    if on["first_mass"] != on["first_mass"]:  # NaN: no row could choose
        return ""
    return _on_special(trace, on, view) if any(trace.key_tokens.is_special) else _on_first(trace, on, view)


def offer(trace: AttentionTrace, view: View) -> None:
    """Where no special token stands first and most of the weight lies on the first token: a way past it."""
    if view.reading in ("without_first", "without_special") or any(trace.key_tokens.is_special):
        return
    if maps.masses(trace, view)["first_mass"] > MOSTLY_SPECIAL:
        way = _("Look at the rest: without the first token")
        st.button(way, key="offer_rest", type="tertiary", on_click=explorer_view.look_past_the_first)


def _removed(reading: Reading, view: View, names: tuple[str, ...]) -> str:
    share = reading.removed_overall[view.layer, view.head]
    if not names:
        return _("This text has no special tokens: nothing was left out.")
    return _("{share:.0%} of the weight went to {names}.").format(share=share, names=_and(names))


def _empty_rows(reading: Reading) -> str:
    """The first row under a causal mask, and any other that may look at the first token only."""
    of = reading.trace
    labels = [label for label, sees in zip(of.labels, of.rows_with(1), strict=True) if not sees]
    return _("“{token}” may look at nothing else: its row is 0.").format(token=labels[0]) if len(labels) == 1 else ""


def _on_special(trace: AttentionTrace, on: dict[str, float], view: View) -> str:
    first, last = _label_of(trace, view, "start"), _label_of(trace, view, "separator")
    if first and last:
        sentence = _("Head {name} gives {start:.0%} of its words' weight to {first} and {separator:.0%} to {last}.")
        start, separator = on["start_mass"], on["separator_mass"]
        return sentence.format(name=view.name, start=start, first=first, separator=separator, last=last)
    flags = trace.key_tokens.is_special
    special = [label for label, is_special in zip(trace.keys, flags, strict=True) if is_special]
    sentence = _("Head {name} gives {share:.0%} of its words' weight to {names}.")
    return sentence.format(name=view.name, share=on["special_mass"], names=_and(tuple(dict.fromkeys(special))))


def _on_first(trace: AttentionTrace, on: dict[str, float], view: View) -> str:
    sentence = _("Head {name} gives {share:.0%} of the weight to the first token, “{token}”.")
    said = sentence.format(name=view.name, share=on["first_mass"], token=trace.keys[0])
    return f"{said} {_(SINK)}" if on["first_mass"] > MOSTLY_SPECIAL else said


def _label_of(trace: AttentionTrace, view: View, kind: Kind) -> str:
    """What a special token of this text is called; "" where there is none."""
    of = maps.units(trace, view.level).key_units
    return next((label for label, each in zip(of.labels, of.kinds, strict=True) if each == kind), "")


def _and(names: tuple[str, ...]) -> str:
    return _(" and ").join(names) if len(names) < 3 else _(", ").join(names)
