"""The questions at the end of a lesson: answered first, then explained, with the page that shows it."""

import streamlit as st

from analysis.lessons import Lesson, SelfTest
from analysis.lessons.questions import Question
from ui.frame.languages import _, plain
from ui.lessons import places, prediction, steps
from ui.lessons.asked import language_now, view_link

KEY = "lesson_test"  # session state: lesson → question → id of the option chosen


def show(lesson: Lesson) -> None:
    """All questions of a lesson."""
    chosen = _chosen(lesson)
    right = {number: _is_right(lesson.self_test[number], id_) for number, id_ in chosen.items()}
    steps.bar(lesson, len(lesson.steps), results=right)
    for number, test in enumerate(lesson.self_test):
        if number % 2 == 0:  # a row of two: on a phone they stand in their order
            columns = st.columns(2, gap="medium")
        with columns[number % 2], st.container(border=True, gap="small"):
            _question(lesson, number, test, chosen)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(_("Back"), on_click=places.move, args=(lesson, len(lesson.steps) - 1))
        st.button(_("All lessons"), key="lesson_next", on_click=places.leave)
        if chosen:
            said = _("{right} of {answered} right; {n} questions.")
            st.markdown(said.format(right=sum(right.values()), answered=len(right), n=len(lesson.self_test)))


def _chosen(lesson: Lesson) -> dict[int, str]:
    """The options chosen so far, without what the lesson, opened again from a mended file, no longer asks."""
    chosen: dict[int, str] = st.session_state.setdefault(KEY, {}).setdefault(lesson.id, {})
    offered = [{option.id for option in test.choices} for test in lesson.self_test]
    for number in [number for number, id_ in chosen.items() if number >= len(offered) or id_ not in offered[number]]:
        del chosen[number]
    return chosen


def _question(lesson: Lesson, number: int, test: SelfTest, chosen: dict[int, str]) -> None:
    language = language_now()
    st.markdown(f"**{number + 1}. {plain(test.question.said(language))}**")
    answered = chosen.get(number)

    def choose(id_: object) -> None:
        chosen[number] = str(id_)

    prediction.ask(
        Question(
            lesson.id,
            100 + number,
            "choice",
            "",
            test.question.said(language),
            choices=tuple((option.id, option.text.said(language)) for option in test.choices),
        ),
        key=f"lesson_test_{number}",
        on_guess=choose,
        button=_("Check"),
        guess=answered,
        answer=None if answered is None else next(option.id for option in test.choices if option.right),
        is_right=answered is not None and _is_right(test, answered),
    )
    if answered is None:
        return
    for option in test.choices:
        if option.id == answered or option.right:
            st.markdown(f"{'●' if option.right else '✕'} {plain(option.why.said(language))}")
    if link := view_link(test.view):
        st.link_button(_("Open it in the app"), link, icon=":material/open_in_new:", type="tertiary")


def _is_right(test: SelfTest, id_: str) -> bool:
    return any(option.right and option.id == id_ for option in test.choices)
