"""A prediction as a control: tap, choose, order, a number or cells. On the Lessons page, and on the phones of a class.

The right answer isn't sent to the browser before the guess is made: `ask` takes it only for showing both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from analysis.lessons.lesson import Right
from analysis.lessons.questions import Question, checked
from model import HeadworkError
from ui.frame import components
from ui.frame.captions import text_scale
from ui.frame.languages import _
from viz.encoding import digest
from viz.theme import ACCENT
from viz.token_strip import reading_direction

_prediction = components.register("prediction")


def ask(
    question: Question,
    *,
    key: str,
    on_guess: Callable[[Right], None],
    button: str,
    guess: Right | None = None,
    answer: Right | None = None,
    is_right: bool = False,
    is_locked: bool | None = None,
    is_sent: str = "",
) -> None:
    """Draws the control for a guess, and after the reveal the guess and the answer in it, both marked.

    Args:
        question: what is asked; its context and question are read out, and drawn by whoever calls this.
        key: of the component, unique on the page.
        on_guess: called with a guess that fits the question, before the page's script runs.
        button: what sends the guess: "Reveal", "Send".
        guess: the one made so far; None = none yet.
        answer: the right answer; None before the reveal.
        is_right: whether the guess counts as right.
        is_locked: no other guess can be made; None = as soon as there is an answer.
        is_sent: the button's words while the guess is the one sent, where another one may still follow.
    """
    id_ = digest([question.lesson, str(question.step), *_texts(question)])

    def took() -> None:
        said = (st.session_state.get(key) or {}).get("guess")
        if isinstance(said, dict) and said.get("of") == id_:
            try:
                on_guess(checked(question, said.get("value")))
            except HeadworkError:
                return  # no browser of ours sends such a thing

    data = {
        "id": id_,
        "predict": question.predict,
        "labels": list(question.labels),
        "columns": list(question.columns),
        "choices": [list(choice) for choice in question.choices],
        "range": None if question.range is None else _range(question),
        "dir": reading_direction(question.labels),
        "guess": _as_json(guess),
        "sent": _as_json(guess) if is_sent else None,
        "answer": _as_json(answer),
        "is_right": is_right,
        "locked": answer is not None if is_locked is None else is_locked,
        "accent": ACCENT,
        "text_scale": text_scale(),
        "text": {"question": question.question, "button": button, "is_sent": is_sent, **_words(question)},
    }
    _prediction(key=key, data=data, on_guess_change=took)


def _texts(question: Question) -> list[str]:
    parts = [*question.labels, *question.columns, *(text for choice in question.choices for text in choice)]
    return [question.predict, question.question, *parts]


def _range(question: Question) -> dict[str, Any]:
    assert question.range is not None
    of = question.range
    return {"least": of.least, "most": of.most, "step": of.step, "unit": question.unit}


def _as_json(value: Right | None) -> Any:
    if isinstance(value, frozenset):
        return sorted(list(cell) for cell in value)
    return list(value) if isinstance(value, tuple) else value


def _words(question: Question) -> dict[str, str]:
    """What the control says. {} are filled in the browser."""
    hints = {
        "token": _("Tap a word."),
        "pair": _("Tap two words: first the query, then the key."),
        "choice": _("Choose one."),
        "order": _("Move them into order."),
        "number": _("Move the slider, or type."),
        "cells": _("Tap cells, or draw over them."),
    }
    return {
        "hint": hints[question.predict],
        "guessed": _("Your guess: {guess}."),
        "sign_hit": _("● Right."),
        "sign_miss": _("✕ your guess · ● the answer"),
        "sign_cells": _("● right · ✕ too much · ○ missed"),
        "sign_order": _("● in its place · ✕ elsewhere"),
        "sign_answer": _("● the answer"),
        "hit": _("Your guess is right: {answer}."),
        "miss": _("Your guess was {guess}. The answer is {answer}."),
        "only_answer": _("The answer is {answer}."),
        "mark_right": _("the answer"),
        "mark_hit": _("your guess, and right"),
        "mark_miss": _("your guess"),
        "mark_missed": _("belongs to the answer, not guessed"),
        "query": _("query"),
        "key": _("key"),
        "first": _("{token} is the query. Now the key."),
        "up": _("Move up: {item}"),
        "down": _("Move down: {item}"),
        "was_at": _("guessed {place}"),
        "type_number": _("Type a number"),
        "whole_row": _("The whole row “{row}”"),
        "cell": _("query “{query}”, key “{key}”"),
        "plain_cell": _("row “{query}”, column “{key}”"),
        "n_cells": _("{n} cells"),
        "one_cell": _("1 cell"),
    }
