"""Attention maps as Plotly heatmaps: one head large, and all heads of a layer in one figure.

The query (row) looks at the key (column). Colours run from 0 to 1 in every picture, so pictures can be compared.
Axes are numeric with the tokens as escaped tick texts: on category axes Plotly merges repeated tokens, and it takes
`<s>` for a tag.
"""

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.colors import get_colorscale

from viz.pooling import coarsen
from viz.style import PLAIN, Style
from viz.theme import (
    ACCENT,
    HOLE,
    MASKED_FILL,
    MASKED_LINES,
    TEXT,
    Translate,
    any_wide,
    hover,
    key_angle,
    layout,
    tick_text,
    untranslated,
)

TICK_PIXELS = 11  # of a map's height for each tick label; with less they overlap
WIDE_TICK_PIXELS = 13  # Chinese characters fill their line
MAX_POINTED = (
    40  # a tile of the layer grid is about 100 pixels wide: cells can be pointed at up to here, then only seen
)
SECOND_AXES = {"x": [None], "y": [None], "xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "showlegend": False}
MAX_CELLS = 100  # beyond this, cells of a tile are smaller than a pixel

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


def head_heatmap(
    attention: npt.NDArray[np.floating],
    allowed: Bools,
    labels: Sequence[str],
    *,
    title: str = "",
    height: int = 455,
    narrow: bool = False,
    style: Style = PLAIN,
    t: Translate = untranslated,
) -> go.Figure:
    """One head's map, large, with the tokens on both axes and the weight on hover.

    Args:
        attention: (N, N), query × key.
        allowed: (N, N); True = the query may attend to the key. Cells that are False are drawn as masked: hatched grey.
        labels: the N tokens as text; they are escaped here.
        title: text above the map.
        height: of the whole figure, in pixels.
        narrow: for a third of a page: smaller labels, a colour bar as wide as the map, and no title in the figure.
        style: colours, what the last one stands for, and the size of text.
        t: translates the figure's own words.
    """
    n_tokens = len(labels)
    _check_shapes(attention, allowed, n_tokens)
    scale = style.text_scale
    ticks = [tick_text(label) for label in labels]
    axes = _token_axes(ticks, t, height=height, scale=scale, narrow=narrow)
    name = _name(
        f"<b>{html.escape(title, quote=False)}</b>", 0, 1, xref="paper", yref="paper", size=17 * scale, yshift=26
    )
    if narrow:  # in place of the legend, which would push the map down
        masked = "" if allowed.all() else "▨ " + t("masked")
        corner = {"xref": "paper", "yref": "paper", "xanchor": "right", "yshift": 42}
        name = _name(masked, 1, 1, size=13 * scale, **corner)
    figure = go.Figure(
        layout={
            **layout("", height=height, top=24 if narrow else 14),
            **axes,
            "annotations": [name],
            "showlegend": not narrow,
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.005,
                "yanchor": "bottom",
                "font": {"size": 13 * scale, "color": TEXT},
            },
        }
    )
    weights = np.where(allowed, attention, np.nan).astype(np.float32)
    quantity = style.quantity or t("attention weight")
    is_even = style.curve == "linear"
    figure.add_trace(
        go.Heatmap(
            z=weights if is_even else style.places(weights),
            customdata=None if is_even else weights,  # what is pointed at is always the weight, not its colour
            zmin=0,
            zmax=style.maximum if is_even else 1,
            colorscale=style.colorscale,
            hoverongaps=False,
            name=quantity,
            hovertemplate=hover(
                t("query '{query}' → key '{key}': {weight}"), weight="%{z:.2f}" if is_even else "%{customdata:.3f}"
            ),
            colorbar={
                "orientation": "h",
                "thickness": 10,
                "len": 1 if narrow else 0.55,
                "x": 1,
                "xanchor": "right",
                "y": 1,
                "yanchor": "bottom",
                "ypad": 8,
                "tickangle": 0,
                **_colorbar_ticks(style, quantity),
                "tickfont": {"size": 13 * scale, "color": TEXT},
                "outlinewidth": 0,
            },
        )
    )
    if not allowed.all():
        _add_masked(figure, allowed, t)
    if "xaxis2" in axes:
        figure.add_trace(go.Scatter(SECOND_AXES))
    return figure


