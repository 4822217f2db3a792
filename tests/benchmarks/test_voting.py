"""The benchmark of a vote: what phones guess fits their question, and a small class on a real server loses nothing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from analysis.lessons.lesson import Range
from analysis.lessons.questions import Question, checked
from benchmarks import voting
from benchmarks.page import running_app

CHOICES = (("a", "A"), ("b", "B"), ("c", "C"))


@pytest.mark.parametrize("predict", ["token", "pair", "choice", "order", "number", "cells"])
def test_a_guess_fits_its_question(predict):
    asked = {"predict": predict, "labels": ["x", "y", "z"], "choices": CHOICES, "range": {"least": 2, "most": 9}}
    question = Question("l", 1, predict, "", "?", ("x", "y", "z"), choices=CHOICES, range=Range(2, 9, 1, 0))
    for _ in range(20):
        checked(question, voting.guess_about(asked))


def test_three_phones_vote_on_two_steps_and_every_vote_is_counted(monkeypatch, capsys):
    monkeypatch.setattr(voting, "IDLE_SECONDS", 0.5)
    with running_app() as address, ThreadPoolExecutor(1) as thread:  # pytest-playwright has a loop in this thread
        thread.submit(lambda: asyncio.run(voting.lesson(address, 3, 2))).result()
    said = capsys.readouterr().out
    assert "| a vote, all at once | 6 |" in said
    assert "Counted on the teacher's page: 3, 3 of 3." in said
