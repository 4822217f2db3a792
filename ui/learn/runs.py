"""The trainings of a session: two networks that learn side by side, and several seeds one after the other.

A session holds one of each at a time; they live in its state and go with it. What runs at all is the server's line.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import streamlit as st

from model import HeadworkError
from model.training import Recorded, Settings, Training, read_record, winners
from model.training.frames import steps_to_look_at
from model.training.kinds import AnyRun, AnySettings, new_run, run_class
from model.training.peek import Peeking, PeekSettings
from model.training.record import FOLDER
from model.training.translate import COMPARE, TranslateSettings
from ui.frame.background import line, session
from ui.frame.jobs import Job, Line
from ui.frame.languages import _, explain
from viz.learning import owners
from viz.learning_curves import Run

RunT = TypeVar("RunT", bound=AnyRun)
SLICE = 5  # steps between two looks around; about 15 ms
SEED_HEADS = (1, 2, 4, 8)
SEED_LAYERS = (1, 2)
MOST_UNTRAINED = 16
RACE, TRIAL, DEPTH = "learn_race", "learn_trial", "learn_depth"  # session state


class Race:
    """The network of the settings and, if it isn't that one already, the smallest one of its task: on the same data.

    Attributes:
        settings: of the network whose heads are named.
        networks: one or two trainings, that network last.
        job: its place in the line.
        name: another one for each race.
    """

    def __init__(self, settings: AnySettings, *, line: Line, is_here: Callable[[], bool]) -> None:
        self.settings = settings
        self.networks = _networks(settings)
        self.name = uuid.uuid4().hex
        self.job = Job(line, self._work(), is_here=is_here)

    @property
    def main(self) -> AnyRun:
        """The network whose heads are named."""
        return self.networks[-1]

    def one_checkpoint(self) -> None:
        """Trains up to the next checkpoint and rests there."""
        n_frames = len(self.main.frames)
        self.job.go(until=lambda: len(self.main.frames) > n_frames)

    def _work(self) -> Iterator[float]:
        total = sum(training.settings.steps for training in self.networks)
        while any(not training.done for training in self.networks):
            for training in self.networks:
                if not training.done:
                    training.step(_slice(training))
            yield sum(training.step_number for training in self.networks) / total


class Trial:
    """The same settings with several seeds and numbers of heads; what is finished can be seen while the rest runs.

    Attributes:
        settings: of the runs, save seed and size.
        sizes: the networks that are compared, with any seed.
        runs: those that are finished, each under the place of its size.
        n_runs: how many there will be.
        job: its place in the line.
    """

    def __init__(self, settings: AnySettings, n_seeds: int, *, line: Line, is_here: Callable[[], bool]) -> None:
        self.settings = settings
        self.sizes = sizes(settings)
        self.runs: list[Run] = []
        self.n_runs = n_seeds * len(self.sizes)
        self._n_seeds = n_seeds
        self.job = Job(line, self._work(), is_here=is_here)

    def _work(self) -> Iterator[float]:
        for seed in range(self._n_seeds):
            for size, settings in enumerate(self.sizes):
                training = new_run(replace(settings, seed=seed))
                while not training.done:
                    training.step(SLICE)
                    yield (len(self.runs) + training.step_number / settings.steps) / self.n_runs
                self.runs.append(_as_run(training, size))


def _slice(training: AnyRun) -> int:
    """Steps up to the next checkpoint, but not many: there it can be paused."""
    now = training.step_number
    return min(SLICE, next(step for step in steps_to_look_at(training.settings.steps) if step > now) - now)


@dataclass(frozen=True)
class Shown:
    """A run as the page shows it, from this session or shipped with the app.

    Attributes:
        name: no other run has it.
        settings: of the network whose heads are named.
        trainings: one or two; that network last.
        live: whether more is to come.
        record: where a run comes from that wasn't made in this session.
    """

    name: str
    settings: AnySettings
    trainings: Sequence[AnyRun]
    live: bool
    record: Recorded[Any] | None = None

    @property
    def is_trained(self) -> bool:
        """Whether a step was made."""
        return self.trainings[-1].step_number > 0

    def of(self, kind: type[RunT]) -> list[RunT]:
        """The trainings, all of which are of one kind."""
        return [training for training in self.trainings if isinstance(training, kind)]


def beside(settings: AnySettings) -> tuple[AnySettings, ...]:
    """The network to compare with: fewer heads, or fewer layers where that is what the task is about; the causal mask.

    Nothing where the settings are those of the smaller network already.
    """
    if not isinstance(settings, Settings):
        first = {"mask": "causal"} if isinstance(settings, PeekSettings) else {"heads": COMPARE[0]}
        other = replace(settings, **first)
        return () if other == settings else (other,)
    small, large = settings.rule.defaults.compare[0], settings.rule.defaults.compare[-1]
    smaller = settings
    if small.heads != large.heads:
        smaller = replace(smaller, heads=small.heads)
    if small.layers != large.layers:
        smaller = replace(smaller, layers=small.layers)
    return () if smaller == settings else (smaller,)


def sizes(settings: AnySettings) -> tuple[AnySettings, ...]:
    """The networks to compare over several seeds: every number of heads, every number of layers, or both masks."""
    if isinstance(settings, TranslateSettings):
        return tuple(replace(settings, heads=heads) for heads in SEED_HEADS[:3])  # a quarter of a minute each
    if isinstance(settings, PeekSettings):
        return (*beside(settings), settings)
    small, large = settings.rule.defaults.compare[0], settings.rule.defaults.compare[-1]
    if small.heads == large.heads:
        return tuple(replace(settings, layers=layers) for layers in SEED_LAYERS)
    return tuple(replace(settings, heads=heads) for heads in SEED_HEADS)


def race() -> Race | None:
    """This session's race, if there is one."""
    found: Race | None = st.session_state.get(RACE)
    return found


