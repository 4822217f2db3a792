"""The next token, on the Attention page: what a decoder expected after each token, and how surprised it was."""

import math

import numpy as np
import streamlit as st

from analysis.words.next_tokens import NextTokens, next_tokens
from analysis.words.units import Units
from model import AttentionTrace
from ui.attention import maps
from ui.frame import components, loading
from ui.frame.cache import ByteCache
from ui.frame.captions import caution
from ui.frame.languages import _, translator
from viz.next_tokens import Expected, next_tokens_view

MOST_BYTES = 24_000_000  # 512 tokens take 3 MB, an example sentence 0.1 MB
SHOWN = 5  # next tokens; what came stands beside them where it isn't one of them

_panel = components.register("next_tokens")


@st.cache_resource(show_spinner=False)
def _found() -> ByteCache:
    """The one cache of what decoders expected, on this server."""
    return ByteCache(MOST_BYTES)


def expected(trace: AttentionTrace, before: NextTokens | None = None) -> NextTokens | None:
    """What the trace's model expected after each token; None for a model that predicts none, and beside a source.

    Args:
        trace: of the whole text.
        before: of the same text as far as it went, under a causal mask.
    """
    model = loading.load_any(trace.model_id)
    if not model.has_output or trace.hidden is None or trace.kind == "cross":
        return None

    def compute() -> NextTokens:
        return next_tokens(model.prediction(trace), before)

    return _found().get(maps.name_of(trace), compute)


def shares(found: NextTokens | None, units: Units) -> list[float | None]:
    """For the strip: the surprise at each unit as a share of the largest; nothing for a model that predicts none."""
    if found is None:
        return []
    return [None if np.isnan(nats) else float(nats) / found.largest for nats in found.of_units(units)]


def panel(trace: AttentionTrace, found: NextTokens, units: Units, *, text_scale: float) -> None:
    """The most probable next tokens of the token that is pointed at or pinned, else of the last."""
    labels = trace.tokens
    rows = []
    for label, pieces, nats in zip(units.labels, units.pieces, found.of_units(units).tolist(), strict=True):
        last = pieces[-1]  # what comes after a word is what its last token predicts
        came = found.came(last)
        rows.append(
            Expected(
                label,
                [(token.label, token.probability) for token in found.candidates[last][:SHOWN]],
                None if came is None else (labels[last + 1], *came),
                None if math.isnan(nats) else nats,
            )
        )
    with st.container(gap=None, key="next-tokens"):
        _panel(key="next_tokens", data=next_tokens_view(rows, text_scale=text_scale, t=translator()))


def beware(trace: AttentionTrace) -> None:
    """Says so where the model has seen what it is asked to predict."""
    if sees_what_comes(trace):
        caution(
            _(
                "Under this mask a token sees what comes after it: the model has read the answer, so this is no "
                "prediction."
            )
        )


def how_to_read() -> None:
    """What a decoder adds to the picture."""
    st.markdown(
        _(
            "- A **decoder** also shows the most probable next tokens below the sentence; ✓ marks the one that came.\n"
            "- The **bar** under a token is the surprise at it: −ln p of the token given those before it, in nats. "
            "None: it had to come. Full height: all tokens of the vocabulary were alike."
        )
    )


def sees_what_comes(trace: AttentionTrace) -> bool:
    """Whether some token may look at a later one, in some layer."""
    later = np.triu(np.ones(trace.allowed.shape[-2:], dtype=bool), 1)
    return bool((trace.allowed & later).any())
