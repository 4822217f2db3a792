"""The bar of a lesson: its steps, the way back to all lessons, and the projector."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from analysis.lessons import Lesson
from ui.frame import components
from ui.frame.captions import text_scale
from ui.frame.languages import _
from ui.lessons import places, projector
from ui.lessons.asked import language_now

KEY = "lesson_steps"

_bar = components.register("lesson_steps")


def bar(lesson: Lesson, place: int, *, is_done: bool = False, results: Mapping[int, bool] | None = None) -> None:
    """Draws the bar, and lets the browser keep what is done.

    Args:
        lesson: which one.
        place: the step, from 0; one more than the last is the self-test.
        is_done: the step's answer has been seen.
        results: question of the self-test → whether it was answered right.
    """
    total = len(lesson.steps)
    data = {
        "lesson": lesson.id,
        "title": lesson.title.said(language_now()),
        "n_steps": total,
        "has_test": bool(lesson.self_test),
        "place": place,
        "is_done": is_done,
        "results": {str(number): right for number, right in (results or {}).items()},
        "projector": projector.is_on(),
        "text_scale": text_scale(),
        "text": {
            "all": _("All lessons"),
            "steps": _("Steps of the lesson"),
            "step": _("Step {n} of {total}"),
            "done": _("done"),
            "test": _("Self-test"),
            "projector": _("Projector"),
            "projector_key": _("Large on the wall: key P. Arrow keys step on, Escape ends it."),
        },
    }

    def go() -> None:
        to = _said("go").get("to")
        if to == "all":
            places.leave()
        elif isinstance(to, str):
            places.go(lesson, to)

    def project() -> None:
        projector.turn(_said("projector").get("on") is True)

    _bar(key=KEY, data=data, on_go_change=go, on_projector_change=project)


def _said(name: str) -> dict[str, Any]:
    said = (st.session_state.get(KEY) or {}).get(name)
    return said if isinstance(said, dict) else {}
