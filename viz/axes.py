"""Axes with a token at each cell: how large its label is, which are shown, and the room they take beside the map.

The room is worked out from the labels' own lengths. Plotly could measure it (automargin), but draws the whole picture
again for each axis, legend and colour bar that it measures: five sixths of the time of a click on a 12-layer page.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.maps import Maps, cell_height
from viz.theme import TEXT, Translate, is_upright, key_angle, stacked, text_depth, text_width, tick_text

PITCH = 9.5  # least pixels from one label to the next in small print …
THINNED = 13.1  # … and where only every k-th is shown, in print that is easier to read
LEAST_PITCH = 0.1  # where long labels of few tokens leave a map hardly any room
TICK = 16  # pixels that a line of text needs below an axis besides its size: the page sets it off
SMALL, EASY = 9, 11  # pixels of that print
NOTHING = {"x": [None], "y": [None], "hoverinfo": "skip", "showlegend": False}
QUIET = {
    "showgrid": False,
    "zeroline": False,
    "ticks": "",
    "tickmode": "array",
    "automargin": False,
    "ticklabeloverflow": "allow",  # all labels fit by construction: looking for ones that don't takes 50 ms
}


@dataclass(frozen=True)
class Frame:
    """The room of a map and of what stands around it, in pixels.

    Attributes:
        height: of the whole figure.
        top: above the map, for its name and its colour bar.
        largest: a label's text at most.
        scale: 1 = normal text, 1.4 = for the back row.
        is_titled: both axes say what they are.
    """

    height: int
    top: float
    largest: float = 15
    scale: float = 1.0
    is_titled: bool = True

    @property
    def title_size(self) -> float:
        """Of an axis title."""
        return min(14, self.largest + 1) * self.scale

    @property
    def title_room(self) -> float:
        """Pixels of an axis title with the gap to the labels."""
        return 1.3 * self.title_size + 8 if self.is_titled else 2

    def fit(self, n_labels: int, pixels: float) -> tuple[float, int]:
        """The size of labels along an axis, and that every k-th is shown."""
        pitch = max(pixels / n_labels / self.scale, LEAST_PITCH)
        if pitch >= PITCH:
            return self.scale * min(self.largest, max(SMALL, 0.85 * pitch)), 1
        return self.scale * EASY, math.ceil(THINNED / pitch)


@dataclass(frozen=True)
class Labels:
    """The labels of one side of a map.

    Attributes:
        names: of all cells, as text: what hover reads.
        first: what is seen of them: the first token of a block.
        size: of the text, in pixels.
        every: k, where only every k-th is seen.
        bold: the index of a label to set in bold.
    """

    names: Sequence[str]
    first: Sequence[str]
    size: float
    every: int = 1
    bold: int | None = None

    @property
    def seen(self) -> range:
        """The cells with a label."""
        return range(0, len(self.names), self.every)

    @property
    def depth(self) -> float:
        """Pixels that the labels take below a map."""
        angle = key_angle(self.first)
        return max(text_depth(self.first[at], self.size, angle) for at in self.seen) + 10

    @property
    def width(self) -> float:
        """Pixels that the labels take beside a map."""
        return max(text_width(tick_text(self.first[at]), self.size) for at in self.seen) + 6

    def beside(self) -> dict[str, Any]:
        """Axes with the labels left of the rows, the first on top."""
        y = {**self._axis(), "range": [len(self.names) - 0.5, -0.5]}
        differ = self.every > 1 or list(self.names) != list(self.first)
        return {"yaxis": y, "yaxis2": self._over(y, "y", self.seen)} if differ else {"yaxis": y}

    def below(self) -> dict[str, Any]:
        """Axes with the labels below the columns: Latin turned, Chinese character under character."""
        x = {**self._axis(), "range": [-0.5, len(self.names) - 0.5], "tickangle": key_angle(self.first)}
        axes = {"xaxis": x}
        upright = [at for at in self.seen if is_upright(self.first[at])]
        lying = [at for at in self.seen if not is_upright(self.first[at])]
        if upright or self.every > 1 or list(self.names) != list(self.first):
            axes["xaxis2"] = self._over(x, "x", lying)
        if upright:
            text = [self._text(at, stacked(tick_text(self.first[at]))) for at in upright]
            axes["xaxis3"] = {**self._over(x, "x", upright), "ticktext": text, "tickangle": 0}
        return axes

    def _axis(self) -> dict[str, Any]:
        places = np.arange(len(self.names), dtype=np.int32)
        texts = [self._text(at, tick_text(name)) for at, name in enumerate(self.names)]
        font = {"size": self.size, "color": TEXT}
        return {**QUIET, "tickvals": places, "ticktext": texts, "tickfont": font, "constrain": "domain"}

    def _over(self, axis: dict[str, Any], letter: str, cells: Sequence[int]) -> dict[str, Any]:
        """An axis over another one, with the labels of these cells in place of its own."""
        axis["showticklabels"] = False
        return {
            **QUIET,
            **{name: axis[name] for name in ("range", "tickfont", "tickangle") if name in axis},
            **{"overlaying": letter, "matches": letter, "side": "bottom" if letter == "x" else "left"},
            **{"tickvals": list(cells), "ticktext": [self._text(at, tick_text(self.first[at])) for at in cells]},
        }

    def _text(self, at: int, text: str) -> str:
        return f"<b>{text}</b>" if at == self.bold else text


def token_axes(shown: Maps, frame: Frame, t: Translate) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Axes for cells as high as `cell_height` says, with margins, and the empty traces that keep further axes alive.

    Hover reads names from the axis of the trace, so that one keeps every name. Labels that differ from them (every
    k-th, the first token of a block, Chinese set upright below the map) stand on further axes laid over it. All of it
    goes into the layout at once: changing the layout of a figure that has traces takes Plotly 25 ms.
    """
    queries, keys = _sized(shown, frame)
    axes = {**keys.below(), **queries.beside()}
    # x is tied to y: the other way round Plotly keeps a map that axes are laid over as small as it was first drawn.
    axes["xaxis"] |= {"constraintoward": "left", "scaleanchor": "y", "scaleratio": 1 / cell_height(*shown.shape)}
    axes["yaxis"]["constraintoward"] = "top"
    left = queries.width + frame.title_room
    font = {"size": frame.title_size, "color": TEXT}
    notes = [side_title(t("query (looks)"), left, font)] if frame.is_titled else []
    if frame.is_titled and len(axes) == 2:
        axes["xaxis"]["title"] = {"text": t("key (looked at)"), "font": font, "standoff": 6}
    elif frame.is_titled:  # the axis whose title it would be has no labels to stand below
        notes.append(_under_title(t("key (looked at)"), keys.depth, font))
    edges = {"l": left, "r": 6, "t": frame.top, "b": keys.depth + frame.title_room, "autoexpand": False}
    return {**axes, "margin": edges, "annotations": notes}, keepers(axes)


