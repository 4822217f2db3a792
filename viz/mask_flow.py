"""A mask as a flow of information: who may look at whom in one layer, and what is known where after several."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.maps.masking import cone
from viz.axes import QUIET, Labels, keepers
from viz.maps import Bools
from viz.mask_effects import level_names
from viz.masks import SEEN, Panel
from viz.theme import (
    ACCENT,
    HOLE,
    MASKED_FILL,
    TEXT,
    Translate,
    heading,
    layout,
    markup,
    text_width,
    tick_text,
    untranslated,
)

MOST_CELLS = 64  # a side: more are smaller than two pixels in the gallery
MOST_DRAWN = 20  # tokens; with more, lines can't be told apart
FAINT = "rgba(128, 128, 128, 0.28)"


def flow_graph(
    allowed: Bools, labels: Sequence[str], panel: Panel, *, query: int, n_layers: int, t: Translate = untranslated
) -> go.Figure:
    """Layers upwards, tokens across; a line wherever a query may look at a key. What can reach `query` is coloured.

    Dashed lines are residual connections of tokens that may not look at themselves. Of long sentences the stretch
    around `query` is drawn.
    """
    shown = _stretch(len(labels), query)
    reached = cone(allowed, query, n_layers)[:, shown]  # (L + 1, shown)
    part, tokens = allowed[shown, shown], labels[shown]
    at = query - shown.start
    scale = panel.scale
    keys = Labels(tokens, tokens, 12 * scale, math.ceil(len(tokens) * scale / MOST_DRAWN), bold=at)
    axes = keys.below()
    names = level_names(n_layers + 1, t)
    levels = {"tickvals": list(range(n_layers + 1)), "ticktext": names, "tickfont": {"size": 12 * scale, "color": TEXT}}
    axes["yaxis"] = {**QUIET, **levels, "range": [-0.4, n_layers + 0.4]}
    for axis in axes.values():
        axis["fixedrange"] = True
    look = layout("", height=panel.height, top=panel.top)
    left = max(text_width(name, 12 * scale) for name in names) + 8
    look["margin"] |= {"l": left, "b": keys.depth, "autoexpand": False}
    look |= {**axes, "annotations": [panel.name(left)], "showlegend": False}
    return go.Figure([*_ways(part, reached), _places(tokens, reached, at), *keepers(axes)], look)


def _ways(part: Bools, reached: Bools) -> list[dict[str, Any]]:
    """The lines of each kind as one trace: from keys that lead nowhere near, from keys that do, and residual ones."""
    looks = {
        "faint": {"color": FAINT, "width": 1},
        "reached": {"color": SEEN, "width": 1.6},
        "residual": {"color": SEEN, "width": 1.6, "dash": "dot"},
    }
    lines: dict[str, list[tuple[int, int, int]]] = {name: [] for name in looks}
    pairs = np.argwhere(part).tolist()
    for layer in range(1, len(reached)):
        for i, j in pairs:
            lines["reached" if reached[layer, i] else "faint"].append((j, i, layer))
        lines["residual"] += [(i, i, layer) for i in range(len(part)) if not part[i, i] and reached[layer, i]]
    return [_lines(lines[name], look) for name, look in looks.items() if lines[name]]


def _places(tokens: Sequence[str], reached: Bools, at: int) -> dict[str, Any]:
    """A dot for each token at each level, the chosen one on top in the accent colour."""
    level, position = np.indices(reached.shape).reshape(2, -1).astype(np.int32)
    chosen = (len(reached) - 1) * len(tokens) + at
    colours = [SEEN if on else MASKED_FILL for on in reached.ravel()]
    colours[chosen] = ACCENT
    sizes = [8] * len(colours)
    sizes[chosen] = 13
    return {
        **{"type": "scatter", "x": position, "y": level, "mode": "markers"},
        "marker": {"size": sizes, "color": colours, "line": {"width": 0}},
        "customdata": [tick_text(tokens[i]) for i in position.tolist()],
        "hovertemplate": "'%{customdata}', %{y}<extra></extra>",
    }


def gallery(
    masks: Sequence[tuple[str, Bools]], *, selected: int | None, n_places: int | None = None, height: int = 190
) -> go.Figure:
    """Several masks over the same tokens as small 0/1 pictures in a row, each named; the selected one is outlined.

    Of long sentences every k-th token is shown. `n_places` leaves room for more masks than there are.
    """
    n_tokens = len(masks[0][1])
    n = min(n_tokens, MOST_CELLS)
    chosen = np.linspace(0, n_tokens - 1, n).round().astype(np.int64)
    gap = 0.16 * n
    parts = [
        np.pad(allowed[np.ix_(chosen, chosen)].astype(np.uint8), ((0, 0), (0, 1)), constant_values=2)
        for _, allowed in masks
    ]
    edges = np.concatenate([np.arange(n + 1) + i * (n + gap) for i in range(len(masks))]).astype(np.float32)
    thirds = [MASKED_FILL, SEEN, HOLE]  # hidden, seen, the gap between two masks
    cells = {
        **{"type": "heatmap", "z": np.hstack(parts)[:, :-1], "x": edges, "y": np.arange(n + 1, dtype=np.float32)},
        **{"zmin": 0, "zmax": 2, "showscale": False, "hoverinfo": "skip"},
        "colorscale": [[at / 3, color] for i, color in enumerate(thirds) for at in (i, i + 1)],
    }
    notes = [_name_of(name, i * (n + gap), is_bold=i == selected) for i, (name, _) in enumerate(masks)]
    shapes = []
    if selected is not None:
        left = selected * (n + gap)
        box = {"type": "rect", "x0": left, "x1": left + n, "y0": 0, "y1": n}
        shapes = [{**box, "line": {"color": ACCENT, "width": 3}, "fillcolor": HOLE}]
    hidden = {**QUIET, "showticklabels": False, "fixedrange": True, "constrain": "domain"}
    right = (n_places or len(masks)) * (n + gap) - gap + 0.3
    x = {**hidden, "range": [-0.3, right], "constraintoward": "left"}
    y = {**hidden, "range": [n + 0.2, -0.22 * n], "scaleanchor": "x", "constraintoward": "top"}
    look = {**layout("", height=height, top=6), "dragmode": False, "annotations": notes, "shapes": shapes}
    return go.Figure(cells, {**look, "xaxis": x, "yaxis": y})


def _name_of(name: str, x: float, *, is_bold: bool) -> dict[str, Any]:
    text = f"<b>{markup(name)}</b>" if is_bold else markup(name)
    return heading(text, x=x, y=0, size=13, xref="x", yref="y")


def _stretch(n_tokens: int, query: int) -> slice:
    """The tokens that are drawn: all, or `MOST_DRAWN` around the query."""
    start = min(max(0, query - MOST_DRAWN // 2), max(0, n_tokens - MOST_DRAWN))
    return slice(start, min(n_tokens, start + MOST_DRAWN))


def _lines(segments: list[tuple[int, int, int]], line: dict[str, object]) -> dict[str, Any]:
    """Lines (from key, to query, layer) as one trace; NaN parts them."""
    ends = np.array(segments, dtype=np.float32)  # (n, 3)
    x = np.column_stack([ends[:, 0], ends[:, 1], np.full(len(ends), np.nan)]).ravel()
    y = np.column_stack([ends[:, 2] - 1, ends[:, 2], np.full(len(ends), np.nan)]).ravel()
    look = {"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip"}
    return {**look, "x": x.astype(np.float32), "y": y.astype(np.float32)}
