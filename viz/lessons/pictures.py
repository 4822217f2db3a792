"""Which picture shows which answer: a registry of functions, and what they may give a page to draw.

@picture("bars")
def bars(answer: Answer, t: Translate) -> go.Figure: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from analysis.lessons.answer import Answer
from analysis.lessons.lesson import Language, in_language
from analysis.lessons.shown import Bars
from model import HeadworkError
from model.head_id import HeadId
from viz.overview import Metric
from viz.theme import Translate, untranslated
from viz.token_strip import LayerMaps, StripChoice


@dataclass(frozen=True, eq=False)
class Sentence:
    """The token strip with the arcs of some heads; `is_right` puts ● or ✕ before it, None nothing."""

    shown: LayerMaps
    chosen: StripChoice
    is_right: bool | None = None


@dataclass(frozen=True, eq=False)
class AllHeads:
    """The overview of all heads, coloured by one number each.

    Attributes:
        attention: (L, h, N, N).
        allowed: (N, N), or (L, N, N) where layers have masks of their own.
        metric: the number.
        selected: the head that is outlined.
        sentence: the same head in the sentence.
    """

    attention: npt.NDArray[np.floating]
    allowed: npt.NDArray[np.bool_]
    metric: Metric
    selected: HeadId
    sentence: Sentence


@dataclass(frozen=True, eq=False)
class Moving:
    """A browser component of its own, by its name in viz/components, and its message."""

    component: str
    data: dict[str, Any]


Drawn: TypeAlias = "go.Figure | AllHeads | Moving | Sequence[Sentence]"
Draw = Callable[[Answer, Translate], Drawn]
PICTURES: dict[str, Draw] = {}


def picture(name: str) -> Callable[[Draw], Draw]:
    """Registers a function under the name that answers and lesson files call the picture by."""

    def register(function: Draw) -> Draw:
        if name in PICTURES:
            raise ValueError(f"two pictures are called {name}")
        PICTURES[name] = function
        return function

    return register


def draw(answer: Answer, kind: str = "", t: Translate = untranslated, language: Language = "en") -> Drawn | None:
    """What shows an answer; None for one that is said in words only.

    Args:
        answer: of a step.
        kind: of picture; "" = the answer's own.
        t: translates the picture's words.
        language: of names that a lesson or a record brings along in both.

    Raises:
        HeadworkError: there is no such picture, or it can't show this answer.
    """
    kind = kind or answer.picture
    if not kind:
        return None
    if kind not in PICTURES:
        raise HeadworkError(
            "There is no picture {name}. Choose one of {names}.", name=kind, names=", ".join(sorted(PICTURES))
        )
    return PICTURES[kind](_in_language(answer, language), t)


def _in_language(answer: Answer, language: Language) -> Answer:
    """Bars by their names in one language."""
    shown = answer.shown
    if not isinstance(shown, Bars):
        return answer
    bars = tuple(replace(bar, name=in_language(bar.name, language)) for bar in shown.bars)
    return replace(
        answer,
        shown=replace(
            shown,
            bars=bars,
            note={"said": in_language(shown.note, language) or ""},
            baseline_name={"said": in_language(shown.baseline_name, language) or ""},
        ),
    )
