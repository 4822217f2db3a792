"""The guesses of this session, so that a step that was answered stays answered when one comes back to it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

import streamlit as st

from analysis.lessons.lesson import Right

KEPT = "lesson_guesses"  # session state: what was asked → Guess
MOST_KEPT = 400


@dataclass(frozen=True)
class Guess:
    """A step after the reveal; `value` is None where the answer was shown without a guess, as a teacher may."""

    value: Right | None


def of(name: Hashable) -> Guess | None:
    """What was guessed; None before the reveal."""
    return _kept().get(name)


def reveal(name: Hashable, value: Right | None = None) -> None:
    """Keeps a guess, and shows the answer from now on."""
    kept = _kept()
    kept[name] = Guess(value)
    while len(kept) > MOST_KEPT:
        del kept[next(iter(kept))]


def _kept() -> dict[Hashable, Guess]:
    return cast("dict[Hashable, Guess]", st.session_state.setdefault(KEPT, {}))
