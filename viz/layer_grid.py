"""All heads of a layer as tiles of one heatmap: their weights, or how these differ.

One trace for the whole grid; masked cells are holes over a grey rectangle.
"""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import get_colorscale

from model.head_id import HeadId
from viz.axes import QUIET
from viz.heatmaps import CELL, MAP_HEIGHT, hatching, weight_cells
from viz.maps import Maps, Singles, cell_height, says_blocks
from viz.mosaic import Mosaic
from viz.style import LEAST_HATCHED, PLAIN, Style, is_less, signed
from viz.theme import (
    ACCENT,
    HOLE,
    MASKED_FILL,
    TEXT,
    Translate,
    heading,
    hover,
    layout,
    markup,
    tick_text,
    untranslated,
)

MAX_POINTED = 40  # a tile is about 100 pixels wide: cells can be pointed at up to here, then only seen
MAX_CELLS = 100  # beyond this, cells of a tile are smaller than a pixel
TOP = 58  # pixels above the grid, for its title
GAP, NAME_ROOM = 0.08, 0.22  # of a tile's longer side


def layer_grid(
    shown: Maps,
    style: Style = PLAIN,
    *,
    layer: int,
    selected: int | None = None,
    title: str = "",
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """All heads of one layer, each with its name ("4-2") above it.

    Up to 40 tokens the cells carry their weights and show them on hover; above, they carry their colour, one byte each.
    Above 100 a cell shows the largest weight of its block, and the figure says so.

    Args:
        shown: (h, N_q, N_k) weights.
        style: colours and what the last one stands for.
        layer: the layer's index from 0, for the names.
        selected: the index from 0 of the head to outline.
        title: text above the grid; "" = which layer it is.
        height: of the whole figure, in pixels.
        t: translates the figure's own words.
    """
    blocks = shown.in_blocks(most=MAX_CELLS)
    grid = _grid(blocks)
    mosaic = grid.whole(blocks.visible())
    is_pointed = max(blocks.shape) <= MAX_POINTED
    cells = {**weight_cells(mosaic, style, t), "name": ""} if is_pointed else _byte_cells(mosaic, style)
    look = _look(grid, layer, selected, title, says_blocks(blocks.step, t), height, t, style.text_scale)
    look |= _axes(grid, blocks if is_pointed else None)
    grey = {"layer": "below", "line": {"width": 0}, "fillcolor": MASKED_FILL}
    look["shapes"] = [{**grid.box(head), **grey} for head in range(grid.n_tiles)] + look["shapes"]
    return go.Figure({"type": "heatmap", "showscale": False, "hoverongaps": False, **grid.edges(), **cells}, look)


def difference_grid(
    shown: Maps,
    *,
    layer: int,
    limit: float,
    selected: int | None = None,
    title: str = "",
    height: int = MAP_HEIGHT,
    text_scale: float = 1.0,
    t: Translate = untranslated,
) -> go.Figure:
    """The differences of all heads of a layer, (h, N_q, N_k), from −limit to limit; what is less is hatched, or dark.

    Many tokens: a cell shows the value of its block that is farthest from 0, and the figure says so.
    """
    blocks = shown.in_blocks("farthest", MAX_CELLS)
    grid = _grid(blocks)
    mosaic, edges = grid.whole(blocks.visible()), grid.edges()
    is_pointed = max(blocks.shape) <= MAX_POINTED
    says = {"hovertemplate": hover(t(CELL), weight="%{z:+.2f}")} if is_pointed else {"hoverinfo": "skip"}
    cell = (height - TOP * text_scale) / grid.depth
    cells = {
        "type": "heatmap",
        "z": mosaic,
        **signed(limit, cell),
        "hoverongaps": False,
        "showscale": False,
        "name": "",
    }
    look = _look(grid, layer, selected, title, says_blocks(blocks.step, t, "farthest"), height, t, text_scale)
    look |= _axes(grid, blocks if is_pointed else None)
    line = {"layer": "below", "line": {"width": 1, "color": MASKED_FILL}, "fillcolor": HOLE}
    look["shapes"] = [{**grid.box(head), **line} for head in range(grid.n_tiles)] + look["shapes"]
    less = [hatching(is_less(mosaic, limit), "-", TEXT, **edges)] if cell >= LEAST_HATCHED else []
    return go.Figure([{**cells, **says, **edges}, *less], look)


def _grid(shown: Maps) -> Mosaic:
    """A tile for each head, about as many across as down."""
    n_heads, (n_rows, n_columns) = len(shown.cells), shown.shape
    tall = cell_height(n_rows, n_columns)
    side = max(n_rows * tall, n_columns)  # in widths of a cell
    return Mosaic(n_heads, n_rows, n_columns, math.ceil(math.sqrt(n_heads)), GAP * side, NAME_ROOM * side / tall)


def _axes(grid: Mosaic, named: Maps | None) -> dict[str, Any]:
    """Without labels; the names are for hover."""
    shared = {**QUIET, "fixedrange": True, "constrain": "domain"}
    shared["showticklabels"] = False  # not visible=False: hover needs the names
    x = {**shared, "range": [0, grid.width], "constraintoward": "left"}
    tall = cell_height(grid.rows, grid.columns)
    y = {**shared, "range": [grid.depth, 0], "constraintoward": "top", "scaleanchor": "x", "scaleratio": tall}
    if named is not None:
        x["tickvals"], y["tickvals"] = grid.middles()
        x["ticktext"] = [tick_text(name) for name in named.column_names] * grid.across
        y["ticktext"] = [tick_text(name) for name in named.row_names] * grid.down
    return {"xaxis": x, "yaxis": y}


def _look(
    grid: Mosaic, layer: int, selected: int | None, title: str, note: str, height: int, t: Translate, scale: float = 1.0
) -> dict[str, Any]:
    """Layout with title, the heads' names, and the selected one outlined."""
    names = []
    for head in range(grid.n_tiles):
        box, name = grid.box(head), str(HeadId(layer, head))
        bold = f"<b>{name}</b>" if head == selected else name
        names.append(heading(bold, x=box["x0"], y=box["y0"], size=(12 if title else 14) * scale, xshift=-2))
        names[-1] |= {"xref": "x", "yref": "y"}
    words = f"<b>{markup(title)}</b>" if title else t("Layer {layer}, all heads").format(layer=layer + 1)
    look = layout(words, height=height, top=(80 if note else TOP) * scale, note=note)
    look["margin"]["autoexpand"] = False
    look["title"]["font"] = {"size": (15 if title else 17) * scale, "color": TEXT}
    outline = [] if selected is None else [{**grid.box(selected), "line": {"color": ACCENT, "width": 3}}]
    return {**look, "annotations": names, "shapes": outline, "dragmode": False, "showlegend": False}


def _byte_cells(mosaic: Singles, style: Style) -> dict[str, Any]:
    """A quarter of the bytes of float32: 0 for a hole, 1…255 for the places 0…1 in the scale."""
    places = np.nan_to_num(style.places(mosaic))
    z = np.where(np.isnan(mosaic), 0, 1 + np.rint(254 * places)).astype(np.uint8)
    scale = [[0, HOLE], *([(1 + 254 * at) / 255, color] for at, color in get_colorscale(style.colorscale))]
    return {"z": z, "zmin": 0, "zmax": 255, "colorscale": scale, "hoverinfo": "skip", "name": ""}
