"""The page "Watch heads learn" put together: controls, the run that is shown, and tabs with what it taught."""

import streamlit as st

from model.tasks import PEEK
from model.training.kinds import AnySettings
from model.training.peek import PeekSettings
from model.training.translate import TranslateSettings
from ui.frame.captions import page_title, small
from ui.frame.faults import fragment
from ui.frame.languages import _, plain
from ui.frame.tabs import open_tab
from ui.learn import controls, depth, peek, runs, translate, words
from ui.learn.export import export_tab
from ui.learn.picture import picture
from ui.learn.runs import Race
from ui.learn.seeds import seeds_tab
from ui.learn.tabs import curves_tab, off_tab

EVERY = 0.5  # seconds between two looks at a training
EVERY_IN_LINE = 1.5  # and at a place in line
TABS = {
    "curves": "Curves and entropy",
    "off": "Switch a head off",
    "seeds": "Several seeds",
    "take": "Export",
}


TITLES = PEEK_TITLE, TRANSLATE_TITLE = "Given the words, and alone", "Alignment of each head"  # of the first tab
QUESTIONS = {  # of tasks that ask another one: what is asked, and how to read the answer
    "translate-en": ("Does attention find which word comes from which?", words.TRANSLATE_READ),
    "translate-zh": ("Does attention find which word comes from which?", words.TRANSLATE_READ),
    PEEK.id: ("Why may a decoder not see what is to come?", words.PEEK_READ),
    depth.ID: ("Why does a block keep its input?", words.DEPTH_READ),
}


def title() -> None:
    """The question of the chosen task, and behind buttons how to read it and how far it goes."""
    asked, read = QUESTIONS.get(controls.chosen_task(), ("Do heads split the work by themselves?", words.HOW_TO_READ))
    with page_title(_(asked)):
        with st.popover(_("How to read this"), icon=":material/help:"):
            st.markdown(_(read))
        if read is not words.HOW_TO_READ:
            return
        with st.popover(_("Limits of this result"), icon=":material/info:"):
            st.markdown(_(words.HOW_FAR))


def show() -> None:
    """Everything below the title."""
    settings = controls.settings()
    if isinstance(settings, depth.Asked):
        depth.show(settings)
        return
    race = runs.race()
    state = race.job.state if race is not None else "resting"
    seeds_state = _seeds_state()
    tabs = tabs_of(settings)
    heads = {"running": _head_live, "waiting": _head_in_line}
    still = _head_in_line if seeds_state in ("running", "waiting") else _head_still
    # In every state each part is a fragment at the same place, so that the picture is never drawn anew.
    with st.container(gap="xsmall"):
        heads.get(state, still)(settings, state, seeds_state)
        (_below_live if state == "running" else _below_still)(settings)
    opened, place = open_tab(tabs, state="learn_view", link="view")
    with place:
        _tab(opened, settings)


def tabs_of(settings: AnySettings) -> dict[str, str]:
    """Tabs of a kind of task: name in the link → title, in English."""
    if isinstance(settings, PeekSettings):
        return {"curves": PEEK_TITLE, **{name: TABS[name] for name in ("seeds", "take")}}
    if isinstance(settings, TranslateSettings):
        return {**TABS, "curves": TRANSLATE_TITLE}
    return TABS


def _seeds_state() -> str:
    trial = runs.trial()
    return trial.job.state if trial is not None else "resting"


def _head(settings: AnySettings, state: str, seeds_state: str) -> None:
    """Buttons and progress, and the sign of life for everything that trains, whichever tab is open.

    When a training has come to another state, the whole page is drawn for it.
    """
    race, trial = runs.race(), runs.trial()
    for training in (race, trial):
        if training is not None:
            training.job.seen()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="learn-buttons"):
        is_pressed = _buttons(settings, race)
        with st.container(gap=None, key="learn-status"):
            _status(settings, race)
    if is_pressed or (race is not None and race.job.state != state) or _seeds_state() != seeds_state:
        st.rerun()


