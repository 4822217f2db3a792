"""Which lesson is open, and where in it: kept in the link as lesson= and step= (from 1, or "test")."""

from __future__ import annotations

import streamlit as st

from analysis.lessons import Lesson, shelf
from model import HeadworkError
from ui.frame import links

LESSON, STEP = "lesson_open", "lesson_place"  # session state
OWN = "lessons_own"  # session state: id → lesson of a file that was opened in this session
TEST = "test"
MOST_OWN = 40


def lessons() -> list[Lesson]:
    """Those of the shelf, then those opened in this session."""
    return [*shelf().lessons, *own().values()]


def own() -> dict[str, Lesson]:
    """Lessons opened from files in this session, by id."""
    found: dict[str, Lesson] = st.session_state.setdefault(OWN, {})
    return found


def put(lesson: Lesson) -> None:
    """Puts a lesson last on this session's shelf, in place of an earlier one of its id; of very many, the latest."""
    found = own()
    found.pop(lesson.id, None)
    found[lesson.id] = lesson
    while len(found) > MOST_OWN:
        del found[next(iter(found))]


def opened() -> Lesson | None:
    """The lesson that is open; None on the shelf."""
    known = {lesson.id: lesson for lesson in lessons()}
    if LESSON not in st.session_state:
        st.session_state[LESSON] = links.read("lesson", links.one_of(list(known)), "", key=LESSON)
    return known.get(st.session_state[LESSON])


def place(lesson: Lesson) -> int:
    """The step that is open, from 0; one more than the last is the self-test."""
    if STEP not in st.session_state:
        st.session_state[STEP] = links.read("step", lambda text: _place(lesson, text), 0, key=STEP)
    return min(max(int(st.session_state[STEP]), 0), last(lesson))


def last(lesson: Lesson) -> int:
    """The last place of a lesson."""
    return len(lesson.steps) - (0 if lesson.self_test else 1)


def go(lesson: Lesson, to: str) -> None:
    """Opens a step, by what a link calls it. What it doesn't have opens nothing."""
    try:
        st.session_state[STEP] = _place(lesson, to)
    except HeadworkError:
        return
    st.session_state[LESSON] = lesson.id


def move(lesson: Lesson, place: int) -> None:
    """Opens a place of the lesson."""
    st.session_state[STEP] = place


def leave() -> None:
    """Back to the shelf."""
    st.session_state[LESSON], st.session_state[STEP] = "", 0


def write(lesson: Lesson | None) -> None:
    """Lets the link say what is open."""
    links.write("lesson", lesson.id if lesson else "", "")
    at = place(lesson) if lesson else 0
    links.write("step", TEST if lesson and at == len(lesson.steps) else str(at + 1), "1")


def _place(lesson: Lesson, text: str) -> int:
    if text == TEST and lesson.self_test:
        return len(lesson.steps)
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= len(lesson.steps)):
        raise HeadworkError("{value} is not one of {options}.", value=text, options=f"1…{len(lesson.steps)}")
    return int(text) - 1
