"""Attention maps as Plotly heatmaps: one map with its tokens, large or among others.

The query (row) looks at the key (column). Colours run from 0 to 1 in every picture, so pictures can be compared.
Axes are numeric with the tokens as escaped tick texts: on category axes Plotly merges repeated tokens, and it takes
`<s>` for a tag.
"""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.axes import Frame, token_axes
from viz.maps import Bools, Maps, Singles, says_blocks
from viz.style import PLAIN, Style
from viz.theme import HOLE, MASKED_FILL, MASKED_LINES, TEXT, Translate, heading, hover, layout, untranslated

MAP_HEIGHT = 455
CELL = "query '{query}' → key '{key}': {weight}"


@dataclass(frozen=True)
class Masked:
    """What masked cells are called, in the reader's language."""

    name: str
    says: str


def head_heatmap(
    shown: Maps,
    style: Style = PLAIN,
    *,
    title: str = "",
    height: int = MAP_HEIGHT,
    narrow: bool = False,
    t: Translate = untranslated,
) -> go.Figure:
    """One head's map, large, with the tokens on both axes and the weight on hover.

    More than 128 tokens are drawn in blocks, each with its largest weight; the figure says so.

    Args:
        shown: (N_q, N_k) weights.
        style: colours, what the last one stands for, and the size of text.
        title: text above the map.
        height: of the whole figure, in pixels.
        narrow: for a third of a page: smaller labels, a colour bar as wide as the map, and no title in the figure.
        t: translates the figure's own words.
    """
    shown, scale = shown.in_blocks(), style.text_scale
    frame = Frame(height, (48 if narrow else 58) * scale, 11 if narrow else 15, scale)
    blocks = says_blocks(shown.step, t)
    if narrow:  # in place of the legend
        masked = "" if shown.allowed.all() else "▨ " + t("masked")
        name = heading(" · ".join(filter(None, (masked, blocks))), size=13 * scale, yshift=30 * scale)
        name |= {"x": 1, "xanchor": "right"}
    else:
        bold = f"<b>{html.escape(title, quote=False)}</b>"
        small = f"  <span style='font-size:{12 * scale:.0f}px'>{blocks}</span>" if blocks else ""
        name = heading(bold + small, size=17 * scale, yshift=30 * scale)
    bar = {"len": 0.9, "x": 0.5, "xanchor": "center"} if narrow else {"len": 0.55, "x": 0.98, "xanchor": "right"}
    cells = {**weight_cells(shown.visible(), style, t), "colorbar": {**color_bar(style, t), **bar}}
    return map_figure(shown, cells, frame, [name], has_legend=not narrow, t=t)


def map_figure(
    shown: Maps,
    cells: dict[str, Any],
    frame: Frame,
    notes: list[dict[str, Any]],
    *,
    shapes: list[dict[str, Any]] | None = None,
    masked: Masked | None = None,
    has_legend: bool = False,
    t: Translate,
) -> go.Figure:
    """A heatmap between its tokens; masked cells hatched.

    Args:
        shown: gives the tokens and the mask.
        cells: options of the heatmap, with its `z`.
        frame: the room around it.
        notes: annotations.
        shapes: likewise.
        masked: what masked cells are called, unless they are masked ones.
        has_legend: name the hatching above the map.
        t: translates the figure's own words.
    """
    axes, keepers = token_axes(shown, frame, t)
    axes["annotations"] = [*notes, *axes["annotations"]]
    font = {"size": 13 * frame.scale, "color": TEXT}
    look = {
        **layout("", height=frame.height, top=0),
        **axes,
        "shapes": shapes or [],
        "showlegend": has_legend,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": font},
    }
    traces = [{"type": "heatmap", "hoverongaps": False, **cells}]
    if not shown.allowed.all():
        says = hover(t("query '{query}' → key '{key}': masked: may not attend"), weight="")
        traces += masked_cells(shown.allowed, masked or Masked(t("masked"), says))
    return go.Figure([*traces, *keepers], look)


