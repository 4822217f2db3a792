"""Scores of heads as figures: layers × heads, relations × heads, one head's relations, and used against looked at.

A cell that doesn't beat the baseline is grey, never a colour of the scale; with too few arcs it is hollow. Every figure
has square marks without ink over its cells, because a heatmap's own cells send no click.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from model.head_id import HeadId
from viz.style import DIFFERENCE_SCALE
from viz.theme import ACCENT, HOLE, MASKED_FILL, MASKED_LINES, TEXT, Translate, layout, untranslated

Quantity = Literal["accuracy", "gain"]
COLORSCALE = "Viridis"  # cividis is grey in its middle, and grey means "no better than the baseline" here
GAIN_LIMIT = 0.5  # what the last colour of a gain stands for, unless there is a larger one
BAR = "#4C6A92"  # a blue of 5.2 : 1 on the light and 3.4 : 1 on the dark background
GREY = "#8A8F94"

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]


def score_grid(
    values: Floats,
    beats: Bools,
    rows: Sequence[str],
    columns: Sequence[str],
    hovers: Sequence[Sequence[str]],
    *,
    quantity: Quantity = "accuracy",
    hollow: Sequence[bool] = (),
    selected: tuple[int, int] | None = None,
    corner: str = "",
    height: int = 330,
    t: Translate = untranslated,
) -> go.Figure:
    """Numbers in cells, coloured where they beat the baseline.

    Args:
        values: (R, C), shares 0 to 1, or gains −1 to 1; NaN = nothing was measured.
        beats: (R, C), True = coloured; the others are grey.
        rows: names, as text.
        columns: likewise.
        hovers: R × C texts.
        quantity: which scale.
        hollow: (R,), rows with too few arcs; nothing = none.
        selected: the cell to outline.
        corner: says what rows and columns are; stands above the first row.
        height: in pixels.
        t: translates the figure's own words.
    """
    values = np.asarray(values, dtype=np.float32)
    n_rows, n_columns = values.shape
    thin = np.repeat(np.array(hollow or [False] * n_rows)[:, None], n_columns, axis=1)
    solid = beats & ~thin
    limit = max(GAIN_LIMIT, float(np.nan_to_num(values).max(initial=0))) if quantity == "gain" else 1.0
    scale, least = (DIFFERENCE_SCALE, -limit) if quantity == "gain" else (COLORSCALE, 0.0)
    figure = go.Figure(layout={**layout("", height=height, top=34), "dragmode": False, "showlegend": False})
    known = ~np.isnan(values)
    grey = np.where(known & ~solid & ~thin, 1, np.nan).astype(np.float32)
    colour = [[0, MASKED_FILL], [1, MASKED_FILL]]
    figure.add_trace(
        go.Heatmap(z=grey, zmin=0, zmax=1, colorscale=colour, showscale=False, hoverinfo="skip", xgap=2, ygap=2)
    )
    figure.add_trace(
        go.Heatmap(
            z=np.where(solid, values, np.nan).astype(np.float32),
            zmin=least,
            zmax=limit,
            colorscale=scale,
            hoverinfo="skip",
            xgap=2,
            ygap=2,
            colorbar=_bar(quantity, limit, t),
        )
    )
    ink = np.full(values.shape, TEXT, dtype=object)
    for row, column in zip(*np.nonzero(solid & known), strict=True):
        ink[row, column] = _ink(scale, (float(values[row, column]) - least) / (limit - least))
    y, x = (axis.ravel() for axis in np.indices(values.shape))
    figure.add_trace(
        go.Scatter(
            x=x.astype(np.int16),
            y=y.astype(np.int16),
            mode="markers+text",
            text=[_number(value, quantity) for value in values.ravel().tolist()],
            textfont={"size": 12, "color": ink.ravel().tolist()},
            customdata=[text for row in hovers for text in row],
            hovertemplate="%{customdata}<extra></extra>",
            hoverlabel={"bgcolor": "#1D2329", "font": {"color": "#FFFFFF", "size": 14}},  # marks have no colour to take
            marker={
                "symbol": "square-open",
                "size": 22,
                "color": [MASKED_LINES if one else HOLE for one in (thin & known).ravel().tolist()],
                "line": {"width": 1.5},
            },
            selected={"marker": {"opacity": 1}, "textfont": {}},
            unselected={"marker": {"opacity": 1}, "textfont": {}},
            name="",
        )
    )
    if selected is not None:
        box = {"x0": selected[1] - 0.5, "x1": selected[1] + 0.5, "y0": selected[0] - 0.5, "y1": selected[0] + 0.5}
        figure.add_shape(type="rect", **box, line={"color": ACCENT, "width": 3})
    figure.add_annotation(
        text=html.escape(corner, quote=False),
        x=0,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=4,
        showarrow=False,
        font={"size": 13, "color": TEXT},
    )
    look: dict[str, Any] = {
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "fixedrange": True,
        "tickmode": "array",
        "automargin": True,
        "tickfont": {"size": 13, "color": TEXT},
    }
    figure.update_xaxes(
        **look,
        tickvals=np.arange(n_columns, dtype=np.int16),
        ticktext=[html.escape(name, quote=False) for name in columns],
        range=[-0.5, n_columns - 0.5],
        tickangle=0 if n_columns <= 12 else -60,
    )
    figure.update_yaxes(
        **look,
        tickvals=np.arange(n_rows, dtype=np.int16),
        ticktext=[html.escape(name, quote=False) for name in rows],
        range=[n_rows - 0.5, -0.5],
    )
    return figure


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
    figure = go.Figure(
        layout={
            **layout("", height=100 + 34 * max(len(bars), 1), top=50),
            "dragmode": False,
            "bargap": 0.35,
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 13, "color": TEXT}},
        }
    )
    places = list(range(len(bars)))
    fills = [HOLE if bar.thin else BAR if bar.beats else GREY for bar in bars]
    error = {
        "type": "data",
        "symmetric": False,
        "array": [(bar.high - bar.accuracy) if bar.high is not None else 0 for bar in bars],
        "arrayminus": [(bar.accuracy - bar.low) if bar.low is not None else 0 for bar in bars],
        "color": TEXT,
        "thickness": 1.5,
        "width": 4,
    }
    figure.add_trace(
        go.Bar(
            x=[bar.accuracy for bar in bars],
            y=places,
            orientation="h",
            marker={"color": fills, "line": {"color": [BAR if bar.beats else GREY for bar in bars], "width": 1.5}},
            error_x=error,
            customdata=[bar.says for bar in bars],
            hovertemplate="%{customdata}<extra></extra>",
            name=t("this head, with its interval"),
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[bar.baseline for bar in bars],
            y=places,
            mode="markers",
            marker={"symbol": "line-ns", "size": 22, "line": {"width": 3, "color": ACCENT}},
            hoverinfo="skip",
            name=t("best baseline, without attention"),
        )
    )
    text = {"color": TEXT, "size": 13}
    figure.update_xaxes(range=[0, 1], tickformat=".0%", fixedrange=True, tickfont=text, zeroline=False)
    figure.update_yaxes(
        tickmode="array",
        tickvals=places,
        ticktext=[html.escape(bar.name, quote=False) for bar in bars],
        range=[len(bars) - 0.5, -0.5],
        automargin=True,
        fixedrange=True,
        showgrid=False,
        tickfont=text,
    )
    return figure


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
    is_selected = (layer == selected[0]) & (head == selected[1])
    far = set(np.argsort(-attention.ravel())[:3]) | set(np.argsort(-change.ravel())[:3])
    sentence = t("head {head}: weight {x}, change {y}")
    figure = go.Figure(layout={**layout("", height=360, top=26), "dragmode": False})
    figure.add_trace(
        go.Scatter(
            x=attention.ravel().astype(np.float32),
            y=change.ravel().astype(np.float32),
            mode="markers+text",
            text=[name if i in far or is_selected[i] else "" for i, name in enumerate(names)],
            textposition="top center",
            textfont={"size": 13, "color": TEXT},
            customdata=names,
            hovertemplate=sentence.format(head="%{customdata}", x="%{x:.2f}", y="%{y:.1%}") + "<extra></extra>",
            marker={
                "size": np.where(is_selected, 14, 9).tolist(),
                "color": [ACCENT if one else BAR for one in is_selected.tolist()],
                "symbol": ["diamond" if one else "circle" for one in is_selected.tolist()],
                "line": {"width": 1, "color": TEXT},
            },
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
            name="",
            showlegend=False,
        )
    )
    text = {"size": 13, "color": TEXT}
    top = float(change.max(initial=0)) * 1.15 or 0.01
    figure.update_xaxes(
        title={"text": x_title, "font": text}, tickfont=text, range=[-0.03, 1.03], fixedrange=True, zeroline=False
    )
    figure.update_yaxes(
        title={"text": y_title, "font": text},
        tickfont=text,
        tickformat=".0%",
        range=[0, top],
        fixedrange=True,
        automargin=True,
    )
    return figure


def outline(figure: go.Figure, cells: Sequence[tuple[int, int]]) -> None:
    """Frames cells (query, key) of a map: the gold ones."""
    for query, key in cells:
        box = {"x0": key - 0.5, "x1": key + 0.5, "y0": query - 0.5, "y1": query + 0.5}
        figure.add_shape(type="rect", **box, line={"color": ACCENT, "width": 2.5})


def _bar(quantity: Quantity, limit: float, t: Translate) -> dict[str, Any]:
    title = t("gain") if quantity == "gain" else t("accuracy")
    ends = [-limit, 0, limit] if quantity == "gain" else [0, 0.5, 1]
    words = [f"−{limit:.0%}", title, f"+{limit:.0%}"] if quantity == "gain" else ["0 %", title, "100 %"]
    return {
        "orientation": "h",
        "thickness": 9,
        "len": 0.5,
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "bottom",
        "ypad": 4,
        "outlinewidth": 0,
        "tickvals": ends,
        "ticktext": words,
        "tickangle": 0,
        "tickfont": {"size": 12, "color": TEXT},
    }


def _number(value: float, quantity: Quantity) -> str:
    if np.isnan(value):
        return ""
    return f"{100 * value:+.0f}".replace("-", "−") if quantity == "gain" else f"{100 * value:.0f}"


def _ink(scale: str, place: float) -> str:
    """Black or white, whichever can be read on the colour at `place`."""
    (colour,) = sample_colorscale(scale, [min(max(place, 0), 1)])
    red, green, blue = (float(part) / 255 for part in colour[4:-1].split(","))
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "#111111" if luminance > 0.18 else "#FFFFFF"
