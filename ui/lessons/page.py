"""The page Lessons: a shelf, or one step at a time: a guess, then the answer on the live picture."""

from functools import partial
from typing import Literal

import streamlit as st

from analysis.lessons import Lesson
from model import HeadworkError
from ui.frame.captions import page_title, small
from ui.frame.languages import _, explain, plain
from ui.lessons import class_room, guesses, live, places, prediction, printing, projector, self_test, shelf, steps
from ui.lessons.asked import Asked, ask, own_text, take_text

STYLE = """<style>
.st-key-lesson { gap: 0.6rem; }
.st-key-lesson-question { padding-bottom: 0.75rem; }
.st-key-lesson-question h2 { padding: 0 0 0.25rem; font-size: 1.5rem; line-height: 1.3; }
.st-key-lesson-sentence { margin-top: 0.4rem; border-inline-start: 3px solid #8a9096; padding-inline-start: 0.75rem; }
.st-key-lesson-sentence p { font-size: 1.2rem; }
.st-key-lesson-covered { border: 1px dashed #8a9096; border-radius: 0.375rem; min-height: 16rem; }
.st-key-lesson-foot { margin-top: 0.25rem; row-gap: 0; }
@media (max-width: 640px) {
  .st-key-lesson-question h2 { font-size: 1.25rem; }
  [data-testid=stColumn]:has(.st-key-lesson-covered) { display: none; }
  .st-key-lesson-sentence { margin-top: 0.6rem; }
  /* one column: the picture comes right after the answer, the ways on after the picture */
  [data-testid=stColumn]:has(.st-key-lesson-after),
  [data-testid=stColumn]:has(.st-key-lesson-after) > [data-testid=stVerticalBlock] { display: contents; }
  [data-testid=stLayoutWrapper]:has(> .st-key-lesson-after) { order: 1; }
}
</style>"""


def show() -> None:
    """The page."""
    lesson = places.opened()
    places.write(lesson)
    if lesson is None:
        page_title(_("Predict, then look"))
        shelf.show()
        return
    projector.look()
    st.html(STYLE)
    at = places.place(lesson)
    with st.container(key="lesson"):
        if at == len(lesson.steps):
            self_test.show(lesson)
        else:
            _step(lesson, at)


def _step(lesson: Lesson, at: int) -> None:
    bar = st.container(key="lesson-bar")
    try:
        asked = ask(lesson, at)
    except HeadworkError as error:
        with bar:
            steps.bar(lesson, at)
        if not own_text(lesson, lesson.steps[at]):
            raise
        st.error(explain(error), icon="✋")
        st.button(_("Back to the lesson's sentence"), on_click=take_text, args=(lesson, lesson.steps[at], ""))
        return
    guess = guesses.of(asked.name)
    with bar:
        steps.bar(lesson, at, is_done=guess is not None)
    with st.container(key="lesson-question", gap="xsmall"):
        st.markdown(plain(asked.said.context))
        st.header(plain(asked.said.question), anchor=False)
        if asked.question.sentence:
            with st.container(key="lesson-sentence"):
                st.markdown(plain(asked.question.sentence))
    left, right = st.columns([5, 7], gap="medium")
    with left:
        _prediction(asked, guess)
        with st.container(key="lesson-after", gap="xsmall"):
            _ways(asked, is_done=guess is not None)
            class_room.bar(asked, is_revealed=guess is not None, on_reveal=partial(guesses.reveal, asked.name))
    with right:
        if guess is None and class_room.shows_the_way_in():
            class_room.way_in()
        elif guess is None:
            with st.container(key="lesson-covered", horizontal_alignment="center", vertical_alignment="center"):
                st.markdown(_("Guess first. The picture comes with the answer."), width="content")
        else:
            live.picture(asked)


def _prediction(asked: Asked, guess: guesses.Guess | None) -> None:
    """The control; after the reveal what is right in it, and why."""
    step, value = asked.step, guess.value if guess else None
    is_right = value is not None and step.is_right(value, asked.answer.right)
    prediction.ask(
        asked.question,
        key="lesson_prediction",
        on_guess=partial(guesses.reveal, asked.name),  # the session keeps it: a name, no maps
        button=_("Reveal"),
        guess=value,
        answer=None if guess is None else asked.answer.right,
        is_right=is_right,
    )
    if guess is None:
        return
    if not is_right and value in asked.said.mistakes:
        st.markdown("✕ " + plain(asked.said.mistakes[str(value)]))
    st.markdown(plain(asked.said.why))


def _ways(asked: Asked, *, is_done: bool) -> None:
    """On to the next step and back; another sentence, the app's own page, a file to print."""
    lesson, at = asked.lesson, asked.number
    with st.container(horizontal=True, gap="small", key="lesson-ways"):
        st.button(_("Back"), disabled=at == 0, on_click=places.move, args=(lesson, at - 1))
        if at < places.last(lesson):
            kind: Literal["primary", "secondary"] = "primary" if is_done else "secondary"
            name = _("Next") if at + 1 < len(lesson.steps) else _("Self-test")
            st.button(name, type=kind, key="lesson_next", on_click=places.move, args=(lesson, at + 1))
        else:
            st.button(_("All lessons"), key="lesson_next", on_click=places.leave)
    with st.container(horizontal=True, gap="small", key="lesson-foot", vertical_alignment="center"):
        if is_done and asked.link:
            st.link_button(_("Open it in the app"), asked.link, icon=":material/open_in_new:", type="tertiary")
        if asked.step.own_text:
            _own_sentence(asked)
        printing.button(lesson)
    if asked.setup.is_stand_in:
        small(
            _("The model that reads Chinese isn't here, so this step asks the English one about an English sentence.")
        )


def _own_sentence(asked: Asked) -> None:
    lesson, step = asked.lesson, asked.step
    key = f"lesson_text_{lesson.id}_{step.id}_{asked.language}"
    st.session_state.setdefault(key, asked.setup.text)

    def take() -> None:
        take_text(lesson, step, str(st.session_state[key]))

    def give_back() -> None:
        take_text(lesson, step, "")
        st.session_state.pop(key, None)

    with st.popover(_("Another sentence"), type="tertiary"):
        st.text_area(_("Your sentence"), key=key, max_chars=3000, on_change=take, height=90)
        if own_text(lesson, step):
            st.button(_("Back to the lesson's sentence"), on_click=give_back)
