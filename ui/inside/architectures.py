"""Encoder only, decoder only, encoder and decoder side by side, run on one's own texts; cross-attention's steps."""

from typing import Any

import numpy as np
import streamlit as st

from analysis.blocks.pair import AttentionKey, Look, Pair, cross_stages
from analysis.blocks.source import excerpt
from analysis.blocks.steps import Stage, StageKey
from ui.frame import components, links
from ui.frame.captions import chart, small, text_scale
from ui.frame.languages import _, plain
from ui.inside import words
from ui.inside.attention import code
from ui.inside.controls import choose
from viz.steps import Tiles, tiles_figure

OPEN = "inside_part"  # session state: the attention that is open
FIRST: AttentionKey = "cross"
EXCERPTS: dict[StageKey, tuple[str, ...]] = {"input": ("cross",), "project": ("context", "project")}
MOST_CELLS = 12  # of a small picture of who may see whom, to each side
_drawing = components.register("architectures")


def side_by_side(pair: Pair) -> None:
    """The three diagrams, and the attention that is open."""
    opened = _diagrams(pair)
    look = pair.looks[opened]
    name, sees, told = words.PARTS[opened]
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.subheader(_(name), anchor=False)
        st.markdown(plain(f"{_(sees)} {_(told)}"))
        st.code(_shapes(opened, pair), language=None, wrap_lines=True)
        code(excerpt({"cross": "cross", "decoder": "self_attention"}.get(opened, "attention")))
    with right:
        maps = np.where(look.allowed, look.maps, -np.inf)
        names = [_("head {head}").format(head=head + 1) for head in range(len(maps))]
        shown = Tiles(maps, names, look.queries, columns=look.keys, scale="weights")
        chart(tiles_figure(shown, height=360, t=_), "inside_part")
        small(_("Row: query. Column: key. Untrained, so the weights mean nothing; shapes and who sees whom are real."))


def _shapes(opened: AttentionKey, pair: Pair) -> str:
    look, d_model = pair.looks[opened], pair.block.attention.d_model
    h, n_q, n_k = look.maps.shape
    of_queries, of_keys = {"cross": (_("target"), _("source")), "decoder": (_("target"),) * 2}.get(
        opened, (_("source"),) * 2
    )
    return "\n".join(
        (
            _("queries from the {text}: {shape}").format(text=of_queries, shape=(1, n_q, d_model)),
            _("keys and values from the {text}: {shape}").format(text=of_keys, shape=(1, n_k, d_model)),
            _("maps: {shape}").format(shape=(1, h, n_q, n_k)),
        )
    )


def _diagrams(pair: Pair) -> AttentionKey:
    if OPEN not in st.session_state:
        st.session_state[OPEN] = links.read("part", links.one_of(list(pair.looks)), str(FIRST), key=OPEN)
    chosen: AttentionKey = st.session_state[OPEN]

    def opened() -> None:
        said = (st.session_state.get("architectures") or {}).get("box")
        if said in pair.looks:
            st.session_state[OPEN] = said

    data = {
        "title": _("Three architectures: choose an attention to open it"),
        "selected": chosen,
        "text_scale": text_scale(),
        "columns": _columns(pair),
    }
    _drawing(key="architectures", data=data, on_box_change=opened)
    links.write("part", chosen, FIRST)
    small(
        _(
            "Small squares: row sees column. Left out: embeddings, residuals and normalisations (the tab “The block” "
            "of a worked example has them). One layer is drawn; BERT-base has 12, the first Transformer 6 and 6."
        )
    )
    return chosen


def _columns(pair: Pair) -> list[dict[str, Any]]:
    d_model = pair.block.attention.d_model
    source, target = (f"(1, {len(text)}, {d_model})" for text in (pair.source, pair.target))

    def attention(key: AttentionKey, **more: str) -> dict[str, Any]:
        name, sees, _told = words.PARTS[key]
        look = pair.looks[key]
        return {"key": key, "name": _(name), "shape": _map_shape(look), "sees": _(sees), "grid": _grid(look), **more}

    def box(name: str, shape: str, **more: bool) -> dict[str, Any]:
        return {"name": _(name), "shape": shape, **more}

    reads, text = box("source", source), box("text", source)
    ffn = box("FFN", source)
    stacks: dict[str, list[list[dict[str, Any]]]] = {
        "encoder_only": [[reads, attention("encoder_only"), ffn, box("vectors", source)]],
        "decoder_only": [[text, attention("decoder_only"), ffn, box("vectors → next token", source)]],
        "encoder_decoder": [
            [reads, attention("encoder"), ffn, box("vectors", source, gives=True)],
            [
                box("target", target),
                attention("decoder"),
                attention("cross", takes=_("K, V")),
                box("FFN", target),
                box("vectors → next token", target),
            ],
        ],
    }
    return [
        {"name": _(name), "used": _(used), "stacks": stacks[key]} for key, (name, used) in words.ARCHITECTURES.items()
    ]


def _map_shape(look: Look) -> str:
    return f"A (1, {', '.join(str(size) for size in look.maps.shape)})"


def _grid(look: Look) -> list[list[int]]:
    grid: list[list[int]] = look.allowed[:MOST_CELLS, :MOST_CELLS].astype(int).tolist()
    return grid


def steps(pair: Pair) -> None:
    """Cross-attention one step at a time: formula, shapes, matrix, and the code that ran."""
    stages = {stage.key: stage for stage in cross_stages(pair)}
    said = words.STAGE_NAMES | words.CROSS_NAMES
    names = {key: f"{number} {_(said[key])}" for number, key in enumerate(stages, 1)}
    stage = stages[choose(_("Step"), "cross_step", names, "input", wide=True, bare=True)]
    left, right = st.columns([5, 7], gap="medium")
    with left:
        title, told = words.CROSS[stage.key]
        st.subheader(_(title), anchor=False)
        st.latex(stage.formula)
        st.code(stage.shapes.replace(" → ", "\n→ "), language=None, wrap_lines=True)
        st.markdown(plain(_(told)))
        for name in EXCERPTS.get(stage.key, (stage.key,)):
            code(excerpt(name))
    with right:
        _matrix(pair, stage)


def _matrix(pair: Pair, stage: Stage) -> None:
    matrix = stage.matrices[0]
    if len(stage.matrices) > 1:
        letters = {each.symbol: each.symbol for each in stage.matrices}
        letter = choose(_("Matrix"), f"cross_{stage.key}", letters, matrix.symbol, wide=True, bare=True)
        matrix = next(each for each in stage.matrices if each.symbol == letter)
    is_of_source = matrix.symbol in ("c", "K", "V")
    is_map = stage.key in ("scores", "scale", "softmax")
    cells = matrix.values if matrix.values.ndim == 3 else matrix.values[None]
    names = (
        [_("head {head}").format(head=head + 1) for head in range(len(cells))] if len(cells) > 1 else [matrix.symbol]
    )
    shown = Tiles(
        cells,
        names,
        pair.source if is_of_source else pair.target,
        columns=pair.source if is_map else None,
        scale="weights" if stage.key == "softmax" else "signed",
        heads=pair.block.attention.num_heads if stage.key in ("project", "concat") else 0,
    )
    chart(tiles_figure(shown, height=390, t=_), "inside_matrix")
    said = _("Rows: tokens of the source.") if is_of_source else _("Rows: tokens of the target.")
    if is_map:
        said = _("Row: a token of the target, the query. Column: a token of the source, the key.")
    small(said)
