"""The reshape between (N, d_model) and h matrices (N, d_k) as a picture: every number in the colour of its head."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from analysis.blocks.reshape import Ints, Regrouped
from viz.axes import QUIET
from viz.steps import head_colour, tile_name
from viz.theme import FLAT_LEGEND, HOLE, TEXT, Translate, layout, text_width, tick_text, untranslated

Floats = npt.NDArray[np.float32]


def reshape_figure(
    found: Regrouped,
    rows: Sequence[str],
    *,
    merged: bool = False,
    marked: Collection[int] = (),
    height: int = 400,
    t: Translate = untranslated,
) -> go.Figure:
    """The matrix x with its columns coloured by head above, the h matrices below (`merged`: the other way round).

    Every cell has the colour of the head that its column of x belongs to, wherever it stands, and its number.

    Args:
        found: the numbers of the cells and whose they are, whole (N, d_model) and in parts (h, N, d_k).
        rows: N labels.
        merged: the picture of the concatenation.
        marked: numbers whose cells are outlined, wherever they stand.
        height: in pixels.
        t: translates the figure's own words.
    """
    h, n, d_k = found.parts.shape
    d_model = h * d_k
    gap = max(0.6, d_model / 24)
    shift = gap * (h - 1) / 2
    upper, lower = (1.4, n + 3.2) if not merged else (n + 3.2, 1.4)
    lefts = [part * (d_k + gap) for part in range(h)]
    blocks = [(shift, upper, found.whole, found.whole_heads)]
    blocks += [(left, lower, *both) for left, *both in zip(lefts, found.parts, found.parts_heads, strict=True)]
    cells = np.concatenate([_placed(*block) for block in blocks])  # (cells, 4): x, y, head, number
    says = t("number {number}: head {head}").format(number="%{text}", head="%{customdata}")
    numbers = {
        **{"type": "scatter", "x": cells[:, 0] + 0.5, "y": cells[:, 1] + 0.5, "mode": "text", "showlegend": False},
        **{"text": [f"<b>{int(number)}</b>" for number in cells[:, 3]], "customdata": cells[:, 2].astype(np.int32) + 1},
        "textfont": {"size": 14 if d_model <= 16 else 11, "color": "#FFFFFF", "shadow": "0 0 3px #000, 0 0 2px #000"},
        "hovertemplate": says + "<extra></extra>",
    }
    names = [tile_name(f"({n}, {d_model})", shift, upper - 0.25)]
    for head, left in enumerate(lefts):
        said = t("head {head}: ({n}, {d_k})").format(head=head + 1, n=n, d_k=d_k)
        names.append(tile_name(said, left, lower - 0.25))
    font = {"size": 13, "color": TEXT}
    middles = np.r_[np.arange(n) + upper + 0.5, np.arange(n) + lower + 0.5]
    y = {"range": [2 * n + 3.4, 0.3], "tickvals": middles, "ticktext": [tick_text(label) for label in rows] * 2}
    left = max(text_width(tick_text(label), 13) for label in rows) + 8
    look = {
        **layout("", height=height, top=4, left=left, bottom=30),
        **{
            "dragmode": False,
            "showlegend": True,
            "shapes": [*_squares(cells), *_outlines(cells, marked)],
            "annotations": names,
        },
        "xaxis": {"visible": False, "fixedrange": True, "range": [-0.1, d_model + gap * (h - 1) + 0.1]},
        "yaxis": {**QUIET, **y, "fixedrange": True, "tickfont": font},
        "legend": {**FLAT_LEGEND, "y": -0.02, "yanchor": "top", "font": font},
    }
    return go.Figure([numbers, *_key(h, t)], look)


def _placed(left: float, top: float, numbers: Ints, heads: Ints) -> Floats:
    """(cells, 4): x, y, head and number of each cell of a matrix whose corner stands at (left, top)."""
    row, column = np.indices(numbers.shape)
    placed = np.stack([left + column, top + row, heads, numbers], axis=-1)
    return placed.reshape(-1, 4).astype(np.float32)


def _squares(cells: Floats) -> list[dict[str, Any]]:
    """A square of its head's colour for each cell."""
    line = {"color": "rgba(255, 255, 255, 0.75)", "width": 1}
    return [
        {
            **{"type": "rect", "x0": x, "x1": x + 1, "y0": y, "y1": y + 1, "layer": "below", "line": line},
            "fillcolor": head_colour(int(head)),
        }
        for x, y, head, _number in cells.tolist()
    ]


def _outlines(cells: Floats, marked: Collection[int]) -> list[dict[str, Any]]:
    """A frame around each marked number; of the page's text colour, since squares have those of the heads."""
    inset, line = 0.06, {"color": TEXT, "width": 3}
    return [
        {
            **{"type": "rect", "x0": x + inset, "x1": x + 1 - inset, "y0": y + inset, "y1": y + 1 - inset},
            **{"line": line, "fillcolor": HOLE},
        }
        for x, y, _head, number in cells.tolist()
        if int(number) in marked
    ]


def _key(n_heads: int, t: Translate) -> list[dict[str, Any]]:
    """The legend: a mark in the colour of each head."""
    return [
        {
            **{"type": "scatter", "x": [None], "y": [None], "mode": "markers"},
            "marker": {"symbol": "square", "size": 13, "color": head_colour(head)},
            "name": t("columns of head {head}").format(head=head + 1),
        }
        for head in range(n_heads)
    ]
