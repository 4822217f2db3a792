"""All heads of a layer as tiles of one heatmap: their weights, or how these differ.

One trace for the whole grid: a subplot for each head costs the browser most of a second. The gaps between tiles are
single empty columns and rows, wide only in the axis coordinates; masked cells are holes over a grey rectangle.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.colors import get_colorscale

from model.head_id import HeadId
from viz.heatmaps import CELL, MAP_HEIGHT, hatching, weight_cells
from viz.maps import Maps, Singles, says_blocks
from viz.style import PLAIN, Style, is_less, signed
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
GAP, NAME_ROOM = 0.08, 0.22  # of a tile's longer side


@dataclass(frozen=True)
class Grid:
    """Where the tiles stand: one for each head, of some rows × columns of cells."""

    n_heads: int
    rows: int
    columns: int

    @property
    def across(self) -> int:
        """Tiles beside each other."""
        return math.ceil(math.sqrt(self.n_heads))

    @property
    def down(self) -> int:
        """Tiles under each other."""
        return math.ceil(self.n_heads / self.across)

    @property
    def gaps(self) -> tuple[float, float]:
        """Between columns of tiles, and above each row of them for the names."""
        side = max(self.rows, self.columns)
        return GAP * side, NAME_ROOM * side

    def box(self, head: int) -> dict[str, Any]:
        """The rectangle of a tile."""
        row, column = divmod(head, self.across)
        left, top = column * (self.columns + self.gaps[0]), row * (self.rows + self.gaps[1])
        return {"type": "rect", "x0": left, "x1": left + self.columns, "y0": top, "y1": top + self.rows}

    def mosaic(self, tiles: Singles) -> Singles:
        """(h, rows, columns) as one matrix, with an empty row and column between tiles."""
        shape = self.down * (self.rows + 1) - 1, self.across * (self.columns + 1) - 1
        whole = np.full(shape, np.nan, dtype=np.float32)
        for head, cells in enumerate(tiles):
            row, column = divmod(head, self.across)
            whole[row * (self.rows + 1) :, column * (self.columns + 1) :][: self.rows, : self.columns] = cells
        return whole

    def edges(self) -> dict[str, Singles]:
        """Borders of the mosaic's cells: width 1 in a tile, then one cell as wide as the gap."""
        x, y = self._along(np.arange(self.columns + 1), 0), self._along(np.arange(self.rows + 1), 1)
        return {"x": x, "y": y}

    def axes(self, named: Maps | None) -> dict[str, Any]:
        """Without labels; the names are for hover."""
        shared = {
            **{"fixedrange": True, "constrain": "domain", "tickmode": "array", "ticks": "", "automargin": False},
            **{"showticklabels": False, "showgrid": False, "zeroline": False},  # not visible=False: hover needs names
        }
        x, y = {**shared, "constraintoward": "left"}, {**shared, "constraintoward": "top", "scaleanchor": "x"}
        edges = self.edges()
        x["range"], y["range"] = [0, float(edges["x"][-1])], [float(edges["y"][-1]), 0]
        if named is not None:
            x["tickvals"], y["tickvals"] = (
                self._along(np.arange(n) + 0.5, axis) for axis, n in enumerate((self.columns, self.rows))
            )
            x["ticktext"] = [tick_text(name) for name in named.column_names] * self.across
            y["ticktext"] = [tick_text(name) for name in named.row_names] * self.down
        return {"xaxis": x, "yaxis": y}

    def _along(self, places: npt.NDArray[Any], axis: int) -> Singles:
        """Places in a tile, repeated for all tiles along an axis."""
        n_tiles, pitch = ((self.across, self.columns), (self.down, self.rows))[axis]
        return np.concatenate([places + tile * (pitch + self.gaps[axis]) for tile in range(n_tiles)]).astype(np.float32)


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
    grid = Grid(len(blocks.cells), *blocks.shape)
    mosaic = grid.mosaic(blocks.visible())
    is_pointed = max(blocks.shape) <= MAX_POINTED
    cells = {**weight_cells(mosaic, style, t), "name": ""} if is_pointed else _byte_cells(mosaic, style)
    look = _look(grid, layer, selected, title, says_blocks(blocks.step, t), height, t, style.text_scale)
    look |= grid.axes(blocks if is_pointed else None)
    grey = {"layer": "below", "line": {"width": 0}, "fillcolor": MASKED_FILL}
    look["shapes"] = [{**grid.box(head), **grey} for head in range(grid.n_heads)] + look["shapes"]
    return go.Figure({"type": "heatmap", "showscale": False, "hoverongaps": False, **grid.edges(), **cells}, look)


