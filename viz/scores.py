"""Scores of heads as figures: layers × heads, relations × heads, one head's relations, and used against looked at.

A cell that doesn't beat the baseline is grey, never a colour of the scale; with too few arcs it is hollow. Every figure
has square marks without ink over its cells, because a heatmap's own cells send no click.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from model.head_id import HeadId
from viz.axes import QUIET, TICK, side_title
from viz.heatmaps import flat_bar
from viz.style import DIFFERENCE_SCALE, luminance, scale_colours
from viz.theme import (
    ACCENT,
    FLAT_LEGEND,
    HOLE,
    MASKED_FILL,
    MASKED_LINES,
    TEXT,
    Translate,
    heading,
    layout,
    markup,
    text_depth,
    text_width,
    untranslated,
)

Quantity = Literal["accuracy", "gain"]
COLORSCALE = "Viridis"  # cividis is grey in its middle, and grey means "no better than the baseline" here
GAIN_LIMIT = 0.5  # what the last colour of a gain stands for, unless there is a larger one
BAR = "#4C6A92"  # a blue of 5.2 : 1 on the light and 3.4 : 1 on the dark background
GREY = "#8A8F94"
LEAST_WIDTH = 400  # pixels of a grid: with more to write under it, names of columns are turned
FONT = {"size": 13, "color": TEXT}

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of heads, as cells.

    Attributes:
        values: (R, C), shares 0 to 1, or gains −1 to 1; NaN = nothing was measured.
        beats: (R, C), True = better than the baseline: coloured; the others are grey.
        rows: names, as text.
        columns: likewise.
        hovers: R × C texts.
        hollow: (R,), rows with too few arcs; () = none.
        quantity: which scale.
    """

    values: Floats
    beats: Bools
    rows: Sequence[str]
    columns: Sequence[str]
    hovers: Sequence[Sequence[str]]
    hollow: Sequence[bool] = ()
    quantity: Quantity = "accuracy"

    @property
    def known(self) -> Bools:
        """Cells with a number."""
        return ~np.isnan(self.values)

    @property
    def thin(self) -> Bools:
        """Cells of hollow rows."""
        return np.broadcast_to(np.array(self.hollow or [False] * len(self.rows))[:, None], self.values.shape)

    @property
    def solid(self) -> Bools:
        """Coloured cells."""
        return self.beats & ~self.thin

    @property
    def scale(self) -> tuple[str, float, float]:
        """Colours, and what the first and the last one stand for."""
        if self.quantity == "accuracy":
            return COLORSCALE, 0.0, 1.0
        limit = max(GAIN_LIMIT, float(np.nan_to_num(self.values).max(initial=0)))
        return DIFFERENCE_SCALE, -limit, limit


def score_grid(
    table: Scores,
    *,
    selected: tuple[int, int] | None = None,
    corner: str = "",
    height: int = 330,
    t: Translate = untranslated,
) -> go.Figure:
    """Numbers in cells, coloured where they beat the baseline.

    Args:
        table: the scores.
        selected: the cell to outline.
        corner: says what rows and columns are; stands above the first row.
        height: in pixels.
        t: translates the figure's own words.
    """
    n_rows, n_columns = table.values.shape
    angle = 0 if n_columns * max(text_width(name, 13) for name in table.columns) <= LEAST_WIDTH else -60
    deepest = max(text_depth(name, 13, angle) for name in table.columns) + TICK
    left = max(text_width(name, 13) for name in table.rows) + 8
    quiet = {**QUIET, "fixedrange": True, "tickfont": FONT}
    x = {**quiet, **_ticks(table.columns), "range": [-0.5, n_columns - 0.5], "tickangle": angle}
    y = {**quiet, **_ticks(table.rows), "range": [n_rows - 0.5, -0.5]}
    outline = [] if selected is None else [{**cell(*selected), "line": {"color": ACCENT, "width": 3}}]
    look = {
        **layout("", height=height, top=38, left=left, bottom=deepest),
        **{"dragmode": False, "showlegend": False, "shapes": outline, "xaxis": x, "yaxis": y},
        "annotations": [heading(markup(corner), size=13, yshift=4, xshift=2 - left)],
    }
    return go.Figure([*_cells(table, t), _marks(table)], look)


