"""What the page Does it matter? reads: records that come with the app, what was measured here, and single runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import streamlit as st

from analysis.effects import sets as sets_of_app
from analysis.effects.joint import Joint, switch_off
from analysis.effects.questions import EncodedQuestion, Problem, Question, encode_question, encode_questions
from analysis.effects.ranks import Chosen, RankCorrelation
from analysis.effects.report import Record
from analysis.effects.runs import Off
from model.head_id import HeadId
from ui.frame import loading
from ui.frame.cache import ByteCache
from ui.frame.languages import _

CACHE_MB = 32
WORDS = {"answer": "the answer", "cue": "the word that decides"}  # what a record's attention goes to
Floats = npt.NDArray[np.float64]
Head = tuple[int, int]
Of = Literal["logits", "token", "sentence"]  # what an effect is a change of


@dataclass(frozen=True)
class Asked:
    """What is measured: a model, prompts, and what stands in for a head that is off."""

    model_id: str
    questions: tuple[Question, ...]
    off: Off

    @property
    def key(self) -> tuple[object, ...]:
        """The name of the result: whoever asks the same has the same."""
        return (loading.named(self.model_id), self.questions, self.off)


@dataclass(frozen=True, eq=False)
class Measured:
    """Effects of every head, as the page shows them. Layers and heads count from 0.

    Attributes:
        of: what an effect is a change of: the logit difference, or the direction of a vector.
        each: (n, L, h), the effect on each prompt; what changes a prediction is signed, a distance isn't.
        interval: (2, L, h), 95 % of the mean over prompts; None for one prompt.
        attention: (L, h), mean; NaN where the word that is looked at stands in no prompt.
        word: what is looked at, in the reader's language.
        correlation: of attention and loss over heads.
        held_out: heads chosen on one half of the prompts, measured on the other.
        direct: (L, h), what each head writes towards the answer; None where parts don't add up.
        ffns, layers: (L,), effect of each FFN and whole layer; None where not measured.
        raw: everything, as JSON.
    """

    of: Of
    each: Floats
    interval: Floats | None
    attention: Floats
    word: str
    correlation: RankCorrelation | None
    held_out: tuple[Chosen, ...]
    direct: Floats | None
    ffns: Floats | None
    layers: Floats | None
    raw: dict[str, Any]

    @property
    def n(self) -> int:
        """How many prompts."""
        return len(self.each)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The n prompts with their answers; of a model that predicts nothing there are none."""
        return Record(self.raw).questions if self.of == "logits" else ()

    @property
    def is_signed(self) -> bool:
        """Whether an effect may be above and below 0."""
        return self.of == "logits"

    @cached_property
    def mean(self) -> Floats:
        """(L, h), mean effect."""
        return np.asarray(self.each.mean(axis=0))

    @property
    def looks(self) -> Floats | None:
        """(L, h), attention; None where there is none to show."""
        return None if np.isnan(self.attention).all() else self.attention

    @property
    def matters(self) -> Head:
        """The head that is missed most."""
        return _head(np.argmin(self.mean) if self.is_signed else np.argmax(self.mean), self.mean)

    @property
    def most_looking(self) -> Head | None:
        """The head that looks most at the word; None where there is no attention."""
        return None if self.looks is None else _head(np.nanargmax(self.looks), self.looks)

    @property
    def limit(self) -> float:
        """What the last colour of effects stands for."""
        return float(np.abs(self.mean).max()) or 1.0

    def bounds(self, head: Head) -> tuple[float, float] | None:
        """The interval of a head's mean effect."""
        if self.interval is None:
            return None
        low, high = self.interval[(slice(None), *head)]
        return float(low), float(high)

    @property
    def heads(self) -> Floats:
        """(n, L, h), as `each`."""
        return self.each

    @property
    def difference(self) -> Floats:
        """(n,), logit of the right answer − logit of the wrong one, everything on."""
        return self.of_prompts("logit_difference")

    @property
    def seed(self) -> int:
        """Of the bootstrap."""
        return int(self.raw["seed"])

    def of_prompts(self, name: str) -> Floats:
        """(n,), "logit_difference", "p_right" or "p_wrong", everything on."""
        return np.array([each[name] for each in self.raw["prompts"]], dtype=np.float64)

    def ranked(self, k: int) -> list[Head]:
        """The k heads that are missed most, the first most."""
        order = np.argsort(self.mean if self.is_signed else -self.mean, axis=None, kind="stable")
        return [_head(at, self.mean) for at in order[:k]]


