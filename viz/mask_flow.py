"""A mask as a flow of information: who may look at whom in one layer, and what is known where after several."""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.maps.masking import Bools, Ints, cone
from viz.heatmaps import head_heatmap
from viz.masks import MAP_HEIGHT, SEEN, compact, heading
from viz.pooling import in_blocks
from viz.theme import ACCENT, HOLE, MASKED_FILL, TEXT, Translate, hover, key_angle, layout, tick_text, untranslated

MOST_CELLS = 64  # a side: more are smaller than two pixels in the gallery
MOST_DRAWN = 20  # tokens; with more, lines can't be told apart
FAINT = "rgba(128, 128, 128, 0.28)"
NEAR_TO_FAR = [[0, "#08306B"], [0.35, "#2171B5"], [1, "#BDD7E7"]]


def reach_map(
    needed: Ints,
    labels: Sequence[str],
    *,
    title: str,
    n_layers: int,
    query: int | None = None,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """The fewest layers after which a query can know of a key; hatched where `n_layers` aren't enough."""
    known = in_blocks(needed.astype(np.float32), needed >= 0, labels, "least")
    figure = head_heatmap(*known, title=title, height=height, t=t)
    figure.data[0].update(
        zmin=0,
        zmax=max(n_layers, 1),
        colorscale=NEAR_TO_FAR,
        hovertemplate=hover(t("query '{query}' knows of key '{key}' after layer {weight}"), weight="%{z:d}"),
        colorbar={
            "tickvals": [0, n_layers / 2, n_layers],
            "ticktext": ["0", t("layers needed"), str(n_layers)],
        },
    )
    if len(figure.data) > 1:
        figure.data[1].update(hovertemplate=hover(t("query '{query}' knows nothing of key '{key}'"), weight=""))
        figure.data[2].update(name=t("out of reach"))
    return compact(figure, labels, query)


def flow_graph(
    allowed: Bools,
    labels: Sequence[str],
    *,
    title: str,
    query: int,
    n_layers: int,
    height: int = MAP_HEIGHT,
    t: Translate = untranslated,
) -> go.Figure:
    """Layers upwards, tokens across; a line wherever a query may look at a key. What can reach `query` is coloured.

    Dashed lines are residual connections of tokens that may not look at themselves. Of long sentences the stretch
    around `query` is drawn.
    """
    shown = _stretch(len(labels), query)
    reached = cone(allowed, query, n_layers)[:, shown]  # (L + 1, shown)
    part = allowed[shown, shown]
    at = query - shown.start
    figure = go.Figure(
        layout={**layout("", height=height, top=58), "annotations": [heading(title)], "showlegend": False}
    )
    n = len(part)
    rows, columns = np.nonzero(part)
    lines: dict[str, list[tuple[int, int, int]]] = {"faint": [], "reached": [], "residual": []}
    for layer in range(1, n_layers + 1):
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            lines["reached" if reached[layer, i] else "faint"].append((j, i, layer))
        lines["residual"] += [(i, i, layer) for i in range(n) if not part[i, i] and reached[layer, i]]
    for name, line in (
        ("faint", {"color": FAINT, "width": 1}),
        ("reached", {"color": SEEN, "width": 1.6}),
        ("residual", {"color": SEEN, "width": 1.6, "dash": "dot"}),
    ):
        if lines[name]:
            figure.add_trace(_lines(lines[name], line))
    level, position = np.indices(reached.shape).reshape(2, -1)
    colors = [SEEN if on else MASKED_FILL for on in reached.ravel()]
    chosen = n_layers * n + at
    figure.add_trace(
        go.Scatter(
            x=position.astype(np.int32),
            y=level.astype(np.int32),
            mode="markers",
            marker={
                "size": [13 if i == chosen else 8 for i in range(len(colors))],
                "color": [ACCENT if i == chosen else color for i, color in enumerate(colors)],
                "line": {"width": 0},
            },
            customdata=[tick_text(labels[shown.start + int(i)]) for i in position],
            hovertemplate="'%{customdata}', %{y}<extra></extra>",
        )
    )
    figure.update_xaxes(
        range=[-0.6, n - 0.4],
        tickvals=list(range(n)),
        ticktext=[
            f"<b>{tick_text(label)}</b>" if i == at else tick_text(label) for i, label in enumerate(labels[shown])
        ],
        tickangle=key_angle(labels[shown]),
        tickfont={"size": 12, "color": TEXT},
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )
    figure.update_yaxes(
        range=[-0.4, n_layers + 0.4],
        tickvals=list(range(n_layers + 1)),
        ticktext=[t("embedding"), *(t("layer {n}").format(n=layer) for layer in range(1, n_layers + 1))],
        tickfont={"size": 12, "color": TEXT},
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )
    return figure


def gallery(
    masks: Sequence[tuple[str, Bools]], *, selected: int | None, n_places: int | None = None, height: int = 190
) -> go.Figure:
    """Several masks over the same tokens as small 0/1 pictures in a row, each named; the selected one is outlined.

    Of long sentences every k-th token is shown. `n_places` leaves room for more masks than there are.
    """
    n = min(len(masks[0][1]), MOST_CELLS)
    chosen = np.linspace(0, len(masks[0][1]) - 1, n).round().astype(np.int64)
    gap = 0.16 * n
    columns = []
    for _, allowed in masks:
        columns += [allowed[np.ix_(chosen, chosen)].astype(np.uint8), np.full((n, 1), 2, dtype=np.uint8)]
    edges = np.concatenate([np.arange(n + 1) + i * (n + gap) for i in range(len(masks))]).astype(np.float32)
    thirds = [MASKED_FILL, SEEN, HOLE]  # hidden, seen, the gap between two masks
    figure = go.Figure(
        go.Heatmap(
            z=np.hstack(columns[:-1]),
            x=edges,
            y=np.arange(n + 1, dtype=np.float32),
            zmin=0,
            zmax=2,
            colorscale=[[at / 3, color] for i, color in enumerate(thirds) for at in (i, i + 1)],
            showscale=False,
            hoverinfo="skip",
        ),
        layout={**layout("", height=height, top=6), "dragmode": False},
    )
    for i, (name, _) in enumerate(masks):
        left = i * (n + gap)
        text = html.escape(name, quote=False)
        figure.add_annotation(
            text=f"<b>{text}</b>" if i == selected else text,
            x=left,
            y=0,
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 13, "color": TEXT},
        )
        if i == selected:
            figure.add_shape(
                type="rect", x0=left, x1=left + n, y0=0, y1=n, line={"color": ACCENT, "width": 3}, fillcolor=HOLE
            )
    hidden = {"showticklabels": False, "showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    figure.update_xaxes(
        **hidden,
        range=[-0.3, (n_places or len(masks)) * (n + gap) - gap + 0.3],
        constrain="domain",
        constraintoward="left",
    )
    figure.update_yaxes(
        **hidden, range=[n + 0.2, -0.22 * n], scaleanchor="x", constrain="domain", constraintoward="top"
    )
    return figure


def _stretch(n_tokens: int, query: int) -> slice:
    """The tokens that are drawn: all, or `MOST_DRAWN` around the query."""
    start = min(max(0, query - MOST_DRAWN // 2), max(0, n_tokens - MOST_DRAWN))
    return slice(start, min(n_tokens, start + MOST_DRAWN))


def _lines(segments: list[tuple[int, int, int]], line: dict[str, object]) -> go.Scatter:
    """Lines (from key, to query, layer) as one trace; NaN parts them."""
    ends = np.array(segments, dtype=np.float32)  # (n, 3)
    x = np.column_stack([ends[:, 0], ends[:, 1], np.full(len(ends), np.nan)]).ravel()
    y = np.column_stack([ends[:, 2] - 1, ends[:, 2], np.full(len(ends), np.nan)]).ravel()
    return go.Scatter(x=x.astype(np.float32), y=y.astype(np.float32), mode="lines", line=line, hoverinfo="skip")
