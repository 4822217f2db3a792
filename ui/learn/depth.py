"""Why a block keeps its input: networks of 1 to 24 layers with and without residuals, measured when asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

from model.tasks import PEEK
from model.training.depth import DEPTHS, STEPS, VARIANTS, DepthRun, experiment, guess
from ui.frame.background import line, session
from ui.frame.captions import chart, small
from ui.frame.choose import choose
from ui.frame.faults import fragment
from ui.frame.jobs import Job, Line
from ui.frame.languages import _, plain
from ui.learn import runs, words
from viz.depth import gradients_figure, losses_figure, variant_name

ID, TITLE = "depth", "Depth and residuals"  # in the menu of tasks
KEY = runs.DEPTH  # session state
EVERY = 0.7  # seconds between two looks
LEARNT = 0.05  # of the way from the guess to the floor: what is nearer to the guess has learnt no more than it
VANISHED = 0.1  # a first block whose gradient is at most so much of the last block's

ABOUT = (
    "The same small language model 1 to 24 layers deep: with and without residual connections, normalised before each "
    "sublayer (pre-LN) or after it (post-LN). Equal data, learning rate and number of steps, no warm-up."
)


@dataclass(frozen=True)
class Asked:
    """What is to be measured."""

    steps: int
    seed: int


class Measuring:
    """One experiment of a session: its networks one after the other, in the server's line.

    Attributes:
        asked: what is measured.
        done: the networks so far.
        job: its place in the line.
    """

    def __init__(self, asked: Asked, *, line: Line, is_here: Callable[[], bool]) -> None:
        self.asked = asked
        self.done: list[DepthRun] = []
        self.job = Job(line, self._work(), is_here=is_here)

    def _work(self) -> Iterator[float]:
        total = len(VARIANTS) * sum(DEPTHS)
        for run in experiment(steps=self.asked.steps, seed=self.asked.seed):
            self.done.append(run)
            yield sum(each.layers for each in self.done) / total


def controls() -> Asked:
    """Steps and seed, beside the menu of tasks."""
    steps = choose(
        _("Steps"), "depth_steps", {n: str(n) for n in (20, STEPS, 100)}, STEPS, key="depth_steps", wide=True
    )
    seed = choose(_("Seed"), "depth_seed", {n: str(n) for n in range(5)}, 0, key="depth_seed", wide=True)
    return Asked(steps, seed)


def measuring() -> Measuring | None:
    """This session's experiment, if there is one."""
    found: Measuring | None = st.session_state.get(KEY)
    return found


def show(asked: Asked) -> None:
    """Everything below the controls."""
    held = measuring()
    is_busy = held is not None and held.job.is_busy
    (_live if is_busy else _still)(asked, is_busy)


def _page(asked: Asked, was_busy: bool) -> None:
    held = measuring()
    is_busy = held is not None and held.job.is_busy
    with st.container(horizontal=True, vertical_alignment="center"):
        is_pressed = _buttons(asked, held)
        with st.container(gap=None):
            small(_(ABOUT))
            if held is not None:
                held.job.seen()
                _progress(held)
    if is_pressed or is_busy != was_busy:
        st.rerun()
    if held is not None and held.done:
        _found(held)
    else:
        st.info(_("Nothing is measured yet. It takes about 15 seconds of one core's time."))


_live, _still = fragment(_page, run_every=EVERY), fragment(_page)


def _buttons(asked: Asked, held: Measuring | None) -> bool:
    if held is not None and held.job.is_busy:
        if st.button(_("Stop"), key="depth_stop", type="primary", help=_("What is measured stays.")):
            held.job.rest()
            return True
        return False
    n = len(DEPTHS) * len(VARIANTS)
    if held is not None and held.job.state == "resting" and held.asked == asked:
        if st.button(_("Continue"), key="depth_go_on", type="primary"):
            held.job.go()
            return True
    elif st.button(_("Measure {n} networks").format(n=n), key="depth_start", type="primary"):
        st.session_state[KEY] = Measuring(asked, line=line(), is_here=session())
        st.session_state[KEY].job.go()
        return True
    return False


