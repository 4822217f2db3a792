"""Lessons: the shelf, links, guess before answer, own sentences and files, the projector."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from analysis.lessons import LessonError, read_lesson, shelf
from ui.frame.languages import words_of
from ui.lessons import asked, guesses, places
from ui.lessons.shelf import PROBLEM

OWN = """
id: own
title: {en: My <b>own</b> lesson, zh: 我的课}
minutes: 1
steps:
  - id: one
    context: {en: "**Bold** <script>alert(1)</script>", zh: 上下文}
    question: {en: "![x](http://foreign.example/x.png) [a](http://foreign.example)?", zh: 问}
    predict: number
    options: {least: 0, most: 10, step: 1, tolerance: 0}
    answer: {of: mixture, weights: [0.5, 0.5], values: [8, 2]}
    why: {en: "It is {mixed}.", zh: "{mixed}。"}
"""
SELF_TEST = """
self_test:
  - question: {en: "Why?", zh: 为什么？}
    choices: [{id: a, text: {en: A, zh: A}, right: true, why: {en: B, zh: B}}]
"""


@pytest.fixture
def lessons(app):
    asked._answer.clear()

    class Page:
        def __init__(self):
            self.app, self.test = app, app.test

        def open(self, **link):
            app.open_page("lessons", **link)
            return self

        def messages(self):
            return [json.loads(each.proto.json) for each in self.test.get("bidi_component") if each.proto.json]

        def message(self, name):
            return next(each for each in self.messages() if name in each)

        @property
        def prediction(self):
            return self.message("predict")

        def guess(self, lesson, step, language, value):
            found = shelf().lesson(lesson).steps[step]
            text = found.setup and getattr(found.setup.text, language)
            kept = {(lesson, repr(found), language, text or ""): guesses.Guess(value)}
            self.test.session_state[guesses.KEPT] = kept
            app.run()
            return self

    return Page()


@pytest.mark.parametrize("lesson", [lesson.id for lesson in shelf().lessons])
def test_every_lesson_opens_with_a_question_and_without_its_answer(lessons, lesson):
    lessons.open(lesson=lesson)
    assert not lessons.app.errors
    assert lessons.prediction["answer"] is None and lessons.prediction["guess"] is None
    assert lessons.app.test.header[0].value and lessons.prediction["text"]["question"]


def test_nothing_of_the_answer_is_sent_before_the_guess(lessons):
    lessons.open(lesson="one-head", step="4")
    step = shelf().lesson("one-head").steps[3]
    hidden = [choice.wrong.en for choice in step.choices if choice.wrong]
    sent = json.dumps(lessons.messages()) + lessons.app.words
    assert hidden and not [text for text in hidden if text in sent]
    assert "from this output nobody can tell" not in sent and not lessons.app.figures()


def test_the_guess_shows_the_answer_its_mistake_and_the_picture(lessons):
    lessons.open(lesson="one-head", step="4").guess("one-head", 3, "en", "other")
    assert lessons.prediction["guess"] == "other" and lessons.prediction["answer"] == "same"
    assert not lessons.prediction["is_right"] and lessons.prediction["locked"]
    assert "That expects a sum to keep the order" in lessons.app.words
    assert "from this output nobody can tell" in lessons.app.words
    assert len(lessons.app.figures()) == 1
    assert lessons.message("n_steps")["is_done"]


def test_a_note_under_bars_is_text_below_the_figure(lessons):
    lessons.open(lesson="where-a-token-stands").guess("where-a-token-stands", 0, "en", "same")
    assert "before and after the shuffle; what is near 1e-15 is rounding" in lessons.app.words
    assert not any("rounding" in json.dumps(figure, default=str) for figure in lessons.app.figures())


def test_a_token_is_answered_in_the_sentence_with_its_arcs(lessons):
    lessons.open(lesson="one-head").guess("one-head", 0, "en", 1)
    strip = lessons.message("tokens")
    assert strip["heads"] == [3] and strip["tokens"]["labels"][strip["pinned"]] == "she"
    assert lessons.prediction["labels"][lessons.prediction["answer"]] == "Mary"


def test_the_link_says_lesson_and_step_and_brings_them_back(lessons):
    lessons.open(lesson="one-head", step="2")
    assert lessons.app.link["lesson"] == "one-head" and lessons.app.link["step"] == "2"
    assert lessons.message("n_steps")["place"] == 1
    lessons.test.button(key="lesson_next").click()
    lessons.app.run()
    assert lessons.app.link["step"] == "3"


@pytest.mark.parametrize("step", ["0", "99", "-1", "x", "٢", "", "1e3"])
def test_a_step_that_is_not_there_is_the_first(lessons, step):
    lessons.open(lesson="one-head", step=step)
    assert lessons.message("n_steps")["place"] == 0 and "step" not in lessons.app.link


def test_a_lesson_that_is_not_there_is_the_shelf(lessons):
    lessons.open(lesson="<b>nothing</b>")
    assert "lesson" not in lessons.app.link
    assert [each["id"] for each in lessons.message("lessons")["lessons"]] == [each.id for each in shelf().lessons]


def test_the_progress_of_a_link_goes_to_the_browser_and_out_of_the_address(lessons):
    lessons.open(progress="one-head.1f.0.0")
    assert lessons.message("lessons")["given"] == "one-head.1f.0.0" and "progress" not in lessons.app.link


def test_chinese_asks_the_model_that_reads_chinese(lessons):
    lessons.open(lesson="one-head", lang="zh")
    assert "小明" in lessons.prediction["labels"] and "看得最多" in lessons.test.header[0].value


def test_the_self_test_says_what_a_wrong_choice_mistakes_only_after_the_answer(lessons):
    lessons.open(lesson="one-head", step="test")
    assert "That mistakes width for size" not in json.dumps(lessons.messages()) + lessons.app.words
    lessons.test.session_state["lesson_test"] = {"one-head": {0: "size"}}
    lessons.app.run()
    assert "That mistakes width for size" in lessons.app.words
    assert lessons.message("n_steps")["results"] == {"0": False}


def test_another_sentence_is_asked_of_the_model(lessons, forwards):
    lessons.open(lesson="one-head")
    lessons.app.pick("lesson_text_one-head_guess_en", "Anna paid because she was late.")
    assert "Anna" in lessons.prediction["labels"] and lessons.prediction["answer"] is None
    lessons.app.pick("lesson_text_one-head_guess_en", "No such word here.")
    assert "she" in lessons.app.errors[0] and "Type a sentence" in lessons.app.errors[0]


def test_a_lesson_of_ones_own_is_shown_as_plain_text(lessons):
    lessons.test.session_state[places.OWN] = {"own": _read(OWN)}
    lessons.open(lesson="own")
    shown = lessons.test.header[0].value
    assert "\\!\\[x\\](http\\:" in shown and "\\[a\\]" in shown
    assert "\\*\\*Bold\\*\\* \\<script\\>" in "".join(each.value for each in lessons.test.markdown)


CHOICE = "predict: choice\n    options: [{id: a, text: {en: A, zh: A}}, {id: same, text: {en: B, zh: B}}]"


def test_a_mended_file_is_asked_anew_in_the_same_session(lessons):
    old, test = _read(OWN), _read(OWN + SELF_TEST)
    answered = {("own", repr(old.steps[0]), "en", ""): guesses.Guess(5.0)}
    lessons.test.session_state[guesses.KEPT] = answered
    lessons.test.session_state[places.OWN] = {"own": old}
    lessons.open(lesson="own")
    assert lessons.prediction["guess"] == lessons.prediction["answer"] == 5.0
    mended = OWN.replace(OWN[OWN.index("predict") : OWN.index("answer:")].rstrip(), CHOICE)
    mended = mended.replace("of: mixture,", "of: mixtures_alike, swapped: [2, 8],")
    lessons.test.session_state[places.OWN] = {"own": _read(mended.replace("{mixed}", "so"))}
    lessons.app.run()
    assert lessons.prediction["predict"] == "choice" and lessons.prediction["answer"] is None
    lessons.test.session_state[places.OWN] = {"own": test}
    lessons.test.session_state[places.STEP] = 1
    lessons.test.session_state["lesson_test"] = {"own": {0: "gone", 7: "a"}}
    lessons.app.run()
    assert lessons.prediction["predict"] == "choice" and lessons.message("n_steps")["results"] == {}


def test_a_session_holds_so_many_lessons_of_ones_own_and_the_latest_stay():
    def puts():
        from dataclasses import replace

        from analysis.lessons import shelf
        from ui.lessons import places

        for number in range(places.MOST_OWN + 2):
            places.put(replace(shelf().lessons[0], id=f"own-{number}"))

    session = AppTest.from_function(puts).run()
    assert list(session.session_state[places.OWN])[:1] == ["own-2"]
    assert len(session.session_state[places.OWN]) == places.MOST_OWN


def test_a_mistake_in_a_file_is_told_with_its_line(lessons):
    with pytest.raises(LessonError) as mistake:
        _read(OWN.replace("of: mixture", "of: nothing"))
    lessons.test.session_state[PROBLEM] = mistake.value
    lessons.open()
    assert "line 11" in words_of(mistake.value) and "line 11" in lessons.app.errors[0]


def test_the_projector_is_in_the_link(lessons):
    lessons.open(lesson="one-head", projector="on")
    assert lessons.message("n_steps")["projector"] and lessons.app.link["projector"] == "on"


def _read(text):
    return read_lesson(text.encode(), "own.yaml")
