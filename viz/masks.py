"""The figures of the mask lab: maps to set side by side, signed differences, matrices of a mask, moves by layer.

Maps come from `viz.heatmaps.head_heatmap`, so that a cell, a token and a masked cell look as they do everywhere.
"""

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.heatmaps import SECOND_AXES, head_heatmap
from viz.pooling import block_size, in_blocks
from viz.theme import ACCENT, HOLE, TEXT, Translate, hover, tick_text, untranslated

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]

# Purple for less, orange for more, through no colour at all, so that 0 is the ground of a light and of a dark page.
DIFFERENCES = [
    [0.0, "rgba(94, 60, 153, 1)"],
    [0.25, "rgba(128, 100, 190, 0.75)"],
    [0.5, "rgba(128, 128, 128, 0)"],
    [0.75, "rgba(240, 150, 60, 0.75)"],
    [1.0, "rgba(220, 105, 10, 1)"],
]
SEEN = "rgba(62, 126, 182, 0.75)"  # a cell of a mask that lets the query look
LEAST_WRITTEN = 15  # pixels: cells at least so large carry their numbers
MAP_HEIGHT = 350
FRAME = 130  # pixels of a map's height that go to its title, colour bar and token labels, roughly
LABEL = 11  # pixels that one token's label takes along an axis


