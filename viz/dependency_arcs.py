"""A sentence with gold arcs over its words and one head's arrows under them.

Gold arcs are solid. Arrows are dashed; ● ends one that is right, ✕ one that is not, so colour is never the only sign.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.theme import ACCENT, TEXT, Translate, layout, untranslated

GOLD = "#7A869A"  # arcs: neutral, 3.5 : 1 on both backgrounds
HIT = "#1F8A70"  # 4.1 : 1 on light, 4.2 : 1 on dark
LETTER = 9.5  # pixels a letter takes at 16 px
GAP = 22
STEPS = 24  # points of a curve

Floats = npt.NDArray[np.float64]


def sentence_width(words: Sequence[str]) -> int:
    """Pixels that the words take side by side: with less room the strip has to scroll."""
    return int(_right_edge(words)) + 24


def arc_figure(
    words: Sequence[str],
    arcs: Sequence[tuple[int, int, str]],
    arrows: Sequence[tuple[int, int, bool]],
    *,
    name: str = "",
    marked: Sequence[int] = (),
    t: Translate = untranslated,
) -> go.Figure:
    """Words on a line, gold arcs above, arrows below.

    Args:
        words: the words as text.
        arcs: (asking word, right word, name of the relation).
        arrows: (asking word, where the head looks, is right).
        name: of the arcs in the legend; "" = gold arc.
        marked: words written in bold.
        t: translates the figure's own words.
    """
    middles = _middles(words)
    up = _heights([(a, b) for a, b, _ in arcs])
    down = _heights([(a, b) for a, b, _ in arrows])
    top, bottom = 1.0 + max(up, default=1), 1.0 + max(down, default=1)
    figure = go.Figure(
        layout={
            **layout("", height=int(90 + 30 * (top + bottom)), top=36),
            "dragmode": False,
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 13, "color": TEXT}},
        }
    )
    xs: list[float | None] = []
    ys: list[float | None] = []
    notes: list[dict[str, Any]] = []
    for (asking, wanted, relation), height in zip(arcs, up, strict=True):
        x, y = _curve(middles[asking], middles[wanted], height)
        xs += [*x.tolist(), None]
        ys += [*(0.75 + y).tolist(), None]
        notes.append(_note(relation, float(x.mean()), 0.75 + height, 12))
    _line(figure, xs, ys, {"color": GOLD, "width": 2}, name or t("gold arc"), show=bool(arcs))
    for right, colour, sign, said in (
        (True, HIT, "circle", t("head's arrow: right")),
        (False, ACCENT, "x", t("head's arrow: elsewhere")),
    ):
        chosen = [(a, b, h) for (a, b, is_right), h in zip(arrows, down, strict=True) if is_right == right and b >= 0]
        xs, ys = [], []
        for asking, looked, height in chosen:
            x, y = _curve(middles[asking] + 3, middles[looked] - 3, height)
            xs += [*x.tolist(), None]
            ys += [*(-0.75 - y).tolist(), None]
        _line(figure, xs, ys, {"color": colour, "width": 2, "dash": "dash"}, said, show=False)
        figure.add_trace(
            go.Scatter(
                x=[middles[b] - 3 for _, b, _ in chosen],
                y=[-0.75] * len(chosen),
                mode="markers",
                marker={"symbol": sign, "size": 11, "color": colour},
                hovertext=[html.escape(f"{words[a]} → {words[b]}", quote=False) + f": {said}" for a, b, _ in chosen],
                hoverinfo="text",
                name=said,
                showlegend=bool(chosen),
            )
        )
    for i, word in enumerate(words):
        text = html.escape(word, quote=False)
        notes.append(_note(f"<b>{text}</b>" if i in marked else text, float(middles[i]), 0, 16, anchor="middle"))
    figure.update_layout(annotations=notes)
    hidden = {"visible": False, "fixedrange": True}
    figure.update_xaxes(**hidden, range=[0, _right_edge(words)])
    figure.update_yaxes(**hidden, range=[-bottom - 0.2, top + 0.6])
    return figure


def _line(figure: go.Figure, x: list[Any], y: list[Any], line: dict[str, Any], name: str, *, show: bool) -> None:
    figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", name=name, showlegend=show))


def _widths(words: Sequence[str]) -> list[float]:
    return [sum(LETTER if ord(c) < 0x2E80 else 17 for c in word) + GAP for word in words]


def _right_edge(words: Sequence[str]) -> float:
    return float(sum(_widths(words)))


def _middles(words: Sequence[str]) -> Floats:
    widths = np.array(_widths(words))
    return np.asarray(np.cumsum(widths) - widths / 2)


def _heights(pairs: Sequence[tuple[int, int]]) -> list[float]:
    """Each arc above those that lie under it."""
    heights: list[float] = [0.0] * len(pairs)
    for i in sorted(range(len(pairs)), key=lambda i: abs(pairs[i][0] - pairs[i][1])):
        low, high = sorted(pairs[i])
        under = [
            heights[j]
            for j in range(len(pairs))
            if heights[j] and min(pairs[j]) < high and low < max(pairs[j]) and j != i
        ]
        heights[i] = 1.0 + max(under, default=0.0)
    return heights


def _curve(start: float, end: float, height: float) -> tuple[Floats, Floats]:
    """A flat arch: half an ellipse, squared off."""
    turn = np.linspace(0, np.pi, STEPS)
    x = (start + end) / 2 - np.cos(turn) * (end - start) / 2
    return x, height * np.sin(turn) ** 0.5


def _note(text: str, x: float, y: float, size: int, *, anchor: str = "bottom") -> dict[str, Any]:
    return {
        "text": text,
        "x": x,
        "y": y,
        "xanchor": "center",
        "yanchor": anchor,
        "showarrow": False,
        "font": {"size": size, "color": TEXT},
    }
