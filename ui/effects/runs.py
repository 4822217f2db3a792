"""Long runs of this page: every head off on one's own prompts, or a prompt patched. One a session, in the line.

What is finished is kept under what was asked, for everybody who asks the same.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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
    """

    def __init__(self, key: Key, compute: Callable[[Store, Progress], Any]) -> None:
        self.key = key
        self._compute = compute
        self._folder = TemporaryDirectory(prefix="headwork-effects-")  # goes with this object
        self._began = (time.monotonic(), 0.0)
        self.job = Job(line(), self._work(), is_here=session())

    @property
    def seconds_left(self) -> float | None:
        """At the pace since it last began; None as long as that can't be told."""
        began, share = self._began
        done = self.job.share - share
        return (time.monotonic() - began) * (1 - self.job.share) / done if done > 0.01 else None

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


def found(key: Key) -> Any | None:
    """What somebody has computed under this name."""
    return _kept().get(key)


def run() -> Run | None:
    """This session's run, if there is one."""
    held: Run | None = st.session_state.get(RUN)
    return held


def start(key: Key, compute: Callable[[Store, Progress], Any]) -> None:
    """Begins a run in place of the session's last one."""
    forget()
    made = st.session_state[RUN] = Run(key, compute)
    made.job.go()


def forget() -> None:
    """Gives the session's run up."""
    if (held := st.session_state.pop(RUN, None)) is not None:
        held.job.rest()


def leave() -> None:
    """The person went to another page: what runs rests, and its place is free."""
    if (held := run()) is not None and held.job.is_busy:
        held.job.rest(left_alone=True)


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
