"""How far each head of cross-attention agrees with the true alignment while a translation is learnt."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from model.head_id import HeadId
from viz.block import GREY
from viz.learning_curves import DASHES
from viz.plots import FONT, plain_figure, titled
from viz.steps import head_colour
from viz.theme import Translate, markup, untranslated

Floats = npt.NDArray[np.floating]


def errors_figure(
    steps: Sequence[int],
    errors: Floats,
    beside: tuple[str, Sequence[int], Floats] | None,
    straight: float,
    *,
    t: Translate = untranslated,
) -> go.Figure:
    """The alignment error rate of each head at every checkpoint; 0 is best.

    Args:
        steps: F steps.
        errors: (F, L, h).
        beside: name, steps and errors of the network with fewer heads; its best head is drawn in grey.
        straight: the error of a head that looks at the source word of the same place.
        t: translates the figure's own words.
    """
    figure = plain_figure("", 340, top=60, has_legend=True)
    titled(figure, t("training steps"), t("alignment error rate"))
    note = {"text": t("ignoring word order: {error:.2f}").format(error=straight), "font": FONT}
    line = {"color": GREY, "dash": "dot", "width": 1.5}
    figure.add_hline(y=straight, line=line, annotation=note, annotation_position="top right")
    if beside is not None:
        name, at, values = beside
        look = {"line": {"width": 2, "color": GREY, "dash": "dash"}, "name": markup(name)}
        _line(figure, at, values.reshape(len(at), -1).min(axis=1), **look)
    for layer in range(errors.shape[1]):
        for head in range(errors.shape[2]):
            look = {"line": {"width": 2.5, "color": head_colour(head), "dash": DASHES[head % len(DASHES)]}}
            _line(figure, steps, errors[:, layer, head], name=str(HeadId(layer, head)), **look)
    figure.update_layout(xaxis={"rangemode": "tozero", "zeroline": False})
    figure.update_yaxes(range=[-0.02, 1.04])
    return figure


def _line(figure: go.Figure, steps: Sequence[int], values: Floats, **look: object) -> None:
    x, y = np.asarray(steps, dtype=np.int32), values.astype(np.float32)
    figure.add_scatter(x=x, y=y, mode="lines", hovertemplate="%{fullData.name}: %{y:.2f}<extra></extra>", **look)
