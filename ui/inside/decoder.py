"""Steps that only some models have, on "Inside a block": norms of q and k, rotary positions, the next token."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from analysis.blocks.next_token import next_token
from analysis.blocks.record import Record
from analysis.blocks.rotary_pair import rotary_pair, rotary_width
from analysis.blocks.steps import Stage, StageKey, before
from ui.frame import controls
from ui.frame.captions import chart, small, titled
from ui.frame.languages import _
from ui.frame.loading import load_model
from ui.inside.controls import choose, token
from viz.block import bars
from viz.rotary import plane_figure
from viz.steps import Tiles, tiles_figure

SHOWN = 10  # next tokens


def _before_and_after(record: Record, stage: Stage, marked: tuple[int, ...] = (), height: int = 390) -> None:
    """Queries of the head that is looked at, and keys of its key head: four matrices (N, d_k)."""
    key_head = record.head // record.group
    firsts, lasts = before(record, stage.key), [matrix.values for matrix in stage.matrices]
    tiles, names = [], []
    for letter, head, first, last in zip("qk", (record.head, key_head), firsts, lasts, strict=True):
        named = _("{letter} of head {head}") if letter == "q" or record.group == 1 else _("{letter} of key head {head}")
        name = named.format(letter=letter, head=head + 1)
        tiles += [first[head], last[head]]
        names += [_("{name} before").format(name=name), _("{name} after").format(name=name)]
    shown = Tiles(np.stack(tiles), names, record.labels, is_coloured=False, marked=marked)
    chart(tiles_figure(shown, height=height, t=_), "inside_matrix")
    small(_("One row per token. Orange is above 0, purple below; point at a cell for its exact value."))


def _rotated(record: Record, stage: Stage) -> None:
    """The matrices, and one pair of columns of one token in its plane."""
    half = rotary_width(record) // 2
    with st.container(horizontal=True, vertical_alignment="bottom"):
        position = token(record, _("Token"), "token", first=record.n_tokens // 2)
        columns = {i + 1: f"{i + 1}, {i + 1 + half}" for i in range(half)}
        index = choose(_("Pair of columns"), "pair", columns, 1, width=150) - 1
    pair = rotary_pair(record, index)
    _before_and_after(record, stage, pair.columns, height=330)
    angle = float(pair.angles[position])
    query, key = ((first[position], last[position]) for first, last in (pair.queries, pair.keys))
    theta = float(pair.angles[1]) if record.n_tokens > 1 else 0.0
    st.latex(
        rf"m = {position}, \qquad m\theta_{{{index + 1}}} = {position} \cdot {theta:.4g} = {angle:.2f}"
        rf"\;\mathrm{{rad}} = {np.degrees(angle):.0f}^\circ"
    )
    title = _("Columns {first} and {second} of '{token}' in their plane").format(
        first=pair.columns[0] + 1, second=pair.columns[1] + 1, token=record.labels[position]
    )
    titled(title, plane_figure(query, key, angle, t=_), "inside_plane")


def _next(record: Record, stage: Stage) -> None:
    """The most probable next tokens after a position, with their logits."""
    del stage
    loaded = load_model(controls.model())
    position = token(record, _("After the token"), "after", first=record.n_tokens - 1)
    found = next_token(record.stack, position, SHOWN)
    names = [loaded.tokenizer.label_of(id_) for id_ in found.ids]
    titled(_("Probability of the next token"), bars(found.probabilities, names), "next_probabilities")
    titled(_("Their logits"), bars(found.logits, names), "next_logits")
    st.latex(
        rf"p = \frac{{e^{{\ell}}}}{{\sum_v e^{{\ell_v}}}} = e^{{{found.logits[0]:.2f} - {found.log_total:.2f}}}"
        rf" = {found.probabilities[0]:.3f}"
    )
    rest = record.n_layers - record.layer - 1
    said = _("Whichever layer is looked at, these are of the last: {rest} layers follow the one above.")
    if rest == 0:
        said = _("This is the last layer: what it hands on is what is read here.")
    small(said.format(rest=rest))


VIEWS: dict[StageKey, Callable[[Record, Stage], None]] = {
    "qk_norm": _before_and_after,
    "rotate": _rotated,
    "next": _next,
}
