"""The tab "One cell" of "Inside a block": one weight, from d_k products to its share of the output."""

import math

import numpy as np
import streamlit as st

from analysis.blocks.cell import cell_path
from analysis.blocks.record import Record
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from ui.inside import words
from ui.inside.controls import token
from viz.block import bars

MOST_SPELLED = 4  # products written out in a formula


def cell(record: Record) -> None:
    """One weight, from d_k products to its share of the output."""
    n = record.n_tokens
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sees_all = bool(record.allowed[min(1, n - 1)].all())  # else the last token sees most
        query = token(record, _("Query (looks)"), "query", first=min(1, n - 1) if sees_all else n - 1)
        key = token(record, _("Key (looked at)"), "key", first=n - 1)
        said = _("Layer {layer}, head {head}: chosen above.").format(layer=record.layer + 1, head=record.head + 1)
        st.markdown(plain(" ".join([said, *words.shared_keys(record.head, record.n_heads, record.n_key_heads)])))
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
