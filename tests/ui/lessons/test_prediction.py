"""What the control for a guess sends and takes, and the bounds of what a session keeps."""

from types import SimpleNamespace

import pytest

from analysis.lessons import answer, setup_of, shelf
from analysis.lessons.lesson import Range
from analysis.lessons.questions import Question, question_of
from ui.frame import captions
from ui.lessons import guesses, prediction

LABELS = ("The", "cat", "sat")
ITEMS = tuple((id_, id_.upper()) for id_ in "abcd")


@pytest.fixture
def session(monkeypatch):
    """A session's state, and the messages that go to the browser."""
    kept = SimpleNamespace(state={}, sent=[])
    streamlit = SimpleNamespace(session_state=kept.state)
    for module in (prediction, guesses, captions):
        monkeypatch.setattr(module, "st", streamlit)
    monkeypatch.setattr(prediction, "_", str)
    monkeypatch.setattr(prediction, "_prediction", lambda **message: kept.sent.append(message))
    return kept


def question(predict, **more):
    return Question("lesson", 1, predict, "context", "question?", **more)


def ask(session, asked, **more):
    made = []
    prediction.ask(asked, key="ask", on_guess=made.append, button="Reveal", **more)
    return session.sent[-1], made


@pytest.mark.parametrize(
    ("asked", "sent", "taken"),
    [
        (question("token", labels=LABELS), 2, [2]),
        (question("token", labels=LABELS), 3, []),
        (question("token", labels=LABELS), True, []),
        (question("pair", labels=LABELS), [0, 2], [(0, 2)]),
        (question("choice", choices=ITEMS), "b", ["b"]),
        (question("choice", choices=ITEMS), "x", []),
        (question("order", choices=ITEMS), ["b", "a", "d", "c"], [("b", "a", "d", "c")]),
        (question("order", choices=ITEMS), ["b", "a"], []),
        (question("number", range=Range(0, 1, 0.1, 0.1)), 0.3, [0.3]),
        (question("number", range=Range(0, 1, 0.1, 0.1)), float("nan"), []),
        (question("cells", labels=LABELS), [[0, 0], [2, 1]], [frozenset({(0, 0), (2, 1)})]),
        (question("cells", labels=LABELS, columns=("1",)), [[0, 1]], []),
        (question("cells", labels=LABELS), "<b>", []),
    ],
)
def test_a_guess_that_fits_is_taken_and_any_other_is_not(session, asked, sent, taken):
    message, made = ask(session, asked)
    session.state["ask"] = {"guess": {"of": message["data"]["id"], "value": sent}}
    message["on_guess_change"]()
    assert made == taken


def test_a_guess_about_another_question_is_not_taken(session):
    message, made = ask(session, question("token", labels=LABELS))
    session.state["ask"] = {"guess": {"of": "another", "value": 1}}
    message["on_guess_change"]()
    session.state["ask"] = {"guess": [1]}
    message["on_guess_change"]()
    assert not made


def test_the_answer_and_the_tolerance_stay_here_until_the_reveal(session):
    asked = question("number", range=Range(0, 1, 0.1, 0.1234))
    message, _ = ask(session, asked)
    assert message["data"]["answer"] is None and not message["data"]["locked"]
    assert "0.1234" not in str(message["data"])
    message, _ = ask(session, asked, guess=0.2, answer=0.5)
    assert message["data"]["answer"] == 0.5 and message["data"]["locked"]


def test_cells_travel_as_lists_in_order(session):
    message, _ = ask(session, question("cells", labels=LABELS), answer=frozenset({(2, 1), (0, 0)}))
    assert message["data"]["answer"] == [[0, 0], [2, 1]]


def test_an_order_is_shown_neither_right_nor_as_the_file_has_it():
    step = next(step for step in shelf().lesson("cut-and-reshape").steps if step.predict == "order")
    lesson = shelf().lesson("cut-and-reshape")
    found = answer(step, setup_of(step.setup, "en"))
    orders = [question_of(lesson, lesson.steps.index(step), found, "en", "").choices for _ in range(2)]
    shown = [id_ for id_, _text in orders[0]]
    assert orders[0] == orders[1] and sorted(shown) == sorted(choice.id for choice in step.choices)
    assert shown not in (list(found.right), [choice.id for choice in step.choices])


def test_a_session_keeps_the_latest_guesses_only(session):
    for number in range(guesses.MOST_KEPT + 5):
        guesses.reveal(number, number)
    assert len(session.state[guesses.KEPT]) == guesses.MOST_KEPT
    assert guesses.of(0) is None and guesses.of(guesses.MOST_KEPT + 4) == guesses.Guess(guesses.MOST_KEPT + 4)
