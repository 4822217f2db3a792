"""What heads do to a prediction, as figures: every head's effect, its attention beside it, and one against the other.

Two heads bear the same sign in every figure: a diamond = the head that matters most, a ring = the one that looks most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from model.head_id import HeadId
from viz.axes import QUIET, TICK, side_title
from viz.heatmaps import flat_bar, hatching
from viz.plots import BELOW, BESIDE
from viz.scores import BAR, cell
from viz.style import LEAST_HATCHED, is_less, signed
from viz.theme import (
    ACCENT,
    COLORSCALE,
    GROUND,
    HOLE,
    MASKED_LINES,
    TEXT,
    heading,
    layout,
    markup,
    text_width,
)

SIZE = 12  # of numbers along an axis
MATTERS, LOOKS = "diamond", "circle-open"
SIGNS = {MATTERS: "◆", LOOKS: "○"}
GAPS = 16  # rows, beyond which lines between them would be most of what is seen
FINE_LINES = {"shape": "-", "size": 4, "solidity": 0.15, "fgcolor": TEXT, "bgcolor": HOLE}  # two in a low row
NAMED = 3  # heads with a name in the scatter at each of its far ends

Floats = npt.NDArray[np.floating]
Head = tuple[int, int]


@dataclass(frozen=True)
class Marked:
    """The heads that a figure marks, from 0.

    Attributes:
        selected: outlined.
        matters: the head with the largest effect; None = not marked.
        looks: the head with the most attention; None = not marked.
    """

    selected: Head
    matters: Head | None = None
    looks: Head | None = None

    def signs(self) -> dict[str, Head]:
        """Symbol → head. One that is both is the one that matters."""
        looks = None if self.looks == self.matters else self.looks
        return {sign: head for sign, head in ((MATTERS, self.matters), (LOOKS, looks)) if head is not None}


@dataclass(frozen=True)
class Scale:
    """How numbers become colours.

    Attributes:
        name: what the numbers are, in the reader's language.
        limit: what the last colour stands for.
        is_signed: from −limit to limit, purple and hatched below 0, orange above; else from 0 to limit.
    """

    name: str
    limit: float
    is_signed: bool = True

    def cells(self, values: Floats, pitch: float) -> list[dict[str, Any]]:
        """The heatmap, and the hatching of what is below 0 where rows of `pitch` pixels bear it. NaN stays empty."""
        z = np.asarray(values, dtype=np.float32)
        gap = 1 if len(z) <= GAPS else 0
        shared = {"type": "heatmap", "z": z, "hoverinfo": "skip", "xgap": gap, "ygap": gap}
        if not self.is_signed:
            return [{**shared, "zmin": 0, "zmax": max(self.limit, 1e-9), "colorscale": COLORSCALE}]
        less = is_less(z, self.limit) & (pitch >= LEAST_HATCHED)
        lines = [{**hatching(less, "-", TEXT), "fillpattern": FINE_LINES}] if less.any() else []
        return [{**shared, **signed(self.limit, pitch)}, *lines]

    def bar(self, pitch: float) -> dict[str, Any]:
        """Its colour bar, in the corner above the cells. What the numbers are stands in the figure's title."""
        hatched = "▤ " if pitch >= LEAST_HATCHED else ""
        ticks = {0.0: "0", self.limit: f"{self.limit:.2g}"}
        if self.is_signed:
            ticks = {-self.limit: f"{hatched}−{number(self.limit)}", 0.0: "0", self.limit: f"+{number(self.limit)}"}
        named = {"tickvals": list(ticks), "ticktext": list(ticks.values())}
        return flat_bar(size=SIZE, **named, len=0.5, x=0.93, xanchor="right")


def number(value: float, *, plus: bool = False) -> str:
    """Two digits that count, with a true minus: −2.6, 0.31, 12."""
    digits = 0 if abs(value) >= 10 else 1 if abs(value) >= 2 else 2
    return f"{value:{'+' if plus else ''}.{digits}f}".replace("-", "−")


def head_grid(
    values: Floats,
    colours: Scale,
    marked: Marked,
    hovers: Sequence[Sequence[str]],
    *,
    height: int,
    corner: str = "",
) -> go.Figure:
    """A number for each head as a colour: layers are rows, heads are columns.

    Args:
        values: (L, h).
        colours: of the numbers.
        marked: heads with an outline or a sign.
        hovers: L × h texts.
        height: in pixels.
        corner: says what rows and columns are.
    """
    n_layers, n_heads = values.shape
    rows, columns = [str(row + 1) for row in range(n_layers)], [str(column + 1) for column in range(n_heads)]
    return _grid(values, colours, rows, columns, hovers, marked, height=height, corner=corner)


