"""Figures with numbered axes: bars, lines and points, in margins that are fixed."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from viz.axes import Labels, keepers, side_title
from viz.theme import FLAT_LEGEND, TEXT, is_upright, layout, text_width

FONT = {"size": 13, "color": TEXT}
NUMBERS, BESIDE, BELOW = 46, 68, 54  # pixels: of numbers along an axis, and with a title beside or below them


def plain_figure(title: str, height: int, *, top: float, has_legend: bool = False) -> go.Figure:
    """An empty figure with the title at the left edge; both axes numbered."""
    look = layout(title, height=height, top=top, left=NUMBERS, right=12, bottom=30)
    look["title"]["font"] = {"size": 15, "color": TEXT}
    axis = {"tickfont": FONT, "fixedrange": True, "automargin": False}
    look |= {"dragmode": False, "showlegend": has_legend, "legend": {**FLAT_LEGEND, "y": 1.01, "font": FONT}}
    return go.Figure(layout={**look, "xaxis": axis, "yaxis": axis})


def titled(figure: go.Figure, x: str = "", y: str = "") -> None:
    """Says what the axes are; Chinese beside an axis stands upright."""
    if x:
        figure.update_layout(xaxis_title={"text": x, "font": FONT, "standoff": 4}, margin_b=BELOW)
    if y:
        figure.update_layout(margin_l=BESIDE)
        if is_upright(y):
            figure.add_annotation(side_title(y, BESIDE, FONT))
        else:
            figure.update_layout(yaxis_title={"text": y, "font": FONT, "standoff": 6})


def named_below(figure: go.Figure, labels: Sequence[str], every: int = 1, title: str = "") -> None:
    """Puts tokens under the x axis, every k-th of many."""
    named = Labels(labels, labels, FONT["size"], every)  # type: ignore[arg-type]
    axes: dict[str, Any] = named.below()
    axes["xaxis"] |= {"range": [-0.6, len(labels) - 0.4], "fixedrange": True}
    figure.update_layout(**axes, margin_b=named.depth + 6)
    figure.add_traces(keepers(axes))
    if title:
        below = {"text": title, "font": FONT, "showarrow": False, "xanchor": "center", "yanchor": "bottom"}
        figure.add_annotation(**below, x=0.5, xref="paper", y=0, yref="paper", yshift=-named.depth - 24)
        figure.update_layout(margin_b=named.depth + 26)


def named_beside(figure: go.Figure, names: Sequence[str], size: float = 13) -> None:
    """Makes room for names left of a y axis."""
    figure.update_layout(margin_l=max(text_width(name, size) for name in names) + 10)
