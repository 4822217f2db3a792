"""Where the words of a sentence look in two models: before, at themselves, after; a row of bars for each word."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.axes import PITCH, Labels, keepers
from viz.maps import MOST_CELLS
from viz.masks import Panel
from viz.theme import MASKED_FILL, TEXT, Translate, heading, layout, markup, tick_text, untranslated

Floats = npt.NDArray[np.floating]

PARTS = {"before": "before it", "itself": "itself", "after": "after it", "elsewhere": "special tokens"}
# Blue and orange are told apart by every eye; in grey print the order and the gaps between the parts remain.
COLOURS = {"before": "#3E7EB6", "itself": "#7A7F85", "after": "#E08A1E", "elsewhere": MASKED_FILL}
LEGEND = 58  # pixels below the bars: two lines, more in large text
BETWEEN = 0.05  # of the width, between the two models


def directions_figure(
    shares: Sequence[dict[str, Floats]],
    names: Sequence[str],
    words: Sequence[str],
    panel: Panel,
    *,
    t: Translate = untranslated,
) -> go.Figure:
    """A bar of length 1 for each word in each model, parted by where the word's weight lies.

    Args:
        shares: of each model the parts by their name in `PARTS`, (W,) each.
        names: of the models.
        words: the W words. Of more than 128, groups of neighbours share a bar: their mean.
        panel: title, height, and the word whose row is outlined.
        t: translates the figure's own words.
    """
    scale, step = panel.scale, math.ceil(len(words) / MOST_CELLS)
    kept = words[::step]
    rows = Labels(kept, kept, 11 * scale, math.ceil(len(kept) * PITCH * scale / panel.cells_height))
    axes = rows.beside()
    kept_axes = keepers(axes)
    bars: list[dict[str, Any]] = []
    width = (1 - BETWEEN * (len(shares) - 1)) / len(shares)
    notes = []
    for column, (parts, name) in enumerate(zip(shares, names, strict=True)):
        start = column * (width + BETWEEN)
        number = "" if column == 0 else str(column + 1)
        axes[f"xaxis{number}"] = {
            **{"domain": [start, start + width], "range": [0, 1], "visible": False, "fixedrange": True, "anchor": "y"}
        }
        notes.append(heading(markup(name), x=start, size=12 * scale))
        bars += [_part(part, _grouped(parts[part], step), rows, f"x{number}", column == 0, t) for part in PARTS]
    shapes = []
    if panel.query is not None:
        at = panel.query // step
        line = {"color": TEXT, "width": 1.5}
        shapes = [{"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": at - 0.5, "y1": at + 0.5, "line": line}]
    legend = {"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "font": {"size": 12 * scale, "color": TEXT}}
    below = LEGEND if scale == 1 else 2 * LEGEND
    look = layout("", height=panel.height, top=panel.top, left=rows.width, bottom=below)
    look |= {"barmode": "stack", "bargap": 0.18, "dragmode": False, "legend": legend, "shapes": shapes}
    look["annotations"] = [panel.name(rows.width), *notes]
    return go.Figure([*bars, *kept_axes], {**look, **axes})


def _part(part: str, values: Floats, rows: Labels, xaxis: str, is_named: bool, t: Translate) -> dict[str, Any]:
    colour = {"color": COLOURS[part], "line": {"width": 0}}
    if part == "elsewhere":
        colour["pattern"] = {"shape": "/", "size": 5, "solidity": 0.2, "fgcolor": TEXT}
    says = t("query '{query}': {share} on what stands {where}") if part != "elsewhere" else ""
    where = t(PARTS[part])
    says = says.format(query="%{customdata}", share="%{x:.0%}", where=where) or (
        t("query '{query}': {share} on special tokens").format(query="%{customdata}", share="%{x:.0%}")
    )
    return {
        **{"type": "bar", "orientation": "h", "x": values.astype(np.float32), "xaxis": xaxis, "name": where},
        **{"y": np.arange(len(values), dtype=np.int32), "marker": colour, "legendgroup": part, "showlegend": is_named},
        **{"customdata": [tick_text(name) for name in rows.names], "hovertemplate": says + "<extra></extra>"},
    }


def _grouped(values: Floats, step: int) -> Floats:
    """The mean of each group of `step` neighbours."""
    starts = np.arange(0, len(values), step)
    sizes = np.diff([*starts, len(values)])
    return np.asarray(np.add.reduceat(values, starts) / sizes)