def _grid(
    values: Floats,
    colours: Scale,
    rows: Sequence[str],
    columns: Sequence[str],
    hovers: Sequence[Sequence[str]],
    marked: Marked | None,
    *,
    height: int,
    corner: str,
) -> go.Figure:
    size = SIZE
    n_rows, n_columns = values.shape
    left = max(text_width(name, size) for name in rows) + 10
    top, bottom = 32, size + TICK
    room = height - top - bottom
    font = {"size": size, "color": TEXT}
    quiet = {**QUIET, "fixedrange": True, "tickfont": font}
    every = math.ceil(1.15 * size / max(room / n_rows, 1))
    x = {**quiet, **_ticks(columns, 1), "range": [-0.5, n_columns - 0.5], "tickangle": 0}
    y = {**quiet, **_ticks(rows, every), "range": [n_rows - 0.5, -0.5]}
    notes = [heading(markup(corner), size=size, yshift=14)] if corner else []
    shapes = [{**cell(*marked.selected), "line": {"color": ACCENT, "width": 3}}] if marked else []
    look = {
        **layout("", height=height, top=top, left=left, bottom=bottom),
        **{"dragmode": False, "showlegend": False, "shapes": shapes, "xaxis": x, "yaxis": y, "annotations": notes},
    }
    cells, *lines = colours.cells(values, room / n_rows)
    cells["colorbar"] = colours.bar(room / n_rows)
    signs = [_sign(symbol, head) for symbol, head in marked.signs().items()] if marked else []
    return go.Figure([cells, *lines, *signs, targets(hovers, room / n_rows)], look)


def _ticks(names: Sequence[str], every: int) -> dict[str, Any]:
    places = list(range(0, len(names), every))
    return {"tickvals": places, "ticktext": [markup(names[place]) for place in places]}


def _sign(symbol: str, head: Head) -> dict[str, Any]:
    """A sign that is seen on every colour: in the page's text colour, on a spot of its ground."""
    at = {"type": "scatter", "mode": "markers", "x": [head[1]], "y": [head[0]], "hoverinfo": "skip"}
    if symbol == LOOKS:
        return {**at, "marker": {"symbol": "circle", "size": 9, "color": GROUND, "line": {"width": 2, "color": TEXT}}}
    return {**at, "marker": {"symbol": symbol, "size": 10, "color": TEXT, "line": {"width": 1.5, "color": GROUND}}}


def targets(hovers: Sequence[Sequence[str]], pitch: float) -> dict[str, Any]:
    """A mark without ink over each cell, since a heatmap's own cells send no click."""
    y, x = (axis.ravel().astype(np.int16) for axis in np.indices((len(hovers), len(hovers[0]))))
    return {
        **{"type": "scatter", "mode": "markers", "x": x, "y": y, "name": ""},
        **{"customdata": [text for row in hovers for text in row], "hovertemplate": "%{customdata}<extra></extra>"},
        "marker": {"symbol": "square", "size": max(min(pitch, 26), 6), "color": HOLE, "line": {"width": 0}},
        **{"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}},
    }


def against_attention(
    attention: Floats,
    effect: Floats,
    marked: Marked,
    hovers: Sequence[Sequence[str]],
    *,
    x_title: str,
    y_title: str,
    height: int,
) -> go.Figure:
    """Every head as a point: how much it looks, and what its absence changes.

    Args:
        attention: (L, h), 0 to 1.
        effect: (L, h).
        marked: heads with a sign of their own.
        hovers: L × h texts.
        x_title: of the axis.
        y_title: likewise.
        height: in pixels.
    """
    looks, changes = attention.ravel().astype(np.float32), effect.ravel().astype(np.float32)
    n_heads = effect.shape[1]
    heads = [divmod(at, n_heads) for at in range(effect.size)]
    signs = {head: symbol for symbol, head in marked.signs().items()}
    far = {*np.argsort(-looks)[:NAMED].tolist(), *np.argsort(-np.abs(changes))[:NAMED].tolist()}
    named = [at in far or head in signs or head == marked.selected for at, head in enumerate(heads)]
    font = {"size": SIZE, "color": TEXT}
    points = {
        **{"type": "scatter", "mode": "markers+text", "x": looks, "y": changes, "name": ""},
        "text": [str(HeadId(*head)) if is_named else "" for head, is_named in zip(heads, named, strict=True)],
        "textposition": ["middle left" if look > 0.85 else "middle right" for look in looks.tolist()],
        "textfont": font,
        **{"customdata": [text for row in hovers for text in row], "hovertemplate": "%{customdata}<extra></extra>"},
        "marker": {
            "size": [12 if head in signs or head == marked.selected else 7 for head in heads],
            "color": [ACCENT if head == marked.selected else TEXT if head in signs else BAR for head in heads],
            "symbol": [signs.get(head, "circle") for head in heads],
            "line": {"width": [2 if head in signs else 0 for head in heads], "color": TEXT},
            "opacity": [1 if is_named else 0.65 for is_named in named],
        },
        **{"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}},
    }
    left, bottom = BESIDE, BELOW
    low, high = float(min(changes.min(initial=0), 0)), float(max(changes.max(initial=0), 0))
    room = 0.08 * max(high - low, 1e-6)
    quiet = {"tickfont": font, "fixedrange": True, "automargin": False}
    x = {**quiet, "title": {"text": x_title, "font": font, "standoff": 4}, "range": [-0.03, 1.05], "zeroline": False}
    y = {**quiet, "range": [low - room, high + room], "zeroline": True, "zerolinecolor": MASKED_LINES}
    look = {
        **layout("", height=height, top=10, left=left, bottom=bottom),
        **{"dragmode": False, "showlegend": False, "xaxis": x, "yaxis": y},
        "annotations": [side_title(y_title, left, font)],
    }
    return go.Figure([points], look)
