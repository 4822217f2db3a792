"""Long work in the background: a few jobs at a time on one server; the others wait in line and see their place.

A job is work in slices: an iterator that does a little at each `next` and says which share of it is done. It has a
thread only while it has a place: the thread ends with the work, at a pause or a fault, when the person is gone, and
after a turn while others wait. What a job made so far stays with whoever started it, so that it can go on later.
Nothing here knows what is worked on.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Literal

State = Literal["resting", "waiting", "running", "finished", "failed"]

# Seconds without a sign of life. A tab that is hidden for five minutes gives one about every minute: Chrome wakes the
# timers of such a page no more often. A closed tab is found without it, by `is_here`.
PATIENCE = 90.0
TURN = 10.0  # seconds at a place while others wait; a short training ends within one, a long one takes several
LOOKS_ROUND = 0.5  # seconds between two questions whether the person is still there, and whether others wait


class Line:
    """The places in which jobs run, and the line before them. All sessions of a server share one."""

    def __init__(self, places: int, *, turn: float = TURN) -> None:
        self.places = places
        self.turn = turn
        self._lock = threading.Lock()
        self._running: list[Job] = []
        self._waiting: list[Job] = []

    @property
    def n_running(self) -> int:
        """Jobs that have a place now."""
        return len(self._running)

    def ahead_of(self, job: "Job") -> int:
        """How many jobs get a place before this one; 0 for the next, and for one that doesn't wait."""
        with self._lock:
            self._send_home()
            return self._waiting.index(job) if job in self._waiting else 0

    def join(self, job: "Job") -> None:
        """The job goes to the end of the line. One that is there already stays where it is."""
        with self._lock:
            if job.state == "running":  # perhaps about to rest
                job.rests_soon, job.goes_on = False, True
            elif job.state == "resting":
                self._line_up(job)
                self._fill()

    def leave(self, job: "Job", *, left_alone: bool = False) -> None:
        """The job rests: at once if it waits, after the slice that it is in if it runs."""
        with self._lock:
            if job.state == "waiting":
                self._waiting.remove(job)
                job.state, job.left_alone = "resting", left_alone
            elif job.state == "running":
                job.rests_soon, job.goes_on, job.left_alone = True, False, left_alone

    def is_time_up(self, seconds: float) -> bool:
        """Whether a job that has had its place for so long should let others have it."""
        return bool(self._waiting) and seconds > self.turn

    def free(self, job: "Job", state: State) -> None:
        """A job gives its place to the next. Called by its thread, as the last thing it does.

        With the state "waiting" it goes to the end of the line; so does one that was told to go on while it was about
        to rest.
        """
        with self._lock:
            self._running.remove(job)
            job.state = state
            if (state == "waiting" and not job.rests_soon) or (state == "resting" and job.goes_on):
                self._line_up(job)
            elif state == "waiting":
                job.state = "resting"
            self._fill()

    def _line_up(self, job: "Job") -> None:
        job.state, job.rests_soon, job.goes_on, job.left_alone = "waiting", False, False, False
        self._waiting.append(job)

    def _fill(self) -> None:
        self._send_home()
        while self._waiting and len(self._running) < self.places:
            job = self._waiting.pop(0)
            self._running.append(job)
            job.state = "running"
            job.thread = threading.Thread(target=job.run, name="job", daemon=True)
            try:
                job.thread.start()
            except RuntimeError as error:  # the system gives no more threads
                logging.getLogger(__name__).exception("A job got no thread")
                self._running.remove(job)
                job.state, job.error, job.thread = "failed", error, None

    def _send_home(self) -> None:
        """Who left while waiting is no longer in line."""
        for job in [job for job in self._waiting if job.is_left_alone()]:
            self._waiting.remove(job)
            job.state, job.left_alone = "resting", True


class Job:
    """Work that can be started, paused and taken up again.

    Attributes:
        state: "resting" before the start, after a pause, and when nobody looked after it.
        share: of the work that is done, 0 to 1.
        seconds: spent at work.
        error: what ended a job that failed.
        left_alone: it rests because nobody gave a sign of life.
        rests_soon: it runs, and rests after this slice.
        goes_on: it runs, and was told to go on after it had been told to rest.
        thread: the last one it had.
    """

    def __init__(
        self,
        line: Line,
        work: Iterator[float],
        *,
        is_here: Callable[[], bool] = lambda: True,
        patience: float = PATIENCE,
    ) -> None:
        """Nothing runs before `go`.

        Args:
            line: in which it waits.
            work: does a slice at each `next` and says the share that is done.
            is_here: whether the person's session still lives; asked from other threads.
            patience: seconds without `seen` after which the job rests by itself.
        """
        self.state: State = "resting"
        self.share = 0.0
        self.seconds = 0.0
        self.error: Exception | None = None
        self.left_alone = False
        self.rests_soon = False
        self.goes_on = False
        self.thread: threading.Thread | None = None
        self._line = line
        self._work = work
        self._is_here = is_here
        self._patience = patience
        self._last_seen = time.monotonic()
        self._until: Callable[[], bool] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it runs or waits for a place."""
        return self.state in ("waiting", "running")

    @property
    def ahead(self) -> int:
        """How many others get a place before it, while it waits."""
        return self._line.ahead_of(self)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None as long as nothing is done."""
        return self.seconds * (1 - self.share) / self.share if self.share > 0 else None

    def go(self, until: Callable[[], bool] | None = None) -> None:
        """Starts it, or takes it up again, as soon as there is a place.

        Args:
            until: asked after each slice; True = rest here. None = to the end.
        """
        self.seen()
        self._until = until
        self._line.join(self)

    def rest(self, *, left_alone: bool = False) -> None:
        """Pauses it. Its place is free after the slice that it is in."""
        self._line.leave(self, left_alone=left_alone)

    def seen(self) -> None:
        """A sign of life of the person."""
        self._last_seen = time.monotonic()

    def is_left_alone(self) -> bool:
        """Whether the person is gone: no sign of life for too long, or no session."""
        return time.monotonic() - self._last_seen > self._patience or not self._is_here()

    def may_go_on(self, seconds: float) -> bool:
        """For a slice that takes long: whether it may go on after so many seconds, or should end where it is."""
        return not (self.rests_soon or self.is_left_alone() or self._line.is_time_up(seconds))

    def run(self) -> None:
        """The thread: slices, until something ends it."""
        state: State = "failed"
        try:
            state = self._work_on()
        except Exception as error:
            logging.getLogger(__name__).exception("A job failed")
            self.error = error
        finally:
            self._line.free(self, state)

    def _work_on(self) -> State:
        came = looked = time.monotonic()
        while not self.rests_soon:
            began = time.monotonic()
            share = next(self._work, None)
            now = time.monotonic()
            self.seconds += now - began
            if share is None:
                self.share = 1.0
                return "finished"
            self.share = share
            self.goes_on = False  # what `go` asked up to here is in `_until`
            until = self._until
            if until is not None and until():
                return "resting"
            if now - looked < LOOKS_ROUND:
                continue
            looked = now
            if self.is_left_alone():
                self.goes_on, self.left_alone = False, True
                return "resting"
            if self._line.is_time_up(now - came):
                return "waiting"
        return "resting"
