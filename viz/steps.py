"""Matrices of one step as Plotly heatmaps: several tiles of one size in one figure, and the reshape in numbers.

Signed numbers use a diverging scale centred on 0; attention weights the one scale of every map, from 0 to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from analysis.blocks.reshape import Ints, Regrouped
from viz.axes import QUIET, TICK
from viz.heatmaps import flat_bar, hatching
from viz.mosaic import Mosaic
from viz.style import DIFFERENCE_SCALE, is_less
from viz.theme import (
    COLORSCALE,
    FLAT_LEGEND,
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
LEAST_HATCHED = 6  # pixels of a cell whose hatching can be seen; smaller ones tell their sign by colour and on hover
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
        cells: (k, R, C). −inf is drawn as masked.
        names: k, above the tiles; markup: escape tokens in them.
        rows: R labels.
        columns: C labels; None = numbers from 1.
        scale: of the colours.
        heads: mark the columns of each of so many heads above the tiles; 0 = each tile is a head of its own if there
            are several, so its mark takes that head's colour.
        is_coloured: draw those marks.
    """

    cells: npt.NDArray[np.floating]
    names: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    scale: Scale = "signed"
    heads: int = 0
    is_coloured: bool = True


def tiles_figure(tiles: Tiles, *, height: int = 400, t: Translate = untranslated) -> go.Figure:
    """Matrices of one size as tiles of one picture, with the value of every cell on hover."""
    cells, note = _cut(np.asarray(tiles.cells, dtype=np.float32), t)
    k, n_rows, n_columns = cells.shape
    is_written = cells.size <= MOST_NUMBERS
    across = _columns_of_tiles(k, n_rows, n_columns, height, is_written)
    plan = Mosaic(k, n_rows, n_columns, across, GAP, n_rows * _room(math.ceil(k / across), height))
    mosaic = plan.whole(cells)
    hidden = np.isneginf(mosaic)
    shown = np.where(hidden, np.nan, mosaic)
    edges = plan.edges()
    traces = [{**_heatmap(shown, tiles.scale, is_written, t), **edges}]
    if hidden.any():
        traces.append({**_masked(hidden, is_written, t), **edges})
    if tiles.scale == "signed" and not is_written and min(_cell_pixels(plan, height)) >= LEAST_HATCHED:
        traces.append(hatching(is_less(shown, _most(shown)), "-", TEXT, **edges))
    axes, sides = _tile_axes(tiles, plan, height)
    marks, names = [], [_note(note)] if note else []
    for tile in range(k):
        box = plan.box(tile)
        left, top = box["x0"], box["y0"]
        own = tile if k > 1 and tiles.is_coloured and not tiles.heads else None
        marks += _marks(left, top, plan.room, n_columns, tiles.heads, own)
        names.insert(tile, _name(tiles.names[tile], left, top - 0.34 * plan.room))
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


def reshape_figure(
    found: Regrouped, rows: Sequence[str], *, merged: bool = False, height: int = 400, t: Translate = untranslated
) -> go.Figure:
    """The matrix x with its columns coloured by head above, the h matrices below (`merged`: the other way round).

    Every cell has the colour of the head that its column of x belongs to, wherever it stands, and its number.

    Args:
        found: the numbers of the cells and whose they are, whole (N, d_model) and in parts (h, N, d_k).
        rows: N labels.
        merged: the picture of the concatenation.
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
    names = [_name(f"({n}, {d_model})", shift, upper - 0.25)]
    for head, left in enumerate(lefts):
        said = t("head {head}: ({n}, {d_k})").format(head=head + 1, n=n, d_k=d_k)
        names.append(_name(said, left, lower - 0.25))
    font = {"size": 13, "color": TEXT}
    middles = np.r_[np.arange(n) + upper + 0.5, np.arange(n) + lower + 0.5]
    y = {"range": [2 * n + 3.4, 0.3], "tickvals": middles, "ticktext": [tick_text(label) for label in rows] * 2}
    left = max(text_width(tick_text(label), 13) for label in rows) + 8
    look = {
        **layout("", height=height, top=4, left=left, bottom=30),
        **{"dragmode": False, "showlegend": True, "shapes": _squares(cells), "annotations": names},
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


def _marks(left: float, top: float, room: float, n_columns: int, heads: int, tile: int | None) -> list[dict[str, Any]]:
    """A coloured strip above the columns of each head."""
    strip = {"type": "rect", "y0": top - 0.3 * room, "y1": top - 0.08 * room, "line": {"width": 0}}
    if tile is not None:
        return [{**strip, "x0": left, "x1": left + n_columns, "fillcolor": head_colour(tile)}]
    if not heads:
        return []
    d_k = n_columns / heads
    return [
        {**strip, "x0": left + head * d_k, "x1": left + (head + 1) * d_k, "fillcolor": head_colour(head)}
        for head in range(heads)
    ]


def _most(z: Floats) -> float:
    """The number farthest from 0; 1 where there is none."""
    return float(np.nanmax(np.abs(z), initial=0.0)) or 1.0


def _heatmap(z: Floats, scale: Scale, is_written: bool, t: Translate) -> dict[str, Any]:
    most = 1.0 if scale == "weights" else _most(z)
    ticks: dict[str, Any]
    if scale == "weights":
        look, ticks = {"zmin": 0, "zmax": 1, "colorscale": COLORSCALE}, {"tickvals": [0, 0.5, 1]}
    else:
        look = {"zmin": -most, "zmax": most, "colorscale": DIFFERENCE_SCALE}
        ticks = {"tickvals": [-most, 0, most], "ticktext": [f"−{most:.2f}", "0", f"{most:.2f}"]}
    return {
        **{"type": "heatmap", "z": z.astype(np.float32), **look, "hoverongaps": False, "name": ""},
        **{"texttemplate": "%{z:.2f}" if is_written else None, "textfont": {"size": 14}},
        "hovertemplate": hover(t("row '{query}', column {key}: {value}"), value="%{z:.4f}"),
        "colorbar": flat_bar(**ticks, thickness=8, len=0.3, x=0.96, xanchor="right"),
    }


def _masked(hidden: npt.NDArray[np.bool_], is_written: bool, t: Translate) -> dict[str, Any]:
    return {
        **{"type": "heatmap", "z": np.where(hidden, 1, np.nan).astype(np.float32), "zmin": 0, "zmax": 1},
        **{"colorscale": [[0, MASKED_FILL], [1, MASKED_FILL]], "showscale": False, "hoverongaps": False, "name": ""},
        "text": np.where(hidden, "−∞", "").tolist() if is_written else None,
        **{"texttemplate": "%{text}" if is_written else None, "textfont": {"size": 14, "color": TEXT}},
        "hovertemplate": hover(t("row '{query}', column {key}: −∞, masked")),
    }


def _name(text: str, x: float, y: float) -> dict[str, Any]:
    return heading(text, size=14, x=x, y=y, xref="x", yref="y")


def _note(text: str) -> dict[str, Any]:
    return heading(text, size=12, yshift=6)