def weight_map(
    attention: Floats,
    allowed: Bools,
    labels: Sequence[str],
    *,
    title: str,
    query: int | None = None,
    says_masked: bool = False,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """One map among several, 0 to 1 as everywhere. `query` outlines a row. NaN cells stay empty."""
    figure = head_heatmap(*in_blocks(attention, allowed, labels), title=title, height=height, t=t)
    if says_masked and not allowed.all():
        figure.add_annotation(
            text="▨ " + t("masked"),
            **{"x": 1, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "right", "yanchor": "bottom"},
            showarrow=False,
            font={"color": TEXT},
        )
    return compact(figure, labels, query)


def difference_map(
    difference: Floats,
    labels: Sequence[str],
    *,
    title: str,
    limit: float,
    hidden: Bools | None = None,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """Signed differences of weights from −limit to limit, purple to orange, 0 without colour.

    Args:
        difference: (N, N).
        labels: the N tokens.
        title: text above the map.
        limit: end of the colour range; the same for all maps that are compared.
        hidden: (N, N), cells that neither mask allows: drawn as masked.
        height: in pixels.
        t: translates the figure's own words.
    """
    shown = np.ones(difference.shape, dtype=bool) if hidden is None else ~hidden
    figure = head_heatmap(*in_blocks(difference, shown, labels, "farthest"), title=title, height=height, t=t)
    limit = max(limit, 1e-9)
    figure.data[0].update(
        zmin=-limit,
        zmax=limit,
        colorscale=DIFFERENCES,
        name=t("difference"),
        hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight="%{z:+.2f}"),
        colorbar={"tickvals": [-limit, 0, limit], "ticktext": [f"{-limit:+.2f}", t("difference"), f"{limit:+.2f}"]},
    )
    return compact(figure, labels, None)


def score_map(
    scores: Floats,
    allowed: Bools,
    labels: Sequence[str],
    *,
    title: str,
    limits: tuple[float, float],
    query: int | None = None,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """Scores before the softmax, between `limits`, which maps that are compared share."""
    figure = head_heatmap(*in_blocks(scores, allowed, labels), title=title, height=height, t=t)
    low, high = limits
    figure.data[0].update(
        zmin=low,
        zmax=high,
        name=t("score"),
        hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight="%{z:.2f}"),
        colorbar={"tickvals": [low, high], "ticktext": [f"{low:.1f}", f"{high:.1f}"]},
    )
    return compact(figure, labels, query)


def mask_matrix(
    allowed: Bools,
    labels: Sequence[str],
    *,
    title: str,
    words: tuple[str, str] = ("1", "0"),
    query: int | None = None,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """A mask itself: filled where the query may look, hatched where it may not, with `words` written in small ones."""
    n_tokens = len(labels)
    nothing = np.zeros((n_tokens, n_tokens), dtype=np.float32)
    figure = head_heatmap(*in_blocks(nothing, allowed, labels), title=title, height=height, t=t)
    may, may_not = words
    figure.data[0].update(
        colorscale=[[0, SEEN], [1, SEEN]],
        showscale=False,
        hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight=t("may look") + f" ({may})"),
    )
    if (height - FRAME) / n_tokens >= LEAST_WRITTEN:
        query_at, key_at = np.indices((n_tokens, n_tokens)).reshape(2, -1)
        figure.add_trace(
            go.Scatter(
                x=key_at.astype(np.int16),
                y=query_at.astype(np.int16),
                text=[may if cell else may_not for cell in allowed.ravel()],
                mode="text",
                textfont={"size": 11, "color": TEXT},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    return compact(figure, labels, query)


def compact(figure: go.Figure, labels: Sequence[str], query: int | None) -> go.Figure:
    """Title, colour bar and map under each other, in small print: these maps stand three or four in a row.

    The figure shows the tokens `labels` as `in_blocks` has them; `query` counts tokens. It is taken apart and made
    anew: changing the layout of a figure that has traces takes Plotly three times as long.
    """
    first, *others = (trace.to_plotly_json() for trace in figure.data)
    layout = figure.layout.to_plotly_json()
    del layout["template"]  # the default one, which a new figure gets without checking it
    n_tokens = len(labels)
    size = 12 if n_tokens <= 16 else 10 if n_tokens <= 28 else 9
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            axis["tickfont"]["size"] = size
            axis.pop("title", None)
    for annotation in layout["annotations"]:
        annotation["yshift"] = 32
        annotation["font"]["size"] = 15 if annotation["x"] == 0 else 13
    layout["margin"]["t"] = 58
    layout["showlegend"] = False  # it would push the map down
    bar = first["colorbar"]
    bar |= {"len": 1, "x": 0, "xanchor": "left", "thickness": 7, "ypad": 3, "tickangle": 0}
    bar["tickfont"]["size"] = 12
    if _thin(layout, labels):
        others.append({"type": "scatter", **SECOND_AXES})
    if query is not None:
        row = query // block_size(n_tokens)
        box = {"x0": -0.5, "x1": len(first["z"]) - 0.5, "y0": row - 0.5, "y1": row + 0.5}
        line = {"color": ACCENT, "width": 2}
        layout["shapes"] = [{"type": "rect", **box, "line": line, "fillcolor": HOLE}]
    return go.Figure([first, *others], layout)


def heading(title: str) -> dict[str, object]:
    """A title above the corner of a figure, where `compact` puts the titles of maps."""
    return {
        "text": f"<b>{html.escape(title, quote=False)}</b>",
        "x": 0,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 32,
        "showarrow": False,
        "font": {"size": 15, "color": TEXT},
    }


def _thin(layout: dict[str, Any], labels: Sequence[str]) -> bool:
    """Fewer token labels where they would overlap; of a block, its first token.

    As in head_heatmap: hover reads all names from the first pair of axes, the thinned labels stand on a second pair.
    Says whether that pair is new, and so needs a trace.
    """
    ticks = [tick_text(label) for label in labels[:: block_size(len(labels))]]
    step = math.ceil(len(ticks) * LABEL / (layout["height"] - FRAME))
    if step == 1:
        return False
    is_new = "xaxis2" not in layout
    for letter, side in (("x", "bottom"), ("y", "left")):
        names = layout[f"{letter}axis"]
        if is_new:
            kept = ("showgrid", "zeroline", "ticks", "tickfont", "tickmode", "tickangle", "range", "automargin")
            second = {name: value for name, value in names.items() if name in kept}
            layout[f"{letter}axis2"] = {**second, "overlaying": letter, "matches": letter, "side": side}
            names["showticklabels"] = False
        layout[f"{letter}axis2"] |= {"tickvals": names["tickvals"][::step], "ticktext": ticks[::step]}
    return is_new
