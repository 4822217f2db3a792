"""The picture of an answer: a figure, or the app's own instruments with what the answer is about."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from analysis.lessons import Answer, in_language
from analysis.lessons.shown import Bars
from ui.frame import components
from ui.frame.captions import chart, small, text_scale
from ui.frame.languages import _, translator
from ui.lessons import projector
from ui.lessons.asked import Asked, language_now
from viz.larger import larger
from viz.lessons import AllHeads, Moving, Sentence, draw
from viz.style import Style
from viz.token_strip import StripLook

MOST_SENTENCES = 6

_MOVING = {name: components.register(name) for name in ("lesson_curtain", "lesson_flip")}


def picture(asked: Asked) -> None:
    """Draws what shows the answer to a step."""
    answer, note = _without_note(asked.answer)
    drawn = draw(answer, asked.step.picture, translator(), language_now())
    with st.container(key="lesson-picture", gap="xsmall"):
        if isinstance(drawn, go.Figure):
            figure = larger(drawn, projector.scale())
            chart(figure, "lesson_figure", grown=True, width="stretch")
        elif isinstance(drawn, AllHeads):
            _all_heads(drawn, asked.name)
        elif isinstance(drawn, Moving):
            _MOVING[drawn.component](key=drawn.component, data=drawn.data | {"text_scale": text_scale()})
        elif drawn is not None:
            _sentences(drawn[:MOST_SENTENCES], asked.name)
        if note:
            small(note)


def _without_note(answer: Answer) -> tuple[Answer, str]:
    """An answer and the note under its bars, which the page writes below the figure: there it has room on a phone."""
    if not isinstance(answer.shown, Bars):
        return answer, ""
    note = in_language(answer.shown.note, language_now()) or ""
    return replace(answer, shown=replace(answer.shown, note={})), note


def _all_heads(drawn: AllHeads, name: Hashable) -> None:
    if not projector.is_on():  # it has the height of a wall, and shows one picture
        _sentences([drawn.sentence], (name, "winner"), has_choices=False)
    components.overview(
        drawn.attention,
        drawn.allowed,
        selected=drawn.selected,
        metric=drawn.metric,
        style=Style(text_scale=1.2 if projector.is_on() else text_scale()),
        source=(name, "race"),
        key="lesson_race",
    )


def _sentences(drawn: Sequence[Sentence], name: Hashable, *, has_choices: bool = True) -> None:
    is_on = projector.is_on()
    has_choices = has_choices and not is_on and len(drawn) == 1
    for at, each in enumerate(drawn):
        if each.is_right is not None:
            st.markdown("**●** " + _("looks where it should") if each.is_right else "**✕** " + _("looks elsewhere"))
        components.token_strip(
            each.shown,
            each.chosen,
            StripLook(Style(text_scale=text_scale()), tile=0, height=400 if is_on else 220, has_choices=has_choices),
            source=(name, at),
            key=f"lesson_strip_{at}",
        )
