"""A step in this session's language, asked of the model that runs: its texts, its question and its answer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

import streamlit as st

from analysis.lessons import Answer, Lesson, Said, Setup, Source, Step, answer, in_language, say, setup_of
from analysis.lessons.lesson import Language
from analysis.lessons.questions import Question, question_of
from model import HeadworkError
from ui.frame import loading

MOST_ANSWERS = 48  # kept for all sessions; one of 144 heads and 64 words takes 2 MB
OWN_TEXTS = "lesson_texts"  # session state: (lesson, step, language) → the sentence typed in place of the lesson's
SOURCE = Source(loading.load_model, loading.trace)


@dataclass(frozen=True, eq=False)
class Asked:
    """One step, computed.

    Attributes:
        number: of the step, from 0.
        setup: the model and the sentence.
        name: what guesses about it are kept under.
    """

    lesson: Lesson
    number: int
    setup: Setup
    answer: Answer
    said: Said
    name: Hashable

    @property
    def step(self) -> Step:
        """The step as its file says it."""
        return self.lesson.steps[self.number]

    @property
    def question(self) -> Question:
        """What is asked, without its answer."""
        return question_of(self.lesson, self.number, self.answer, language_now(), self.setup.text)

    @property
    def language(self) -> Language:
        """The language of the texts."""
        return language_now()

    @property
    def link(self) -> str:
        """The page that shows it, in the words of its address; "" where the lesson names none."""
        return view_link(self.step.view, self.setup)


def ask(lesson: Lesson, number: int) -> Asked:
    """A step of a lesson, from 0.

    Raises:
        HeadworkError: the model can't be loaded, or the sentence doesn't suit the question.
    """
    step, language = lesson.steps[number], language_now()
    setup = setup_of(step.setup, language, SOURCE)
    if text := own_text(lesson, step):
        setup = setup.with_text(text)
    version = loading.named(setup.model_id) if setup.model_id else ""
    name = (lesson.id, repr(step), version, setup.text, setup.language)
    found = _answer(name, step, setup)
    return Asked(lesson, number, setup, found, say(step, found, language), guessed_about(lesson, step, setup.text))


@st.cache_resource(max_entries=MOST_ANSWERS, show_spinner=False)
def _answer(name: Hashable, _step: Step, _setup: Setup) -> Answer:
    return answer(_step, _setup)


def guessed_about(lesson: Lesson, step: Step, text: str) -> Hashable:
    """What a guess is kept under: with the whole step, as a teacher may mend a lesson's file and open it again."""
    return lesson.id, repr(step), language_now(), text


def own_text(lesson: Lesson, step: Step) -> str:
    """The sentence that was typed for a step; "" = the lesson's own."""
    return str(st.session_state.get(OWN_TEXTS, {}).get((lesson.id, step.id, language_now()), "")) * step.own_text


def take_text(lesson: Lesson, step: Step, text: str) -> None:
    """Asks a step of another sentence from now on; "" = the lesson's own again."""
    st.session_state.setdefault(OWN_TEXTS, {})[lesson.id, step.id, language_now()] = text.strip()


def view_link(view: object, setup: Setup | None = None) -> str:
    """The address of a page as a lesson names it, with the sentence, model and mask of a step; "" = none is named."""
    if not isinstance(view, dict):
        return ""
    language = language_now()
    of = language if setup is None else setup.language
    named = {name: in_language(value, of) for name, value in view.items()}
    page = str(named.pop("page"))
    link = {"lang": language} | ({"model": setup.model_id} if setup is not None and setup.model_id else {})
    if setup is not None and setup.text:
        link |= {"text": setup.text} | ({"mask": setup.mask_name} if setup.mask_name else {})
        link |= _pinned(str(named.pop("query", "")), setup)
    if page == "attention" and "-" in str(named.get("head", "")):
        layer, head = str(named.pop("head")).split("-", 1)
        link |= {"layer": layer, "head": head}
    link |= {name: str(value) for name, value in named.items()}
    return f"{'./' if page == 'attention' else page}?{urlencode(link)}"  # Attention is the app's first page


def _pinned(word: str, setup: Setup) -> dict[str, str]:
    """The word that a view looks from, as the page Attention counts tokens."""
    try:
        tokens = [token.strip("▁#Ġ ").casefold() for token in setup.trace.tokens] if word else []
    except HeadworkError:
        tokens = []
    return {"pinned": str(tokens.index(word.casefold()) + 1)} if word.casefold() in tokens else {}


def language_now() -> Language:
    """The language of this session."""
    return cast(Language, st.session_state.get("lang", "en"))
