"""What a mask does, beside the maps: what rows sum to without it in its place, and how far an edit moves states."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.axes import PITCH, QUIET, Labels, keepers
from viz.heatmaps import flat_bar
from viz.maps import Maps, says_blocks
from viz.masks import SEEN, Panel
from viz.theme import (
    ACCENT,
    COLORSCALE,
    MASKED_FILL,
    TEXT,
    Translate,
    heading,
    layout,
    text_width,
    tick_text,
    untranslated,
)

Floats = npt.NDArray[np.floating]
WRITTEN = 24  # bars with their number in them


def row_sums(sums: Floats, labels: Sequence[str], panel: Panel, *, t: Translate = untranslated) -> go.Figure:
    """What each row sums to when the mask comes after the softmax, as bars up to the line at 1 where it should be.

    More than 128 tokens: a bar is the least sum of its block.
    """
    column = np.asarray(sums, dtype=np.float32)[:, None]
    shown = Maps(column, np.ones(column.shape, dtype=bool), labels, [""]).in_blocks("least")
    query = -1 if panel.query is None else panel.query
    values, names, step = shown.cells[:, 0], shown.row_names, shown.step[0]
    if step > 1:
        said = t("{title}, the least of each {step}").format(title=panel.title, step=step)
        panel = replace(panel, title=said)
    n_rows = len(values)
    scale = panel.scale
    rows = Labels(names, labels[::step], 11 * scale, math.ceil(n_rows * PITCH * scale / panel.cells_height))
    axes = rows.beside()
    number = {"range": [0, 1.08], "tickvals": [0, 0.5, 1], "zeroline": False}
    axes["xaxis"] = {**number, "fixedrange": True, "automargin": False, "tickfont": {"size": 12 * scale, "color": TEXT}}
    says = t("query '{query}': row sum {sum}").format(query="%{customdata}", sum="%{x:.2f}")
    bars = {
        **{"type": "bar", "orientation": "h", "x": values, "y": np.arange(n_rows, dtype=np.int32)},
        "marker": {"color": [ACCENT if row * step <= query < (row + 1) * step else SEEN for row in range(n_rows)]},
        "customdata": [tick_text(name) for name in names],
        "hovertemplate": says + "<extra></extra>",
        "text": [f"{value:.2f}" for value in values] if n_rows * scale <= WRITTEN else None,
        **{"textposition": "inside", "insidetextanchor": "end", "constraintext": "none"},
        "textfont": {"size": 11 * scale, "color": "#FFFFFF"},
    }
    look = _look(panel, left=rows.width, bottom=30 * scale)
    return go.Figure([bars, *keepers(axes)], {**look, **axes, "bargap": 0.25, "shapes": [_upright(1, TEXT, "dot")]})


def moves(
    moved: Floats, labels: Sequence[str], panel: Panel, *, first: int, limit: float, t: Translate = untranslated
) -> go.Figure:
    """How far an edit moves each token's state, level by level: (L + 1, N), embeddings at the bottom.

    Beside its name each level has the largest move before the edit.

    Args:
        moved: ‖Δx‖ / ‖x‖; NaN = the edited token itself.
        labels: the N tokens.
        panel: title and height.
        first: index of the first edited token; a line stands before it.
        limit: end of the colour range; the same for all figures that are compared.
        t: translates the figure's own words.
    """
    n_levels = len(moved)
    before = [float(row[:first].max(initial=0)) for row in moved]
    names = [f"{name} · {short(most)}" for name, most in zip(level_names(n_levels, t), before, strict=True)]
    shown = Maps(moved, ~np.isnan(moved), names, labels).in_blocks()
    n_columns, step = shown.shape[1], shown.step[1]
    scale = panel.scale
    size = (13 if n_columns * scale <= 20 else 11) * scale
    keys = Labels(shown.column_names, labels[::step], size, math.ceil(n_columns * scale / 30))
    axes = keys.below()
    axes["yaxis"] = {**QUIET, "tickvals": list(range(n_levels)), "ticktext": names}
    axes["yaxis"] |= {"tickfont": {"size": 13 * scale, "color": TEXT}, "range": [-0.5, n_levels - 0.5]}
    ends = {"tickvals": [0, limit], "ticktext": ["0", f"{limit:.2f}"]}
    bar = flat_bar(x=0.95, xanchor="right", len=0.5, size=12 * scale, **ends)
    cells = {
        **{"type": "heatmap", "z": shown.visible(), "zmin": 0, "zmax": max(limit, 1e-9)},
        **{"colorscale": COLORSCALE, "hoverongaps": False, "ygap": 1, "colorbar": bar, "name": ""},
        "customdata": np.broadcast_to(np.array([tick_text(name) for name in keys.names]), shown.shape).tolist(),
        "hovertemplate": "'%{customdata}', %{y}: %{z:.3f}<extra></extra>",
    }
    edited = [
        {"type": "rect", "x0": at - 0.5, "x1": at + 0.5, **_HIGH, "fillcolor": MASKED_FILL, "line": {"width": 0}}
        for at in np.flatnonzero(~shown.allowed[0]).tolist()
    ]
    look = _look(panel, left=max(text_width(name, 13 * scale) for name in names) + 8, bottom=keys.depth)
    note = says_blocks(shown.step, t)
    look["annotations"] += [heading(note, size=12 * scale, yshift=18 * scale)] if note else []
    return go.Figure(
        [cells, *keepers(axes)], {**look, **axes, "shapes": [*edited, _upright(first / step - 0.5, ACCENT)]}
    )


def level_names(n_levels: int, t: Translate) -> list[str]:
    """The embedding and the layers above it."""
    return [t("embedding"), *(t("layer {n}").format(n=n) for n in range(1, n_levels))]


def short(move: float) -> str:
    """Two decimals; what rounding leaves as 0.00, and exactly nothing as 0."""
    return f"{move:.2f}" if move else "0"


_HIGH = {"yref": "paper", "y0": 0, "y1": 1}


def _upright(x: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    """A line across the figure."""
    return {"type": "line", "x0": x, "x1": x, **_HIGH, "line": {"width": 2, "color": colour, "dash": dash}}


def _look(panel: Panel, *, left: float, bottom: float) -> dict[str, Any]:
    look = layout("", height=panel.height, top=panel.top)
    look["margin"] |= {"l": left, "b": bottom, "autoexpand": False}
    return {**look, "showlegend": False, "annotations": [panel.name(left)]}
