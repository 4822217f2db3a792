"""A sentence with gold arcs over its words and one head's arrows under them.

Gold arcs are solid. Arrows are dashed; ● ends one that is right, ✕ one that is not, so colour is never the only sign.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.theme import ACCENT, FLAT_LEGEND, TEXT, Translate, layout, markup, untranslated

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
    curves = [_curve(middles[a], middles[b], height) for (a, b, _), height in zip(arcs, up, strict=True)]
    gold = _line([(x, 0.75 + y) for x, y in curves], {"color": GOLD, "width": 2}, name or t("gold arc"))
    notes = [
        _note(markup(relation), float(x.mean()), 0.75 + height, 12)
        for (_, _, relation), (x, _), height in zip(arcs, curves, up, strict=True)
    ]
    for i, word in enumerate(words):
        text = f"<b>{markup(word)}</b>" if i in marked else markup(word)
        notes.append(_note(text, float(middles[i]), 0, 16, anchor="middle"))
    hidden = {"visible": False, "fixedrange": True}
    look = {
        **layout("", height=int(90 + 30 * (top + bottom)), top=36),
        **{"dragmode": False, "legend": {**FLAT_LEGEND, "font": {"size": 13, "color": TEXT}}, "annotations": notes},
        "xaxis": {**hidden, "range": [0, _right_edge(words)]},
        "yaxis": {**hidden, "range": [-bottom - 0.2, top + 0.6]},
    }
    looked = [(a, b, right, h) for (a, b, right), h in zip(arrows, down, strict=True) if b >= 0]
    pointing = [
        trace
        for kind, colour, sign, said in (
            (True, HIT, "circle", t("head's arrow: right")),
            (False, ACCENT, "x", t("head's arrow: elsewhere")),
        )
        for trace in _arrows(words, [(a, b, h) for a, b, right, h in looked if right == kind], colour, sign, said)
    ]
    return go.Figure([gold | {"showlegend": bool(arcs)}, *pointing], look)


def _arrows(
    words: Sequence[str], pairs: Sequence[tuple[int, int, float]], colour: str, sign: str, said: str
) -> list[dict[str, Any]]:
    """Dashed curves under the words, and a mark at the word that each ends at."""
    middles = _middles(words)
    curves = [_curve(middles[a] + 3, middles[b] - 3, height) for a, b, height in pairs]
    line = _line([(x, -0.75 - y) for x, y in curves], {"color": colour, "width": 2, "dash": "dash"}, said)
    marks = {
        **{"type": "scatter", "mode": "markers", "marker": {"symbol": sign, "size": 11, "color": colour}},
        **{"x": [float(middles[b]) - 3 for _, b, _ in pairs], "y": [-0.75] * len(pairs)},
        **{"hovertext": [markup(f"{words[a]} → {words[b]}") + f": {said}" for a, b, _ in pairs], "hoverinfo": "text"},
        **{"name": said, "showlegend": bool(pairs)},
    }
    return [line, marks]


def _line(curves: Sequence[tuple[Floats, Floats]], line: dict[str, Any], name: str) -> dict[str, Any]:
    """Curves as one trace; None parts them."""
    x, y = ([at for curve in curves for at in (*curve[axis].tolist(), None)] for axis in (0, 1))
    look = {"type": "scatter", "mode": "lines", "line": line, "hoverinfo": "skip", "showlegend": False}
    return {**look, "x": x, "y": y, "name": name}


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
