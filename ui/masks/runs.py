"""The mask lab's runs, cached like traces: by model, text and mask, up to a number of bytes."""

import os
from typing import Any

import streamlit as st

from analysis.maps.mask_runs import (
    LayerScores,
    Leak,
    PaddedBatch,
    Revealed,
    Side,
    edit_word,
    layer_scores,
    leak,
    padded_batch,
    revealed,
)
from model import AttentionTrace, Mask
from ui.frame.languages import _
from ui.frame.loading import TraceCache, load_model, named

CACHE_MB = 96  # one layer of BERT-base at 512 tokens takes 13 MB, its padded batch 51 MB; an example sentence 0.01 MB


@st.cache_resource(show_spinner=False)
def _results() -> Any:
    """One cache for all sessions. It takes anything that knows its bytes, not only traces."""
    return TraceCache(int(CACHE_MB * 1e6), max_forwards=os.cpu_count() or 1)


def _once(kind: str, model_id: str, text: str, details: tuple[object, ...], compute: Any) -> Any:
    with st.spinner(_("Running the model…")):
        return _results().get((f"{kind} {named(model_id)}", text, repr(details)), compute)


def words_it_knows(trace: AttentionTrace) -> tuple[str, ...]:
    """Words to propose for a model that was trained on one task and knows no others; empty for all other models."""
    entry = load_model(trace.model_id).entry
    return () if entry is None or entry.sample is None else tuple(entry.sample.split())


def scores_of(trace: AttentionTrace, layer: int) -> LayerScores:
    """S of one layer of a trace, before its mask."""
    model = load_model(trace.model_id)
    result: LayerScores = _once(
        "scores",
        trace.model_id,
        trace.text,
        (str(trace.mask), layer),
        lambda: layer_scores(model, trace.text, trace.mask, layer),
    )
    return result


def leak_of(trace: AttentionTrace, mask: Mask, word: int, replacement: str) -> Leak:
    """What replacing a word of the trace's sentence does to every token, under `mask`."""
    model = load_model(trace.model_id)
    edited = edit_word(trace.tokenized, word, replacement)
    result: Leak = _once(
        "leak", trace.model_id, trace.text, (str(mask), edited), lambda: leak(model, trace.text, edited, mask)
    )
    return result


def revealed_of(trace: AttentionTrace, mask: Mask, n: int, layer: int) -> Revealed:
    """One layer's maps of the sentence's first n tokens alone."""
    model = load_model(trace.model_id)
    result: Revealed = _once(
        "first tokens",
        trace.model_id,
        trace.text,
        (str(mask), n, layer),
        lambda: revealed(model, trace.tokenized, mask, n, layer),
    )
    return result


def padded_of(trace: AttentionTrace, other: str, layer: int, side: Side) -> PaddedBatch:
    """The trace's sentence and another as one padded batch."""
    model = load_model(trace.model_id)
    result: PaddedBatch = _once(
        "batch",
        trace.model_id,
        trace.text,
        (other, layer, side),
        lambda: padded_batch(model, trace.text, other, layer, side),
    )
    return result
