"""All lessons, each with how far one is; and lessons of one's own, opened from a file."""

from typing import Any

import streamlit as st

from analysis.lessons import read_lesson
from analysis.lessons import shelf as whole_shelf
from model import HeadworkError
from ui.frame import components
from ui.frame.captions import text_scale
from ui.frame.languages import _, explain, plain
from ui.lessons import places
from ui.lessons.asked import language_now

KEY, FILE, PROBLEM = "lesson_shelf", "lesson_file", "lesson_problem"
LONGEST_PROGRESS = 8000  # characters of a link's progress

_shelf = components.register("lesson_shelf")


def show() -> None:
    """The shelf."""
    st.markdown(_("What does a head do? Commit to a guess, then see what the model that runs says."))
    given = st.query_params.get("progress", "")[:LONGEST_PROGRESS]
    if given:
        st.session_state["lessons_given"] = given
        st.query_params.pop("progress")
    language = language_now()
    data = {
        "lessons": [
            {
                "id": lesson.id,
                "title": lesson.title.said(language),
                "minutes": lesson.minutes,
                "n_steps": len(lesson.steps),
                "n_questions": len(lesson.self_test),
            }
            for lesson in places.lessons()
        ],
        "given": st.session_state.get("lessons_given", ""),
        "text_scale": text_scale(),
        "text": {
            "title": _("Lessons"),
            "minutes": _("{n} min"),
            "steps": _("{done} of {n} steps"),
            "test": _("self-test {right} of {n}"),
            "kept": _("How far you are stays in this browser."),
            "elsewhere": _("Go on elsewhere: a link"),
            "link": _("A link that brings your progress along"),
            "forget": _("Forget it"),
        },
    }
    _shelf(key=KEY, data=data, on_open_change=_open)
    _own()
    for problem in whole_shelf().problems:
        st.warning(explain(problem))


def _open() -> None:
    said: Any = (st.session_state.get(KEY) or {}).get("open")
    lesson = next((each for each in places.lessons() if isinstance(said, dict) and each.id == said.get("lesson")), None)
    if lesson is not None:
        places.go(lesson, str(said.get("step")))


def _own() -> None:
    with st.expander(_("A lesson of your own")):
        st.markdown(
            _(
                "One YAML or JSON file of up to 256 KB. It opens in this session only and stays on nobody's disk. "
                "How to write one: docs/lessons.md."
            )
        )
        st.file_uploader(
            _("Lesson file"), ["yaml", "yml", "json"], key=FILE, on_change=_take, label_visibility="collapsed"
        )
    problem = st.session_state.get(PROBLEM)
    if problem is not None:
        st.error(explain(problem), icon="✋")
    elif places.own():
        names = ", ".join(plain(lesson.title.said(language_now())) for lesson in places.own().values())
        st.success(_("Opened: {names}. It stands last on the shelf.").format(names=names))


def _take() -> None:
    """Puts an opened file on this session's shelf, or keeps what is wrong with it."""
    file = st.session_state.get(FILE)
    st.session_state[PROBLEM] = None
    if file is None:
        return
    try:
        lesson = read_lesson(file.getvalue(), file.name)
        if any(lesson.id == other.id for other in whole_shelf().lessons):
            raise HeadworkError(
                "{file} is left out: there is a lesson with its id, {id}, already. Give it another id.",
                file=lesson.source,
                id=lesson.id,
            )
    except HeadworkError as error:
        st.session_state[PROBLEM] = error
    else:
        places.put(lesson)