def side_title(text: str, left: float, font: dict[str, Any]) -> dict[str, Any]:
    """The title of a vertical axis, at the edge of a margin of `left` pixels: Latin turned, Chinese upright."""
    upright = is_upright(text)
    return {
        "text": stacked(text) if upright else text,
        "textangle": 0 if upright else -90,
        **{"xref": "x domain", "x": 0, "xanchor": "center", "xshift": font["size"] * 0.7 - left},
        **{"yref": "y domain", "y": 0.5, "yanchor": "middle"},
        "showarrow": False,
        "font": font,
    }


def _under_title(text: str, depth: float, font: dict[str, Any]) -> dict[str, Any]:
    return {
        "text": text,
        **{"xref": "x domain", "x": 0.5, "xanchor": "center", "showarrow": False, "font": font},
        **{"yref": "y domain", "y": 0, "yanchor": "top", "yshift": -depth - 2},
    }


def keepers(axes: dict[str, Any]) -> list[dict[str, Any]]:
    """A trace for each further axis: Plotly drops an axis without one."""
    y = "y2" if "yaxis2" in axes else "y"
    pairs = [(x, y) for x in ("x2", "x3") if f"xaxis{x[1]}" in axes] or [("x", "y2")] * ("yaxis2" in axes)
    return [{"type": "scatter", **NOTHING, "xaxis": x, "yaxis": y} for x, y in pairs]


def _sized(shown: Maps, frame: Frame) -> tuple[Labels, Labels]:
    """The labels of queries and keys, as large as their cells let them."""
    rows, columns = shown.queries[:: shown.step[0]], shown.keys[:: shown.step[1]]
    height = frame.height - frame.top - frame.title_room
    height -= Labels(columns, columns, *frame.fit(len(columns), 0.75 * height)).depth
    tall = cell_height(len(rows), len(columns))
    wide = height / max(len(rows) * tall, len(columns))  # of a cell
    return (
        Labels(shown.row_names, rows, *frame.fit(len(rows), wide * tall * len(rows))),
        Labels(shown.column_names, columns, *frame.fit(len(columns), wide * len(columns))),
    )
