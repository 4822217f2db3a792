"""One pair of columns under rotary positions: points of a plane before and after they are turned."""

import math

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.plots import plain_figure
from viz.theme import ACCENT, Translate, untranslated

BLUE = "#3E7EB6"  # as in viz.block

Point = npt.NDArray[np.floating]  # (2,)


def plane_figure(
    query: tuple[Point, Point],
    key: tuple[Point, Point],
    angle: float,
    *,
    height: int = 330,
    t: Translate = untranslated,
) -> go.Figure:
    """A token's query and key in the plane of one pair: from where they were to where the rotation leaves them.

    Args:
        query: before and after.
        key: before and after.
        angle: radians by which both were turned.
        height: in pixels.
        t: translates the figure's own words.
    """
    figure = plain_figure("", height, top=44, has_legend=True)
    looks = ((t("query"), query, ACCENT, "circle"), (t("key"), key, BLUE, "square"))
    for name, (first, last), colour, symbol in looks:
        figure.add_trace(_arrow(first, colour, f"{symbol}-open", "dot", t("{name} before").format(name=name)))
        figure.add_trace(_arrow(last, colour, symbol, "solid", t("{name} after").format(name=name)))
        figure.add_trace(_arc(first, angle, colour))
    most = 1.15 * max(float(np.linalg.norm(point)) for pair in (query, key) for point in pair) or 1.0
    axis = {"range": [-most, most], "zeroline": True}
    figure.update_layout(xaxis=axis, yaxis={**axis, "scaleanchor": "x"})
    return figure


def _arrow(point: Point, colour: str, symbol: str, dash: str, name: str) -> go.Scatter:
    x, y = (float(number) for number in point)
    return go.Scatter(
        x=[0, x],
        y=[0, y],
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": dash},
        marker={"size": [0, 11], "symbol": symbol, "color": colour, "line": {"color": colour, "width": 2}},
        name=name,
        hovertemplate="(%{x:.3f}, %{y:.3f})",
    )


def _arc(start: Point, angle: float, colour: str) -> go.Scatter:
    """The way from before to after; whole turns are left out."""
    swept = math.fmod(angle, 2 * math.pi)
    first, radius = math.atan2(float(start[1]), float(start[0])), float(np.linalg.norm(start))
    angles = first + np.linspace(0, swept, 40)
    return go.Scatter(
        x=(radius * np.cos(angles)).astype(np.float32),
        y=(radius * np.sin(angles)).astype(np.float32),
        mode="lines",
        line={"color": colour, "width": 1, "dash": "dot"},
        showlegend=False,
        hoverinfo="skip",
    )
