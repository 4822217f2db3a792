"""Long runs of the page Does it matter?: paused and gone on with, without computing again what is finished."""

import threading
import time

import numpy as np
import pytest

from analysis.effects.effects import measure
from analysis.effects.questions import Question, encode_questions
from tests.models import tiny_decoder
from ui.effects import data, runs
from ui.effects.data import Asked
from ui.frame import loading
from ui.frame.jobs import Line

QUESTIONS = tuple(Question(f"the {word} sat", "a", "b") for word in ("cat", "dog", "owl", "a cat", "a dog"))


@pytest.fixture
def model(monkeypatch):
    made, line = tiny_decoder(), Line(1)
    monkeypatch.setattr(loading, "load_model", lambda model_id: made)
    monkeypatch.setattr(loading, "version", lambda model_id: "")
    monkeypatch.setattr(runs, "line", lambda: line)
    monkeypatch.setattr(runs, "WORKERS", 1)
    runs._kept.clear()
    runs._begun.clear()
    yield made
    runs._kept.clear()
    runs._begun.clear()


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


def test_a_run_that_was_paused_goes_on_with_what_it_has_and_finds_the_same(model, monkeypatch):
    asked = Asked("tiny", QUESTIONS, "zero")
    key, compute = runs.of_heads(asked)
    units, rests = [], []
    save = runs.Store.save
    monkeypatch.setattr(runs.Store, "save", lambda self, n, arrays: (units.append(n), save(self, n, arrays)))

    def paused_once(store, progress):
        def report(done, total):
            if len(units) >= 3 and not rests:
                rests.append(run.job.rest())
            progress(done, total)

        return compute(store, report)

    run = runs.Run(key, paused_once)
    run.job.go()
    until(lambda: run.job.state == "resting")
    assert runs.found(key) is None and 0 < run.job.share < 1
    run.job.go()
    until(lambda: not run.job.is_busy)
    assert run.job.state == "finished", run.job.error
    assert len(units) == len(set(units)), "a finished unit was computed again"
    of, _problems = encode_questions(model, QUESTIONS)
    whole = measure(model, of, parts=("heads", "ffns", "layers"))
    np.testing.assert_allclose(runs.found(key).each, whole.heads, rtol=0, atol=6e-4)  # a record has three digits


def test_two_sessions_that_ask_the_same_at_once_share_one_run_which_rests_when_both_have_stopped(model, monkeypatch):
    sessions = [{}, {}]
    key, compute = runs.of_heads(Asked("tiny", QUESTIONS, "zero"))
    begun, may_end = threading.Event(), threading.Event()
    times = []

    def slow(store, progress):
        times.append(1)
        begun.set()
        assert may_end.wait(30)
        return compute(store, progress)

    def as_session(n, do):
        monkeypatch.setattr(runs.st, "session_state", sessions[n])
        monkeypatch.setattr(runs, "session", lambda: lambda: True)
        return do()

    try:
        for n in (0, 1):
            as_session(n, lambda: runs.start(key, slow))
        shared = as_session(0, runs.run)
        assert begun.wait(30) and as_session(1, runs.run) is shared
        as_session(0, runs.stop)
        assert as_session(0, runs.run) is None and not shared.job.rests_soon, "stopped for somebody else too"
        as_session(1, runs.stop)
        assert shared.job.rests_soon and as_session(1, runs.run) is shared
        as_session(1, shared.go)
    finally:
        may_end.set()
    until(lambda: not shared.job.is_busy)
    assert shared.job.state == "finished", shared.job.error
    assert len(times) == 1 and runs.found(key) is not None


def test_who_asks_the_same_finds_the_result_and_another_way_to_switch_off_is_another_question(model):
    asked = Asked("tiny", QUESTIONS, "zero")
    run = runs.Run(*runs.of_heads(asked))
    run.job.go()
    until(lambda: run.job.state == "finished")
    assert runs.found(runs.of_heads(Asked("tiny", QUESTIONS, "zero"))[0]) is not None
    assert runs.found(runs.of_heads(Asked("tiny", QUESTIONS, "mean"))[0]) is None
    assert runs.found(runs.of_heads(Asked("tiny", QUESTIONS[:-1], "zero"))[0]) is None


def test_no_more_results_are_kept_than_there_is_room_for(model, monkeypatch):
    monkeypatch.setattr(runs, "MOST_KEPT", 2)
    for number in range(3):
        runs._keep((number,), number)
    assert [runs.found((number,)) for number in range(3)] == [None, 1, 2]


def test_one_prompt_with_a_head_off_is_that_prompt_of_the_whole_set(model):
    data.results.clear()
    asked = Asked("tiny", QUESTIONS, "mean")
    one, every = data.with_off(asked, [(1, 2)], 3), data.with_off(asked, [(1, 2)])
    assert one.difference.tolist() == [every.difference[3]]
    alone = data.with_off(Asked("tiny", QUESTIONS, "zero"), [(1, 2)], 3)
    both = data.with_off(Asked("tiny", QUESTIONS, "zero"), [(1, 2)])
    assert alone.difference[0] == pytest.approx(both.difference[3], abs=1e-4)
