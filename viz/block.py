"""Pictures of one cell, of one token in a block, and of tokens from layer to layer."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.plots import named_below, plain_figure, titled
from viz.steps import head_colour
from viz.theme import ACCENT, TEXT, Translate, tick_text, untranslated

Floats = npt.NDArray[np.floating]
BLUE, GREY, PURPLE = "#3E7EB6", "#8A9096", "#7B5AA6"  # at least 3 : 1 on the light and on the dark ground
MOST_POINTED = 40  # labels with points of their own; more become lines
ALL_NAMED, MOST_NAMED = 24, 12  # names under an axis: all of so many, else only so many
MOST_POINTS = 2000
SPREAD = 0.22  # of the way to the next token, to each side: marks of equal height stand beside each other


def bars(
    values: Floats,
    labels: Sequence[str],
    *,
    title: str = "",
    x_title: str = "",
    selected: int | None = None,
    height: int = 230,
    written: Sequence[str] = (),
) -> go.Figure:
    """One bar a number, the selected one in the accent colour. Values are written out where they are few.

    `written` says how, where two decimals say too little.
    """
    values = np.asarray(values, dtype=np.float32)
    colours = [ACCENT if index == selected else BLUE for index in range(len(values))]
    figure = _figure(title, height)
    figure.add_trace(
        go.Bar(
            x=np.arange(len(values), dtype=np.int32),
            y=values,
            marker={"color": colours, "line": {"width": 0}},
            text=list(written or [f"{value:.2f}" for value in values]) if len(values) <= 16 else None,
            textposition="outside",
            cliponaxis=False,
            customdata=[tick_text(label) for label in labels],
            hovertemplate="%{customdata}: %{y:.4f}<extra></extra>",
        )
    )
    _named_axis(figure, labels, x_title)
    if len(values):
        low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
        room = 0.16 * (high - low or 1)
        figure.update_yaxes(range=[low - (room if low < 0 else 0), high + room])
    return figure


def lines(
    series: Sequence[tuple[str, Floats]],
    labels: Sequence[str],
    *,
    x_title: str = "",
    y_title: str = "",
    selected: int | None = None,
    height: int = 270,
) -> go.Figure:
    """A few numbers for every label as points of different shapes; the selected label is marked by a line."""
    extra = 38 * (len(series) > 3)  # on a phone each name takes a line of the legend
    figure = _figure("", height + extra, legend=True)
    figure.update_layout(margin_t=figure.layout.margin.t + extra)
    looks = zip([GREY, BLUE, ACCENT, PURPLE], ["circle", "diamond", "square", "cross"], strict=True)
    for (name, values), (colour, symbol) in zip(series, looks, strict=False):
        figure.add_trace(
            go.Scatter(
                x=np.arange(len(values), dtype=np.int32),
                y=np.asarray(values, dtype=np.float32),
                name=name,
                mode="markers" if len(labels) <= MOST_POINTED else "lines",
                marker={"size": 10, "symbol": symbol, "color": colour},
                line={"color": colour},
                customdata=[tick_text(label) for label in labels],
                hovertemplate="%{customdata}: %{y:.3f}",
            )
        )
    if selected is not None:
        figure.add_vline(x=selected, line={"color": ACCENT, "width": 1, "dash": "dot"})
    _named_axis(figure, labels, x_title)
    titled(figure, y=y_title)
    return figure


def curve_figure(
    x: Floats, y: Floats, units_x: Floats, units_y: Floats, *, names: tuple[str, str], x_title: str
) -> go.Figure:
    """A nonlinearity as a line, and one token's units as points on it."""
    figure = _figure("", 270, legend=True)
    step = max(1, math.ceil(len(units_x) / MOST_POINTS))
    figure.add_trace(
        go.Scatter(x=x.astype(np.float32), y=y.astype(np.float32), mode="lines", line={"color": GREY}, name=names[0])
    )
    figure.add_trace(
        go.Scatter(
            x=units_x[::step].astype(np.float32),
            y=units_y[::step].astype(np.float32),
            mode="markers",
            marker={"size": 8, "color": ACCENT, "opacity": 0.6},
            name=names[1],
            customdata=np.arange(1, len(units_x) + 1, step, dtype=np.int32),
            hovertemplate="%{customdata}: %{x:.3f} → %{y:.3f}<extra></extra>",
        )
    )
    titled(figure, x=x_title)
    figure.update_xaxes(zeroline=True)
    return figure


