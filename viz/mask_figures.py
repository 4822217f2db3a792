"""The figures of the mask lab: maps to set side by side, signed differences, matrices of a mask, moves by layer.

Maps come from `viz.heatmaps.head_heatmap`, so that a cell, a token and a masked cell look as they do everywhere.
"""

import html
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.heatmaps import head_heatmap
from viz.look import ACCENT, HOLE, TEXT, Translate, hover, untranslated

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
    figure = head_heatmap(attention, allowed, labels, title=title, height=height, t=t)
    if says_masked and not allowed.all():
        figure.add_annotation(
            text="▨ " + t("masked"),
            **{"x": 1, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "right", "yanchor": "bottom"},
            showarrow=False,
            font={"color": TEXT},
        )
    return compact(figure, len(labels), query)


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
    n_tokens = len(labels)
    shown = np.ones((n_tokens, n_tokens), dtype=bool) if hidden is None else ~hidden
    figure = head_heatmap(difference, shown, labels, title=title, height=height, t=t)
    limit = max(limit, 1e-9)
    figure.data[0].update(
        zmin=-limit,
        zmax=limit,
        colorscale=DIFFERENCES,
        name=t("difference"),
        hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight="%{z:+.2f}"),
        colorbar={"tickvals": [-limit, 0, limit], "ticktext": [f"{-limit:+.2f}", t("difference"), f"{limit:+.2f}"]},
    )
    return compact(figure, n_tokens, None)


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
    figure = head_heatmap(scores, allowed, labels, title=title, height=height, t=t)
    low, high = limits
    figure.data[0].update(
        zmin=low,
        zmax=high,
        name=t("score"),
        hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight="%{z:.2f}"),
        colorbar={"tickvals": [low, high], "ticktext": [f"{low:.1f}", f"{high:.1f}"]},
    )
    return compact(figure, len(labels), query)


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
    figure = head_heatmap(np.zeros((n_tokens, n_tokens)), allowed, labels, title=title, height=height, t=t)
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
    return compact(figure, n_tokens, query)


def compact(figure: go.Figure, n_tokens: int, query: int | None) -> go.Figure:
    """Title, colour bar and map under each other, in small print: these maps stand three or four in a row."""
    size = 12 if n_tokens <= 16 else 10 if n_tokens <= 28 else 9
    figure.update_xaxes(tickfont_size=size, title=None)
    figure.update_yaxes(tickfont_size=size, title=None)
    for annotation in figure.layout.annotations:
        annotation.update(yshift=32, font={"size": 15 if annotation.x == 0 else 13})
    figure.update_layout(margin={"t": 58}, showlegend=False)  # a legend would push the map down
    bar = {"len": 1, "x": 0, "xanchor": "left", "thickness": 7, "ypad": 3, "tickfont": {"size": 12}, "tickangle": 0}
    figure.data[0].update(colorbar=bar)
    _thin(figure, n_tokens)
    if query is not None:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=n_tokens - 0.5,
            y0=query - 0.5,
            y1=query + 0.5,
            line={"color": ACCENT, "width": 2},
            fillcolor=HOLE,
        )
    return figure


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


def _thin(figure: go.Figure, n_tokens: int) -> None:
    """Fewer token labels where they would overlap.

    As in head_heatmap: hover reads all names from the first pair of axes, the thinned labels stand on a second pair.
    """
    step = math.ceil(n_tokens * LABEL / (figure.layout.height - FRAME))
    if step == 1:
        return
    has_second = "xaxis2" in figure.layout
    for letter in "xy":
        names = figure.layout[f"{letter}axis"]
        thinned = {"tickvals": list(names.tickvals[::step]), "ticktext": list(names.ticktext[::step])}
        if has_second:
            figure.layout[f"{letter}axis2"].update(thinned)
            continue
        kept = ("showgrid", "zeroline", "ticks", "tickfont", "tickmode", "tickangle", "range", "automargin")
        second = {name: value for name, value in names.to_plotly_json().items() if name in kept}
        side = {"overlaying": letter, "matches": letter, "side": "bottom" if letter == "x" else "left"}
        figure.update_layout({f"{letter}axis2": {**second, **thinned, **side}})
        names.showticklabels = False
    if not has_second:
        figure.add_trace(go.Scatter(x=[None], y=[None], xaxis="x2", yaxis="y2", hoverinfo="skip", showlegend=False))
