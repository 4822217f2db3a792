"""The mask lab's runs, cached like traces: by model, text and mask, up to a number of bytes."""

import os
from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from analysis.maps.mask_runs import (
    LayerScores,
    Leak,
    Revealed,
    edit_word,
    layer_scores,
    leak,
    revealed,
)
from analysis.maps.padded_batch import PaddedBatch, Side, padded_batch
from analysis.maps.two_models import Directions, directions
from analysis.words.spans import Span
from model import AttentionModel, AttentionTrace, Mask
from ui.frame.cache import ByteCache
from ui.frame.languages import _
from ui.frame.loading import load_model, named

# One layer of BERT-base at 512 tokens takes 13 MB, its padded batch 51 MB; an example sentence 0.01 MB.
MOST_BYTES = 96_000_000


T = TypeVar("T")


@st.cache_resource(show_spinner=False)
def _results() -> ByteCache:
    """One cache for all sessions."""
    return ByteCache(MOST_BYTES, at_once=os.cpu_count())


def _once(trace: AttentionTrace, details: tuple[object, ...], compute: Callable[[AttentionModel], T]) -> T:
    """What `compute` makes of the trace's model and text, run once for everybody. `details` name it, its kind first."""
    kind, *others = details
    key = (f"{kind} {named(trace.model_id)}", trace.text, repr(others))
    with st.spinner(_("Running the model…")):
        return _results().get(key, lambda: compute(load_model(trace.model_id)))


def words_it_knows(trace: AttentionTrace) -> tuple[str, ...]:
    """Words to propose for a model that was trained on one task and knows no others; empty for all other models."""
    sample = load_model(trace.model_id).entry.sample
    return () if sample is None else tuple(sample.split())


def scores_of(trace: AttentionTrace, layer: int) -> LayerScores:
    """S of one layer of a trace, before its mask."""
    details = ("scores", str(trace.mask), layer)
    return _once(trace, details, lambda model: layer_scores(model, trace.text, trace.mask, layer))


def leak_of(trace: AttentionTrace, mask: Mask, word: int, replacement: str) -> Leak:
    """What replacing a word of the trace's sentence does to every token, under `mask`."""
    edited = edit_word(trace.tokenized, word, replacement)
    return _once(trace, ("leak", str(mask), edited), lambda model: leak(model, trace.text, edited, mask))


def revealed_of(trace: AttentionTrace, mask: Mask, n: int, layer: int) -> Revealed:
    """One layer's maps of the sentence's first n tokens alone."""
    details = ("first tokens", str(mask), n, layer)
    return _once(trace, details, lambda model: revealed(model, trace.tokenized, mask, n, layer))


def directions_of(trace: AttentionTrace, words: list[Span]) -> Directions:
    """Where the words of the trace's sentence look, over all heads."""
    details = ("directions", str(trace.mask), tuple(words))
    return _once(trace, details, lambda _model: directions(trace, words))


def padded_of(trace: AttentionTrace, other: str, layer: int, side: Side) -> PaddedBatch:
    """The trace's sentence and another as one padded batch."""
    details = ("batch", other, layer, side)
    return _once(trace, details, lambda model: padded_batch(model, trace.text, other, layer, side))
