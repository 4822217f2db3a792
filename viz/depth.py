"""Networks of several depths, with and without residuals: gradients at the first step, and the loss after some."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from model.training.depth import VARIANTS, DepthRun
from viz.block import BLUE, GREY, PURPLE
from viz.plots import FONT, plain_figure, titled
from viz.theme import ACCENT, Translate, untranslated

LOOKS = (  # of the variants: residual in full colour and solid, without it dashed
    {"line": {"color": BLUE, "width": 3}, "marker": {"symbol": "circle", "size": 9}},
    {"line": {"color": ACCENT, "width": 3}, "marker": {"symbol": "square", "size": 9}},
    {"line": {"color": GREY, "width": 2, "dash": "dash"}, "marker": {"symbol": "diamond-open", "size": 10}},
    {"line": {"color": PURPLE, "width": 2, "dash": "dash"}, "marker": {"symbol": "x-thin-open", "size": 10}},
)


def variant_name(norm: str, residual: bool, t: Translate = untranslated) -> str:
    """Such as "pre-LN, residual"."""
    return t("{norm}-LN, residual").format(norm=norm) if residual else t("{norm}-LN, no residual").format(norm=norm)


def gradients_figure(runs: Sequence[DepthRun], layers: int, *, t: Translate = untranslated) -> go.Figure:
    """The gradient's norm in every block of the networks of one depth, on a logarithmic axis."""
    figure = _figure(t("layer (1 = next to the input)"), t("gradient norm, first step"))
    for run in runs:
        if run.layers == layers:
            x = np.arange(1, layers + 1, dtype=np.int32)
            _line(figure, run, x, np.array(run.gradient_norms, dtype=np.float32), "%{y:.2g}", t)
    figure.update_yaxes(type="log", dtick=1)
    figure.update_xaxes(range=[0.5, layers + 0.5], dtick=max(1, layers // 12))
    return figure


def losses_figure(runs: Sequence[DepthRun], floor: float, guess: float, *, t: Translate = untranslated) -> go.Figure:
    """The loss after the last step over the depth, between the data's floor and a guess by frequency, in nats."""
    depths = sorted({run.layers for run in runs})
    places = {layers: place for place, layers in enumerate(depths)}
    figure = _figure(t("layers"), t("loss in nats a word"))
    for norm, residual in VARIANTS:
        same = [run for run in runs if (run.norm, run.residual) == (norm, residual)]
        if same:
            x = np.array([places[run.layers] for run in same], dtype=np.int32)
            _line(figure, same[0], x, np.array([run.loss for run in same], dtype=np.float32), "%{y:.3f}", t)
    for value, said, place in (
        (guess, t("word frequencies alone: {loss:.2f}"), "top left"),
        (floor, t("floor: {loss:.2f}"), "bottom left"),
    ):
        note = {"text": said.format(loss=value), "font": FONT}
        line = {"color": GREY, "width": 1.5, "dash": "dot"}
        figure.add_hline(y=value, line=line, annotation=note, annotation_position=place)
    figure.update_xaxes(tickvals=list(places.values()), ticktext=[str(depth) for depth in depths])
    figure.update_xaxes(range=[-0.4, max(len(depths) - 0.6, 0.6)])
    figure.update_yaxes(range=[0, 1.2 * max(guess, *(run.loss for run in runs))])
    return figure


def _figure(x: str, y: str) -> go.Figure:
    figure = plain_figure("", 360, top=84, has_legend=True)
    titled(figure, x, y)
    return figure


def _line(figure: go.Figure, run: DepthRun, x: np.ndarray, y: np.ndarray, value: str, t: Translate) -> None:
    look = LOOKS[VARIANTS.index((run.norm, run.residual))]
    name = variant_name(run.norm, run.residual, t)
    figure.add_scatter(x=x, y=y, name=name, mode="lines+markers", hovertemplate=value, **look)
