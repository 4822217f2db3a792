"""A lesson: steps of a question, a guess and an answer that is computed when the step opens, and a test at the end.

What a file says stands here in both languages; `analysis.lessons.reading` makes it from YAML or JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from model import HeadworkError
from model.errors import shown

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
Predict = Literal["token", "pair", "choice", "order", "number", "cells"]
PREDICTS: tuple[Predict, ...] = ("token", "pair", "choice", "order", "number", "cells")
# What is right, and likewise what is guessed: token: index into the answer's labels; pair: two of them; choice: an id;
# order: the ids in their order; number; cells: the (row, column) that are coloured.
Right: TypeAlias = "int | tuple[int, int] | str | tuple[str, ...] | float | frozenset[tuple[int, int]]"

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class Words:
    """One text in both languages; `{name}` in it is filled with what the answer says."""

    en: str
    zh: str

    def said(self, language: Language, values: Mapping[str, str] | None = None) -> str:
        """The text in a language, its places filled.

        Raises:
            HeadworkError: the answer says nothing under the name of a place.
        """
        values = values or {}

        def fill(place: re.Match[str]) -> str:
            if place[1] not in values:
                raise HeadworkError(
                    "The text has a place {place}, which this step's answer doesn't fill. It fills: {names}.",
                    place=place[0],
                    names=", ".join(sorted(values)) or "–",
                )
            return values[place[1]]

        return _PLACE.sub(fill, getattr(self, language))

    def unfilled(self, language: Language) -> str:
        """The text where no answer fills its places."""
        return _PLACE.sub("…", getattr(self, language))

    def places(self, language: Language) -> set[str]:
        """The names of the places in one language."""
        return set(_PLACE.findall(getattr(self, language)))


@dataclass(frozen=True)
class Choice:
    """One of several answers to choose or to bring into order; `wrong` says what it mistakes."""

    id: str
    text: Words
    wrong: Words | None = None


@dataclass(frozen=True)
class Range:
    """The numbers that can be guessed; within `tolerance` of the right one a guess is right."""

    least: float
    most: float
    step: float
    tolerance: float
    unit: Words = Words("", "")


@dataclass(frozen=True)
class Ask:
    """A registered function (`analysis.lessons.answer.ANSWERS`) and its parameters, some of them by language."""

    of: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def in_language(self, language: Language) -> dict[str, Any]:
        """The parameters for one language."""
        return {name: in_language(value, language) for name, value in self.parameters.items()}


@dataclass(frozen=True)
class Given:
    """What a step is about: a sentence, a model, a mask (None = the model's own); values may differ by language.

    Without a sentence the model is asked for by its records, and isn't loaded.
    """

    text: Words | None = None
    model: Words | None = None
    mask: str | None = None


@dataclass(frozen=True)
class Step:
    """One question: guess first, then look.

    Attributes:
        context: one sentence before the question.
        setup: None for a step that asks no model.
        own_text: whether another sentence may be typed.
        choices: of "choice" and "order".
        range: of "number".
        picture: the kind of picture; "" = the answer's own.
        view: the page that shows it and what it opens with, some of it by language; None = no link.
        line: where the step begins in its file.
    """

    id: str
    context: Words
    question: Words
    predict: Predict
    answer: Ask
    why: Words
    setup: Given | None = None
    own_text: bool = False
    choices: tuple[Choice, ...] = ()
    range: Range | None = None
    picture: str = ""
    view: Mapping[str, Any] | None = None
    line: int = 0

    def is_right(self, guess: Right, right: Right) -> bool:
        """Whether a guess counts as right."""
        if self.predict == "number" and self.range is not None:
            assert isinstance(guess, int | float) and isinstance(right, int | float)
            return abs(guess - right) <= self.range.tolerance * (1 + 1e-9)
        if self.predict == "cells":
            assert isinstance(guess, frozenset) and isinstance(right, frozenset)
            return guess == right
        return guess == right


@dataclass(frozen=True)
class Option:
    """One answer of a self-test, with the reason why it is right, or what it mistakes."""

    id: str
    text: Words
    why: Words
    right: bool = False


@dataclass(frozen=True)
class SelfTest:
    """One question at the end of a lesson, of the examination kind; exactly one option is right."""

    question: Words
    choices: tuple[Option, ...]
    view: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Lesson:
    """Steps and questions. `source` names the file."""

    id: str
    title: Words
    minutes: int
    steps: tuple[Step, ...]
    self_test: tuple[SelfTest, ...] = ()
    source: str = ""

    def step(self, id_: str) -> int:
        """The number of the step with that id, from 0.

        Raises:
            HeadworkError: there is none.
        """
        for number, step in enumerate(self.steps):
            if step.id == id_:
                return number
        raise HeadworkError("The lesson {lesson} has no step {step}.", lesson=self.id, step=shown(id_))


def in_language(value: Any, language: Language) -> Any:
    """A value that a lesson may give by language: {en: they, zh: 她} → "they"; anything else is itself."""
    if isinstance(value, Words):
        return getattr(value, language)
    if isinstance(value, Mapping) and set(value) == set(LANGUAGES):
        return value[language]
    return value
