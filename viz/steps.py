"""Matrices of one step as Plotly heatmaps: several tiles of one size in one figure.

Signed numbers use a diverging scale centred on 0; attention weights the one scale of every map, from 0 to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.axes import QUIET, TICK
from viz.heatmaps import flat_bar, hatching
from viz.mosaic import Mosaic
from viz.style import BY_LIGHTNESS, DIFFERENCE_SCALE, LEAST_HATCHED, is_less
from viz.theme import (
    ACCENT,
    COLORSCALE,
    MASKED_FILL,
    TEXT,
    Translate,
    heading,
    hover,
    layout,
    text_depth,
    text_width,
    tick_text,
    untranslated,
)
from viz.token_strip import HEAD_COLOURS

MOST_CELLS = 60_000  # of one figure; the rest is cut off, visibly
MOST_NUMBERS = 150  # cells with their number written in them
MOST_NAMED = 16  # row names that stand legibly beside a tile
TOP = 46  # pixels: the colour bar with its numbers
GAP = 0.9  # cells between two tiles
LEAST_ROW = 10  # pixels: a row whose name can be read
NAME_PIXELS = 42  # above a tile for its name and mark
MOST_ACROSS = 12  # cells with numbers in them beside each other
LEAST_WRITTEN = 15  # pixels: a row whose numbers don't touch those of the next
OUTLIER = 4  # times the size that 95 % of the numbers stay below: colours end there where some are twice as far out
USUAL_WIDTH = 600  # pixels of a figure beside its explanation

Floats = npt.NDArray[np.float32]
Scale = Literal["signed", "weights"]


def head_colour(head: int) -> str:
    """The fixed colour of a head, by its index. Colours repeat, so the number always stands beside."""
    return str(HEAD_COLOURS[head % len(HEAD_COLOURS)])


@dataclass(frozen=True, eq=False)
class Tiles:
    """Matrices of one size, shown side by side.

    Attributes:
        cells: (k, R, C). −inf is drawn as masked: of weights, too.
        names: k, above the tiles; markup: escape tokens in them.
        rows: R labels.
        columns: C labels; None = numbers from 1.
        scale: of the colours.
        heads: mark the columns of each of so many heads above the tiles; 0 = each tile is a head of its own if there
            are several, so its mark takes that head's colour.
        is_coloured: draw those marks.
        group: heads of one colour in a row: those that share a key head.
        marked: columns to mark above every tile, from 0; instead of heads.
    """

    cells: npt.NDArray[np.floating]
    names: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    scale: Scale = "signed"
    heads: int = 0
    is_coloured: bool = True
    group: int = 1
    marked: Sequence[int] = ()


def tiles_figure(tiles: Tiles, *, height: int = 400, t: Translate = untranslated) -> go.Figure:
    """Matrices of one size as tiles of one picture, with the value of every cell on hover."""
    cells, note = _cut(np.asarray(tiles.cells, dtype=np.float32), t)
    k, n_rows, n_columns = cells.shape
    for is_written in (True, False) if cells.size <= MOST_NUMBERS else (False,):
        across = _columns_of_tiles(k, n_rows, n_columns, height, is_written)
        plan = Mosaic(k, n_rows, n_columns, across, GAP, n_rows * _room(math.ceil(k / across), height))
        if _cell_pixels(plan, height)[0] >= LEAST_WRITTEN:
            break
    mosaic = plan.whole(cells)
    hidden = np.isneginf(mosaic)
    shown = np.where(hidden, np.nan, mosaic)
    edges = plan.edges()
    is_fine = not is_written and min(_cell_pixels(plan, height)) < LEAST_HATCHED
    traces = [{**_heatmap(shown, tiles.scale, is_written, is_fine, t), **edges}]
    if hidden.any():
        traces.append({**_masked(hidden, tiles.scale, is_written, t), **edges})
    if tiles.scale == "signed" and not is_written and not is_fine:
        traces.append(hatching(is_less(shown, _most(shown)), "-", TEXT, **edges))
    axes, sides = _tile_axes(tiles, plan, height)
    marks, names = [], [_note(note)] if note else []
    for tile in range(k):
        box = plan.box(tile)
        left, top = box["x0"], box["y0"]
        own = tile if k > 1 and tiles.is_coloured and not tiles.heads else None
        marks += _marks(left, top, plan.room, n_columns, tiles, own)
        names.insert(tile, tile_name(tiles.names[tile], left, top - 0.34 * plan.room))
    look = {**layout("", height=height, top=TOP, **sides), "dragmode": False, "shapes": marks, "annotations": names}
    return go.Figure(traces, {**look, **axes})


def _tile_axes(tiles: Tiles, plan: Mosaic, height: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Axes with the names of rows and columns where they can be read, and the margins these take."""
    rows = [tick_text(label) for label in tiles.rows[: plan.rows]]
    names = tiles.columns or [str(i + 1) for i in range(plan.columns)]
    columns = [tick_text(label) for label in names[: plan.columns]]
    longest = max(map(len, columns))
    pixels, _ = _cell_pixels(plan, height)
    has_rows = pixels >= LEAST_ROW - 1
    has_columns = tiles.columns is not None and plan.width <= (26 if longest <= 3 else 18)
    size, angle = min(13, int(pixels)), 0 if longest <= 3 else -45
    x, y = plan.middles()
    quiet = {**QUIET, "fixedrange": True}
    across = {"range": [0, plan.width], "tickvals": x, "ticktext": columns * plan.across, "showticklabels": has_columns}
    down = {"range": [plan.depth, -plan.room], "tickvals": y, "ticktext": rows * plan.down, "showticklabels": has_rows}
    axes = {
        "xaxis": {**quiet, **across, "tickangle": angle, "tickfont": {"size": 13, "color": TEXT}},
        "yaxis": {**quiet, **down, "tickfont": {"size": max(size, 1), "color": TEXT}},
    }
    left = max(text_width(name, size) for name in rows) + 8 if has_rows else 6
    bottom = max(text_depth(name, 13, angle) for name in columns) + TICK if has_columns else 6
    return axes, {"left": left, "bottom": bottom}