def layer_grid(
    attention: npt.NDArray[np.floating],
    allowed: Bools,
    labels: Sequence[str],
    *,
    layer: int,
    selected: int | None = None,
    height: int = 455,
    style: Style = PLAIN,
    t: Translate = untranslated,
) -> go.Figure:
    """All heads of one layer as tiles of one heatmap, each with its name ("4-2") above it.

    One trace for the whole grid: a subplot for each head costs the browser most of a second. The gaps between tiles are
    single empty columns and rows, wide only in the axis coordinates; masked cells are holes over a grey rectangle.
    Up to 40 tokens the cells carry their weights and show them on hover; above, they carry their colour, one byte each.

    Args:
        attention: (h, N, N), head × query × key. Above 100 tokens a cell shows the largest weight of its block.
        allowed: (N, N); True = the query may attend to the key.
        labels: the N tokens as text.
        layer: the layer's index from 0, for the names.
        selected: the index from 0 of the head to outline.
        height: of the whole figure, in pixels.
        style: colours and what the last one stands for.
        t: translates the figure's own words.
    """
    n_heads, n_tokens = attention.shape[0], len(labels)
    _check_shapes(attention[0], allowed, n_tokens)
    step = math.ceil(n_tokens / MAX_CELLS)
    weights = coarsen(np.where(allowed, attention, np.nan), step)
    n_cells = weights.shape[-1]
    n_columns = math.ceil(math.sqrt(n_heads))
    n_rows = math.ceil(n_heads / n_columns)
    gap, name_room = 0.08 * n_cells, 0.22 * n_cells

    mosaic = np.full((n_rows * (n_cells + 1) - 1, n_columns * (n_cells + 1) - 1), np.nan, dtype=np.float32)
    shapes, names = [], []
    for head in range(n_heads):
        row, column = divmod(head, n_columns)
        top, left = row * (n_cells + name_room), column * (n_cells + gap)
        mosaic[row * (n_cells + 1) :, column * (n_cells + 1) :][:n_cells, :n_cells] = weights[head]
        box = {"type": "rect", "x0": left, "x1": left + n_cells, "y0": top, "y1": top + n_cells}
        shapes.append({**box, "layer": "below", "line": {"width": 0}, "fillcolor": MASKED_FILL})
        if head == selected:
            shapes.append({**box, "line": {"color": ACCENT, "width": 3}})
        name = f"{layer + 1}-{head + 1}"
        names.append(
            _name(f"<b>{name}</b>" if head == selected else name, left, top, size=14 * style.text_scale, xshift=-2)
        )

    names_of_cells = [tick_text(label) for label in labels] if n_cells <= MAX_POINTED else []
    shared = {
        **{"fixedrange": True, "constrain": "domain", "tickmode": "array", "ticks": ""},
        **{"showticklabels": False, "showgrid": False, "zeroline": False},  # not visible=False: hover needs the names
    }
    return go.Figure(
        go.Heatmap(
            **(_exact_cells(mosaic, style, t) if n_cells <= MAX_POINTED else _byte_cells(mosaic, style)),
            x=_edges(n_columns, n_cells, gap),
            y=_edges(n_rows, n_cells, name_room),
            showscale=False,
            name="",
        ),
        layout={
            **layout(
                t("Layer {layer}, all heads").format(layer=layer + 1),
                note="" if step == 1 else t("each cell: the largest of {step} × {step} weights").format(step=step),
                height=height,
                top=58 if step == 1 else 80,
            ),
            "shapes": shapes,
            "annotations": names,
            "dragmode": False,
            "xaxis": {
                **shared,
                "range": [0, n_columns * (n_cells + gap) - gap],
                "tickvals": _centres(n_columns, n_cells, gap) if names_of_cells else [],
                "ticktext": names_of_cells * n_columns,
                "constraintoward": "left",
            },
            "yaxis": {
                **shared,
                "range": [n_rows * (n_cells + name_room) - name_room, 0],
                "tickvals": _centres(n_rows, n_cells, name_room) if names_of_cells else [],
                "ticktext": names_of_cells * n_rows,
                "scaleanchor": "x",
                "constraintoward": "top",
            },
        },
    )