def entropies_figure(
    heads: Floats,
    average: Floats,
    one: Floats,
    labels: Sequence[str],
    *,
    selected: int,
    equal: float,
    height: int = 320,
    t: Translate = untranslated,
) -> go.Figure:
    """The entropy of each query's row: in every head, in the mean of the heads, and with a single head.

    Args:
        heads: (h, N), in nats.
        average: (N,).
        one: (N,).
        labels: N.
        selected: the query to mark.
        equal: the entropy of equal weights, ln of the number of tokens.
        height: in pixels.
        t: translates the figure's own words.
    """
    places = np.arange(len(labels), dtype=np.float32)
    beside = np.linspace(-SPREAD, SPREAD, len(heads)) if len(heads) > 1 else [0.0]
    figure = _figure("", height, legend=True)
    says = t("head {head}: {value} nats").format(head="%{customdata}", value="%{y:.2f}") + "<extra></extra>"
    for head, values in enumerate(heads):
        figure.add_scatter(
            x=places + np.float32(beside[head]),
            y=values.astype(np.float32),
            mode="markers",
            marker={"size": 8, "color": head_colour(head), "opacity": 0.85},
            name=t("the heads, one by one"),
            legendgroup="heads",
            showlegend=head == 0,
            customdata=[head + 1] * len(labels),
            hovertemplate=says,
        )
    for name, values, at, symbol, colour in (
        (t("the mean of the heads"), average, -1.6 * SPREAD, "diamond-open", TEXT),
        (t("one head over all columns"), one, 1.6 * SPREAD, "x-thin-open", ACCENT),
    ):
        figure.add_scatter(
            x=places + np.float32(at),
            y=values.astype(np.float32),
            mode="markers",
            marker={"size": 12, "symbol": symbol, "color": colour, "line": {"width": 2, "color": colour}},
            name=name,
            hovertemplate=f"{name}: %{{y:.2f}}<extra></extra>",
        )
    figure.add_vline(x=selected, line={"color": ACCENT, "width": 1, "dash": "dot"})
    figure.add_hline(y=equal, line={"color": GREY, "width": 1, "dash": "dash"})
    _named_axis(figure, labels, t("query"))
    titled(figure, y=t("nats; dashed: ln N, all weights equal"))
    figure.update_yaxes(rangemode="tozero")
    return figure


def drift_figure(
    to_start: Floats,
    to_neighbours: Floats,
    labels: Sequence[str],
    *,
    selected: int,
    height: int = 340,
    t: Translate = untranslated,
) -> go.Figure:
    """Cosines of every token's hidden state, layer by layer: to its start and to its neighbours.

    Args:
        to_start: (L + 1, N).
        to_neighbours: (L + 1, N), NaN where there is no neighbour.
        labels: N.
        selected: the token drawn in colour; the others stay thin and grey.
        height: in pixels.
        t: translates the figure's own words.
    """
    figure = _figure("", height, legend=True)
    figure.update_layout(margin_t=74)  # three names, a line each
    levels = np.arange(len(to_start), dtype=np.int32)
    grey_x = np.tile(np.r_[levels.astype(np.float32), np.nan], len(labels))
    grey_y = np.vstack([to_start, np.full((1, len(labels)), np.nan)]).T.ravel().astype(np.float32)
    figure.add_trace(
        go.Scatter(
            x=grey_x,
            y=grey_y,
            mode="lines",
            line={"color": GREY, "width": 1},
            opacity=0.55,
            name=t("the other tokens to their start"),
            hoverinfo="skip",
        )
    )
    name = tick_text(labels[selected])
    for said, values, dash, symbol in (
        (t("'{token}' to its start"), to_start, "solid", "circle"),
        (t("'{token}' to its neighbours"), to_neighbours, "dash", "diamond"),
    ):
        figure.add_trace(
            go.Scatter(
                x=levels,
                y=values[:, selected].astype(np.float32),
                mode="lines+markers",
                line={"color": ACCENT if dash == "solid" else BLUE, "width": 3, "dash": dash},
                marker={"size": 9, "symbol": symbol},
                name=said.format(token=name),
                hovertemplate="%{y:.2f}<extra></extra>",
            )
        )
    titled(figure, t("after layer (0 = what enters the first)"), t("cosine"))
    figure.update_layout(xaxis={"dtick": math.ceil(len(levels) / 13), "range": [-0.5, len(levels) - 0.5]})
    figure.update_layout(yaxis_range=[min(0.0, _least(to_start, to_neighbours)), 1.05])
    return figure


def _least(*arrays: Floats) -> float:
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return float(finite.min()) - 0.05 if len(finite) else 0.0


def _figure(title: str, height: int, *, legend: bool = False) -> go.Figure:
    return plain_figure(title, height, top=40 if title else 54 if legend else 24, has_legend=legend)


def _named_axis(figure: go.Figure, labels: Sequence[str], title: str) -> None:
    step = 1 if len(labels) <= ALL_NAMED else math.ceil(len(labels) / MOST_NAMED)
    named_below(figure, labels, step, title)
