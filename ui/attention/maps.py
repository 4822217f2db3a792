"""The maps behind the Attention page: readings of a trace and numbers about it, kept while there is room."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from analysis import (
    METRICS,
    Reading,
    Similarity,
    UnitTrace,
    by_pieces,
    by_words,
    head_metrics,
    head_similarity,
    metric_range,
    read,
    rollout,
    value_norms,
)
from analysis.maps.induction import Repetition, repetition
from analysis.words.spans import By
from model import AttentionTrace, HeadworkError
from ui.attention import two_texts
from ui.attention.view import View
from ui.frame import chinese_words, loading
from ui.frame.cache import ByteCache
from ui.frame.languages import _, translator
from viz.overview import Metric
from viz.style import Style, nice_maximum
from viz.theme import Translate

LEFT_OUT = {  # what pictures say of masked cells → what they say in the reading without the first token
    "masked": "left out",  # short: it stands beside the colour bar
    "query '{query}' → key '{key}': masked: may not attend": "query '{query}' → key '{key}': masked, or left out here",
    "{heads}: “{query}” (query) may not look at “{key}” (key)": (
        "{heads}: “{query}” (query) may not look at “{key}” (key), or the key is left out here"
    ),
    "{heads}: “{token}” (query) may look at nothing": "{heads}: “{token}” (query) has nothing else to look at",
    "{heads}: nothing may look at “{token}” (key)": "{heads}: “{token}” (key) is left out here, or masked",
}
MOST_BYTES = 96_000_000  # a reading of 512 tokens with the built-in model takes 75 MB, of an example 0.04 MB


@st.cache_resource(show_spinner=False)
def readings() -> ByteCache:
    """The one cache of what is read from traces on this server."""
    return ByteCache(MOST_BYTES, n_bytes=_n_bytes)


def name_of(trace: AttentionTrace) -> tuple[Hashable, ...]:
    """What names a trace: equal names, equal maps. First the model, then what it read, then the mask."""
    question = two_texts.question_of(trace)
    if question is not None:
        texts = question.source, question.target, question.maps
        return loading.named(trace.model_id), texts, str(question.mask)
    return loading.named(trace.model_id), trace.text, str(trace.mask), trace.tokenized.ids


def source(trace: AttentionTrace, view: View) -> tuple[Hashable, ...]:
    """What names the maps of a view, for what is sent to the browser."""
    return (*name_of(trace), view.reading, view.level, view.rescale)


def units(trace: AttentionTrace, level: str) -> UnitTrace:
    """The raw weights between pieces or words."""
    if level == "pieces":
        return by_pieces(trace)
    by = _whose_words(trace, level)
    return readings().get(("units", name_of(trace), level), lambda: by_words(trace, by))


def norms(trace: AttentionTrace) -> npt.NDArray[np.float32]:
    """(L, h, N), the lengths of the values of the keys. Runs the model once more for each trace."""
    question = two_texts.question_of(trace)

    def compute() -> npt.NDArray[np.float32]:
        if question is not None:
            return two_texts.value_norms(question)
        model = loading.load_model(trace.model_id)
        if model.tokens(trace.text, trace.mask).ids != trace.tokenized.ids:
            raise HeadworkError(
                "What the model wrote has other tokens when it is read again, so this reading of it can't be made. Use "
                "the text as the sentence."
            )
        return value_norms(model, trace.text, trace.mask)

    return readings().get(("norms", name_of(trace)), compute)


def reading(trace: AttentionTrace, view: View, name: str | None = None) -> Reading:
    """The trace as the view (or another of the readings, by its name) has it."""
    name = name or view.reading
    rescale = name == "without_first" or (view.rescale and name in ("without_special", "norm"))
    by = _whose_words(trace, view.level)

    def compute() -> Reading:
        return read(
            trace,
            level="pieces" if view.level == "pieces" else "words",
            by=by,
            hide_special=name == "without_special",
            hide_first=name == "without_first",
            rescale=rescale,
            norms=norms(trace) if name == "norm" else None,
        )

    key = ("reading", name_of(trace), "raw" if name == "log" else name, view.level, rescale)
    return readings().get(key, compute)


def style(read_as: Reading, view: View, name: str | None = None) -> Style:
    """How maps of a reading are drawn: weights always from 0 to 1, lengths up to the largest."""
    name = name or view.reading
    is_length = name == "norm" and not view.rescale
    quantity = _("length ‖α f(x)‖") if is_length else _("share of ‖α f(x)‖") if name == "norm" else ""
    curve = view.curve if name == view.reading else "log" if name == "log" else "linear"
    return Style(
        colorscale=view.colorscale,
        curve=curve,
        maximum=nice_maximum(read_as.trace.attention) if is_length else 1.0,
        quantity=quantity,
        text_scale=view.text_scale,
    )


def measured(trace: AttentionTrace, view: View) -> UnitTrace:
    """What numbers are about: the raw weights; in the reading without the first token what is left, rescaled."""
    return reading(trace, view).trace if view.reading == "without_first" else units(trace, view.level)


def words(view: View) -> Translate:
    """What translates a picture's own words: where a column is left out, grey cells aren't only masked ones."""
    t = translator()
    return (lambda text: t(LEFT_OUT.get(text, text))) if view.reading == "without_first" else t


def metric(trace: AttentionTrace, view: View, name: str) -> Metric:
    """One number for every head, as the overview takes it."""
    of = measured(trace, view)
    key = ("metric", name_of(trace), view.level, view.reading == "without_first", name)
    values = readings().get(key, lambda: head_metrics(of, [name])[name])
    low, high = metric_range(name, len(of.key_units))
    return Metric(_(METRICS[name].title), values, low, high)


def masses(trace: AttentionTrace, view: View) -> dict[str, float]:
    """Share of one head's weight on [CLS] or its like, on [SEP] or its like, on all special tokens, and on the first.

    Of raw weights, over rows that aren't special.
    """
    found = head_metrics(one_head(units(trace, view.level), view), ["start_mass", "separator_mass", "special_mass"])
    found |= head_metrics(one_head(by_pieces(trace), view), ["first_mass"])  # the first token, not its word
    return {name: float(values[0, 0]) for name, values in found.items()}


def one_head(of: UnitTrace, view: View) -> UnitTrace:
    """The trace with one head only."""
    return replace(of, attention=of.attention[view.layer : view.layer + 1, view.head : view.head + 1])


@st.cache_resource(show_spinner=False, max_entries=32)
def _repetition(named: str, _model_id: str) -> Repetition:
    return repetition(loading.load_model(_model_id))


def in_repetition(model_id: str) -> Repetition:
    """What every head of a model does in random tokens that stand twice, under the mask of its training.

    Raises:
        HeadworkError: the model reads or knows too few tokens.
    """
    with st.spinner(_("Reading random tokens twice…")):
        return _repetition(loading.named(model_id), model_id)


def similarity(trace: AttentionTrace, view: View) -> Similarity:
    """How alike all pairs of heads are in this sentence."""
    of = measured(trace, view)
    key = ("similarity", name_of(trace), view.level, view.reading == "without_first")
    return readings().get(key, lambda: head_similarity(of))


def flow(trace: AttentionTrace, layers: int) -> npt.NDArray[np.float64]:
    """(N, N), attention rollout through the first `layers` layers, between pieces."""
    return readings().get(("rollout", name_of(trace), layers), lambda: rollout(trace.attention, layers=layers)[-1])


def _whose_words(trace: AttentionTrace, level: str) -> By:
    """Who parts the words of a level; the segmenter is loaded first, where it is needed."""
    if level == "words":
        for tokens in {trace.tokenized, trace.key_tokens}:
            chinese_words.get_ready(tokens.text)
    return "spaces" if level == "spaces" else "segmenter"


def _n_bytes(result: Reading | UnitTrace | Similarity | npt.NDArray[Any]) -> int:
    """Of the result's large array, and a little for the rest."""
    if isinstance(result, Reading):
        result = result.trace
    if isinstance(result, UnitTrace):
        result = result.attention
    elif isinstance(result, Similarity):
        result = result.bits
    return result.nbytes + 1000