def _below(settings: AnySettings) -> None:
    """The picture and what is to be said about it."""
    with st.container(gap="xsmall"):
        shown = runs.shown(settings)
        picture(shown)
        st.markdown("  \n".join(f":small[{plain(line)}]" for line in words.below(shown)))


_head_live, _below_live = fragment(_head, run_every=EVERY), fragment(_below, run_every=EVERY)
_head_in_line = fragment(_head, run_every=EVERY_IN_LINE)  # a class of thirty asks all at once
_head_still, _below_still = fragment(_head), fragment(_below)


def _buttons(settings: AnySettings, race: Race | None) -> bool:
    """One prominent button, which starts, pauses or goes on, and two more. Says whether one was pressed."""
    state = race.job.state if race is not None else "none"
    is_busy = race is not None and race.job.is_busy
    is_same = race is not None and race.settings == settings
    is_pressed = False
    if race is not None and is_busy:
        if _button(_("Pause"), "pause", main=True):
            race.job.rest()
            is_pressed = True
    elif state != "resting" or not is_same:
        networks = words.network_names([*runs.beside(settings), settings])
        if _button(_("Train {networks}").format(networks=_(" and ").join(networks)), "start", main=True):
            runs.new_race(settings).job.go()
            is_pressed = True
    if race is not None and state == "resting" and _button(_("Continue"), "go_on", main=is_same):
        race.job.go()
        is_pressed = True
    off = None
    if state != "resting":
        off = _("Pause first.") if is_busy else _("This run is finished.") if is_same else None
    if _button(_("Step ahead"), "step", off=off, help=_("Trains up to the next checkpoint, then pauses.")):
        (race if race is not None and state == "resting" else runs.new_race(settings)).one_checkpoint()
        is_pressed = True
    off = _("Nothing has been trained here yet.") if race is None else None
    if _button(_("Reset"), "reset", off=off, help=_("Ends this run and discards it.")):
        runs.forget_race()
        is_pressed = True
    return is_pressed


def _button(label: str, name: str, *, main: bool = False, off: str | None = None, help: str | None = None) -> bool:
    """A button of the row; `off` says why it can't be pressed."""
    return st.button(
        label, key=f"learn_{name}", type="primary" if main else "secondary", disabled=off is not None, help=off or help
    )


def _status(settings: AnySettings, race: Race | None) -> None:
    """What the network must answer, how far the training is, and what the run shown differs in from the controls."""
    small(_(settings.rule.about))
    if race is not None:
        _progress(race)
    shown = runs.shown(settings)
    if not shown.live and shown.settings != settings:
        said = _("The run below has other settings than the controls: {run}")
        said = said.format(run=words.about(shown.settings))
        st.markdown(f":small[:primary[**▲**] {plain(said)}]")


def _progress(race: Race) -> None:
    job = race.job
    if job.state == "running":
        left = job.seconds_left
        said = _("Training: {share:.0%}").format(share=job.share)
        if left is not None:
            said += " · " + _("about {time} left").format(time=words.seconds(left))
        st.progress(job.share, text=said)
    elif job.state == "waiting":
        st.progress(job.share, text=words.place_in_line(job.ahead))
    elif job.state == "failed":
        runs.tell_fault(job)
    elif job.state == "resting":
        said = _("Paused at step {step} of {steps}.").format(step=race.main.step_number, steps=race.settings.steps)
        if job.left_alone:
            said += " " + _("You were away.")
        small(said)


def _tab(opened: str, settings: AnySettings) -> None:
    shown = runs.shown(settings)
    if opened == "seeds":
        seeds_tab(settings)
    elif opened == "take":
        export_tab(shown)
    elif not shown.is_trained:
        st.info(_("Train first: this tab shows what was learnt."))
    elif shown.live:
        st.info(_("Drawn when the training is paused or finished."))
    elif isinstance(shown.settings, PeekSettings):
        peek.alone_tab(shown)
    elif isinstance(shown.settings, TranslateSettings):
        (translate.alignment_tab if opened == "curves" else translate.off_tab)(shown)
    elif opened == "curves":
        curves_tab(shown)
    else:
        off_tab(shown)
