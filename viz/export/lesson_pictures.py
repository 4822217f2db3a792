"""The pictures of answers as SVG for paper, made without a browser from what answers show (analysis.lessons.shown).

What has no picture here is said in words alone: an order of steps, or a kind that only moves on screen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from analysis.blocks.cost import HeadCount
from analysis.blocks.ledger import Ledger
from analysis.lessons import shown
from analysis.lessons.answer import Answer
from analysis.lessons.answers.block import OfTokens
from analysis.lessons.answers.crossing import CrossMap
from analysis.lessons.answers.masks import RowSums, TwoOrders
from analysis.lessons.answers.reshape import Moved
from analysis.lessons.answers.steps import Table
from analysis.lessons.lesson import Language
from viz.export.matrix_svg import Bar, Matrix, bars_svg, matrices_svg
from viz.export.strip_svg import strip_svg
from viz.theme import Translate, percent
from viz.token_strip import HEAD_COLOURS, LayerMaps, StripChoice

MOST_BARS = 24
UNITS: dict[str, Callable[[float], str]] = {
    "%": percent,
    "weight": lambda value: f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.3f}",
    "×": "{:.3g} ×".format,
    "nat": "{:.2f} nat".format,
}


def picture(found: Answer, language: Language, t: Translate, title: str) -> str:
    """The picture of an answer; "" where it has none on paper.

    Args:
        found: the answer.
        language: of names that an answer has in both.
        t: translates the pictures' own words.
        title: read out to who can't see it.
    """
    if isinstance(found.shown, np.ndarray):
        return _mask(found, t, title) if found.picture == "mask" else _over_layers(found.shown, t, title)
    return _drawn(found.shown, found, language, t, title)


@singledispatch
def _drawn(what: Any, found: Answer, language: Language, t: Translate, title: str) -> str:
    if isinstance(what, tuple) and what and isinstance(what[0], HeadCount):
        most = max(row.bleu for row in what)
        heads = t("{n} heads")
        bars = [
            Bar(heads.format(n=row.heads), row.bleu, f"{row.bleu:.1f}", None, None, row.bleu == most) for row in what
        ]
        return bars_svg(bars, title=title, note=t("BLEU, Vaswani et al. 2017, Table 3 (A)"))
    return ""


@_drawn.register
def _looks(what: shown.Looks, found: Answer, language: Language, t: Translate, title: str) -> str:
    return _strip(what, t)


def _strip(what: shown.Looks, t: Translate, mark: str = "") -> str:
    trace, layer = what.trace, what.heads[0].layer
    maps = LayerMaps(trace.attention[layer], trace.allowed_in(layer), list(trace.labels), layer, list(trace.is_special))
    chosen = StripChoice(tuple(head.head for head in what.heads), what.query)
    width = 800 if len(what.heads) == 1 else 1000  # shrunk to the page
    return strip_svg(maps, chosen, width=width, title=mark, marked=() if what.key is None else (what.key,), t=t)


@_drawn.register
def _sentences(what: shown.Sentences, found: Answer, language: Language, t: Translate, title: str) -> str:
    marks = ["●" if is_right else "✕" for is_right in what.is_right] or [""] * len(what.looks)
    return "\n".join(_strip(looks, t, mark) for looks, mark in zip(what.looks, marks, strict=True))


@_drawn.register
def _race(what: shown.Race, found: Answer, language: Language, t: Translate, title: str) -> str:
    n_layers, n_heads = what.weights.shape
    rows, columns = [f"{i + 1}" for i in range(n_layers)], [f"{i + 1}" for i in range(n_heads)]
    marked = [(what.winner.layer, what.winner.head)]
    name = t("layer ↓ head →") + f"  “{what.trace.labels[what.query]}” → “{what.trace.labels[what.key]}”"
    return matrices_svg([Matrix(what.weights, rows, columns, name, marked=marked)], title=title, axes=False)


@_drawn.register
def _map(what: shown.MapOf, found: Answer, language: Language, t: Translate, title: str) -> str:
    layer, head = what.head
    weights = np.where(what.trace.allowed_in(layer), what.trace.attention[layer, head], np.nan)
    matrix = Matrix(weights, what.trace.labels, what.trace.labels, str(what.head), marked=what.cells)
    return matrices_svg([matrix], title=title, t=t)


@_drawn.register
def _bars(what: shown.Bars, found: Answer, language: Language, t: Translate, title: str) -> str:
    text = UNITS.get(what.unit, "{:,.6g}".format)
    bars = [
        Bar(_name(bar.name, language), bar.value, text(bar.value), bar.low, bar.high, bar.is_right)
        for bar in what.bars[:MOST_BARS]
    ]
    name = _name(what.baseline_name, language) if what.baseline_name else ""
    note = _name(what.note, language) if what.note else ""
    return bars_svg(bars, title=title, baseline=what.baseline, baseline_name=name, note=note) if bars else ""


@_drawn.register
def _expected(what: shown.Expected, found: Answer, language: Language, t: Translate, title: str) -> str:
    bars = [
        Bar(f"“{text}”", share, UNITS["weight"](share), is_marked=i == 0)
        for i, (text, share) in enumerate(what.candidates[:MOST_BARS])
    ]
    return bars_svg(bars, title=title) if bars else ""


@_drawn.register
def _table(what: Table, found: Answer, language: Language, t: Translate, title: str) -> str:
    columns = what.columns or [str(i + 1) for i in range(np.shape(what.cells[0])[1])]
    kind = "weights" if what.is_weights else "numbers"
    matrices = [
        Matrix(np.asarray(cells), what.rows, columns, name, kind, row=what.row)
        for cells, name in zip(what.cells, what.names, strict=True)
    ]
    return matrices_svg(matrices, title=title, t=t, axes=bool(what.columns))


@_drawn.register
def _two_orders(what: TwoOrders, found: Answer, language: Language, t: Translate, title: str) -> str:
    names = "softmax(S + M)", {"rescaled": t("rows rescaled"), "zero": t("0 in place of −∞")}[what.way]
    hidden = np.where(what.allowed, 0.0, np.nan)
    other = what.other if what.way == "zero" else what.other + hidden
    matrices = [
        Matrix(weights, found.labels, found.labels, name, row=what.row)
        for weights, name in zip((what.right + hidden, other), names, strict=True)
    ]
    return matrices_svg(matrices, title=title, t=t)


@_drawn.register
def _row_sums(what: RowSums, found: Answer, language: Language, t: Translate, title: str) -> str:
    bars = [
        Bar(label, float(total), f"{total:.2f}", is_marked=row == what.row)
        for row, (label, total) in enumerate(zip(found.labels, what.sums, strict=True))
    ]
    return bars_svg(bars[:MOST_BARS], title=title, baseline=1.0, baseline_name="1")


@_drawn.register
def _cross_map(what: CrossMap, found: Answer, language: Language, t: Translate, title: str) -> str:
    matrix = Matrix(what.weights, what.queries, what.keys, marked=what.links, row=what.row)
    return matrices_svg([matrix], title=title, t=t)


@_drawn.register
def _reshape(what: Moved, found: Answer, language: Language, t: Translate, title: str) -> str:
    of = what.found
    n_heads, n_tokens, d_k = of.parts.shape
    rows = [str(i + 1) for i in range(n_tokens)]

    def part(numbers: Any, heads: Any, name: str) -> Matrix:
        marked = zip(*np.isin(numbers, what.numbers).nonzero(), strict=True)
        return replace(
            _numbered(numbers, heads, rows, name), marked=[(int(row), int(column)) for row, column in marked]
        )

    whole = [part(of.whole, of.whole_heads, f"x ({n_tokens} × {n_heads * d_k})")]
    parts = [part(of.parts[h], of.parts_heads[h], t("head {name}").format(name=h + 1)) for h in range(n_heads)]
    return "\n".join(matrices_svg(each, title=title, axes=False) for each in (whole, parts))


def _numbered(numbers: Any, heads: Any, rows: list[str], name: str) -> Matrix:
    table = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in HEAD_COLOURS])
    pale = np.rint(255 - 0.35 * (255 - table[np.asarray(heads) % len(table)])).astype(np.uint8)
    columns = [str(i + 1) for i in range(np.shape(numbers)[1])]
    return Matrix(numbers.astype(float), rows, columns, name, "plain", texts=numbers.astype(str).tolist(), colours=pale)


@_drawn.register
def _of_tokens(what: OfTokens, found: Answer, language: Language, t: Translate, title: str) -> str:
    bars = [
        Bar(
            f"{label} · {name}" if len(what.series) > 1 else label,
            float(value),
            f"{value:.2f}",
            is_marked=i == what.selected,
        )
        for i, label in enumerate(found.labels)
        for name, values in what.series
        for value in [values[i]]
    ]
    return bars_svg(bars[:MOST_BARS], title=title, note=", ".join(name for name, _ in what.series))


@_drawn.register
def _ledger(what: Ledger, found: Answer, language: Language, t: Translate, title: str) -> str:
    bars = [Bar(t(line.part), line.total, f"{line.total:,}  = {line.numbers}") for line in what.lines if line.total]
    return bars_svg(bars, title=title)


def _over_layers(lengths: Any, t: Translate, title: str) -> str:
    layer = t("layer {n}")
    bars = [Bar(layer.format(n=i), float(length), f"{length:.1f}") for i, length in enumerate(np.ravel(lengths), 1)]
    return bars_svg(bars[:MOST_BARS], title=title)


def _mask(found: Answer, t: Translate, title: str) -> str:
    allowed = np.asarray(found.shown, dtype=bool)
    colours = np.where(allowed[..., None], np.array([180, 205, 235]), 255).astype(np.uint8)
    cells = np.where(allowed, 1.0, np.nan)
    texts = np.where(allowed, "●", "").tolist()
    labels = found.labels
    return matrices_svg([Matrix(cells, labels, labels, kind="plain", texts=texts, colours=colours)], title=title, t=t)


def _name(name: Any, language: Language) -> str:
    return name if isinstance(name, str) else str(name.get(language) or name.get("en", ""))
