"""The first tab of "Inside a block": multi-head attention step by step."""

import numpy as np
import streamlit as st

from analysis.blocks.record import Record
from analysis.blocks.source import Excerpt, excerpt
from analysis.blocks.steps import Matrix, Stage, attention_stages
from analysis.blocks.worked_examples import example_code
from ui.frame.captions import chart, small
from ui.frame.choose import translated
from ui.frame.languages import _, plain
from ui.inside import controls, decoder, places, words
from ui.inside.controls import choose
from viz.steps import Tiles, tiles_figure

FEW, MANY = 3, 16  # tiles: beyond these, long names would meet
MAPS = ("scores", "scale", "bias", "mask", "softmax")
LEGENDS = {
    "signed": "One row per token. Orange is above 0, purple below; point at a cell for its exact value.",
    "maps": "Row: query. Column: key. Orange is above 0, purple below; point at a cell for its exact value.",
    "weights": "Row: query. Column: key. Point at a cell for its exact weight.",
}


def steps(record: Record) -> None:
    """One step at a time: formula, shapes, matrix, and the code that ran."""
    stages = {stage.key: stage for stage in attention_stages(record)}
    names = {key: f"{number} {_(words.STAGE_NAMES[key])}" for number, key in enumerate(stages, 1)}
    key = choose(_("Step"), "step", names, "input", wide=True, bare=True)
    stage = stages[key]
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.subheader(_(words.STAGES[key][0]), anchor=False)
        st.latex(stage.formula)
        st.code(stage.shapes.replace(" → ", "\n→ "), language=None, wrap_lines=True)
        for said in words.explained(key, record):
            st.markdown(plain(said))
    view = "values"
    with right:
        if key in decoder.VIEWS:
            decoder.VIEWS[key](record, stage)
        else:
            view, matrices = _chosen(stage)
            if view == "values":
                _values(record, stage, matrices)
            else:
                merged, way = key == "concat", places.WAYS[view]
                found = places.places(record, merged, way)
    with left:
        if view == "values":
            _code(record, stage)
        else:
            places.lesson(found, merged, way)


def _chosen(stage: Stage) -> tuple[str, tuple[Matrix, ...]]:
    """The way of looking at a stage, and which of its matrices: those of one shape, or one of Q, K and V."""
    view, matrices = "values", stage.matrices
    with st.container(horizontal=True):
        if stage.key in ("split", "concat"):
            views = translated(words.RESHAPE_VIEWS)
            view = choose(_("Show"), "reshape", views, "values", wide=True, bare=True)
        differ = len({matrix.shape for matrix in matrices}) > 1  # with grouped queries K and V have fewer columns
        if view == "values" and (stage.key == "split" or differ):
            letter = choose("Q, K, V", "letter", {"Q": "Q", "K": "K", "V": "V"}, "Q", wide=True, bare=True)
            matrices = tuple(matrix for matrix in matrices if matrix.symbol == letter)
    return view, matrices


def _values(record: Record, stage: Stage, matrices: tuple[Matrix, ...]) -> None:
    first = matrices[0]
    is_map = first.values.ndim == 3 and first.shape[-1] == record.n_tokens and stage.key in MAPS
    apart = first.values.ndim == 3
    is_shared = record.group > 1 and first.symbol in ("K", "V")  # a matrix or a tile for each key head
    if apart:
        tiles = np.where(record.allowed, first.values, -np.inf) if stage.key == "softmax" else first.values
        names = _head_names(record, first, is_shared)
    else:
        tiles = np.stack([matrix.values for matrix in matrices])
        names = [matrix.symbol for matrix in matrices]
    shape = ", ".join(str(size) for size in first.shape)
    names = [f"{name}  ({shape})" if len(names) <= 3 and not apart else name for name in names]
    shown = Tiles(
        tiles,
        names,
        record.labels,
        columns=record.labels if is_map else None,
        scale="weights" if stage.key == "softmax" else "signed",
        heads=0 if apart or stage.key in ("input", "output") else record.n_key_heads if is_shared else record.n_heads,
        group=1 if is_shared else record.group,
    )
    figure = tiles_figure(shown, height=390, t=_)
    chart(figure, "inside_matrix")
    legend = _(LEGENDS["weights" if stage.key == "softmax" else "maps" if is_map else "signed"])
    if record.group > 1 and stage.key not in ("input", "output"):
        legend += " " + _shared(record, apart and not is_shared)
    small(legend)


def _shared(record: Record, is_named: bool) -> str:
    """What the colours mean, and the names where they hold two numbers."""
    if not is_named or record.n_heads > MANY:
        return _("Heads of one colour share a key head.")
    said = _("Heads of one colour share a key head: {head} · k{key} is head {head} with the keys of key head {key}.")
    return said.format(head=record.head + 1, key=record.head // record.group + 1)


def _head_names(record: Record, matrix: Matrix, is_shared: bool) -> list[str]:
    """What stands above the tiles: the head, and the key head that it shares with others."""
    n = len(matrix.values)
    if is_shared:
        said = _("key head {head}, for {first}–{last}") if n <= FEW else _("key head {head}")
        spans = [(head * record.group + 1, (head + 1) * record.group) for head in range(n)]
        return [said.format(head=head + 1, first=first, last=last) for head, (first, last) in enumerate(spans)]
    if record.group > 1 and n <= MANY:
        return [f"{head + 1} · k{head // record.group + 1}" for head in range(n)]
    said = "{symbol}, head {head}" if n <= FEW else "head {head}" if n <= MANY else "{head}"
    return [_(said).format(symbol=matrix.symbol, head=head + 1) for head in range(n)]


def _code(record: Record, stage: Stage) -> None:
    if stage.key == "input":
        if controls.source() == "example":
            st.code(example_code(controls.example_sizes()), language="python", wrap_lines=True)
            return
        code(excerpt("embed" if record.layer == 0 and record.block.norm != "pre" else "attention_input"))
        return
    for name in ("share", "scores") if stage.key == "scores" and record.group > 1 else (stage.key,):
        code(excerpt(name))


def code(shown: Excerpt) -> None:
    """Lines that ran, and where they stand."""
    st.code(shown.code, language="python", wrap_lines=True)
    small(_("The code that ran: {place}").format(place=shown.place))
