"""The question that all is about: a prompt, both answers' probabilities, and what is left of them with a head off."""

import streamlit as st

from analysis.effects.joint import Joint
from ui.effects import data
from ui.effects.choices import View, first_prompt
from ui.effects.words import probability
from ui.frame.captions import small
from ui.frame.choose import choose
from ui.frame.languages import _, plain
from viz.theme import shortened

COLUMNS = 110  # of a prompt in the menu


def question(view: View) -> None:
    """A prompt and its two answers as bars; they move when the chosen head is switched off."""
    with st.container(horizontal=True, vertical_alignment="center", key="effects-question", gap="small"):
        prompt, right, wrong = st.container(), st.container(width=185), st.container(width=185)
    with prompt:
        _prompt(view)
    asked = view.question
    before = _everything_on(view)
    after = _of(data.with_off(view.asked, [view.head], view.prompt)) if view.is_off else None
    with right:
        _bar(_("right: {answer}"), asked.right, before[0], None if after is None else after[0])
    with wrong:
        _bar(_("wrong: {answer}"), asked.wrong, before[1], None if after is None else after[1])


def _prompt(view: View) -> None:
    """Which prompt is looked at: the question that all is about."""
    numbers = {n: f"{n}. {shortened(each.prompt, COLUMNS)} …" for n, each in enumerate(view.asked.questions, 1)}
    choose(_("Prompt"), "prompt", numbers, first_prompt(view), key="effects_prompt", bare=True)
    with st.container(key="effects-whole"):  # on a phone, where the menu shows its beginning only
        small(f"{view.question.prompt} …")


def _everything_on(view: View) -> tuple[float, float]:
    """Both probabilities with no head off: known where the prompts are measured, else one run."""
    if view.measured is None:
        return _of(data.with_off(view.asked, [], view.prompt))
    right, wrong = (float(view.measured.of_prompts(name)[view.prompt]) for name in ("p_right", "p_wrong"))
    return right, wrong


def _of(found: Joint) -> tuple[float, float]:
    return float(found.p_right[0]), float(found.p_wrong[0])


def _bar(said: str, answer: str, before: float, after: float | None) -> None:
    """A probability; with a head off also what it was."""
    shown = probability(before) if after is None else f"{probability(before)} → {probability(after)}"
    said = f"{plain(said).format(answer=f'**{plain(answer.strip())}**')} {plain(shown)}"
    st.progress(min(max(before if after is None else after, 0.0), 1.0), text=said)
