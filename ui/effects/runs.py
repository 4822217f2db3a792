"""Long runs of this page: every head off on one's own prompts, or a prompt patched. One a session, in the line.

Sessions that ask the same at the same time share one run. What is finished is kept under what was asked, for everybody
who asks the same.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st

from analysis.effects.effects import measure
from analysis.effects.patching import Patching, patch
from analysis.effects.questions import Question, encode_question
from analysis.effects.report import Record
from analysis.evidence.resume import Store
from ui.effects.data import Asked, Measured, of_record
from ui.frame import loading
from ui.frame.background import line, session
from ui.frame.jobs import Job

RUN = "effects_run"  # session state
HERE = "effects_here"  # session state: says in any thread whether this session still lives
WORKERS = min(2, os.cpu_count() or 1)  # threads; more would leave nothing to the other visitors of a small server
MOST_KEPT = 16  # results, each at most a few MB

Progress = Callable[[int, int], None]
Key = tuple[object, ...]


class Paused(Exception):
    """Raised in a run's progress, to end it where it is."""


class Run:
    """What a session is working on: a job with one long slice, which ends early where its place is wanted.

    Attributes:
        key: what was asked.
        job: its place in the line.
        askers: of each session that waits for it, what says whether that session still lives.
    """

    def __init__(self, key: Key, compute: Callable[[Store, Progress], Any]) -> None:
        self.key = key
        self._compute = compute
        self._folder = TemporaryDirectory(prefix="headwork-effects-")  # goes with this object
        self._began = (time.monotonic(), 0.0)
        self.askers = {_here()}
        self.job = Job(line(), self._work(), is_here=lambda: any(is_here() for is_here in self.askers.copy()))

    @property
    def seconds_left(self) -> float | None:
        """At the pace since it last began; None as long as that can't be told."""
        began, share = self._began
        done = self.job.share - share
        return (time.monotonic() - began) * (1 - self.job.share) / done if done > 0.01 else None

    def seen(self) -> None:
        """A sign of life of this session, which waits for it from now on."""
        self.askers.add(_here())
        self.job.seen()

    def go(self) -> None:
        """Starts it, or takes it up again, for this session and whoever waits for it already."""
        self.seen()
        self.job.go()

    def leave(self, *, left_alone: bool = False) -> bool:
        """This session doesn't wait for it any more. It rests, which is said, unless somebody else does."""
        self.askers.discard(_here())
        if any(is_here() for is_here in self.askers.copy()):
            return False
        self.job.rest(left_alone=left_alone)
        return True

    def _work(self) -> Iterator[float]:
        while True:
            began = time.monotonic()
            self._began = (began, self.job.share)

            def progress(done: int, total: int, began: float = began) -> None:
                self.job.share = done / max(total, 1)
                if not self.job.may_go_on(time.monotonic() - began):
                    raise Paused

            try:
                found = self._compute(Store(Path(self._folder.name) / "units"), progress)
            except Paused:
                yield self.job.share
                continue
            _keep(self.key, found)
            return


@st.cache_resource(show_spinner=False)
def _kept() -> dict[Key, Any]:
    """Results of this server, the oldest first."""
    return {}


def _keep(key: Key, found: Any) -> None:
    kept = _kept()
    kept[key] = found
    for old in list(kept)[:-MOST_KEPT]:
        kept.pop(old, None)


@st.cache_resource(show_spinner=False)
def _begun() -> tuple[threading.Lock, WeakValueDictionary[Key, Run]]:
    """Runs that some session of this server holds, finished or not."""
    return threading.Lock(), WeakValueDictionary()


def _here() -> Callable[[], bool]:
    """The same object for one session at all times."""
    found: Callable[[], bool] = st.session_state.setdefault(HERE, session())
    return found


def found(key: Key) -> Any | None:
    """What somebody has computed under this name."""
    return _kept().get(key)


def run() -> Run | None:
    """This session's run, if there is one."""
    held: Run | None = st.session_state.get(RUN)
    return held


def start(key: Key, compute: Callable[[Store, Progress], Any]) -> None:
    """Begins a run in place of the session's last one, or joins that of somebody who asked the same."""
    forget()
    lock, begun = _begun()
    with lock:
        made = begun.get(key)
        if made is None or made.job.state in ("finished", "failed"):
            made = begun[key] = Run(key, compute)
        st.session_state[RUN] = made
        made.go()


def stop() -> None:
    """Pauses the session's run. One for which others wait goes on without this session."""
    if (held := run()) is not None and not held.leave():
        del st.session_state[RUN]


def forget() -> None:
    """Gives the session's run up."""
    if (held := st.session_state.pop(RUN, None)) is not None:
        held.leave()


def leave() -> None:
    """The person went to another page: what runs rests, and its place is free, unless others wait for it."""
    if (held := run()) is not None and held.job.is_busy:
        held.leave(left_alone=True)


def of_heads(asked: Asked) -> tuple[Key, Callable[[Store, Progress], Measured]]:
    """Every head, FFN and layer off: the name of the result, and its computation."""

    def compute(store: Store, progress: Progress) -> Measured:
        model = loading.load_model(asked.model_id)
        of = tuple(encode_question(model, each) for each in asked.questions)
        effects = measure(
            model,
            of,
            off=asked.off,
            parts=("heads", "ffns", "layers"),
            workers=WORKERS,
            store=store,
            progress=progress,
        )
        return of_record(Record.of(effects))

    return ("heads", *asked.key), compute


def of_patching(asked: Asked, question: Question) -> tuple[Key, Callable[[Store, Progress], Patching]]:
    """A prompt patched from its changed one: the name of the result, and its computation."""

    def compute(store: Store, progress: Progress) -> Patching:
        model = loading.load_model(asked.model_id)
        return patch(model, [encode_question(model, question)], workers=WORKERS, progress=progress)

    return ("patching", loading.named(asked.model_id), question), compute