def cell(row: int, column: int) -> dict[str, Any]:
    """The rectangle of a cell."""
    return {"type": "rect", "x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}


def _ticks(names: Sequence[str]) -> dict[str, Any]:
    return {"tickvals": np.arange(len(names), dtype=np.int16), "ticktext": [markup(name) for name in names]}


def _cells(table: Scores, t: Translate) -> list[dict[str, Any]]:
    """Grey cells, and coloured ones."""
    colours, low, high = table.scale
    grey = np.where(table.known & ~table.solid & ~table.thin, 1, np.nan).astype(np.float32)
    solid = np.where(table.solid, table.values, np.nan).astype(np.float32)
    shared = {"type": "heatmap", "hoverinfo": "skip", "xgap": 2, "ygap": 2}
    fill = [[0, MASKED_FILL], [1, MASKED_FILL]]
    return [
        {**shared, "z": grey, "zmin": 0, "zmax": 1, "colorscale": fill, "showscale": False},
        {**shared, "z": solid, "zmin": low, "zmax": high, "colorscale": colours, "colorbar": _bar(table, t)},
    ]


def _marks(table: Scores) -> dict[str, Any]:
    """The numbers, and a square over each cell, since a heatmap's own cells send no click."""
    colours, low, high = table.scale
    values = np.asarray(table.values, dtype=np.float32)
    ink = np.full(values.shape, TEXT, dtype=object)
    for at in zip(*np.nonzero(table.solid & table.known), strict=True):
        ink[at] = _ink(colours, (float(values[at]) - low) / (high - low))
    y, x = (axis.ravel().astype(np.int16) for axis in np.indices(values.shape))
    hollow = [MASKED_LINES if one else HOLE for one in (table.thin & table.known).ravel().tolist()]
    return {
        **{"type": "scatter", "x": x, "y": y, "mode": "markers+text", "name": ""},
        "text": [_number(value, table.quantity) for value in values.ravel().tolist()],
        "textfont": {"size": 12, "color": ink.ravel().tolist()},
        "customdata": [text for row in table.hovers for text in row],
        "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {"symbol": "square-open", "size": 22, "color": hollow, "line": {"width": 1.5}},
        "selected": {"marker": {"opacity": 1}, "textfont": {}},
        "unselected": {"marker": {"opacity": 1}, "textfont": {}},
    }


@dataclass(frozen=True)
class Bar:
    """A task of one head: a bar with its interval, and a tick for the baseline."""

    name: str
    accuracy: float
    low: float | None
    high: float | None
    baseline: float
    beats: bool
    thin: bool
    says: str


def head_bars(bars: Sequence[Bar], *, t: Translate = untranslated) -> go.Figure:
    """One head's accuracy for each task, the first on top."""
    places = list(range(len(bars)))
    error = {
        **{"type": "data", "symmetric": False, "color": TEXT, "thickness": 1.5, "width": 4},
        "array": [0 if bar.high is None else bar.high - bar.accuracy for bar in bars],
        "arrayminus": [0 if bar.low is None else bar.accuracy - bar.low for bar in bars],
    }
    colours = [BAR if bar.beats else GREY for bar in bars]
    fills = [HOLE if bar.thin else colour for bar, colour in zip(bars, colours, strict=True)]
    accuracies = {
        **{"type": "bar", "orientation": "h", "x": [bar.accuracy for bar in bars], "y": places, "error_x": error},
        "marker": {"color": fills, "line": {"color": colours, "width": 1.5}},
        **{"customdata": [bar.says for bar in bars], "hovertemplate": "%{customdata}<extra></extra>"},
        "name": t("this head, with its interval"),
    }
    baselines = {
        **{"type": "scatter", "x": [bar.baseline for bar in bars], "y": places, "mode": "markers"},
        "marker": {"symbol": "line-ns", "size": 22, "line": {"width": 3, "color": ACCENT}},
        **{"hoverinfo": "skip", "name": t("best baseline, without attention")},
    }
    left = max((text_width(bar.name, 13) for bar in bars), default=0) + 8
    quiet = {"fixedrange": True, "automargin": False, "tickfont": FONT}
    y = {**quiet, "tickmode": "array", **_ticks([bar.name for bar in bars]), "showgrid": False}
    look = {
        **layout("", height=100 + 34 * max(len(bars), 1), top=50, left=left, bottom=13 + TICK, right=20),
        **{"dragmode": False, "bargap": 0.35, "legend": {**FLAT_LEGEND, "font": FONT}},
        "xaxis": {**quiet, "range": [0, 1], "tickformat": ".0%", "zeroline": False},
        "yaxis": {**y, "range": [len(bars) - 0.5, -0.5]},
    }
    return go.Figure([accuracies, baselines], look)


def used_against_looked(
    attention: Floats,
    change: Floats,
    selected: tuple[int, int],
    *,
    x_title: str,
    y_title: str,
    t: Translate = untranslated,
) -> go.Figure:
    """Every head as a point: the weight it gives, and what its absence changes.

    Args:
        attention: (L, h), 0 to 1.
        change: (L, h), relative change, 0 or more.
        selected: layer and head to name.
        x_title: of the axis.
        y_title: likewise.
        t: translates the figure's own words.
    """
    layer, head = (axis.ravel() for axis in np.indices(attention.shape))
    names = [str(HeadId(a, b)) for a, b in zip(layer.tolist(), head.tolist(), strict=True)]
    is_selected = ((layer == selected[0]) & (head == selected[1])).tolist()
    far = set(np.argsort(-attention.ravel())[:3]) | set(np.argsort(-change.ravel())[:3])
    says = t("head {head}: weight {x}, change {y}").format(head="%{customdata}", x="%{x:.2f}", y="%{y:.1%}")
    points = {
        **{"type": "scatter", "mode": "markers+text", "textposition": "top center", "textfont": FONT},
        **{"x": attention.ravel().astype(np.float32), "y": change.ravel().astype(np.float32)},
        "text": [name if i in far or is_selected[i] else "" for i, name in enumerate(names)],
        **{"customdata": names, "hovertemplate": says + "<extra></extra>", "name": "", "showlegend": False},
        "marker": {
            "size": [14 if one else 9 for one in is_selected],
            "color": [ACCENT if one else BAR for one in is_selected],
            "symbol": ["diamond" if one else "circle" for one in is_selected],
            "line": {"width": 1, "color": TEXT},
        },
        **{"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}},
    }
    top = float(change.max(initial=0)) * 1.15 or 0.01
    quiet = {"tickfont": FONT, "fixedrange": True, "automargin": False}
    x = {**quiet, "title": {"text": x_title, "font": FONT, "standoff": 4}, "range": [-0.03, 1.03], "zeroline": False}
    look = {
        **layout("", height=360, top=26, left=72, bottom=56),
        **{"dragmode": False, "xaxis": x, "yaxis": {**quiet, "tickformat": ".0%", "range": [0, top]}},
        "annotations": [side_title(y_title, 72, FONT)],
    }
    return go.Figure([points], look)


def outline(figure: go.Figure, cells: Sequence[tuple[int, int]]) -> None:
    """Frames cells (query, key) of a map: the gold ones."""
    for at in cells:
        figure.add_shape(**cell(*at), line={"color": ACCENT, "width": 2.5})


def _bar(table: Scores, t: Translate) -> dict[str, Any]:
    _colours, low, high = table.scale
    said: dict[str, Any]
    if table.quantity == "gain":
        said = {"tickvals": [low, 0, high], "ticktext": [f"−{high:.0%}", t("gain"), f"+{high:.0%}"]}
    else:
        said = {"tickvals": [0, 0.5, 1], "ticktext": ["0 %", t("accuracy"), "100 %"]}
    return flat_bar(**said, thickness=9, len=0.5, x=0.92, xanchor="right")


def _number(value: float, quantity: Quantity) -> str:
    if np.isnan(value):
        return ""
    return f"{100 * value:+.0f}".replace("-", "−") if quantity == "gain" else f"{100 * value:.0f}"


def _ink(scale: str, place: float) -> str:
    """Black or white, whichever can be read on the colour at `place`."""
    light = luminance(scale_colours(scale, np.array(min(max(place, 0), 1))))
    return "#111111" if light > 0.18 else "#FFFFFF"