def weight_cells(weights: Singles, style: Style, t: Translate) -> dict[str, Any]:
    """A heatmap's colours and its words on hover, which say the weight whatever the curve of the colours."""
    shared = {"zmin": 0, "colorscale": style.colorscale, "name": style.quantity or t("attention weight")}
    if style.curve == "linear":
        return {"z": weights, "zmax": style.maximum, "hovertemplate": hover(t(CELL), weight="%{z:.2f}"), **shared}
    template = hover(t(CELL), weight="%{customdata:.3f}")
    return {"z": style.places(weights), "customdata": weights, "zmax": 1, "hovertemplate": template, **shared}


def color_bar(style: Style, t: Translate) -> dict[str, Any]:
    """0, what is measured, and the maximum: a title of its own would take 35 pixels from the map."""
    at = style.places(np.array(style.ticks())).tolist() if style.curve != "linear" else style.ticks()
    if style.curve == "log":
        said = {"tickvals": at, "ticktext": [f"{tick:.3g}" for tick in style.ticks()]}
    else:
        quantity = style.quantity or t("attention weight")
        said = {"tickvals": [at[0], at[-1] / 2, at[-1]], "ticktext": ["0", quantity, f"{style.maximum:g}"]}
    return flat_bar(**said, size=13 * style.text_scale)


def flat_bar(*, size: float = 12, **more: Any) -> dict[str, Any]:
    """A colour bar lying above a map."""
    return {
        **{"orientation": "h", "thickness": 10, "x": 0, "xanchor": "left", "xpad": 0},
        **{"y": 1, "yanchor": "bottom", "ypad": 6, "tickangle": 0, "outlinewidth": 0},
        "tickfont": {"size": size, "color": TEXT},
        **more,
    }


def masked_cells(allowed: Bools, masked: Masked) -> list[dict[str, Any]]:
    """Grey cells that say on hover why they hold no weight, hatched so that grey can't be read as a weight."""
    grey = {
        **{"type": "heatmap", "z": np.where(allowed, np.nan, 1).astype(np.float32), "zmin": 0, "zmax": 1},
        **{"colorscale": [[0, MASKED_FILL], [1, MASKED_FILL]], "showscale": False, "hoverongaps": False},
        **{"name": masked.name, "hovertemplate": masked.says},
    }
    return [grey, hatching(~allowed, "/", MASKED_LINES, name=masked.name, showlegend=True)]


def hatching(
    cells: Bools, shape: str, colour: str, x: Singles | None = None, y: Singles | None = None, **more: Any
) -> dict[str, Any]:
    """Lines over some cells, as one trace without ink of its own; x, y: borders of cells that aren't just numbered."""
    n_rows, n_columns = cells.shape
    x = _numbered(n_columns) if x is None else x
    y = _numbered(n_rows) if y is None else y
    left, right, top, bottom = (np.array(places, dtype=np.int64) for places in _rectangles(cells))
    gap = np.full(len(left), np.nan, dtype=np.float32)
    around_x = np.stack([x[left], x[right], x[right], x[left], x[left], gap], axis=-1)
    around_y = np.stack([y[top], y[top], y[bottom], y[bottom], y[top], gap], axis=-1)
    pattern = {"shape": shape, "size": 7, "solidity": 0.18, "fgcolor": colour, "bgcolor": HOLE}
    look = {"type": "scatter", "mode": "none", "fill": "toself", "fillpattern": pattern, "hoverinfo": "skip"}
    return {**look, "x": around_x.ravel(), "y": around_y.ravel(), "showlegend": False, **more}


def _numbered(n_cells: int) -> Singles:
    """The borders of cells around 0, 1, 2 …"""
    return (np.arange(n_cells + 1) - 0.5).astype(np.float32)


def _rectangles(cells: Bools) -> tuple[list[int], list[int], list[int], list[int]]:
    """Left, right, top and bottom borders of the cells that are True: a run in a row each, with equal rows below it."""
    lefts: list[int] = []
    rights: list[int] = []
    tops: list[int] = []
    bottoms: list[int] = []
    row = 0
    while row < len(cells):
        below = row + 1
        while below < len(cells) and np.array_equal(cells[below], cells[row]):
            below += 1
        steps = np.diff(cells[row].astype(np.int8), prepend=0, append=0)
        left, right = np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist()
        lefts += left
        rights += right
        tops += [row] * len(left)
        bottoms += [below] * len(left)
        row = below
    return lefts, rights, tops, bottoms