def difference_grid(
    shown: Maps,
    *,
    layer: int,
    limit: float,
    selected: int | None = None,
    title: str = "",
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """The differences of all heads of a layer, (h, N_q, N_k), from −limit to limit; what is less is hatched.

    Many tokens: a cell shows the value of its block that is farthest from 0, and the figure says so.
    """
    blocks = shown.in_blocks("farthest", MAX_CELLS)
    grid = Grid(len(blocks.cells), *blocks.shape)
    mosaic, edges = grid.mosaic(blocks.visible()), grid.edges()
    is_pointed = max(blocks.shape) <= MAX_POINTED
    says = {"hovertemplate": hover(t(CELL), weight="%{z:+.2f}")} if is_pointed else {"hoverinfo": "skip"}
    cells = {"type": "heatmap", "z": mosaic, **signed(limit), "hoverongaps": False, "showscale": False, "name": ""}
    look = _look(grid, layer, selected, title, says_blocks(blocks.step, t, "farthest"), height, t)
    look |= grid.axes(blocks if is_pointed else None)
    line = {"layer": "below", "line": {"width": 1, "color": MASKED_FILL}, "fillcolor": HOLE}
    look["shapes"] = [{**grid.box(head), **line} for head in range(grid.n_heads)] + look["shapes"]
    less = hatching(is_less(mosaic, limit), "-", TEXT, **edges)
    return go.Figure([{**cells, **says, **edges}, less], look)


def _look(
    grid: Grid, layer: int, selected: int | None, title: str, note: str, height: int, t: Translate, scale: float = 1.0
) -> dict[str, Any]:
    """Layout with title, the heads' names, and the selected one outlined."""
    names = []
    for head in range(grid.n_heads):
        box, name = grid.box(head), str(HeadId(layer, head))
        bold = f"<b>{name}</b>" if head == selected else name
        names.append(heading(bold, x=box["x0"], y=box["y0"], size=(12 if title else 14) * scale, xshift=-2))
        names[-1] |= {"xref": "x", "yref": "y"}
    words = f"<b>{markup(title)}</b>" if title else t("Layer {layer}, all heads").format(layer=layer + 1)
    look = layout(words, height=height, top=80 if note else 58, note=note)
    look["margin"]["autoexpand"] = False
    look["title"]["font"] = {"size": 15 if title else 17, "color": TEXT}
    outline = [] if selected is None else [{**grid.box(selected), "line": {"color": ACCENT, "width": 3}}]
    return {**look, "annotations": names, "shapes": outline, "dragmode": False, "showlegend": False}


def _byte_cells(mosaic: Singles, style: Style) -> dict[str, Any]:
    """A quarter of the bytes of float32: 0 for a hole, 1…255 for the places 0…1 in the scale."""
    places = np.nan_to_num(style.places(mosaic))
    z = np.where(np.isnan(mosaic), 0, 1 + np.rint(254 * places)).astype(np.uint8)
    scale = [[0, HOLE], *([(1 + 254 * at) / 255, color] for at, color in get_colorscale(style.colorscale))]
    return {"z": z, "zmin": 0, "zmax": 255, "colorscale": scale, "hoverinfo": "skip", "name": ""}
