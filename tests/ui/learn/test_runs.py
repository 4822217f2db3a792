"""The trainings of a session, without its page: whether the browser is still there, and where a training may rest."""

import threading
from types import SimpleNamespace

import pytest

from model.training import Settings
from ui.frame import background
from ui.frame.jobs import Line
from ui.learn import runs


def until_ended(job):
    job.thread.join(60)
    assert not job.thread.is_alive()


@pytest.fixture
def server(monkeypatch):
    """A server with one session; `server.browsers` says which sessions have a browser."""
    made = SimpleNamespace(browsers={"mine"})
    made.is_active_session = lambda session_id: session_id in made.browsers
    monkeypatch.setattr(background.runtime, "exists", lambda: True)
    monkeypatch.setattr(background.runtime, "get_instance", lambda: made)
    monkeypatch.setattr(
        background, "get_script_run_ctx", lambda: SimpleNamespace(session_id="mine") if is_asked_here() else None
    )
    return made


def is_asked_here():
    return threading.current_thread() is threading.main_thread()


def test_a_training_rests_when_its_own_browser_is_gone(server, monkeypatch):
    monkeypatch.setattr("ui.frame.jobs.LOOKS_ROUND", 0.0)
    server.browsers.add("another")
    race = runs.Race(Settings("neighbours", steps=100), line=Line(1), is_here=background.session())
    seen_at = []

    def leaves_after_ten_steps():
        seen_at.append(race.main.step_number)
        if race.main.step_number >= 10:
            server.browsers.discard("mine")
        return False

    race.job.go(until=leaves_after_ten_steps)
    until_ended(race.job)
    assert race.job.state == "resting" and race.job.left_alone
    assert 10 <= race.main.step_number < 20 and len(seen_at) > 1


@pytest.mark.parametrize("steps", [100, 130, 800])
def test_a_step_ahead_ends_at_the_very_next_checkpoint(steps):
    race = runs.Race(Settings("neighbours", steps=steps), line=Line(1), is_here=lambda: True)
    for n_frames in range(2, 7):
        race.one_checkpoint()
        until_ended(race.job)
        for network in race.networks:
            assert len(network.frames) == n_frames and network.frames[-1].step == network.step_number


def test_without_a_server_somebody_is_always_here(monkeypatch):
    monkeypatch.setattr(background.runtime, "exists", lambda: False)
    assert background.session()()
