"""The signed difference of two maps, with the distance of each row beside it."""

import numpy as np
import plotly.graph_objects as go

from analysis import Comparison
from viz.heatmaps import SECOND_AXES, _add_masked, _token_axes
from viz.style import DIFFERENCE_SCALE
from viz.theme import TEXT, Translate, hover, layout, tick_text, untranslated

BAR_COLOUR = "rgba(128, 128, 128, 0.75)"
BARS_FROM = 0.83  # of the width


def difference_heatmap(
    comparison: Comparison, *, height: int = 455, text_scale: float = 1.0, t: Translate = untranslated
) -> go.Figure:
    """B − A cell by cell, purple where B looks less and orange where it looks more, and a bar for each row.

    The colour range is symmetric about 0 and ends at the largest difference. The bar of a row is ½ Σ|B − A|, on a
    scale from 0 to 1 where rows sum to 1.

    Args:
        comparison: of two maps.
        height: of the figure, in pixels.
        text_scale: 1 = normal text, 1.4 = for the back row.
        t: translates the figure's own words.
    """
    ticks = [tick_text(label) for label in both_labels(comparison)]
    n_tokens = len(ticks)
    largest = comparison.largest or 1.0
    seen = comparison.allowed_a | comparison.allowed_b
    axes = _token_axes(ticks, t, height=height, scale=text_scale, narrow=True)
    distances = comparison.row_distance.astype(np.float32)
    furthest = max(1.0, float(np.nan_to_num(distances).max(initial=0)))
    axes["xaxis"]["domain"] = [0, BARS_FROM - 0.03]
    axes["xaxis3"] = {
        "domain": [BARS_FROM, 1],
        "range": [0, furthest],
        "tickvals": [0, furthest],
        "ticktext": ["0", f"{furthest:g}"],
        "tickfont": {"size": 12 * text_scale, "color": TEXT},
        "title": {"text": "½ Σ|B − A|", "font": {"size": 12 * text_scale, "color": TEXT}},
        "anchor": "y",
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
    }
    figure = go.Figure(
        layout={
            **layout("", height=height, top=24),
            **axes,
            "legend": {"orientation": "h", "x": 0, "y": 1.005, "yanchor": "bottom", "font": {"color": TEXT}},
            "bargap": 0.25,
        }
    )
    figure.add_trace(
        go.Heatmap(
            z=np.where(seen, comparison.difference, np.nan).astype(np.float32),
            zmin=-largest,
            zmax=largest,
            colorscale=DIFFERENCE_SCALE,
            hoverongaps=False,
            name=t("difference B − A"),
            hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight="%{z:+.2f}"),
            colorbar={
                "orientation": "h",
                "thickness": 10,
                "len": BARS_FROM - 0.03,
                "x": 0,
                "xanchor": "left",
                "y": 1,
                "yanchor": "bottom",
                "ypad": 8,
                "tickangle": 0,
                "tickvals": [-largest, 0, largest],
                "ticktext": [f"−{largest:.2f}", "B − A", f"+{largest:.2f}"],
                "tickfont": {"size": 13 * text_scale, "color": TEXT},
                "outlinewidth": 0,
            },
        )
    )
    if not seen.all():
        _add_masked(figure, seen, t)
    if "xaxis2" in axes:
        figure.add_trace(go.Scatter(SECOND_AXES))
    figure.add_trace(
        go.Bar(
            x=distances,
            y=np.arange(n_tokens, dtype=np.int32),
            xaxis="x3",
            orientation="h",
            marker={"color": BAR_COLOUR},
            name=t("distance of the row"),
            hovertemplate=hover(t("row '{query}': ½ Σ|B − A| = {weight}"), weight="%{x:.2f}"),
            showlegend=False,
        )
    )
    return figure


def both_labels(comparison: Comparison) -> list[str]:
    """One label for each place: "big | small" where A and B differ."""
    pairs = zip(comparison.labels_a, comparison.labels_b, strict=True)
    return [a if a == b else f"{a} | {b}" for a, b in pairs]
