"""Training in detail: accuracy by relation, entropy of each head, one head switched off, and several seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from model.head_id import HeadId
from viz.axes import QUIET
from viz.block import GREY
from viz.plots import FONT, plain_figure, titled
from viz.steps import head_colour
from viz.theme import ACCENT, COLORSCALE, Translate, layout, markup, percent, text_width, untranslated

DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "diamond", "square", "cross")
ROW = 30  # pixels of a row of a heatmap
WOBBLE = 0.22  # how far apart runs with one number of heads are drawn at most, to each side

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Answers:
    """How well one network answered each relation while it trained.

    Attributes:
        name: of the network.
        steps: P steps.
        by_relation: (P, R), NaN where nothing is asked.
    """

    name: str
    steps: Sequence[int]
    by_relation: Floats


@dataclass(frozen=True)
class Run:
    """One training among several.

    Attributes:
        size: which of the networks that are compared, from 0.
        accuracy: right answers at its end, on sentences that no step and no curve has seen.
        steps: of the curve's points.
        curve: right answers at each of them.
        is_split: whether every relation has a head of its own, which gives it at least half of its weight.
        alignment_error: of a translation, the best head's.
    """

    size: int
    seed: int
    accuracy: float
    steps: Sequence[int]
    curve: Sequence[float]
    is_split: bool
    alignment_error: float | None = None


def relations_figure(
    main: Answers,
    beside: Answers | None,
    relations: Sequence[str],
    *,
    chance: float | None = None,
    t: Translate = untranslated,
) -> go.Figure:
    """Right answers on each relation while training: thick for the main network, thin and grey for the other.

    The legend names relations and, in grey, the other network: more wouldn't fit above a phone's picture.

    Args:
        main: the network whose heads are named.
        beside: the other one.
        relations: names of the R relations; one that is never asked is left out.
        chance: the share right by chance, the baseline; gets a line.
        t: translates the figure's own words.
    """
    figure = _over_steps(t("right answers"), t)
    _baseline_line(figure, chance, t)
    for answers in (beside, main):
        if answers is None:
            continue
        is_main = answers is main
        for number, relation in enumerate(relations):
            values = answers.by_relation[:, number]
            if np.isnan(values).all():
                continue
            figure.add_trace(
                go.Scatter(
                    x=np.asarray(answers.steps, dtype=np.int32),
                    y=values.astype(np.float32),
                    name=markup(relation if is_main else answers.name),
                    legendgroup=f"{number}" if is_main else "beside",
                    showlegend=is_main or number == 0,
                    legendrank=1000 if is_main else 2000,
                    customdata=[markup(f"{relation} · {answers.name}")] * len(answers.steps),
                    mode="lines",
                    line={
                        "width": 3 if is_main else 1.5,
                        "dash": DASHES[number % len(DASHES)],
                        "color": head_colour(number) if is_main else GREY,
                    },
                    hovertemplate="%{customdata}: %{y:.0%}<extra></extra>",
                )
            )
    figure.update_yaxes(range=[-0.02, 1.04], tickformat=".0%")
    return figure


def entropy_figure(steps: Sequence[int], entropy: Floats, n_keys: int, *, t: Translate = untranslated) -> go.Figure:
    """The entropy of each head at each checkpoint, beside that of a head that looks everywhere alike.

    Args:
        steps: F steps.
        entropy: (F, L, h) in nats.
        n_keys: how many keys a query can look at, at most.
        t: translates the figure's own words.
    """
    figure = _over_steps(t("entropy in nats"), t)
    most = math.log(n_keys)
    figure.add_hline(
        y=most,
        line={"color": GREY, "dash": "dash", "width": 1.5},
        annotation={"text": t("equal weights: {most:.2f}").format(most=most), "font": FONT, "yshift": 2},
        annotation_position="top right",
    )
    n_layers, n_heads = entropy.shape[1:]
    for layer in range(n_layers):
        for head in range(n_heads):
            figure.add_trace(
                go.Scatter(
                    x=np.asarray(steps, dtype=np.int32),
                    y=entropy[:, layer, head].astype(np.float32),
                    name=str(HeadId(layer, head)),
                    mode="lines",
                    line={"width": 2.5, "color": head_colour(head), "dash": DASHES[layer % len(DASHES)]},
                    hovertemplate="%{fullData.name}: %{y:.2f}<extra></extra>",
                )
            )
    figure.update_yaxes(range=[-0.05 * most, 1.15 * most])
    return figure


def switched_off_figure(
    left: Floats, whole: Floats, relations: Sequence[str], *, chance: float | None = None, t: Translate = untranslated
) -> go.Figure:
    """What stays right of each relation when one head is off. First row: the whole network; last: the baseline.

    Args:
        left: (L, h, R), accuracy with that head off; NaN where nothing is asked.
        whole: (R,), with every head on.
        relations: names of the R relations; one that is never asked is left out.
        chance: the share right by chance, the baseline; gets the last row.
        t: translates the figure's own words.
    """
    n_layers, n_heads = left.shape[:2]
    shown = [number for number in range(len(relations)) if not np.isnan(whole[number])]
    z = np.vstack([whole[None], left.reshape(-1, left.shape[-1])])[:, shown]  # (1 + L h, R)
    names = [str(HeadId(layer, head)) for layer in range(n_layers) for head in range(n_heads)]
    rows = [t("every head on"), *(t("without {head}").format(head=name) for name in names)]
    if chance is not None:
        z = np.vstack([z, np.full((1, len(shown)), chance)])
        rows.append(t("baseline"))
    cells = {
        **{"type": "heatmap", "z": z.astype(np.float32), "zmin": 0, "zmax": 1, "colorscale": COLORSCALE},
        **{"xgap": 2, "ygap": 2, "text": [[percent(value) for value in row] for row in z]},
        **{"texttemplate": "%{text}", "textfont": {"size": 14}},
        "hovertemplate": "%{y} · %{x}: %{z:.1%}<extra></extra>",
        "colorbar": {
            "title": {"text": t("right answers"), "font": FONT, "side": "right"},
            **{"tickformat": ".0%", "tickvals": [0, 0.5, 1], "tickfont": FONT, "outlinewidth": 0, "thickness": 10},
        },
    }
    room = max(text_width(name, 13) for name in rows) + 10
    look = layout("", height=70 + ROW * len(rows), top=40, left=room, right=90)
    columns = [markup(relations[number]) for number in shown]
    x = {"side": "top", "tickvals": list(range(len(shown))), "ticktext": columns}
    y = {"tickvals": list(range(len(rows))), "ticktext": rows, "range": [len(rows) - 0.5, -0.5]}
    quiet = {**QUIET, "fixedrange": True, "tickfont": FONT}
    return go.Figure(cells, {**look, "dragmode": False, "xaxis": {**quiet, **x}, "yaxis": {**quiet, **y}})


def seeds_figure(
    runs: Sequence[Run], sizes: Sequence[str], *, chance: float | None = None, t: Translate = untranslated
) -> go.Figure:
    """Every run's accuracy at its end as a mark, with mean and standard deviation beside the marks.

    Args:
        runs: those that are finished.
        sizes: the names of the networks that are compared.
        chance: the share right by chance, the baseline; gets a line.
        t: translates the figure's own words.
    """
    figure = plain_figure("", 340, top=20)
    _baseline_line(figure, chance, t)
    for size, name in enumerate(sizes):
        same = [run for run in runs if run.size == size]
        if not same:
            continue
        values = np.array([run.accuracy for run in same])
        spread = np.linspace(-WOBBLE, WOBBLE, len(same)) if len(same) > 1 else np.zeros(1)
        symbol, colour = SYMBOLS[size % len(SYMBOLS)], head_colour(size)
        figure.add_trace(
            go.Scatter(
                x=(size + spread).astype(np.float32),
                y=values.astype(np.float32),
                mode="markers",
                customdata=[run.seed for run in same],
                hovertemplate=t("seed {seed}").format(seed="%{customdata}") + ": %{y:.1%}<extra></extra>",
                marker={"size": 11, "symbol": symbol, "color": colour, "opacity": 0.85},
                name=markup(name),
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[size + WOBBLE + 0.17],
                y=[float(values.mean())],
                mode="markers",
                marker={"symbol": "line-ew", "size": 16, "line": {"width": 3, "color": ACCENT}},
                error_y={"type": "data", "array": [deviation(values)], "color": ACCENT, "thickness": 2, "width": 6},
                hovertemplate=t("mean") + " %{y:.1%}<extra></extra>",
                name=t("mean"),
            )
        )
    names = [markup(name) for name in sizes]
    x = {"tickvals": list(range(len(sizes))), "ticktext": names, "range": [-0.5, len(sizes) - 0.4], "showgrid": False}
    y = {"range": [-0.02, 1.06], "tickformat": ".0%", "zeroline": False}
    figure.update_layout(xaxis={**x, "zeroline": False}, yaxis=y)
    titled(figure, y=t("right answers at the end"))
    return figure


def seed_curves_figure(
    runs: Sequence[Run], sizes: Sequence[str], *, chance: float | None = None, t: Translate = untranslated
) -> go.Figure:
    """Every run's accuracy over its steps; one colour and dash for each of the networks that are compared."""
    figure = _over_steps(t("right answers"), t)
    _baseline_line(figure, chance, t)
    named = set()
    for run in runs:
        seed = t("seed {seed}").format(seed=run.seed)
        figure.add_trace(
            go.Scatter(
                x=np.asarray(run.steps, dtype=np.int32),
                y=np.asarray(run.curve, dtype=np.float32),
                mode="lines",
                line={"width": 1.5, "color": head_colour(run.size), "dash": DASHES[run.size % len(DASHES)]},
                name=markup(sizes[run.size]),
                legendgroup=str(run.size),
                showlegend=run.size not in named,
                hovertemplate=f"%{{fullData.name}}, {seed}: %{{y:.0%}}<extra></extra>",
            )
        )
        named.add(run.size)
    figure.update_yaxes(range=[-0.02, 1.04], tickformat=".0%")
    return figure


def deviation(values: Floats) -> float:
    """The standard deviation of a sample (n − 1); 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _baseline_line(figure: go.Figure, chance: float | None, t: Translate) -> None:
    """Where the baseline (chance) lies."""
    if chance is not None:
        figure.add_hline(
            y=chance,
            line={"color": GREY, "dash": "dot", "width": 1.5},
            annotation={"text": t("baseline {chance}").format(chance=percent(chance)), "font": FONT},
            annotation_position="top right",
        )


def _over_steps(y_title: str, t: Translate) -> go.Figure:
    figure = plain_figure("", 340, top=60, has_legend=True)
    titled(figure, t("training steps"), y_title)
    figure.update_layout(xaxis={"rangemode": "tozero", "zeroline": False}, yaxis_zeroline=False)
    return figure
