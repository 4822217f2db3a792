"""Jobs in the background: a bounded number at once, a fair line, and threads that end when the person is gone."""

import threading
import time

import pytest

from ui.frame.jobs import Job, Line

SLICE = 0.005


class Work:
    """Slices that count themselves, and can be held at a door."""

    def __init__(self, n=10_000, door=None):
        self.n, self.done, self.door = n, 0, door
        self.threads = set()

    def __iter__(self):
        return self

    def __next__(self):
        if self.done == self.n:
            raise StopIteration
        self.threads.add(threading.get_ident())
        if self.door is None:
            time.sleep(SLICE)
        else:
            assert self.door.wait(10)
        self.done += 1
        return self.done / self.n


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


def dead(job):
    return job.thread is None or not job.thread.is_alive()


def test_work_runs_to_its_end_in_a_thread_of_its_own_that_ends_with_it():
    job = Job(Line(1), work := Work(5))
    assert job.thread is None and work.done == 0
    job.go()
    until(lambda: job.state == "finished" and dead(job))
    assert work.done == 5 and job.share == 1.0 and job.seconds >= 5 * SLICE
    assert threading.get_ident() not in work.threads


def test_no_more_run_at_once_than_there_are_places_and_the_others_know_their_place():
    door = threading.Event()
    line = Line(2)
    jobs = [Job(line, Work(3, door)) for _ in range(5)]
    for job in jobs:
        job.go()
    until(lambda: line.n_running == 2)
    assert [job.state for job in jobs] == ["running"] * 2 + ["waiting"] * 3
    assert [job.ahead for job in jobs[2:]] == [0, 1, 2]
    jobs[3].rest()
    assert [job.ahead for job in (jobs[2], jobs[4])] == [0, 1] and jobs[3].state == "resting"
    door.set()
    until(lambda: all(jobs[i].state == "finished" for i in (0, 1, 2, 4)))
    assert line.n_running == 0 and jobs[3].share == 0


def test_a_pause_frees_the_place_ends_the_thread_and_loses_nothing():
    line = Line(1)
    first, second = Job(line, work := Work(200)), Job(line, Work(3))
    first.go()
    second.go()
    until(lambda: work.done > 2)
    first.rest()
    until(lambda: first.state == "resting" and dead(first))
    held = work.done
    until(lambda: second.state == "finished")
    assert work.done == held < 200 and not first.left_alone
    first.go()
    until(lambda: first.state == "finished")
    assert work.done == 200 and len(work.threads) == 2


def test_going_on_while_about_to_rest_goes_on():
    door = threading.Event()
    job = Job(Line(1), work := Work(4, door))
    job.go()
    until(lambda: job.state == "running")
    job.rest()
    job.go()
    door.set()
    until(lambda: job.state == "finished")
    assert work.done == 4


def test_one_step_rests_by_itself_and_the_next_go_runs_to_the_end():
    job = Job(Line(1), work := Work(30))
    job.go(until=lambda: work.done >= 3)
    until(lambda: job.state == "resting" and dead(job))
    assert work.done == 3
    job.go()
    until(lambda: job.state == "finished")
    assert work.done == 30


@pytest.mark.parametrize("how", ["no sign of life", "the session is gone"])
def test_when_the_person_leaves_the_thread_ends_and_the_place_is_free(monkeypatch, how):
    monkeypatch.setattr("ui.frame.jobs.LOOKS_ROUND", 0.02)
    here = [True]
    line = Line(1)
    gone = Job(line, work := Work(), is_here=lambda: here[0], patience=0.1 if how == "no sign of life" else 60)
    other = Job(line, Work(3))
    gone.go()
    other.go()
    until(lambda: work.done > 1)
    here[0] = how == "no sign of life"
    until(lambda: gone.state == "resting" and dead(gone))
    assert gone.left_alone and work.done < work.n
    until(lambda: other.state == "finished")


def test_signs_of_life_keep_it_running(monkeypatch):
    monkeypatch.setattr("ui.frame.jobs.LOOKS_ROUND", 0.02)
    job = Job(Line(1), Work(60), patience=0.15)
    job.go()
    while job.state == "running":
        job.seen()
        time.sleep(0.02)
    assert job.state == "finished" and job.seconds > 0.15


def test_who_leaves_the_line_doesnt_hold_it_up():
    door = threading.Event()
    line = Line(1)
    running = Job(line, Work(1, door))
    gone = Job(line, Work(1), patience=0.02)
    last = Job(line, Work(1))
    for job in (running, gone, last):
        job.go()
    time.sleep(0.05)
    assert last.ahead == 0 and gone.state == "resting" and gone.left_alone
    door.set()
    until(lambda: last.state == "finished")
    assert gone.share == 0


def test_a_long_job_gives_way_after_its_turn_and_finishes_later(monkeypatch):
    monkeypatch.setattr("ui.frame.jobs.LOOKS_ROUND", 0.02)
    line = Line(1, turn=0.05)
    long, short = Job(line, work := Work(60)), Job(line, Work(2))
    long.go()
    short.go()
    until(lambda: short.state == "finished")
    assert work.done < 60
    until(lambda: long.state == "finished")
    assert work.done == 60


def test_a_fault_ends_the_thread_frees_the_place_and_is_kept_for_the_page(caplog):
    def broken():
        yield 0.1
        raise RuntimeError("in the middle")

    line = Line(1)
    job, next_one = Job(line, broken()), Job(line, Work(1))
    job.go()
    next_one.go()
    until(lambda: next_one.state == "finished")
    assert job.state == "failed" and str(job.error) == "in the middle" and dead(job)
    assert "A job failed" in caplog.text
    job.go()  # nothing to go on with
    assert job.state == "failed"


