"""What a step's question comes to, computed by a registered function when the step opens.

@answers("weight")
def weight(setup: Setup, *, layer: int, head: int, query: str, key: str) -> Answer: ...

A parameter's annotation says what a lesson file may give for it: int, float, str, bool or a list of them (`list[str]`),
`| None` where it may be left out. `analysis.lessons.reading` checks files against that. Heads count from 1, as on
screen. Numbers in `said` and `given` are formatted already: weights with two decimals, shares in %.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.lessons.lesson import Language, Right, Step
from analysis.lessons.setup import Setup
from model import HeadworkError
from model.errors import clipped, first_line


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer with what says and shows it.

    Attributes:
        right: see `lesson.Right`.
        said: fills the places of `why`, and those of the context and the question too.
        given: fills the places of the context and the question: known before the guess.
        labels: what can be tapped: words; the rows of cells.
        columns: of cells; () = named as the rows.
        picture: the kind of picture that shows it (viz.lessons).
        shown: what that picture takes (analysis.lessons.shown).
    """

    right: Right
    said: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    picture: str = ""
    shown: Any = None
    columns: tuple[str, ...] = ()


Answers = Callable[..., Answer]
ANSWERS: dict[str, Answers] = {}


def answers(name: str) -> Callable[[Answers], Answers]:
    """Registers a function under the name that lesson files call it by."""

    def register(function: Answers) -> Answers:
        if name in ANSWERS:
            raise ValueError(f"two answers are called {name}")
        ANSWERS[name] = function
        return function

    return register


@dataclass(frozen=True)
class Parameter:
    """What a lesson file may give for one parameter: values of these kinds, or a list of them."""

    kinds: tuple[type, ...]
    is_list: bool
    is_needed: bool


def parameters(name: str) -> dict[str, Parameter]:
    """The parameters of a registered function, besides the setup."""
    function = ANSWERS[name]
    hints = typing.get_type_hints(function)
    found = list(inspect.signature(function).parameters.values())[1:]
    return {each.name: _parameter(hints[each.name], each.default is each.empty) for each in found}


def _parameter(hint: Any, is_needed: bool) -> Parameter:
    options = [hint] if typing.get_origin(hint) in (None, list) else list(typing.get_args(hint))
    options = [option for option in options if option is not type(None)]
    lists = [option for option in options if typing.get_origin(option) is list]
    kinds = typing.get_args(lists[0]) if lists else tuple(options)
    return Parameter(kinds, bool(lists), is_needed)


def answer(step: Step, setup: Setup) -> Answer:
    """The answer to a step.

    Raises:
        HeadworkError: the model can't be loaded, the sentence doesn't suit the question, a head doesn't exist.
    """
    if step.answer.of not in ANSWERS:
        raise HeadworkError("There is no answer called {name}.", name=step.answer.of)
    try:
        found = ANSWERS[step.answer.of](setup, **step.answer.in_language(setup.language))
    except HeadworkError:
        raise
    except Exception as error:  # values that a stranger's file brings together
        raise HeadworkError(
            "The answer {name} can't be computed with these values ({reason}). Change them in the lesson.",
            name=step.answer.of,
            reason=first_line(error),
        ) from error
    if not _can_be_guessed(found, step):
        raise HeadworkError(
            "The answer {name} gives {right} here, which nobody can guess with predict: {predict} and these options.",
            name=step.answer.of,
            right=clipped(str(found.right)),
            predict=step.predict,
        )
    return found


def _can_be_guessed(found: Answer, step: Step) -> bool:
    """Whether what is right is of the kind that a step lets one guess: a file brings both together."""
    right, ids = found.right, [choice.id for choice in step.choices]
    indices = range(len(found.labels))
    if step.predict == "choice":
        return right in ids
    if step.predict == "cells":
        return isinstance(right, frozenset)
    if isinstance(right, tuple):
        if step.predict == "order":
            return sorted(map(str, right)) == sorted(ids)
        return step.predict == "pair" and len(right) == 2 and set(right) <= set(indices)
    if step.predict == "number":
        return isinstance(right, int | float) and math.isfinite(right)
    return step.predict == "token" and isinstance(right, int) and right in indices


@dataclass(frozen=True)
class Said:
    """The texts of a step, filled; `mistakes`: what each wrong choice mistakes, where the lesson says so."""

    context: str
    question: str
    why: str
    mistakes: Mapping[str, str] = field(default_factory=dict)


def say(step: Step, found: Answer, language: Language) -> Said:
    """A step's texts in a language, with the answer's numbers in them.

    Raises:
        HeadworkError: a text has a place that the answer doesn't fill.
    """
    after = {**found.given, **found.said}
    return Said(
        step.context.said(language, found.given),
        step.question.said(language, found.given),
        step.why.said(language, after),
        {choice.id: choice.wrong.said(language, after) for choice in step.choices if choice.wrong is not None},
    )
