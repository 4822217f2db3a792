"""What places add, turn or take away: tables of position vectors, turning hands, slopes, and what heads make of it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.axes import QUIET
from viz.heatmaps import flat_bar
from viz.plots import BELOW, FONT, plain_figure, titled
from viz.style import signed
from viz.theme import ACCENT, HOLE, TEXT, Translate, markup, untranslated

GREY, BLUE = "#8A9096", "#3E7EB6"
LARGEST_TABLE = 256  # rows and columns drawn; of larger tables every k-th
PER_ROW = 8  # hands beside each other

Floats = npt.NDArray[np.floating]


def table_figure(
    table: Floats, *, x: str, y: str, name: str, limit: float | None = None, height: int = 360
) -> go.Figure:
    """A table of numbers around 0: position vectors, or cosines between them. Orange is above 0, purple below.

    Args:
        table: (P, C); of more than `LARGEST_TABLE` rows or columns every k-th is drawn, under its own number.
        x: what columns are.
        y: what rows are.
        name: what a cell is.
        limit: end of the colour range; None = the largest size of a cell.
        height: in pixels.
    """
    steps = [math.ceil(n / LARGEST_TABLE) for n in table.shape]
    shown = table[:: steps[0], :: steps[1]].astype(np.float32)
    limit = float(np.abs(shown).max()) if limit is None else limit
    figure = plain_figure("", height, top=36)
    look = signed(limit, cell=(height - 90) / len(shown))
    ends: dict[str, Any] = {"tickvals": [-limit, 0, limit], "ticktext": [f"−{limit:.2g}", name, f"+{limit:.2g}"]}
    figure.add_trace(
        go.Heatmap(
            z=shown,
            y0=0,
            dy=steps[0],
            x0=0,
            dx=steps[1],
            **look,
            colorbar={**flat_bar(**ends), "len": 0.6, "x": 0.98, "xanchor": "right"},
            hovertemplate=f"{markup(y)} %{{y}} · {markup(x)} %{{x}}: %{{z:.3f}}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed")
    titled(figure, y=y)
    below = {"x": 0.5, "xref": "paper", "y": 0, "yref": "paper", "yanchor": "top", "yshift": -31}
    figure.add_annotation(text=x, font=FONT, showarrow=False, **below)  # Plotly puts an axis title on the numbers here
    return figure.update_layout(margin_b=BELOW)


def products_figure(products: Floats, k: int, *, t: Translate = untranslated) -> go.Figure:
    """PE(p) · PE(p + k) by offset: a line, and the chosen k as a point on it."""
    figure = plain_figure("", 230, top=30)
    x, y = np.arange(len(products), dtype=np.int32), products.astype(np.float32)
    says = "k = %{x}: %{y:.2f}<extra></extra>"
    figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line={"color": BLUE, "width": 3}, hovertemplate=says))
    point = {"size": 14, "color": ACCENT, "symbol": "diamond"}
    figure.add_trace(go.Scatter(x=x[[k]], y=y[[k]], mode="markers", marker=point, hovertemplate=says))
    figure.update_yaxes(rangemode="tozero")
    titled(figure, t("offset k"), "PE(p) · PE(p + k)")
    return figure


def hands_figure(
    query: Floats, key: Floats, frequencies: Floats, *, height: int = 0, t: Translate = untranslated
) -> go.Figure:
    """Each pair of columns as a dial: the query's hand long and orange, the key's shorter and blue.

    Args:
        query: (P, 2), after the turn. Only directions are drawn; lengths don't change.
        key: likewise.
        frequencies: (P,), radians a token, written under each dial.
        height: in pixels; 0 = as the dials need.
        t: translates the figure's own words.
    """
    n_rows = math.ceil(len(query) / PER_ROW)
    n_columns = min(PER_ROW, len(query))
    figure = plain_figure("", height or 60 + 110 * n_rows, top=34, has_legend=True)
    centres = np.array([[i % PER_ROW, -1.25 * (i // PER_ROW)] for i in range(len(query))], dtype=float)
    shapes = [
        {"type": "circle", "x0": x - 0.42, "x1": x + 0.42, "y0": y - 0.42, "y1": y + 0.42, "line": {"color": GREY}}
        for x, y in centres
    ]
    looks = ((t("query"), query, ACCENT, 0.42, 4, "circle"), (t("key"), key, BLUE, 0.3, 4, "square"))
    for name, points, colour, length, width, symbol in looks:
        sizes = np.linalg.norm(points, axis=1, keepdims=True)
        ends = centres + length * np.divide(points, sizes, out=np.zeros_like(points, dtype=float), where=sizes > 0)
        x, y = (_with_gaps(centres[:, axis], ends[:, axis]) for axis in (0, 1))
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="lines+markers",
                line={"color": colour, "width": width},
                marker={"size": [0, 9, 0] * len(points), "symbol": symbol, "color": colour},
                name=name,
                hoverinfo="skip",
            )
        )
    for (x, y), theta in zip(centres, frequencies, strict=True):
        words = {
            "text": f"{theta:.1g}",
            "x": x,
            "y": y - 0.58,
            "showarrow": False,
            "font": {"size": 12, "color": TEXT},
        }
        figure.add_annotation(**words)
    low = -1.25 * (n_rows - 1) - 0.75
    hidden = {**QUIET, "visible": False, "fixedrange": True}
    across = {**hidden, "range": [-0.55, n_columns - 0.45]}
    figure.update_layout(shapes=shapes, xaxis=across, yaxis={**hidden, "range": [low, 0.55], "scaleanchor": "x"})
    figure.update_layout(margin_l=6, margin_b=6)
    return figure


def _with_gaps(starts: Floats, ends: Floats) -> npt.NDArray[np.float32]:
    gaps = np.full(len(starts), np.nan)
    return np.stack([starts, ends, gaps], axis=-1).ravel().astype(np.float32)


def lengths_figure(
    lengths: Sequence[int],
    names: Sequence[str],
    accuracy: Floats,
    *,
    chance: float,
    t: Translate = untranslated,
) -> go.Figure:
    """Right answers by length: a line for each way through the mean of its seeds, and a bar from the least to the most.

    Args:
        lengths: Z of them; the first is what was trained on.
        names: of the W ways.
        accuracy: (W, S, Z), for S seeds.
        chance: the share right by chance, the baseline.
        t: translates the figure's own words.
    """
    figure = plain_figure("", 340, top=72, has_legend=True)
    x = np.arange(len(lengths), dtype=np.int32)
    colours = ("#8A9096", "#3E7EB6", "#9A6FB0", "#E0571B", "#2E8B6F")
    looks = zip(
        colours,
        ("circle", "square", "diamond", "triangle-up", "x"),
        ("dot", "dash", "dashdot", "solid", "solid"),
        strict=True,
    )
    for place, (name, runs, (colour, symbol, dash)) in enumerate(zip(names, accuracy, looks, strict=True)):
        mean, least, most = runs.mean(axis=0), runs.min(axis=0), runs.max(axis=0)
        figure.add_trace(
            go.Scatter(
                x=x + np.float32(0.04) * (place - 2),
                y=mean.astype(np.float32),
                error_y={"array": (most - mean), "arrayminus": (mean - least), "thickness": 1.5, "width": 3},
                mode="lines+markers",
                line={"color": colour, "width": 3, "dash": dash},
                marker={"size": 10, "symbol": symbol, "color": colour},
                name=markup(name),
                customdata=np.stack([least, most], axis=-1).astype(np.float32),
                hovertemplate="%{fullData.name}: %{y:.0%} [%{customdata[0]:.0%}, %{customdata[1]:.0%}]<extra></extra>",
            )
        )
    figure.add_hline(y=chance, line={"color": GREY, "dash": "dot", "width": 1.5})
    figure.add_annotation(
        text=t("baseline: chance"),
        x=0,
        xref="paper",
        xanchor="left",
        y=chance,
        yanchor="bottom",
        showarrow=False,
        font=FONT,
    )
    figure.update_xaxes(tickvals=x, ticktext=[str(n) for n in lengths], range=[-0.3, len(lengths) - 0.7])
    figure.update_yaxes(range=[0, 1.06], tickformat=".0%")
    titled(figure, t("tokens in the sentence (trained on {n})").format(n=lengths[0]), t("right answers"))
    return figure


def offsets_figure(
    offsets: npt.NDArray[np.integer], words: Floats, places: Floats, *, names: tuple[str, str], t: Translate
) -> go.Figure:
    """One head's mean weight by offset: with the words of the sentence as bars, by position alone as a line."""
    figure = plain_figure("", 290, top=50, has_legend=True)
    x = offsets.astype(np.int32)
    figure.add_trace(go.Bar(x=x, y=words.astype(np.float32), marker={"color": BLUE}, name=markup(names[0])))
    line = {"color": ACCENT, "width": 3, "shape": "hvh"}
    figure.add_trace(
        go.Scatter(x=x, y=places.astype(np.float32), mode="lines+markers", line=line, name=markup(names[1]))
    )
    figure.update_traces(hovertemplate="%{x:+d}: %{y:.2f}<extra></extra>")
    top = max(float(np.nanmax(words)), float(np.nanmax(places)), 0.05)
    figure.update_layout(yaxis_range=[0, 1.1 * top], bargap=0.3)
    titled(figure, t("offset of the key, in tokens (− = before the query)"), t("mean weight"))
    return figure


