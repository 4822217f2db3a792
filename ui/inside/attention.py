"""The first two tabs of "Inside a block": multi-head attention step by step, and one cell all the way down."""

import math

import numpy as np
import streamlit as st

from analysis.blocks import reshape
from analysis.blocks.source import excerpt
from analysis.blocks.steps import Matrix, Record, Stage, attention_stages, cell_path
from analysis.blocks.worked_examples import example_code
from ui.frame.captions import chart, small
from ui.frame.choose import translated
from ui.frame.languages import _, plain
from ui.inside import controls, words
from ui.inside.controls import choose, token
from viz.block import bars
from viz.steps import Tiles, reshape_figure, tiles_figure

MOST_PLACES = (6, 24, 8)  # N, d_model and h up to which the reshape is drawn in the page's own sizes
LESSON = (3, 8, 2)  # else in these
MOST_SPELLED = 4  # products written out in a formula


def steps(record: Record) -> None:
    """One step at a time: formula, shapes, matrix, and the code that ran."""
    stages = {stage.key: stage for stage in attention_stages(record)}
    names = translated({key: words.STAGE_NAMES[key] for key in stages})
    key = choose(_("Step"), "step", names, "input", wide=True, bare=True)
    stage = stages[key]
    left, right = st.columns([5, 7], gap="medium")
    with left:
        title, explanation = words.STAGES[key]
        st.subheader(_(title), anchor=False)
        st.latex(stage.formula)
        st.code(stage.shapes.replace(" → ", "\n→ "), language=None, wrap_lines=True)
        st.markdown(plain(_(explanation)))
        if key == "mask" and bool(record.allowed.all()):
            st.markdown(plain(_(words.NO_MASK)))
    with right:
        view, matrices = "values", stage.matrices
        if key in ("split", "concat"):
            views = translated(words.RESHAPE_VIEWS)
            with st.container(horizontal=True):
                view = choose(_("Show"), "reshape", views, "values", wide=True, bare=True)
                if key == "split" and view == "values":
                    letter = choose("Q, K, V", "letter", {"Q": "Q", "K": "K", "V": "V"}, "Q", wide=True, bare=True)
                    matrices = tuple(matrix for matrix in matrices if matrix.symbol == letter)
        if view == "values":
            _values(record, stage, matrices)
        else:
            merged, way = key == "concat", _WAYS[view]
            found = _places(record, merged, way)
    with left:
        if view == "values":
            _code(stage)
        else:
            _lesson(found, merged, way)


def _values(record: Record, stage: Stage, matrices: tuple[Matrix, ...]) -> None:
    first = matrices[0]
    is_map = first.values.ndim == 3 and first.shape[-1] == record.n_tokens and stage.key in MAPS
    apart = first.values.ndim == 3
    if apart:
        tiles = first.values
        name = "{symbol}, head {head}" if len(tiles) <= FEW else "head {head}" if len(tiles) <= MANY else "{head}"
        names = [_(name).format(symbol=first.symbol, head=head + 1) for head in range(len(tiles))]
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
        heads=0 if apart or stage.key in ("input", "output") else record.n_heads,
    )
    figure = tiles_figure(shown, height=390, t=_)
    chart(figure, "inside_matrix")
    small(_(LEGENDS["weights" if stage.key == "softmax" else "maps" if is_map else "signed"]))


FEW, MANY = 3, 16  # tiles: beyond these, long names would meet
MAPS = ("scores", "scale", "mask", "softmax")
LEGENDS = {
    "signed": "One row per token. Orange is above 0, purple below; point at a cell for its exact value.",
    "maps": "Row: query. Column: key. Orange is above 0, purple below; point at a cell for its exact value.",
    "weights": "Row: query. Column: key. Point at a cell for its exact weight.",
}


_WAYS: dict[str, reshape.Way] = {"places": "right", "wrong": "wrong"}


def _places(record: Record, merged: bool, way: reshape.Way) -> reshape.Regrouped:
    sizes = (record.n_tokens, record.d_model, record.n_heads)
    fits = all(size <= most for size, most in zip(sizes, MOST_PLACES, strict=True))
    n, d_model, n_heads = sizes if fits else LESSON
    labels = record.labels if fits else [str(row + 1) for row in range(n)]
    found = (reshape.merge if merged else reshape.split)(n, d_model, n_heads, way)
    st.code((reshape.MERGE_CODE if merged else reshape.SPLIT_CODE)[way], language="python")
    figure = reshape_figure(found, labels, merged=merged, height=350, t=_)
    chart(figure, "inside_places")
    if not fits:
        small(_("Drawn for 3 tokens, d_model 8 and 2 heads: your sizes have too many cells to number."))
    return found


def _lesson(found: reshape.Regrouped, merged: bool, way: reshape.Way) -> None:
    n_heads, n, d_k = found.parts.shape
    if way == "right":
        said = _("The cells are numbered 0, 1, 2 … along the rows of x. Every number keeps its head.")
        st.markdown(plain(said))
        if merged:
            _contiguous(n, n_heads * d_k, n_heads)
        return
    if not found.misplaced:
        st.markdown(plain(_("With one head or one token both orders are the same: no cell is misplaced.")))
        return
    said = _(
        "The shape is right, but {n} of {all} cells stand among the columns of another head: view deals numbers out in "
        "the order of memory, head by head. So transpose has to bring the token to the front first."
        if merged
        else "The shape is right, but {n} of {all} cells stand in a head that they don't belong to: view deals numbers "
        "out in the order of memory, token by token. So view makes (N, h, d_k), and transpose then swaps N and h."
    )
    st.markdown(plain(said.format(n=found.misplaced, all=found.whole.size)))


