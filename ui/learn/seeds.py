"""Several seeds at a press: the same settings in several sizes, every run drawn, with mean and spread."""

import numpy as np
import streamlit as st

from model.training.kinds import AnySettings
from model.training.peek import PeekSettings
from ui.frame.captions import chart, small
from ui.frame.faults import fragment
from ui.frame.languages import _, plain
from ui.learn import runs, words
from ui.learn.runs import Trial
from ui.learn.words import network_names
from viz.learning_curves import deviation, seed_curves_figure, seeds_figure

EVERY = 1.0  # seconds between two looks at the runs
NUMBERS = (3, 5, 10)


def seeds_tab(settings: AnySettings) -> None:
    """The button, the runs so far, and what they say together."""
    trial = runs.trial()
    is_busy = trial is not None and trial.job.is_busy
    (_live if is_busy else _still)(settings, is_busy)
    if trial is not None and not is_busy and trial.runs:
        _figures(trial)


def _tab(settings: AnySettings, was_busy: bool) -> None:
    trial = runs.trial()
    is_busy = trial is not None and trial.job.is_busy
    with st.container(horizontal=True, vertical_alignment="bottom"):
        n = int(
            st.segmented_control(
                _("Seeds"), NUMBERS, default=NUMBERS[1], required=True, key="learn_n_seeds", disabled=is_busy
            )
            or NUMBERS[1]
        )
        if trial is not None and is_busy:
            if st.button(_("Stop"), key="learn_seeds_stop", type="primary", help=_("Finished runs stay.")):
                trial.job.rest()
                st.rerun()
        else:
            names = network_names(runs.sizes(settings))
            label = _("Train {networks}: {n} runs").format(networks=_(", ").join(names), n=n * len(names))
            if st.button(label, key="learn_seeds_start"):
                runs.new_trial(settings, n).job.go()
                st.rerun()
            if trial is not None and trial.job.state == "resting" and st.button(_("Continue"), key="learn_seeds_go_on"):
                trial.job.go()
                st.rerun()
    if trial is None:
        st.caption(
            _(
                "One run can be luck. This trains the settings above in several sizes, each with several seeds, one "
                "after the other."
            )
        )
        return
    if is_busy:
        _progress(trial)
    elif trial.job.state == "resting":
        done = _("{done} of {all} networks trained").format(done=len(trial.runs), all=trial.n_runs)
        if trial.job.left_alone:
            done += " · " + _("You were away: the rest waits for “Continue”.")
        small(done)
    elif trial.job.state == "failed":
        runs.tell_fault(trial.job)
    small(words.about_seeds(trial.settings))
    st.markdown("  \n".join(plain(line) for line in _table(trial)))
    if was_busy and not is_busy:
        st.rerun()


_live = fragment(_tab, run_every=EVERY)
_still = fragment(_tab)


def _progress(trial: Trial) -> None:
    job = trial.job
    done = _("{done} of {all} networks trained").format(done=len(trial.runs), all=trial.n_runs)
    if job.state == "waiting":
        st.progress(job.share, text=f"{done} · {words.place_in_line(job.ahead)}")
    else:
        left = job.seconds_left
        rest = " · " + _("about {time} left").format(time=words.seconds(left)) if left is not None else ""
        st.progress(job.share, text=done + rest)


def _table(trial: Trial) -> list[str]:
    """For each size: mean, spread, range, and in how many runs every relation had a head of its own."""
    lines = []
    for size, who in enumerate(network_names(trial.sizes)):
        same = [run for run in list(trial.runs) if run.size == size]
        if not same:
            continue
        numbers: dict[str, object] = {"who": who, "n": len(same)}
        values = 100 * np.array([run.accuracy for run in same])
        said = _(
            "{who}: {mean:.1f} % ± {spread:.1f} right in {n} runs, lowest {low:.1f}, highest {high:.1f}; each relation "
            "had a head of its own in {split} of {n}."
        )
        errors = [run.alignment_error for run in same if run.alignment_error is not None]
        if errors:
            said = _(
                "{who}: {mean:.1f} % ± {spread:.1f} of sentences right in {n} runs, lowest {low:.1f}, highest "
                "{high:.1f}; alignment error of the best head {error:.2f} on average, from {least:.2f} to {most:.2f}."
            )
            numbers |= {"error": np.mean(errors), "least": min(errors), "most": max(errors)}
        elif isinstance(trial.settings, PeekSettings):
            said = _(
                "{who}: {mean:.1f} % ± {spread:.1f} of the words written alone allowed in {n} runs, lowest {low:.1f}, "
                "highest {high:.1f}."
            )
        numbers |= {"mean": values.mean(), "spread": deviation(values), "low": values.min(), "high": values.max()}
        lines.append(said.format(split=sum(run.is_split for run in same), **numbers))
    return lines


def _figures(trial: Trial) -> None:
    finished, names, chance = list(trial.runs), network_names(trial.sizes), getattr(trial.settings.rule, "chance", None)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(seeds_figure(finished, names, chance=chance, t=_), "learn_seeds")
        st.caption(_("A mark is a run, on 1,024 fresh sentences. Beside the marks: mean and standard deviation."))
    with right:
        chart(seed_curves_figure(finished, names, chance=chance, t=_), "learn_seed_curves")
        st.caption(_("The same runs while they trained."))
