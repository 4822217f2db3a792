"""The signed difference of two maps, with the distance of each row beside it."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis import Comparison
from viz.axes import QUIET, Frame
from viz.heatmaps import CELL, MAP_HEIGHT, flat_bar, map_figure
from viz.maps import Maps, Singles, says_blocks
from viz.masks import AROUND, signed_bar, with_less_hatched
from viz.style import signed
from viz.theme import TEXT, Translate, heading, hover, untranslated

BAR_COLOUR = "rgba(128, 128, 128, 0.75)"
BARS_FROM = 0.83  # of the width


def difference_heatmap(
    comparison: Comparison, *, height: int = MAP_HEIGHT, text_scale: float = 1.0, t: Translate = untranslated
) -> go.Figure:
    """B − A cell by cell: purple and hatched where B looks less, orange where it looks more; a bar for each row.

    The colour range is symmetric about 0 and ends at the largest difference. The bar of a row is ½ Σ|B − A|, on a
    scale from 0 to 1 where rows sum to 1.

    Args:
        comparison: of two maps.
        height: of the figure, in pixels.
        text_scale: 1 = normal text, 1.4 = for the back row.
        t: translates the figure's own words.
    """
    (labels, keys), limit = both_labels(comparison), comparison.largest or 1.0
    seen = comparison.allowed_a | comparison.allowed_b
    shown = Maps(comparison.difference, seen, labels, keys).in_blocks("farthest")
    cell = (height - AROUND * text_scale) / max(shown.shape)
    cells = {"z": shown.visible(), **signed(limit, cell), "name": t("difference B − A")}
    cells["hovertemplate"] = hover(t(CELL), weight="%{z:+.2f}")
    bar = flat_bar(**signed_bar(limit, "B − A", cell), size=13 * text_scale)
    cells["colorbar"] = {**bar, "len": BARS_FROM - 0.15, "x": 0.06}
    note = heading(says_blocks(shown.step, t, "farthest"), size=12 * text_scale, yshift=30 * text_scale)
    figure = map_figure(shown, cells, Frame(height, 46 * text_scale, 11, text_scale), [note], t=t)
    figure.update_layout(xaxis_domain=[0, BARS_FROM - 0.03], bargap=0.25)
    with_less_hatched(figure, shown, limit, cell)
    rows = Maps(comparison.row_distance[:, None], np.ones((len(labels), 1), dtype=bool), labels, [""])
    return _with_bars(figure, rows.in_blocks().cells[:, 0].astype(np.float32), text_scale, t)


def both_labels(comparison: Comparison) -> tuple[list[str], list[str]]:
    """One label for each row and each column: "big | small" where A and B differ."""
    rows = zip(comparison.labels_a, comparison.labels_b, strict=True)
    columns = zip(comparison.keys_a, comparison.keys_b, strict=True)
    of_rows, of_columns = ([a if a == b else f"{a} | {b}" for a, b in pairs] for pairs in (rows, columns))
    return of_rows, of_columns


def _with_bars(figure: go.Figure, distances: Singles, text_scale: float, t: Translate) -> go.Figure:
    furthest = max(1.0, float(np.nan_to_num(distances).max(initial=0)))
    font = {"size": 12 * text_scale, "color": TEXT}
    axis: dict[str, Any] = {"domain": [BARS_FROM, 1], "range": [0, furthest], "anchor": "y", "fixedrange": True}
    ticks = {"tickvals": [0, furthest], "ticktext": ["0", f"{furthest:g}"], "tickfont": font}
    title = {"text": "½ Σ|B − A|", "font": font, "standoff": 4}
    figure.update_layout(xaxis4={**QUIET, **axis, **ticks, "title": title})
    return figure.add_trace(
        go.Bar(
            x=distances,
            y=np.arange(len(distances), dtype=np.int32),
            xaxis="x4",
            orientation="h",
            marker={"color": BAR_COLOUR},
            name=t("distance of the row"),
            hovertemplate=hover(t("row '{query}': ½ Σ|B − A| = {weight}"), weight="%{x:.2f}"),
            showlegend=False,
        )
    )