def _add_masked(figure: go.Figure, allowed: Bools, t: Translate) -> None:
    """Grey cells that say on hover why they hold no weight, hatched so that grey can't be read as a weight."""
    masked = np.where(allowed, np.nan, 1).astype(np.float32)
    grey = [[0, MASKED_FILL], [1, MASKED_FILL]]
    figure.add_trace(
        go.Heatmap(
            z=masked,
            zmin=0,
            zmax=1,
            colorscale=grey,
            showscale=False,
            hoverongaps=False,
            name=t("masked"),
            hovertemplate=hover(t("query '{query}' → key '{key}': masked: may not attend"), weight=""),
        )
    )
    x, y = _outline(~allowed)
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="none",
            fill="toself",
            fillpattern={
                "shape": "/",
                "size": 7,
                "solidity": 0.18,
                "fgcolor": MASKED_LINES,
                "bgcolor": HOLE,
            },
            hoverinfo="skip",
            name=t("masked"),
            showlegend=True,
        )
    )


def _outline(masked: Bools) -> tuple[Floats, Floats]:
    """The masked cells as rectangles, a run in a row each; equal rows above each other share theirs. NaN parts them."""
    x: list[float] = []
    y: list[float] = []
    row, n_rows = 0, len(masked)
    while row < n_rows:
        below = row + 1
        while below < n_rows and np.array_equal(masked[below], masked[row]):
            below += 1
        steps = np.diff(masked[row].astype(np.int8), prepend=0, append=0)
        for left, right in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
            x += [left - 0.5, right - 0.5, right - 0.5, left - 0.5, left - 0.5, np.nan]
            y += [row - 0.5, row - 0.5, below - 0.5, below - 0.5, row - 0.5, np.nan]
        row = below
    return np.array(x, dtype=np.float32), np.array(y, dtype=np.float32)


def _token_axes(ticks: list[str], t: Translate, *, height: int, scale: float, narrow: bool = False) -> dict[str, Any]:
    """Axes for square cells with a tick for each token. When tokens are many only every k-th is labelled.

    Hover reads its names from the axis of the trace, so that axis keeps every name; the labels one can see then
    stand on a second pair of axes laid over it, which needs a trace of its own (`SECOND_AXES`). They go into the
    layout at once: changing the layout of a figure that has traces takes Plotly 25 ms.
    """
    n_tokens = len(ticks)
    pixels = scale * (WIDE_TICK_PIXELS if any_wide(ticks) else TICK_PIXELS)
    step = math.ceil(n_tokens / max((height - 59) / pixels, 1))
    positions = np.arange(n_tokens, dtype=np.int32)
    room = (height - 115) / min(n_tokens, math.ceil(n_tokens / step))  # pixels for each label
    size = scale * (11 if narrow or room < 14 else 13 if room < 18 else 15)
    font = {"size": (12 if narrow else 14) * scale, "color": TEXT}
    look = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": size, "color": TEXT},
        "tickmode": "array",
        "ticklabeloverflow": "allow",  # all labels fit by construction: looking for ones that don't takes 50 ms
    }
    names = {"tickvals": positions, "ticktext": ticks, "constrain": "domain"}
    key = {
        "title": {"text": t("key (looked at)"), "standoff": 8, "font": font},
        "tickangle": key_angle(ticks),
    }
    query = {"title": {"text": t("query (looks)"), "standoff": 14, "font": font}, "range": [n_tokens - 0.5, -0.5]}
    left = {"range": [-0.5, n_tokens - 0.5], "automargin": True, "constraintoward": "left"}
    top = {"automargin": True, "scaleanchor": "x", "constraintoward": "top"}
    axes = {"xaxis": {**look, **names, **key, **left}, "yaxis": {**look, **names, **query, **top}}
    if step == 1:
        return axes
    thinned = {"tickvals": positions[::step], "ticktext": ticks[::step], "automargin": True}
    for axis in axes.values():
        axis |= {"showticklabels": False, "title": None, "automargin": False}  # what isn't seen needn't be measured
    return {
        **axes,
        "xaxis2": {**look, **thinned, **key, "overlaying": "x", "matches": "x", "side": "bottom"},
        "yaxis2": {**look, **thinned, **query, "overlaying": "y", "matches": "y", "side": "left"},
    }


