"""A table of numbers about every head, its nearest and farthest heads, and the patterns that a number earned."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from analysis import (
    METRICS,
    NO_PATTERN,
    READINGS,
    Pattern,
    csv_bytes,
    find_patterns,
    metrics_table,
    provenance,
    telling_metrics,
)
from analysis.maps.export import level_of
from model import AttentionTrace, HeadworkError
from ui.attention import maps, two_texts
from ui.attention.view import View
from ui.frame import remarks
from ui.frame.captions import small
from ui.frame.languages import _, plain

CHOSEN = "background-color: rgba(224, 87, 27, 0.28)"  # the accent, thin enough to read on in light and dark
SIMILAR_HEADS = 3


def numbers_tab(trace: AttentionTrace, view: View) -> None:
    """What this head does here, what is like it, and the table of all heads."""
    of = maps.measured(trace, view)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown(f"**{_('What head {name} does in this sentence').format(name=view.name)}**")
        for sentence in _patterns(find_patterns(maps.one_head(of, view))[0][0]):
            st.markdown(f"- {plain(sentence)}")
        if two_texts.family(trace) is None and (said := _in_repetition(trace.model_id, view)):
            small(said)
    with right:
        _similar(trace, view)
    table = metrics_table(of)
    _table(table, telling_metrics(of), view)
    more = two_texts.provenance(trace)  # files are made in another thread
    source = provenance(trace, reading=_reading(view), level=level_of(of.units), **more)
    st.download_button(
        _("Table as CSV"),
        lambda: csv_bytes(table, source),
        file_name="headwork-heads.csv",
        mime="text/csv",
        on_click="ignore",
    )
    said = _(
        "Means over rows that aren't special and may look at two keys or more, raw weights, in this sentence only."
    )
    if view.reading == "without_first":
        said = _(
            "Means over rows that aren't special and may look at two other keys or more, in this sentence only: "
            "weights without the first token, rows rescaled to 1."
        )
    st.caption(said)


def _in_repetition(model_id: str, view: View) -> str:
    """Whether the head looks at the token before, or goes on with what was said: measured on random tokens."""
    try:
        found = maps.in_repetition(model_id)
    except HeadworkError:  # a model trained here may know a few words only
        return ""
    head = (view.layer, view.head)
    previous, induction = float(found.previous[head]), float(found.induction[head])
    return remarks.in_repetition(found.n_sequences, found.length, found.mask, previous, induction)


def _reading(view: View) -> str:
    """Which weights the table is about, for the file."""
    return f"{READINGS[view.reading].title}, rows rescaled to 1" if view.reading == "without_first" else "Raw weights"


def _patterns(patterns: tuple[Pattern, ...]) -> list[str]:
    """A sentence for each pattern, with the numbers that earned it."""
    if not patterns:
        return [_("{nothing}: no number passes its threshold.").format(nothing=_(NO_PATTERN))]
    sentences = []
    for pattern in patterns:
        reasons = [
            _("{metric} {value:.2f} {sign} {threshold} over {n} rows ({source})").format(
                metric=_(METRICS[rule.metric].title),
                value=value,
                sign="≥" if rule.at_least else ">",
                threshold=rule.threshold,
                n=n,
                source=_(rule.source),
            )
            for rule, value, n in pattern.evidence
        ]
        sentences.append(f"{_(pattern.title)}{_(': ')}{_('; ').join(reasons)}")
    return sentences


def _similar(trace: AttentionTrace, view: View) -> None:
    found = maps.similarity(trace, view)
    st.markdown(f"**{_('Heads with similar patterns')}**")
    if not (nearest := found.nearest(view.layer, view.head, SIMILAR_HEADS)):
        st.markdown(_("No row of this sentence lets heads be compared."))
        return
    farthest = found.farthest(view.layer, view.head, SIMILAR_HEADS)
    for label, heads in ((_("nearest"), nearest), (_("farthest"), farthest)):
        names = " · ".join(f"{layer + 1}-{head + 1} ({bits:.2f})" for layer, head, bits in heads)
        st.markdown(f"- {label}{_(': ')}{names}")
    said = _("Jensen–Shannon divergence in bits over {n} rows: 0 = the same rows, 1 = no key in common.")
    st.caption(said.format(n=found.n_rows))


def _table(table: pd.DataFrame, metrics: Sequence[str], view: View) -> None:
    shown = table.copy()
    shown["patterns"] = table["patterns"].map(lambda patterns: [_(pattern) for pattern in patterns] or [_(NO_PATTERN)])
    # The chosen head comes first, so that it is seen wherever it stands in the model.
    shown = shown.sort_values("name", key=lambda names: names != view.name, kind="stable")

    def highlight(of: pd.Series) -> list[str]:
        return [CHOSEN if of["name"] == view.name else ""] * len(of)

    st.dataframe(
        shown.style.apply(highlight, axis=1),
        key="head_table",
        hide_index=True,
        height=320,
        column_order=["name", "patterns", *metrics, "layer", "head"],
        column_config=_columns(),
    )


def _columns() -> dict[str, Any]:
    numbers = {
        name: st.column_config.NumberColumn(_(metric.title), help=_(metric.definition), format="%.2f")
        for name, metric in METRICS.items()
    }
    return {
        "name": st.column_config.TextColumn(_("Head"), pinned=True, help=_("Layer-head, counted from 1.")),
        "patterns": st.column_config.ListColumn(
            _("Patterns"), help=_("Patterns whose threshold is passed in this sentence; several may hold.")
        ),
        "layer": st.column_config.NumberColumn(_("Layer")),
        "head": st.column_config.NumberColumn(_("Number")),
        **numbers,
    }