def trial() -> Trial | None:
    """This session's several seeds, if they were asked for."""
    found: Trial | None = st.session_state.get(TRIAL)
    return found


def shown(settings: AnySettings) -> Shown:
    """The run that the page shows.

    This session's own, else the one that came with the app for this task, else what would be trained, before any step.
    """
    if (mine := race()) is not None:
        return Shown(mine.name, mine.settings, mine.networks, mine.job.is_busy)
    return shipped(settings) or Shown(f"untrained {settings}", settings, _untrained(settings), live=False)


@st.cache_resource(max_entries=MOST_UNTRAINED, show_spinner=False)
def _untrained(settings: AnySettings) -> tuple[AnyRun, ...]:
    """Shared by all sessions, and never trained."""
    return _networks(settings)


def _networks(settings: AnySettings) -> tuple[AnyRun, ...]:
    return tuple(new_run(each) for each in (*beside(settings), settings))


def shipped(settings: AnySettings) -> Shown | None:
    """The run that came with the app for the task of these settings, if there is one.

    Of Peek it holds every mask: the causal one is shown beside the one that is asked for.
    """
    found = _record(settings.task, run_class(settings))
    if found is None:
        return None
    trainings = found.trainings
    if isinstance(settings, PeekSettings):
        asked = dict.fromkeys(("causal", settings.mask))
        trainings = tuple(run for mask in asked for run in trainings if run.settings.mask == mask)
        if not trainings or trainings[-1].settings.mask != settings.mask:
            return None
    name = f"shipped {settings.task} {trainings[-1].settings}"
    return Shown(name, trainings[-1].settings, trainings, live=False, record=found)


@st.cache_resource(show_spinner=False)
def _record(task: str, _kind: type[Any]) -> Recorded[Any] | None:
    """Shared by all sessions: nothing in it changes. Without its file the page begins empty."""
    path = FOLDER / f"{task}.safetensors"
    if not path.exists():
        return None
    try:
        return read_record(path, _kind)
    except HeadworkError:
        logging.getLogger(__name__).exception("The run that comes with the app can't be shown")
        return None


def new_race(settings: AnySettings) -> Race:
    """A race that hasn't begun, in place of the session's last one."""
    _drop(RACE)
    made = Race(settings, line=line(), is_here=session())
    st.session_state[RACE] = made
    return made


def new_trial(settings: AnySettings, n_seeds: int) -> Trial:
    """Several seeds that haven't begun, in place of the session's last ones."""
    _drop(TRIAL)
    made = Trial(settings, n_seeds, line=line(), is_here=session())
    st.session_state[TRIAL] = made
    return made


def forget_race() -> None:
    """Ends the race and lets it go."""
    _drop(RACE)


def leave() -> None:
    """The person went to another page: what trains rests, and its place is free."""
    for key in (RACE, TRIAL, DEPTH):
        if (held := st.session_state.get(key)) is not None and held.job.is_busy:
            held.job.rest(left_alone=True)


def tell_fault(job: Job) -> None:
    """What ended a job that failed."""
    if isinstance(job.error, HeadworkError):
        st.error(explain(job.error), icon="✋")
    else:
        st.error(_("The training stopped because of a fault in the app. The server's log says what."), icon="✋")


def _drop(key: str) -> None:
    if (held := st.session_state.pop(key, None)) is not None:
        held.job.rest()


def _as_run(training: AnyRun, size: int) -> Run:
    points: list[Any] = list(training.curve)
    is_split, error = False, None
    if isinstance(training, Training):
        accuracy = training.test()[0]
        is_split = all(owners(training.frames[-1].share)) and winners(training.frames[-1]).all_different
    elif isinstance(training, Peeking):
        accuracy = training.test().generating
    else:
        found = training.test()
        accuracy, error = found.accuracy, found.alignment.best_error
    return Run(
        size=size,
        seed=training.settings.seed,
        accuracy=accuracy,
        steps=[point.step for point in points],
        curve=[point.accuracy for point in points],
        is_split=is_split,
        alignment_error=error,
    )