def _name(text: str, x: float, y: float, *, size: float, **place: Any) -> dict[str, Any]:
    """A name above the corner (x, y). A title would be moved out of the picture by the colour bar."""
    font = {"size": size, "color": TEXT}
    return {
        "text": text,
        "x": x,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": font,
        **place,
    }


def _exact_cells(mosaic: Floats, style: Style, t: Translate) -> dict[str, Any]:
    sentence = t("query '{query}' → key '{key}': {weight}")
    scale = {"zmin": 0, "colorscale": style.colorscale, "hoverongaps": False}
    if style.curve == "linear":
        return {"z": mosaic, "zmax": style.maximum, "hovertemplate": hover(sentence, weight="%{z:.2f}"), **scale}
    template = hover(sentence, weight="%{customdata:.3f}")
    return {"z": style.places(mosaic), "customdata": mosaic, "zmax": 1, "hovertemplate": template, **scale}


def _byte_cells(mosaic: Floats, style: Style) -> dict[str, Any]:
    """A quarter of the bytes of float32: 0 for a hole, 1…255 for the places 0…1 in the scale."""
    places = np.nan_to_num(style.places(mosaic))
    z = np.where(np.isnan(mosaic), 0, 1 + np.rint(254 * places)).astype(np.uint8)
    scale = [[0, HOLE], *([(1 + 254 * at) / 255, color] for at, color in get_colorscale(style.colorscale))]
    return {"z": z, "zmin": 0, "zmax": 255, "colorscale": scale, "hoverinfo": "skip"}


def _colorbar_ticks(style: Style, quantity: str) -> dict[str, Any]:
    """0, what is measured, and the maximum: a title of its own would take 35 pixels from the map."""
    ticks = style.ticks()
    if style.curve == "log":
        return {"tickvals": style.places(np.array(ticks)).tolist(), "ticktext": [f"{tick:.3g}" for tick in ticks]}
    at = ticks if style.curve == "linear" else style.places(np.array(ticks)).tolist()
    return {"tickvals": [at[0], at[-1] / 2, at[-1]], "ticktext": ["0", quantity, f"{style.maximum:g}"]}


def _edges(n_tiles: int, n_cells: int, gap: float) -> Floats:
    """Cell borders along one axis: n_cells cells of width 1 a tile, then one cell as wide as the gap."""
    tiles = [np.arange(n_cells + 1) + tile * (n_cells + gap) for tile in range(n_tiles)]
    return np.concatenate(tiles).astype(np.float32)


def _centres(n_tiles: int, n_cells: int, gap: float) -> Floats:
    tiles = [np.arange(n_cells) + 0.5 + tile * (n_cells + gap) for tile in range(n_tiles)]
    return np.concatenate(tiles).astype(np.float32)


def _check_shapes(attention: npt.NDArray[np.floating], allowed: Bools, n_tokens: int) -> None:
    if attention.shape != (n_tokens, n_tokens) or allowed.shape != (n_tokens, n_tokens):
        raise ValueError(
            f"{n_tokens} labels need a {n_tokens} × {n_tokens} map and mask; got {attention.shape} and {allowed.shape}."
        )
