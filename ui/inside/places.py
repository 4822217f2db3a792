"""The reshape between x and the heads on "Inside a block": which number goes where, the right way and the wrong one."""

import streamlit as st

from analysis.blocks import reshape
from analysis.blocks.record import Record
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from viz.reshape import reshape_figure

MOST_PLACES = (6, 24, 8)  # N, columns and h up to which the reshape is drawn in the page's own sizes
LESSON = (3, 8, 2)  # else in these
WAYS: dict[str, reshape.Way] = {"places": "right", "wrong": "wrong"}


def places(record: Record, merged: bool, way: reshape.Way) -> reshape.Regrouped:
    """The picture with its code, in the sizes of the record where these can be drawn."""
    sizes = (record.n_tokens, record.width, record.n_heads)
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


def lesson(found: reshape.Regrouped, merged: bool, way: reshape.Way) -> None:
    """What the picture shows."""
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
