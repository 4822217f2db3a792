"""A step as it is asked, without its answer; what counts as a guess about it, and what a guess is in words."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from analysis.lessons.answer import Answer, say
from analysis.lessons.lesson import Language, Lesson, Predict, Range, Right
from model import HeadworkError

TAPPED = ("token", "pair", "cells")  # what is guessed by tapping labels
MOST_CELLS = 4096  # of a guess that colours cells: 64 × 64


@dataclass(frozen=True)
class Question:
    """What somebody needs who guesses, in one language.

    Attributes:
        lesson, step: where it stands: the lesson's id, and the step's number from 1.
        labels: what can be tapped; the rows of cells.
        columns: of cells; () = the same as the rows.
        choices: (id, text) of "choice" and "order".
        range: of "number".
        unit: of "number", in words.
        sentence: that it is about; "" where its words are the labels, or there is none.
    """

    lesson: str
    step: int
    predict: Predict
    context: str
    question: str
    labels: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    range: Range | None = None
    unit: str = ""
    sentence: str = ""


def question_of(lesson: Lesson, number: int, found: Answer, language: Language, sentence: str = "") -> Question:
    """The question of a step.

    Args:
        lesson: the lesson.
        number: of the step, from 0.
        found: its answer, of which only what may be known beforehand is taken.
        language: of the question.
        sentence: that the step is about.
    """
    step = lesson.steps[number]
    said = say(step, found, language)
    choices = [(choice.id, choice.text.said(language, found.given)) for choice in step.choices]
    return Question(
        lesson.id,
        number + 1,
        step.predict,
        said.context,
        said.question,
        found.labels if step.predict in TAPPED else (),
        found.columns,
        _shuffled(choices, found.right) if step.predict == "order" else tuple(choices),
        step.range,
        "" if step.range is None else step.range.unit.said(language),
        sentence if step.predict not in ("token", "pair") else "",
    )


def _shuffled(choices: list[tuple[str, str]], right: Right) -> tuple[tuple[str, str], ...]:
    """In an order that gives nothing away, the same each time: neither the right one nor the file's."""
    ids = [id_ for id_, _ in choices]
    draw, order = random.Random(" ".join(ids)), ids[:]
    while len(ids) > 2 and (order == ids or tuple(order) == right):
        draw.shuffle(order)
    texts = dict(choices)
    return tuple((id_, texts[id_]) for id_ in order)


def checked(question: Question, guess: object) -> Right:
    """A guess as it came from a browser, as what it is.

    Raises:
        HeadworkError: it is no possible answer to the question.
    """
    try:
        found = _READ[question.predict](question, guess)
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None:
        raise HeadworkError("This guess doesn't fit the question. Load the page again.")
    return found


def _token(question: Question, guess: Any) -> Right | None:
    return guess if _is_index(guess, len(question.labels)) else None


def _pair(question: Question, guess: Any) -> Right | None:
    n = len(question.labels)
    first, second = guess
    return (first, second) if _is_index(first, n) and _is_index(second, n) else None


def _choice(question: Question, guess: Any) -> Right | None:
    return guess if isinstance(guess, str) and guess in dict(question.choices) else None


def _order(question: Question, guess: Any) -> Right | None:
    ids = list(dict(question.choices))
    right_kind = isinstance(guess, list | tuple) and all(isinstance(each, str) for each in guess)
    return tuple(guess) if right_kind and sorted(guess) == sorted(ids) else None


def _number(question: Question, guess: Any) -> Right | None:
    of = question.range
    if of is None or isinstance(guess, bool) or not isinstance(guess, int | float) or not math.isfinite(guess):
        return None
    return float(guess) if of.least <= guess <= of.most else None


def _cells(question: Question, guess: Any) -> Right | None:
    n_rows, n_columns = len(question.labels), len(question.columns or question.labels)
    if not isinstance(guess, list | tuple | frozenset) or len(guess) > min(MOST_CELLS, n_rows * n_columns):
        return None
    cells = [(row, column) for row, column in guess]
    are_there = all(_is_index(row, n_rows) and _is_index(column, n_columns) for row, column in cells)
    return frozenset(cells) if are_there else None


def _is_index(value: Any, n: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n


_READ: dict[str, Callable[[Question, Any], Right | None]] = {
    "token": _token,
    "pair": _pair,
    "choice": _choice,
    "order": _order,
    "number": _number,
    "cells": _cells,
}


def in_words(question: Question, guess: Right) -> str:
    """A guess, or the right answer, to be read. Cells are said by how many they are: see the picture for which."""
    if question.predict == "choice":
        return dict(question.choices)[str(guess)]
    if question.predict == "number":
        assert isinstance(guess, int | float)
        if question.unit == "%":
            return f"{guess:.1f} %" if abs(guess) < 10 and not float(guess).is_integer() else f"{guess:.0f} %"
        number = f"{guess:,.4g}" if abs(guess) >= 10 or float(guess).is_integer() else f"{guess:.2f}"
        return f"{number} {question.unit}".rstrip()
    if isinstance(guess, tuple):
        names = dict(question.choices) if question.predict == "order" else dict(enumerate(question.labels))
        return " → ".join(names[each] for each in guess)  # type: ignore[index]
    if isinstance(guess, frozenset):
        return str(len(guess))
    assert isinstance(guess, int)
    return question.labels[guess]
