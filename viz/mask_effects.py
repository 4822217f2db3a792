"""What a mask does, beside the maps: differences of all heads, row sums, and how far an edit moves states."""

import html
import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz.heatmaps import layer_grid
from viz.masks import DIFFERENCES, FRAME, LABEL, MAP_HEIGHT, SEEN, Floats, heading
from viz.pooling import coarsen
from viz.theme import (
    ACCENT,
    COLORSCALE,
    HOLE,
    MASKED_FILL,
    TEXT,
    Translate,
    hover,
    key_angle,
    layout,
    tick_text,
    untranslated,
)


def entitle(figure: go.Figure, title: str) -> go.Figure:
    """Gives a grid of heads a title of its own, and its heads names that fit a third of the page."""
    figure.update_layout(title_text=f"<b>{html.escape(title, quote=False)}</b>", title_font_size=15)
    for annotation in figure.layout.annotations:
        annotation.font.size = 12
    return figure


def difference_grid(
    difference: Floats,
    labels: Sequence[str],
    *,
    layer: int,
    limit: float,
    selected: int | None = None,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """The differences of all heads of a layer, (h, N, N), as tiles like `layer_grid`.

    Many tokens: a cell shows the value of its block that is farthest from 0.
    """
    n_heads, n_tokens = difference.shape[0], len(labels)
    seen = np.ones((n_tokens, n_tokens), dtype=bool)
    figure = layer_grid(np.abs(difference), seen, labels, layer=layer, selected=selected, height=height, t=t)
    n_columns = int(np.ceil(np.sqrt(n_heads)))
    old = figure.data[0]
    n_cells = (old.z.shape[1] + 1) // n_columns - 1
    tiles = coarsen(difference, math.ceil(n_tokens / n_cells), "farthest")
    mosaic = np.full(old.z.shape, np.nan, dtype=np.float32)
    for head in range(n_heads):
        row, column = divmod(head, n_columns)
        mosaic[row * (n_cells + 1) :, column * (n_cells + 1) :][:n_cells, :n_cells] = tiles[head]
    limit = max(limit, 1e-9)
    old.update(z=mosaic, zmin=-limit, zmax=limit, colorscale=DIFFERENCES, hoverongaps=False)
    if old.hovertemplate:
        old.update(hovertemplate=hover(t("query '{query}' → key '{key}': {weight}"), weight="%{z:+.2f}"))
    for shape in figure.layout.shapes:
        if shape.fillcolor == MASKED_FILL:
            shape.update(fillcolor=HOLE, line={"width": 1, "color": MASKED_FILL})
    return figure


def short(move: float) -> str:
    """Two decimals; what rounding leaves as 0.00, and exactly nothing as 0."""
    return f"{move:.2f}" if move else "0"


def row_sums(
    sums: Floats,
    labels: Sequence[str],
    *,
    title: str,
    query: int,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """What each row sums to when the mask comes after the softmax, as bars up to the line at 1 where it should be."""
    n_tokens = len(labels)
    step = math.ceil(n_tokens * LABEL / (height - FRAME))
    figure = go.Figure(
        go.Bar(
            x=np.asarray(sums, dtype=np.float32),
            y=np.arange(n_tokens, dtype=np.int32),
            orientation="h",
            marker={"color": [ACCENT if i == query else SEEN for i in range(n_tokens)]},
            customdata=[tick_text(label) for label in labels],
            hovertemplate=t("query '{query}': row sum {sum}").format(query="%{customdata}", sum="%{x:.2f}")
            + "<extra></extra>",
            text=[f"{value:.2f}" for value in sums] if n_tokens <= 24 else None,
            textposition="inside",
            insidetextanchor="end",
            constraintext="none",
            textfont={"size": 11, "color": "#FFFFFF"},
        ),
        layout={
            **layout("", height=height, top=58),
            "bargap": 0.25,
            "showlegend": False,
            "annotations": [heading(title)],
        },
    )
    figure.update_xaxes(
        range=[0, 1.08], tickvals=[0, 0.5, 1], zeroline=False, fixedrange=True, tickfont={"color": TEXT}
    )
    figure.update_yaxes(
        range=[n_tokens - 0.5, -0.5],
        tickvals=list(range(0, n_tokens, step)),
        ticktext=[tick_text(label) for label in labels][::step],
        tickfont={"size": 11, "color": TEXT},
        showgrid=False,
        fixedrange=True,
        automargin=True,
    )
    figure.add_vline(x=1, line={"width": 2, "color": TEXT, "dash": "dot"})
    return figure


def moves(
    moved: Floats,
    labels: Sequence[str],
    *,
    title: str,
    first: int,
    limit: float,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """How far an edit moves each token's state, level by level: (L + 1, N), embeddings at the bottom.

    Beside its name each level has the largest move before the edit.

    Args:
        moved: ‖Δx‖ / ‖x‖; NaN = the edited token itself.
        labels: the N tokens.
        title: text above.
        first: index of the first edited token; a line stands before it.
        limit: end of the colour range; the same for all figures that are compared.
        height: in pixels.
        t: translates the figure's own words.
    """
    n_levels, n_tokens = moved.shape
    step = -(-n_tokens // 30)
    names = [t("embedding"), *(t("layer {n}").format(n=n) for n in range(1, n_levels))]
    before = [float(row[:first].max(initial=0)) for row in moved]
    names = [f"{name} · {short(most)}" for name, most in zip(names, before, strict=True)]
    figure = go.Figure(
        go.Heatmap(
            z=moved.astype(np.float32),
            zmin=0,
            zmax=max(limit, 1e-9),
            colorscale=COLORSCALE,
            hoverongaps=False,
            customdata=np.broadcast_to(np.array([tick_text(label) for label in labels]), moved.shape).tolist(),
            hovertemplate="'%{customdata}', %{y}: %{z:.3f}<extra></extra>",
            ygap=1,
            colorbar={
                "orientation": "h",
                "thickness": 10,
                "len": 0.5,
                "x": 1,
                "xanchor": "right",
                "y": 1,
                "yanchor": "bottom",
                "tickvals": [0, limit],
                "ticktext": ["0", f"{limit:.2f}"],
                "tickfont": {"size": 13, "color": TEXT},
                "outlinewidth": 0,
            },
        ),
        layout={**layout("", height=height, top=58), "annotations": [heading(title)]},
    )
    edited = np.flatnonzero(np.isnan(moved[0]))
    for position in edited:
        figure.add_vrect(x0=position - 0.5, x1=position + 0.5, fillcolor=MASKED_FILL, line_width=0)
    figure.add_vline(x=first - 0.5, line={"width": 2, "color": ACCENT})
    figure.update_xaxes(
        range=[-0.5, n_tokens - 0.5],
        tickvals=list(range(0, n_tokens, step)),
        ticktext=[tick_text(label) for label in labels][::step],
        tickangle=key_angle(labels),
        tickfont={"size": 13 if n_tokens <= 20 else 11, "color": TEXT},
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    figure.update_yaxes(
        tickvals=list(range(n_levels)),
        ticktext=names,
        tickfont={"size": 13, "color": TEXT},
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    return figure
