"""Pictures of lessons: every shipped step has one that draws, and those that move hold the numbers of the answer."""

import numpy as np
import plotly.graph_objects as go
import pytest

from analysis.lessons import ANSWERS, setup_of, shelf
from analysis.lessons.answer import Answer
from analysis.lessons.lesson import Given, Words
from analysis.lessons.shown import Bar, Bars
from model import HeadworkError
from viz.lessons import PICTURES, AllHeads, Moving, draw
from viz.lessons.bars import value_text

STUDENTS = "The teacher praised the students because they worked hard."


def asked(of: str, text: str = STUDENTS, **parameters) -> Answer:
    return ANSWERS[of](setup_of(Given(Words(text, text), Words("minilm", "minilm")), "en"), **parameters)


def test_a_picture_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(HeadworkError, match="There is no picture nothing"):
        draw(Answer("a"), "nothing")
    assert draw(Answer("a")) is None


def test_lessons_ask_for_pictures_that_are_there():
    asked_for = {step.picture for lesson in shelf().lessons for step in lesson.steps} - {""}
    assert asked_for <= PICTURES.keys()


def test_the_race_colours_every_head_by_its_weight_and_outlines_the_winner():
    drawn = draw(asked("race", query="they", key="students"))
    assert isinstance(drawn, AllHeads) and drawn.selected == (3, 1)
    assert drawn.metric.values.shape == (6, 12) and np.nanmax(drawn.metric.values) == drawn.metric.values[3, 1]
    labels = drawn.sentence.shown.labels
    assert labels[drawn.sentence.chosen.pinned] == "they" and list(drawn.sentence.chosen.heads) == [1]


def test_the_strip_shows_the_head_and_the_word_that_are_asked_about():
    (drawn,) = draw(asked("most_attended", layer=4, head=2, query="they"))
    assert drawn.chosen.heads == [1] and drawn.shown.layer == 3 and drawn.is_right is None


def test_a_changed_word_becomes_one_sentence_that_turns():
    changed = STUDENTS.replace("hard", "little")
    found = asked("turns", layer=4, head=2, query="they", other=changed, keys=["students", "teacher"])
    drawn = draw(found)
    assert isinstance(drawn, Moving) and drawn.component == "lesson_flip"
    at = drawn.data["changed"]
    assert [drawn.data["texts"][which][at[0]] for which in (0, 1)] == ["hard", "little"] and len(at) == 1
    key = drawn.data["labels"].index("students")
    assert [f"{weights[key]:.2f}" for weights in drawn.data["weights"]] == [
        found.said["first_before"],
        found.said["first_after"],
    ]


def test_bars_say_value_interval_baseline_and_mark_what_is_right():
    bars = Bars(
        (Bar({"en": "head", "zh": "头"}, 0.8, 0.7, 0.9, is_right=True), Bar("rule", 0.5)),
        "%",
        0.5,
        {"en": "by chance", "zh": "随机"},
        {"en": "measured before", "zh": "事先测得"},
    )
    figure = draw(Answer("a", picture="bars", shown=bars), language="zh")
    assert isinstance(figure, go.Figure)
    assert list(figure.layout.yaxis.ticktext) == ["rule", "● 头"]
    said = [text for trace in figure.data for text in (trace.text or ())]
    assert any("80 % [70, 90]" in text for text in said)
    notes = [note.text for note in figure.layout.annotations]
    assert any("随机 50 %" in note for note in notes) and any("事先测得" in note for note in notes)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.814, "%", "81 %"),
        (0.43, "weight", "0.43"),
        (0.004, "weight", "0.004"),
        (589824, "", "589,824"),
        (3.0, "×", "3 ×"),
    ],
)
def test_numbers_of_bars_have_as_many_digits_as_they_carry(value, unit, text):
    assert value_text(value, unit) == text