def _cell_pixels(plan: Mosaic, height: int) -> tuple[float, float]:
    """Height and, on a page of usual width, width of a cell."""
    return (height - TOP) / (plan.room + plan.depth), USUAL_WIDTH / plan.width


def _cut(tiles: Floats, t: Translate) -> tuple[Floats, str]:
    """At most MOST_CELLS cells: the first columns, then the first rows, of every tile."""
    k, n_rows, n_columns = tiles.shape
    if tiles.size <= MOST_CELLS:
        return tiles, ""
    side = max(1, math.isqrt(MOST_CELLS // k))
    rows = min(n_rows, max(side, MOST_CELLS // (k * n_columns)))
    columns = min(n_columns, max(1, MOST_CELLS // (k * rows)))
    note = t("drawn: the first {rows} of {all_rows} rows and {columns} of {all_columns} columns").format(
        rows=rows, all_rows=n_rows, columns=columns, all_columns=n_columns
    )
    return tiles[:, :rows, :columns], note


def _columns_of_tiles(k: int, n_rows: int, n_columns: int, height: int, written: bool) -> int:
    """How many tiles stand side by side so that the whole is wider than high, and few places stay empty."""
    most = max(1, MOST_ACROSS // (n_columns + 1)) if written else k

    def ratio(across: int) -> float:
        return (across * (n_columns + 1)) / (math.ceil(k / across) * (n_rows + 1.5))

    def fits(across: int) -> bool:
        return math.ceil(k / across) * (NAME_PIXELS + LEAST_ROW * min(n_rows, MOST_NAMED)) <= height - TOP

    choices = range(1, min(k, most) + 1)
    return min(
        [across for across in choices if fits(across)] or choices,
        key=lambda across: abs(math.log(ratio(across) / 2.2)) + (-k % across) / k,
    )


def _room(down: int, height: int) -> float:
    """Space above a tile in units of the tile's height: NAME_PIXELS of the figure."""
    share = min(0.5, NAME_PIXELS * down / (height - TOP))
    return share / (1 - share)


def _marks(
    left: float, top: float, room: float, n_columns: int, tiles: Tiles, tile: int | None
) -> list[dict[str, Any]]:
    """A strip above the columns of each head, or above those that are marked."""
    strip = {"type": "rect", "y0": top - 0.3 * room, "y1": top - 0.08 * room, "line": {"width": 0}}
    if tiles.marked:
        return [
            {**strip, "x0": left + c, "x1": left + c + 1, "fillcolor": ACCENT} for c in tiles.marked if c < n_columns
        ]
    if tile is not None:
        return [{**strip, "x0": left, "x1": left + n_columns, "fillcolor": head_colour(tile // tiles.group)}]
    if not tiles.heads:
        return []
    d_k = tiles.cells.shape[-1] / tiles.heads
    edge = {"width": 1, "color": "#FFFFFF"} if tiles.group > 1 else {"width": 0}  # heads of one colour stay apart
    return [
        {
            **{**strip, "line": edge, "x0": left + head * d_k, "x1": left + min((head + 1) * d_k, n_columns)},
            "fillcolor": head_colour(head // tiles.group),
        }
        for head in range(tiles.heads)
        if head * d_k < n_columns
    ]


def _most(z: Floats) -> float:
    """Where the colours of signed numbers end: at the number farthest from 0, or where a few would outshine all others.

    Hidden states of decoders have single features a thousand times as large as the rest (Sun et al. 2024).
    """
    sizes = np.abs(z[np.isfinite(z)])
    most = float(sizes.max(initial=0.0)) or 1.0
    usual = OUTLIER * float(np.quantile(sizes, 0.95)) if sizes.size else 0.0
    return usual if 0 < 2 * usual < most else most


def _heatmap(z: Floats, scale: Scale, is_written: bool, is_fine: bool, t: Translate) -> dict[str, Any]:
    most = 1.0 if scale == "weights" else _most(z)
    ticks: dict[str, Any]
    if scale == "weights":
        look, ticks = {"zmin": 0, "zmax": 1, "colorscale": COLORSCALE}, {"tickvals": [0, 0.5, 1]}
    else:
        look = {"zmin": -most, "zmax": most, "colorscale": BY_LIGHTNESS if is_fine else DIFFERENCE_SCALE}
        low, high = ("≤ ", "≥ ") if float(np.nanmax(np.abs(z), initial=0.0)) > most else ("", "")
        ticks = {"tickvals": [-most, 0, most], "ticktext": [f"{low}−{most:.2f}", "0", f"{high}{most:.2f}"]}
    return {
        **{"type": "heatmap", "z": z.astype(np.float32), **look, "hoverongaps": False, "name": ""},
        **{"texttemplate": "%{z:.2f}" if is_written else None, "textfont": {"size": 14}},
        "hovertemplate": hover(t("row '{query}', column {key}: {value}"), value="%{z:.4f}"),
        "colorbar": flat_bar(**ticks, thickness=8, len=0.3, x=0.96, xanchor="right"),
    }


def _masked(hidden: npt.NDArray[np.bool_], scale: Scale, is_written: bool, t: Translate) -> dict[str, Any]:
    said = t("row '{query}', column {key}: −∞, masked")
    if scale == "weights":
        said = t("row '{query}', column {key}: 0, masked")
    return {
        **{"type": "heatmap", "z": np.where(hidden, 1, np.nan).astype(np.float32), "zmin": 0, "zmax": 1},
        **{"colorscale": [[0, MASKED_FILL], [1, MASKED_FILL]], "showscale": False, "hoverongaps": False, "name": ""},
        "text": np.where(hidden, "0" if scale == "weights" else "−∞", "").tolist() if is_written else None,
        **{"texttemplate": "%{text}" if is_written else None, "textfont": {"size": 14, "color": TEXT}},
        "hovertemplate": hover(said),
    }


def tile_name(text: str, x: float, y: float) -> dict[str, Any]:
    """The name of a tile, centred at x above y."""
    return heading(text, size=14, x=x, y=y, xref="x", yref="y")


def _note(text: str) -> dict[str, Any]:
    return heading(text, size=12, yshift=6)