def layer_offsets_figure(
    offsets: npt.NDArray[np.integer], words: Floats, places: Floats, *, names: Sequence[str], selected: int
) -> go.Figure:
    """The same for all heads of a layer, small, on one scale; the selected one in a frame.

    Args:
        offsets: (O,).
        words: (h, O).
        places: (h, O).
        names: of the h heads.
        selected: from 0.
    """
    n_columns = 4 if len(names) <= 16 else 8
    n_rows = math.ceil(len(names) / n_columns)
    figure = plain_figure("", 40 + 92 * n_rows, top=8)
    most = 1.02 * max(float(np.nanmax(words)), float(np.nanmax(places)), 0.05)
    look: dict[str, Any] = {}
    for place, name in enumerate(names):
        row, column = divmod(place, n_columns)
        x0, y0 = column / n_columns, 1 - (row + 1) / n_rows
        number = "" if place == 0 else str(place + 1)
        hidden = {**QUIET, "visible": False, "fixedrange": True}
        width, depth = 1 / n_columns - 0.015, 0.74 / n_rows
        look[f"xaxis{number}"] = {**hidden, "domain": [x0, x0 + width], "anchor": f"y{number}"}
        look[f"yaxis{number}"] = {**hidden, "domain": [y0, y0 + depth], "range": [0, most], "anchor": f"x{number}"}
        shared = {"x": offsets.astype(np.int32), "xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False}
        says = f"{name}, %{{x:+d}}: %{{y:.2f}}<extra></extra>"
        figure.add_trace(
            go.Bar(y=words[place].astype(np.float32), marker={"color": BLUE}, hovertemplate=says, **shared)
        )
        line = {"color": ACCENT, "width": 2, "shape": "hvh"}
        figure.add_trace(
            go.Scatter(y=places[place].astype(np.float32), mode="lines", line=line, hovertemplate=says, **shared)
        )
        figure.add_annotation(
            text=f"<b>{name}</b>" if place == selected else name,
            x=x0,
            y=y0 + depth + 0.01,
            **{
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": FONT,
            },
        )
        frame = {"color": ACCENT, "width": 2} if place == selected else {"color": GREY, "width": 0.5}
        box = {"x0": x0, "x1": x0 + width, "y0": y0, "y1": y0 + depth}
        figure.add_shape(type="rect", xref="paper", yref="paper", line=frame, fillcolor=HOLE, **box)
    figure.update_layout(**look, bargap=0.1, margin={"l": 6, "r": 6, "b": 6})
    return figure
