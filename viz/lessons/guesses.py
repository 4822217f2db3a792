"""What a class guessed, beside the right answer: bars that count phones, or for cells the share that coloured each."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from analysis.lessons.answer import Answer
from analysis.lessons.lesson import Right
from analysis.lessons.questions import Question, in_words
from analysis.lessons.shown import Bar, Bars
from viz.lessons.bars import bars
from viz.steps import Tiles, tiles_figure
from viz.theme import ACCENT, Translate, shortened, untranslated

MOST_BARS = 10  # with more tokens or pairs, only those that somebody guessed, the most frequent
MOST_BINS = 10  # of numbers
MOST_NAME = 44  # columns of a choice's text
HEIGHT = 330


def guesses_figure(
    question: Question, guesses: Sequence[Right], right: Right | None, t: Translate = untranslated
) -> go.Figure:
    """The picture. Bars say how many phones; the right answer has the accent colour and a ●.

    Args:
        question: what was asked.
        guesses: one a phone.
        right: the answer; None = it isn't revealed yet.
        t: translates the picture's words.
    """
    if question.predict == "cells":
        return _cells(question, guesses, right, t)
    counted = {
        "token": _listed,
        "pair": _listed,
        "choice": _listed,
        "order": _order,
        "number": _number,
    }[question.predict](question, guesses, right)
    return bars(Answer(0, shown=Bars(tuple(counted))), t)


def _listed(question: Question, guesses: Sequence[Right], right: Right | None) -> list[Bar]:
    """Each token or choice in its order; of very many, and of pairs, those that were guessed."""
    found = Counter(guesses)
    possible: list[Right] = [id_ for id_, _ in question.choices] or list(range(len(question.labels)))
    if question.predict == "pair" or len(possible) > MOST_BARS:
        most = [guess for guess, _ in found.most_common(MOST_BARS)]
        wanted = [*most, right] if right is not None and right not in most else most
        possible = sorted(wanted) if question.predict == "token" else wanted
    return [
        Bar(shortened(in_words(question, guess), MOST_NAME), found[guess], is_right=guess == right)
        for guess in possible
    ]


def _order(question: Question, guesses: Sequence[Right], right: Right | None) -> list[Bar]:
    """How many put each option in its right place; before the reveal, how many put it first."""
    names = dict(question.choices)
    if not isinstance(right, tuple):
        first = Counter(guess[0] for guess in guesses if isinstance(guess, tuple))
        return [Bar(f"1. {shortened(name, MOST_NAME)}", first[id_]) for id_, name in question.choices]
    return [
        Bar(
            f"{place + 1}. {shortened(names[str(id_)], MOST_NAME)}",
            sum(isinstance(guess, tuple) and guess[place] == id_ for guess in guesses),
            is_right=True,
        )
        for place, id_ in enumerate(right)
    ]


def _number(question: Question, guesses: Sequence[Right], right: Right | None) -> list[Bar]:
    """A bar for each range of numbers between the smallest and the largest guess."""
    assert question.range is not None
    numbers = [float(guess) for guess in guesses if isinstance(guess, int | float)]
    ends = [*numbers, *([float(right)] if isinstance(right, int | float) else [])]
    if not ends:
        return []
    low, step = question.range.least, question.range.step
    width = step * _nice(math.ceil((max(ends) - min(ends) + step) / (MOST_BINS * step)))

    def bin_of(number: float) -> int:
        return math.floor((number - low) / width + 1e-9)

    found = Counter(map(bin_of, numbers))
    wanted = None if not isinstance(right, int | float) else bin_of(float(right))
    names = {at: _range_name(low + at * width, width, step, question.unit) for at in range(*_span(ends, bin_of))}
    return [Bar(name, found[at], is_right=at == wanted) for at, name in names.items()]


def _nice(least: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50 …"""
    size = 1
    for factor in itertools.cycle((2, 2.5, 2)):
        if size >= least:
            break
        size = round(size * factor)
    return size


def _span(ends: Sequence[float], bin_of: Callable[[float], int]) -> tuple[int, int]:
    bins = [bin_of(end) for end in ends]
    return min(bins), max(bins) + 1


def _range_name(start: float, width: float, step: float, unit: str) -> str:
    last = start + width - step
    of = f"{start:g}" if width <= step * 1.001 else f"{start:g}–{last:g}"
    return f"{of} {unit}".rstrip()


def _cells(question: Question, guesses: Sequence[Right], right: Right | None, t: Translate) -> go.Figure:
    rows, columns = question.labels, question.columns or question.labels
    share = np.zeros((len(rows), len(columns)), dtype=np.float32)
    for guess in guesses:
        for row, column in guess if isinstance(guess, frozenset) else ():
            share[row, column] += 1 / len(guesses)
    tiles = Tiles(share[None], [t("Which cells the class coloured")], rows, columns, "weights", is_coloured=False)
    figure = tiles_figure(tiles, height=HEIGHT, t=t)
    for row, column in sorted(right) if isinstance(right, frozenset) else ():
        box = {"x0": column + 0.05, "x1": column + 0.95, "y0": row + 0.05, "y1": row + 0.95}
        figure.add_shape(type="rect", **box, line={"color": ACCENT, "width": 3})
    return figure
