"""The first screen: one sentence computed from the numbers, effect beside attention, and one against the other."""

from functools import partial

import plotly.graph_objects as go
import streamlit as st

from model.head_id import HeadId
from ui.effects import says
from ui.effects.choices import clicked
from ui.effects.data import Head, Measured
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from viz.effects import Marked, Scale, against_attention, head_grid

ALTS = {
    "effects_grid": "Effect of every head: layers are rows, heads are columns.",
    "effects_looks": "Attention of every head: layers are rows, heads are columns.",
    "effects_points": "Every head: its attention to the right, its effect upwards.",
}
HEIGHT = 330  # pixels: with what stands above it ends within 720


def picture(measured: Measured, head: Head) -> None:
    """The claim, two heatmaps and the scatter.

    Args:
        measured: the effects.
        head: the chosen one.
    """
    st.markdown(f"**{plain(says.headline(measured))}** {plain(says.details(measured))}")
    n_heads = int(measured.mean.shape[1])
    abouts = {
        "effects_grid": says.conditions(measured, short=True),
        "effects_looks": _("to {word}").format(word=_(measured.word)),
        "effects_points": says.correlation(measured),
    }
    for column, (title, key, figure) in zip(st.columns(3, gap="small"), pictures(measured, head), strict=False):
        with column:
            st.markdown(f"**{plain(title)}** :small[{plain(abouts[key])}]")
            on_select = partial(clicked, key, n_heads)
            chart(figure, key, on_select=on_select, selection_mode="points", alt=_(ALTS[key]))
    if measured.looks is None:
        small(_("No prompt holds the word that is looked at, so there is no attention to compare."))
    if measured.of == "logits":
        small(" ".join(filter(None, (says.right_answers(measured), says.held_out(measured)))))


def pictures(measured: Measured, head: Head) -> list[tuple[str, str, go.Figure]]:
    """Effect, and where there is attention also that and one against the other: title, key and figure of each."""
    marked, hovers, corner = marks(measured, head), says_heads(measured), _("layer ↓ head →")
    effect = head_grid(measured.mean, effect_scale(measured), marked, hovers, height=HEIGHT, corner=corner)
    found = [(_("Effect when off"), "effects_grid", effect)]
    if measured.looks is None:
        return found
    scale = Scale(_("weight"), 1.0, is_signed=False)
    looks = head_grid(measured.looks, scale, marked, hovers, height=HEIGHT, corner=corner)
    titles = {"x_title": _("attention"), "y_title": _("effect when off")}
    both = against_attention(measured.looks, measured.mean, marked, hovers, height=HEIGHT, **titles)
    return [*found, (_("Attention"), "effects_looks", looks), (_("Both"), "effects_points", both)]


def marks(measured: Measured, head: Head) -> Marked:
    """The heads that every picture marks."""
    return Marked(head, measured.matters, measured.most_looking)


def effect_scale(measured: Measured) -> Scale:
    """The colours of effects, the same in every picture of one kind of effect."""
    name = _("change") if measured.is_signed else _("distance")
    return Scale(name, measured.limit, is_signed=measured.is_signed)


def says_heads(measured: Measured) -> list[list[str]]:
    """What is shown where a head is pointed at."""
    n_layers, n_heads = measured.mean.shape
    return [[_says_head(measured, (layer, head)) for head in range(n_heads)] for layer in range(n_layers)]


def _says_head(measured: Measured, head: Head) -> str:
    said = [f"<b>{HeadId(*head)}</b>", _("effect {effect}").format(effect=says.change(measured, head, interval=True))]
    if measured.looks is not None:
        said.append(_("attention {weight}").format(weight=says.weight(measured, head)))
    return "<br>".join(said)