def test_a_job_that_gets_no_thread_fails_and_the_place_is_free(monkeypatch, caplog):
    def none_left(self):
        raise RuntimeError("can't start new thread")

    line = Line(1)
    job, next_one = Job(line, Work(2)), Job(line, Work(2))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none_left)
        job.go()
    assert job.state == "failed" and "new thread" in str(job.error) and line.n_running == 0 and dead(job)
    assert "got no thread" in caplog.text
    next_one.go()
    until(lambda: next_one.state == "finished")


def test_the_time_left_is_told_from_the_pace_so_far():
    job = Job(Line(1), iter([]))
    assert job.seconds_left is None
    job.share, job.seconds = 0.25, 2.0
    assert job.seconds_left == 6.0


def test_many_sessions_at_once_all_finish_and_none_is_run_twice():
    line = Line(3)
    works = [Work(5) for _ in range(24)]
    jobs = [Job(line, work) for work in works]
    starters = [threading.Thread(target=job.go) for job in jobs for _ in range(2)]
    for starter in starters:
        starter.start()
    most = 0
    while any(job.is_busy for job in jobs) or any(starter.is_alive() for starter in starters):
        most = max(most, line.n_running)
        time.sleep(0.002)
    assert [work.done for work in works] == [5] * 24 and 1 <= most <= 3


# -- what happens in between: everything below is called from the job's own thread, while it asks ----------------


@pytest.fixture
def looks_at_every_slice(monkeypatch):
    monkeypatch.setattr("ui.frame.jobs.LOOKS_ROUND", 0.0)


def steps(n):
    """Slices that take no time."""
    return ((i + 1) / n for i in range(n))


def ended(job):
    until(lambda: not job.is_busy)
    job.thread.join(10)
    assert not job.thread.is_alive()
    return job.state


def test_who_left_while_waiting_gets_no_place_when_one_is_free():
    door = threading.Event()
    here = [True]
    line = Line(1)
    running, gone = Job(line, Work(1, door)), Job(line, steps(3), is_here=lambda: here[0])
    running.go()
    gone.go()
    assert gone.state == "waiting"
    here[0] = False
    door.set()
    assert ended(running) == "finished"
    assert gone.state == "resting" and gone.left_alone and gone.share == 0 and gone.thread is None


def test_told_to_go_on_while_it_decides_to_rest_it_goes_on():
    """Between the job's answer "rest here" and the end of its thread, the person presses "Continue"."""
    asked = []

    def here_but_pressed():
        asked.append(job.share)
        job.go()  # to the end
        return True

    job = Job(Line(1), steps(4))
    job.go(until=here_but_pressed)
    assert ended(job) == "finished"
    assert asked == [0.25]


def test_told_to_rest_after_go_while_it_decides_to_rest_it_rests():
    def pressed_twice():
        job.go()
        job.rest()
        return True

    job = Job(Line(1), steps(4))
    job.go(until=pressed_twice)
    assert ended(job) == "resting"
    assert job.share == 0.25 and not job.left_alone


def test_what_was_asked_before_a_slice_is_not_asked_again_after_it():
    """A second `go` with a stop of its own, while the job runs: it rests at that stop, and stays there."""
    seen_at = []

    def first():
        if not seen_at:
            job.go(until=second)
        return False

    def second():
        seen_at.append(job.share)
        return True

    job = Job(Line(1), steps(4))
    job.go(until=first)
    assert ended(job) == "resting"
    assert seen_at == [0.5] and job.share == 0.5


def test_left_alone_it_rests_whatever_was_asked_before(looks_at_every_slice):
    """A person presses and is gone within one slice: what they asked for doesn't keep the job alive."""
    gone = []

    def pressed():
        if job.state == "running":
            job.go()
            gone.append(job.share)
            return False
        return True

    job = Job(Line(1), steps(4), is_here=pressed)
    job.go()
    assert ended(job) == "resting"
    assert job.left_alone and gone == [0.25] and job.share == 0.25


def test_told_to_rest_when_its_turn_is_over_it_doesnt_line_up_again(looks_at_every_slice):
    class Pressed(Line):
        def is_time_up(self, seconds):
            job.rest()
            return True

    line = Pressed(1)
    job = Job(line, steps(4))
    job.go()
    assert ended(job) == "resting"
    assert job.share == 0.25 and line.n_running == 0


def test_told_to_rest_and_to_go_on_when_its_turn_is_over_it_lines_up_again(looks_at_every_slice):
    asked = []

    class Pressed(Line):
        def is_time_up(self, seconds):
            if not asked:
                job.rest()
                job.go()
            asked.append(job.share)
            return len(asked) == 1

    job = Job(Pressed(1), steps(4))
    job.go()
    until(lambda: len(asked) > 1)
    assert ended(job) == "finished"
    assert asked == [0.25, 0.5, 0.75, 1.0]


def test_a_long_slice_learns_when_its_place_is_wanted():
    door = threading.Event()
    line = Line(1, turn=5)
    job = Job(line, Work(3, door))
    job.go()
    assert job.may_go_on(100), "nobody waits"
    other = Job(line, Work(1, door))
    other.go()
    assert job.may_go_on(4) and not job.may_go_on(6)
    other.rest()
    job.rest()
    assert not job.may_go_on(0)
    door.set()
    until(lambda: dead(job))