def _progress(held: Measuring) -> None:
    job = held.job
    done = _("{done} of {all} networks measured").format(done=len(held.done), all=len(DEPTHS) * len(VARIANTS))
    done += " · " + _("{steps} steps · seed {seed}").format(steps=held.asked.steps, seed=held.asked.seed)
    if job.state == "failed":
        runs.tell_fault(job)
    elif job.state == "waiting":
        st.progress(job.share, text=f"{done} · {words.place_in_line(job.ahead)}")
    elif job.state == "running":
        left = job.seconds_left
        rest = " · " + _("about {time} left").format(time=words.seconds(left)) if left is not None else ""
        st.progress(job.share, text=done + rest)
    else:
        small(done)


def _found(held: Measuring) -> None:
    done = list(held.done)
    depths = sorted({run.layers for run in done})
    floor, frequencies = PEEK.floor, guess()
    deepest = max((n for n in depths if len(_of(done, n)) == len(VARIANTS)), default=depths[-1])
    left, right = st.columns(2, gap="medium")
    with left:
        chart(losses_figure(done, floor, frequencies, t=_), "depth_losses")
        small(_("On 256 fresh texts, after the last step. Floor: the least that who reads the past can reach."))
    with right:
        chosen = (
            deepest
            if held.job.is_busy
            else choose(
                _("Gradients at"), "depth_layers", {n: str(n) for n in depths}, deepest, key="depth_layers", wide=True
            )
        )
        chart(gradients_figure(done, chosen, t=_), "depth_gradients")
    for said in says(done, deepest, floor, frequencies):
        st.markdown(plain(said))


def says(done: Sequence[DepthRun], layers: int, floor: float, frequencies: float) -> list[str]:
    """What follows from the numbers of one depth: who learnt, and whether a missing gradient goes with it.

    Args:
        done: networks, those of this depth among them.
        layers: the depth.
        floor: nats a word, the least that can be reached.
        frequencies: the loss of who knows only how often each word occurs.
    """
    same = _of(done, layers)
    line = frequencies - LEARNT * (frequencies - floor)
    said = []
    for has_learnt, sentence in (
        (
            True,
            _("{layers} layers, after {steps} steps, better than word frequencies alone ({guess:.2f} nats): {who}."),
        ),
        (
            False,
            _("{layers} layers, after {steps} steps, no better than word frequencies alone ({guess:.2f} nats): {who}."),
        ),
    ):
        those = [run for run in same if (run.loss < line) == has_learnt]
        if those:
            who = _(", ").join(f"{_name(run)} ({run.loss:.2f})" for run in those)
            said.append(sentence.format(layers=layers, steps=those[0].steps, guess=frequencies, who=who))
    ratios = _("; ").join(f"{_name(run)} {run.gradient_ratio:.2g}" for run in same)
    said.append(_("The first block's gradient as a multiple of the last block's: {ratios}.").format(ratios=ratios))
    stuck = [run for run in done if run.loss >= line]
    with_gradient = [run for run in stuck if run.gradient_ratio > VANISHED]
    if with_gradient:
        first = min(with_gradient, key=lambda run: run.layers)
        said.append(
            _(
                "A vanished gradient isn't the whole reason: {layers} layers ({who}) didn't learn either, although the "
                "first block's gradient is {ratio:.2g} times the last block's."
            ).format(layers=first.layers, who=_name(first), ratio=first.gradient_ratio)
        )
    elif stuck:
        said.append(
            _("Of every network that didn't learn, the first block got less than a tenth of the last block's gradient.")
        )
    return said


def _name(run: DepthRun) -> str:
    return variant_name(run.norm, run.residual, _)


def _of(done: Sequence[DepthRun], layers: int) -> list[DepthRun]:
    return [run for run in done if run.layers == layers]
