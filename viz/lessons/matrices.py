"""Pictures of lessons that are matrices: steps of attention, the reshape, masks, and the two orders of the softmax."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.lessons.answer import Answer
from analysis.lessons.answers.crossing import CrossMap
from analysis.lessons.answers.masks import Flow, RowSums, TwoOrders
from analysis.lessons.answers.reshape import Moved
from analysis.lessons.answers.steps import Table
from analysis.maps.mask_runs import Leak
from viz.heatmaps import head_heatmap
from viz.lessons.pictures import picture
from viz.maps import Maps
from viz.mask_effects import moves, row_sums
from viz.mask_flow import flow_graph
from viz.masks import Panel, mask_matrix
from viz.reshape import reshape_figure
from viz.steps import Tiles, tiles_figure
from viz.theme import ACCENT, Translate

HEIGHT = 330


@picture("table")
def table(answer: Answer, t: Translate) -> go.Figure:
    """Matrices of one step side by side; what is masked in one is masked in the weights too."""
    shown: Table = answer.shown
    tiles = Tiles(
        np.stack(list(shown.cells)),
        shown.names,
        _marked(shown.rows, shown.row),
        columns=shown.columns or None,
        scale="weights" if shown.is_weights else "signed",
        is_coloured=False,
    )
    return tiles_figure(tiles, height=HEIGHT, t=t)


@picture("reshape")
def reshape(answer: Answer, t: Translate) -> go.Figure:
    """Every number in the colour of its head, before and after."""
    shown: Moved = answer.shown
    return reshape_figure(shown.found, answer.labels, marked=shown.numbers, height=360, t=t)


@picture("mask")
def mask(answer: Answer, t: Translate) -> go.Figure:
    """A mask: filled where the query may look."""
    return mask_matrix(answer.shown, answer.labels, Panel(t("1: may look, 0: may not"), height=HEIGHT), t=t)


@picture("two_orders")
def two_orders(answer: Answer, t: Translate) -> go.Figure:
    """The head's weights the right way, and the other way."""
    shown: TwoOrders = answer.shown
    others = {
        "rescaled": t("then 0, then rescaled"),
        "zero": t("0 in place of −∞"),
    }
    hidden = np.where(shown.allowed, 0.0, -np.inf)
    other = shown.other if shown.way == "zero" else shown.other + hidden
    rows = _marked(answer.labels, shown.row)
    names = ["softmax(S + M)", others[shown.way]]
    both = np.stack([shown.right + hidden, other])
    tiles = Tiles(both, names, rows, answer.labels, "weights", is_coloured=False)
    return tiles_figure(tiles, height=max(HEIGHT, 100 + 18 * len(rows)), t=t)


@picture("row_sums")
def sums(answer: Answer, t: Translate) -> go.Figure:
    """What each row sums to; the line stands at 1, where it should be."""
    shown: RowSums = answer.shown
    title = t("right: row sums") if shown.is_right else t("wrong: row sums")
    return row_sums(shown.sums, answer.labels, Panel(title, shown.row, HEIGHT), t=t)


@picture("flow")
def flow(answer: Answer, t: Translate) -> go.Figure:
    """Layers upwards: what can reach the query at the top."""
    shown: Flow = answer.shown
    panel = Panel(t("What reaches the token at the top"), height=HEIGHT)
    return flow_graph(shown.allowed, answer.labels, panel, query=shown.query, n_layers=shown.n_layers, t=t)


@picture("moves")
def leaks(answer: Answer, t: Translate) -> go.Figure:
    """How far each token's state moves, level by level, when a later word changes."""
    shown: Leak = answer.shown
    most = float(np.nan_to_num(shown.moved).max())
    panel = Panel("‖Δx‖ / ‖x‖", height=HEIGHT)
    return moves(shown.moved, answer.labels, panel, first=shown.first, limit=most, t=t)


@picture("cross_map")
def cross_map(answer: Answer, t: Translate) -> go.Figure:
    """Target words look at source words; the row asked about has a sign, and true links are outlined."""
    shown: CrossMap = answer.shown
    queries = _marked(shown.queries, shown.row)
    maps = Maps(shown.weights, np.ones(shown.weights.shape, dtype=bool), queries, shown.keys)
    figure = head_heatmap(maps, height=400, t=t)
    for row, column in shown.links:
        box = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
        figure.add_shape(type="rect", **box, line={"color": ACCENT, "width": 3 if row == shown.row else 1.5})
    return figure


def _marked(labels: Sequence[str], row: int | None) -> list[str]:
    """Labels of rows, with a sign before the one that is asked about."""
    return [f"▸ {label}" if at == row else label for at, label in enumerate(labels)]