def _head(at: Any, grid: Floats) -> Head:
    layer, head = np.unravel_index(int(at), grid.shape)
    return int(layer), int(head)


def of_record(record: Record) -> Measured:
    """A record of a model that predicts, as the page shows it."""
    is_cue = record.raw.get("looked_at") == "cue"
    ffns, layers = record.ffns, record.layers
    return Measured(
        of="logits",
        each=record.each,
        interval=record.interval,
        attention=record.attention,
        word=WORDS["cue" if is_cue else "answer"],
        correlation=record.rank_correlation,
        held_out=record.held_out,
        direct=record.direct,
        ffns=None if ffns is None else ffns.mean(axis=0),
        layers=None if layers is None else layers.mean(axis=0),
        raw=dict(record.raw),
    )


@st.cache_resource(show_spinner=False, max_entries=8)
def shipped(name: str, off: Off, model_id: str) -> Measured | None:
    """The record of a set that comes with the app; None where there is none for this model."""
    found = sets_of_app.record(name, model_id, off)
    return None if found is None else of_record(found)


def has_records(model_id: str) -> bool:
    """Whether the app brings measurements of this model, so that it needn't be loaded to show them."""
    return any(model == model_id for _name, model, _off in sets_of_app.shipped())


def predicts(model_id: str) -> bool:
    """Whether the model predicts the next token."""
    return has_records(model_id) or bool(loading.load_model(model_id).has_output)


def sets() -> list[str]:
    """The names of the sets that come with the app."""
    return list(sets_of_app.SETS)


@st.cache_resource(show_spinner=False, max_entries=8)
def of_set(name: str) -> tuple[Question, ...]:
    """The questions of a set that comes with the app."""
    return sets_of_app.questions(name).questions


def questions_of(name: str, model_id: str) -> tuple[Question, ...]:
    """Those of a set that a model can be asked; answers of several tokens become the first that differ."""
    asked, _problems = encoded(model_id, loading.version(model_id), of_set(name), True)
    return tuple(each.question for each in asked)


@st.cache_resource(show_spinner=False, max_entries=32)
def encoded(
    model_id: str, version: str, questions: tuple[Question, ...], shorten: bool
) -> tuple[tuple[EncodedQuestion, ...], tuple[Problem, ...]]:
    """The questions that a model can be asked, and why it can't be asked the others."""
    return encode_questions(loading.load_model(model_id), questions, shorten=shorten)


@st.cache_resource(show_spinner=False)
def results() -> ByteCache:
    """The one store of runs with heads off on this server, for everybody."""
    return ByteCache(int(CACHE_MB * 1e6), n_bytes=lambda found: 3 * found.difference.nbytes)


def with_off(asked: Asked, heads: Sequence[Head], at: int | None = None) -> Joint:
    """The answers with these heads off together; computed once for everybody.

    Args:
        asked: model and prompts.
        heads: that are off; none = everything on.
        at: one of the prompts, from 0; None = all. A head's mean is that over all of them, so for "mean" and
            "position" all are run.
    """
    is_one = at is not None and (asked.off == "zero" or not heads)
    some = (asked.questions[at],) if is_one and at is not None else asked.questions

    def compute() -> Joint:
        model = loading.load_model(asked.model_id)
        of = tuple(encode_question(model, each) for each in some)
        return switch_off(model, of, [HeadId(*head) for head in heads], off=asked.off)

    with st.spinner(_("Running the model…")):
        found: Joint = results().get(("off", *asked.key, tuple(sorted(heads)), some), compute)
    if at is None or is_one:
        return found
    return replace(found, **{name: getattr(found, name)[[at]] for name in ("difference", "p_right", "p_wrong")})