def _contiguous(n_tokens: int, d_model: int, n_heads: int) -> None:
    error = reshape.view_without_contiguous(n_tokens, d_model, n_heads)
    if not error:
        return
    before, after = reshape.strides(n_tokens, d_model, n_heads)
    st.markdown(
        plain(
            _(
                "transpose moves no number, it only changes the steps in memory: {before} in place of {after}. view "
                "needs rows in one piece, so contiguous copies them first (reshape does so by itself). Without it:"
            ).format(before=before, after=after)
        )
    )
    st.code(f"RuntimeError: {error}", language=None, wrap_lines=True)


def _code(stage: Stage) -> None:
    if stage.key == "input":
        if controls.source() == "example":
            st.code(example_code(controls.example_sizes()), language="python", wrap_lines=True)
            return
        shown = excerpt("embed")
    else:
        shown = excerpt(stage.key)
    code(shown.code, shown.place)


def code(text: str, place: str) -> None:
    """Lines that ran, and where they stand."""
    st.code(text, language="python", wrap_lines=True)
    small(_("The code that ran: {place}").format(place=place))


def cell(record: Record) -> None:
    """One weight, from d_k products to its share of the output."""
    n = record.n_tokens
    with st.container(horizontal=True, vertical_alignment="bottom"):
        query = token(record, _("Query (looks)"), "query", first=min(1, n - 1))
        key = token(record, _("Key (looked at)"), "key", first=n - 1)
        st.markdown(
            plain(_("Layer {layer}, head {head}: chosen above.").format(layer=record.layer + 1, head=record.head + 1))
        )
    path = cell_path(record, record.head, query, key)
    numbers = [str(i + 1) for i in range(record.d_k)]
    left, middle, right = st.columns(3, gap="medium")
    with left:
        figure = bars(path.products, numbers, title=_("1  d_k products q · k"), x_title=_("column of the head"))
        chart(figure, "cell_products")
        st.latex(_dot(path.query, path.key, path.dot))
        st.latex(
            rf"\begin{{gathered}} \frac{{{_tex(path.dot)}}}{{\sqrt{{{record.d_k}}}}} = {_tex(path.scaled)} \\"
            rf"{_tex(path.scaled)} + {_tex(path.masked - path.scaled) if math.isfinite(path.masked) else '(-∞)'}"
            rf" = {_tex(path.masked)} \end{{gathered}}"
        )
    with middle:
        figure = bars(
            path.exponentials,
            record.labels,
            title=_("2  e to the score, for every key"),
            x_title=_("key (looked at)"),
            selected=key,
        )
        chart(figure, "cell_row")
        if path.weight or math.isfinite(path.masked):
            st.latex(rf"e^{{{_tex(path.masked)} - {_bracket(path.largest)}}} = {_tex(float(path.exponentials[key]))}")
            st.latex(
                rf"\frac{{{_tex(float(path.exponentials[key]))}}}{{{_tex(path.row_sum)}}} = "
                rf"\mathbf{{{_tex(path.weight)}}}"
            )
        else:
            st.latex(r"e^{-\infty} = 0, \qquad \mathbf{0}")
        small(_("Softmax first subtracts the row's largest score, so that nothing overflows; the ratios stay."))
    with right:
        figure = bars(path.parts, numbers, title=_("3  weight · v"), x_title=_("column of the head"))
        chart(figure, "cell_parts")
        st.latex(rf"\begin{{gathered}} {_tex(path.weight)} \cdot v = \\ {_vector(path.parts)} \end{{gathered}}")
        st.latex(rf"\begin{{gathered}} \textstyle\sum_j a_j v_j = \\ {_vector(path.mixed)} \end{{gathered}}")
        small(_("Summed over all keys, this is the query's row of the head's output."))


def _dot(query: np.ndarray, key: np.ndarray, dot: float) -> str:
    if len(query) > MOST_SPELLED:
        return rf"q \cdot k = \textstyle\sum_{{j=1}}^{{{len(query)}}} q_j k_j = {_tex(dot)}"
    terms = [rf"{_bracket(q)} \cdot {_bracket(k)}" for q, k in zip(query, key, strict=True)]
    lines = r" \\ & + ".join(terms)
    return rf"\begin{{aligned}} q \cdot k = \; & {lines} \\ = \; & {_tex(dot)} \end{{aligned}}"


def _vector(values: np.ndarray) -> str:
    shown = [_tex(value) for value in values[:4]]
    return r"(" + r",\; ".join([*shown, *([r"\dots"] if len(values) > 4 else [])]) + ")"


def _tex(number: float) -> str:
    if math.isinf(number):
        return r"-\infty"
    return f"{number + 0.0:.2f}".replace("-0.00", "0.00")


def _bracket(number: float) -> str:
    text = _tex(number)
    return f"({text})" if text.startswith("-") else text
