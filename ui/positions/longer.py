"""Longer than trained: five ways, trained on 12 tokens and read on up to 96; shipped runs, or trained here."""

from collections.abc import Iterator, Sequence

import numpy as np
import streamlit as st

from model.training.lengths import LENGTHS, N_NUMBERS, TASKS, WAYS, Run, Trial, shipped, trials
from ui.frame.background import line, session
from ui.frame.captions import small, titled
from ui.frame.faults import fragment
from ui.frame.jobs import Job
from ui.frame.languages import _, plain
from ui.positions import words
from viz.positions import lengths_figure
from viz.theme import percent

RUN = "positions_run"  # session state
N_SEEDS = 3  # a minute at most
LEARNED = 0.95  # of the answers right, on sentences as long as those of the training
EVERY = 1.0  # seconds between two looks at a training
TITLES = {
    "neighbour": "Answer with the word two places back",
    "match": "Answer with the number at the same letter",
}


class Race:
    """Every way and task with a few new seeds, one after another."""

    def __init__(self, first_seed: int) -> None:
        self.trials: list[Trial] = trials(range(first_seed, first_seed + N_SEEDS))
        self.job = Job(line(), self._work(), is_here=session())

    @property
    def runs(self) -> tuple[Run, ...]:
        """Those that are finished."""
        return tuple(trial.run for trial in self.trials if trial.run is not None)

    def _work(self) -> Iterator[float]:
        for number, trial in enumerate(self.trials):
            for share in trial.work():
                yield (number + share) / len(self.trials)


@st.cache_resource(show_spinner=False)
def _shipped() -> tuple[Run, ...]:
    return shipped()


def leave() -> None:
    """The person went to another page: what runs rests."""
    race: Race | None = st.session_state.get(RUN)
    if race is not None and race.job.is_busy:
        race.job.rest(left_alone=True)


def show() -> None:
    """The two pictures, what follows from them, and the button that trains anew."""
    race: Race | None = st.session_state.get(RUN)
    is_busy = race is not None and race.job.is_busy
    (_live if is_busy else _still)(is_busy)


def _body(was_busy: bool) -> None:
    race: Race | None = st.session_state.get(RUN)
    is_done = race is not None and race.job.state == "finished"
    runs = race.runs if race is not None and is_done else _shipped()
    _pictures(runs)
    for sentence in says(runs):
        st.markdown(plain(sentence))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _buttons(race)
    _about(runs, is_done)
    if race is not None and race.job.is_busy != was_busy:
        st.rerun()


_live, _still = fragment(_body, run_every=EVERY), fragment(_body)


def _buttons(race: Race | None) -> None:
    if race is not None and race.job.is_busy:
        race.job.seen()
        if st.button(_("Stop"), key="positions_stop"):
            race.job.rest()
            del st.session_state[RUN]
            st.rerun()
        said = _("Training {n} of {total} networks").format(n=len(race.runs) + 1, total=len(race.trials))
        if race.job.state == "waiting":
            said = _("Waiting for a place: other trainings run on this server.")
        st.progress(race.job.share, text=said)
        return
    if st.button(_("Train all ten here, with {n} new seeds").format(n=N_SEEDS), key="positions_train"):
        seeds = [run.seed for run in (race.runs if race else _shipped())]
        st.session_state[RUN] = Race(max(seeds, default=-1) + 1)
        st.session_state[RUN].job.go()
        st.rerun()
    if race is not None and race.job.state == "failed":
        st.error(_("The training failed. The server's log says why."), icon="✋")


def _pictures(runs: Sequence[Run]) -> None:
    names = [_(words.WAYS[way].name) for way in WAYS]
    for place, task in zip(st.columns(2, gap="medium"), TASKS, strict=True):
        with place:
            figure = lengths_figure(LENGTHS, names, accuracies(runs, task), chance=1 / N_NUMBERS, t=_)
            titled(_(TITLES[task]), figure, f"positions_{task}")


def accuracies(runs: Sequence[Run], task: str) -> np.ndarray:
    """(W, S, Z): ways, seeds, lengths."""
    return np.array([[run.accuracy for run in runs if run.task == task and run.way == way] for way in WAYS])


def says(runs: Sequence[Run]) -> list[str]:
    """For each task which way holds best at the longest sentences, and what the others keep; from these very runs."""
    said = []
    for task in TASKS:
        mean = accuracies(runs, task).mean(axis=1)  # (W, Z)
        best = int(mean[:, -1].argmax())
        name = {i: _(words.WAYS[way].name) for i, way in enumerate(WAYS)}
        others = [f"{name[i]} {percent(mean[i, -1])}" for i in np.argsort(-mean[:, -1]).tolist() if i != best]
        sentence = _("{task}: at {n} tokens “{way}” is right most often, {share} ({others}).")
        numbers = {"n": LENGTHS[-1], "way": name[best], "share": percent(mean[best, -1])}
        parts = [sentence.format(task=_(TITLES[task]), **numbers, others=_(", ").join(others))]
        unlearned = [name[i] for i in range(len(WAYS)) if mean[i, 0] < LEARNED]
        if unlearned:
            parts.append(
                _("Not learned on {n} tokens either: {ways}.").format(n=LENGTHS[0], ways=_(", ").join(unlearned))
            )
        said.append(" ".join(parts))
    alibi = WAYS.index("alibi")
    kept = [accuracies(runs, task).mean(axis=1)[alibi] for task in TASKS]
    each = _("{task}: {share}")
    named = zip(TASKS, kept, strict=True)
    shares = _("; ").join(each.format(task=_(TITLES[task]), share=percent(mean[-1])) for task, mean in named)
    is_held = all(mean[-1] >= LEARNED * mean[0] for mean in kept)
    sentence = (
        _("Press et al. 2022 find that ALiBi holds on longer texts. So it does here ({shares}).")
        if is_held
        else _("Press et al. 2022 find that ALiBi holds on longer texts. Here not on both rules ({shares}).")
    )
    return [*said, sentence.format(shares=shares)]


def _about(runs: Sequence[Run], is_own: bool) -> None:
    seeds = sorted({run.seed for run in runs})
    said = _(
        "One causal layer of four heads, d_model 32, 400 steps; {n} seeds, bars from the least to the most; 256 fresh "
        "sentences a point. Small networks on small rules: what holds here need not hold for a language model."
    )
    if not is_own:
        said += " " + _("These runs came with the app: python -m model.training.lengths --seeds {n}")
    small(said.format(n=len(seeds)))
