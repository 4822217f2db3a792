"""Effects one by one: of a head on each prompt, of every layer's parts, and of a part put in from another run."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.axes import QUIET, Labels, keepers, side_title
from viz.effects import SIZE, Scale, number, targets
from viz.maps import Maps
from viz.plots import BELOW, BESIDE
from viz.scores import BAR, GREY
from viz.theme import (
    ACCENT,
    FLAT_LEGEND,
    MASKED_FILL,
    MASKED_LINES,
    TEXT,
    Translate,
    layout,
    markup,
    text_width,
    tick_text,
    untranslated,
)

LESS = "#7B5AA6"  # below 0, as in the maps: at least 3 : 1 on the light and on the dark ground
MORE = "#C9701A"  # above 0, likewise
HEIGHT = 300

Floats = npt.NDArray[np.floating]


def on_each_prompt(
    effects: Floats,
    hovers: Sequence[str],
    *,
    interval: tuple[float, float] | None,
    shown: int | None,
    x_title: str,
    y_title: str,
    height: int = HEIGHT,
) -> go.Figure:
    """One part's effect on each prompt as bars in order of size, with the mean as a line in its interval.

    Args:
        effects: (n,).
        hovers: n texts.
        interval: of the mean; None = there is none.
        shown: the prompt to set apart, from 0.
        x_title: of the axis.
        y_title: likewise.
        height: in pixels.
    """
    order = np.argsort(effects, kind="stable")
    values = np.asarray(effects, dtype=np.float32)[order]
    colours = [TEXT if at == shown else LESS if effects[at] < 0 else MORE for at in order.tolist()]
    bars = {
        **{"type": "bar", "x": np.arange(len(order), dtype=np.int32), "y": values, "name": ""},
        "marker": {"color": colours, "line": {"width": 0}},
        "customdata": [hovers[at] for at in order.tolist()],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    mean = float(values.mean()) if len(values) else 0.0
    across: dict[str, Any] = {"xref": "paper", "x0": 0, "x1": 1}
    shapes = [{"type": "line", **across, "y0": mean, "y1": mean, "line": {"color": TEXT, "width": 2, "dash": "dash"}}]
    if interval is not None:
        low, high = interval
        shapes.insert(0, {"type": "rect", **across, "y0": low, "y1": high, "fillcolor": MASKED_FILL, "line_width": 0})
    x = {"showticklabels": False, "showgrid": False, "title": {"text": x_title}}
    return _figure([bars], x, {}, y_title, height, bottom=30, shapes=shapes)


@dataclass(frozen=True, eq=False)
class LayerParts:
    """A number for each part of each layer.

    Attributes:
        heads: (L, h).
        ffns: (L,).
        layers: (L,), attention and FFN of a layer together; None = not shown.
    """

    heads: Floats
    ffns: Floats
    layers: Floats | None = None


def in_proportion(
    parts: LayerParts,
    hovers: Sequence[Sequence[str]],
    *,
    selected: tuple[int, int],
    y_title: str,
    height: int = HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """Heads, FFNs and whole layers over the layers, each with its effect: points of three shapes.

    Args:
        parts: their effects.
        hovers: L × h texts of the heads.
        selected: the head to set apart.
        y_title: of the axis.
        height: in pixels.
        t: translates the figure's own words.
    """
    n_layers, n_heads = parts.heads.shape
    layers, heads = (axis.ravel() for axis in np.indices((n_layers, n_heads)))
    spread = (heads - (n_heads - 1) / 2) / max(n_heads, 2) * 0.6
    is_selected = (layers == selected[0]) & (heads == selected[1])
    points = [
        {
            **{
                "type": "scatter",
                "mode": "markers",
                "name": t("one head"),
                "y": parts.heads.ravel().astype(np.float32),
            },
            "x": (layers + 1 + spread).astype(np.float32),
            "customdata": [text for row in hovers for text in row],
            "hovertemplate": "%{customdata}<extra></extra>",
            "marker": {
                "size": np.where(is_selected, 11, 5).tolist(),
                "color": np.where(is_selected, ACCENT, BAR).tolist(),
            },
        },
        _of_layers(parts.ffns, t("FFN"), "square", MORE, t),
    ]
    if parts.layers is not None:
        points.append(_of_layers(parts.layers, t("whole layer"), "diamond-open", LESS, t))
    x = {"range": [0.3, n_layers + 0.7], "title": {"text": t("layer")}, "showgrid": False, "dtick": _step(n_layers)}
    return _figure(points, x, {}, y_title, height, has_legend=True)


def _of_layers(values: Floats, name: str, symbol: str, colour: str, t: Translate) -> dict[str, Any]:
    says = t("layer {layer}, {part}: {value}").format(layer="%{x}", part=name, value="%{y:+.2f}")
    return {
        **{"type": "scatter", "mode": "markers", "name": name, "hovertemplate": says + "<extra></extra>"},
        "x": np.arange(1, len(values) + 1, dtype=np.int32),
        "y": np.asarray(values, dtype=np.float32),
        "marker": {"size": 9, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
    }


def written(
    parts: LayerParts,
    embedding: float,
    biases: float,
    *,
    y_title: str,
    height: int = HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """What each part writes towards the answer, as bars on each other: all of them add up to the difference.

    Args:
        parts: terms of heads and FFNs.
        embedding: term of the last token's embedding; first on the left.
        biases: term of all biases; last on the right, unless there are none.
        y_title: of the axis.
        height: in pixels.
        t: translates the figure's own words.
    """
    n_layers = len(parts.ffns)
    numbers = list(range(1, n_layers + 1))
    others = [(0, t("embedding"), embedding), *([(n_layers + 1, t("all biases"), biases)] if biases else [])]
    series = [
        (t("heads of the layer"), numbers, parts.heads.sum(axis=1), BAR),
        (t("FFN"), numbers, parts.ffns, MORE),
        (t("the rest"), [at for at, _name, _value in others], np.array([value for *_at, value in others]), GREY),
    ]
    named = {at: name for at, name, _value in others}
    bars = [
        {
            **{"type": "bar", "x": places, "y": values.astype(np.float32), "name": name},
            "marker": {"color": colour, "line": {"width": 0}},
            "customdata": [named.get(at) or t("layer {n}").format(n=at) for at in places],
            "hovertemplate": "%{customdata}, %{fullData.name}: %{y:+.2f}<extra></extra>",
        }
        for name, places, values, colour in series
    ]
    step = _step(n_layers)
    ticks = {at: str(at) for at in range(step, n_layers + (0 if biases and step > 1 else 1), step)} | named
    x = {"tickmode": "array", "tickvals": list(ticks), "ticktext": list(ticks.values()), "tickangle": 0}
    x |= {"range": [-1.6, n_layers + 1.6], "title": {"text": t("layer")}, "showgrid": False}
    figure = _figure(bars, x, {}, y_title, height, has_legend=True)
    return figure.update_layout(barmode="relative")


def patched(
    values: Floats,
    tokens: Sequence[str],
    colours: Scale,
    *,
    says: str,
    height: int = 380,
    t: Translate = untranslated,
) -> go.Figure:
    """What one layer's state at one position carries: layers are rows, tokens are columns.

    More than 128 tokens are drawn in blocks, each with its number farthest from 0.

    Args:
        values: (L, N).
        tokens: N labels.
        colours: of the numbers.
        says: a sentence about {layer}, {token} and {value}, shown on hover.
        height: in pixels.
        t: translates the figure's own words.
    """
    names = [str(layer + 1) for layer in range(len(values))]
    shown = Maps(values, np.ones(values.shape, dtype=bool), names, tokens).in_blocks("farthest")
    size = SIZE
    below = Labels(shown.column_names, tokens[:: shown.step[1]], size, math.ceil(shown.shape[1] / 48))
    axes = below.below()
    axes["xaxis"] |= {"fixedrange": True}
    top, left, bottom = 30, BESIDE, below.depth
    pitch = (height - top - bottom) / shown.shape[0]
    font = {"size": size, "color": TEXT}
    rows = list(range(0, shown.shape[0], math.ceil(1.15 * size / max(pitch, 1))))
    y = {**QUIET, "tickvals": rows, "ticktext": [names[row] for row in rows], "tickfont": font, "fixedrange": True}
    axes["yaxis"] = {**y, "range": [shown.shape[0] - 0.5, -0.5]}
    cells, *lines = colours.cells(shown.cells, pitch)
    cells["colorbar"] = colours.bar(pitch)
    hovers = [
        [says.format(layer=layer, token=tick_text(token), value=number(value, plus=True)) for token, value in row]
        for layer, row in zip(names, (zip(shown.column_names, row, strict=True) for row in shown.cells), strict=True)
    ]
    look = {
        **layout("", height=height, top=top, left=left, bottom=bottom),
        **{"dragmode": False, "showlegend": False, **axes, "annotations": [side_title(t("layer"), left, font)]},
    }
    return go.Figure([cells, *lines, targets(hovers, pitch), *keepers(axes)], look)


def together(names: Sequence[str], values: Sequence[float], *, x_title: str) -> go.Figure:
    """Numbers under each other as bars: each head alone, their sum, and all of them at once.

    Args:
        names: of the bars, the first on top.
        values: as many.
        x_title: of the axis.
    """
    font = {"size": (SIZE + 1), "color": TEXT}
    places = list(range(len(names)))
    bars = {
        **{"type": "bar", "orientation": "h", "x": list(values), "y": places, "hoverinfo": "skip", "width": 0.62},
        "marker": {"color": [LESS if value < 0 else MORE for value in values], "line": {"width": 0}},
        "text": [f"{value:+.2f}".replace("-", "−") for value in values],
        **{"textposition": "outside", "cliponaxis": False, "textfont": font},
    }
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.22 * max(high - low, 1e-6)
    x = {
        "range": [low - (room if low < 0 else 0), high + (room if high > 0 else 0)],
        "title": {"text": x_title},
        "zeroline": True,
        "zerolinecolor": MASKED_LINES,
    }
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": [markup(name) for name in names]}
    y = {**ticks, "range": [len(names) - 0.5, -0.5], "showgrid": False, "zeroline": False}
    figure = _figure([bars], x, y, "", BELOW + 14 + 32 * len(names))
    figure.update_layout(margin_l=max(text_width(name, (SIZE + 1)) for name in names) + 12)
    return figure


def _figure(
    traces: list[dict[str, Any]],
    x: dict[str, Any],
    y: dict[str, Any],
    y_title: str,
    height: int,
    *,
    bottom: float = BELOW,
    shapes: list[dict[str, Any]] | None = None,
    has_legend: bool = False,
) -> go.Figure:
    """Numbered axes in fixed margins, a line at 0, and the legend above."""
    font = {"size": SIZE, "color": TEXT}
    quiet = {"tickfont": font, "fixedrange": True, "automargin": False, "zeroline": False}
    x = {**quiet, **x, "title": {**x.get("title", {}), "font": font, "standoff": 4}}
    left = BESIDE
    look = {
        **layout("", height=height, top=(34 if has_legend else 10), left=left, bottom=bottom),
        **{"dragmode": False, "showlegend": has_legend, "legend": {**FLAT_LEGEND, "font": font}, "bargap": 0.2},
        **{"xaxis": x, "yaxis": {**quiet, "zeroline": True, "zerolinecolor": MASKED_LINES, **y}},
        **{"shapes": shapes or [], "annotations": [side_title(y_title, left, font)] if y_title else []},
    }
    return go.Figure(traces, look)


def _step(n_layers: int) -> int:
    """Every how manieth layer is named under an axis."""
    return 1 if n_layers <= 16 else 5
