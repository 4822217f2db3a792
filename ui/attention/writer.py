"""What decoders wrote on, kept for everybody: by model, prompt, mask, temperature and seed, up to a number of bytes.

The draws of a temperature come from the seed, so what was written follows from these names and a number of tokens. The
longest run of each is kept with its key-value cache; a shorter one is its beginning, since earlier rows never change.
"""

import math
import os
import threading
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st
from cachetools import LRUCache

from model import AttentionModel, AttentionTrace, HeadworkError, Mask
from model.generation import Generation
from ui.frame import loading
from ui.frame.cache import ByteCache

MOST_TOKENS = 256  # prompt and what is written; a map of SmolLM2's 270 heads then takes 71 MB
MOST_MAP_BYTES = 72_000_000
MOST_BYTES = 200_000_000  # of all runs: rows, hidden states, keys and values
MOST_TRACE_BYTES = 80_000_000  # of all traces put together from them


@dataclass(frozen=True)
class Prompt:
    """What a decoder writes on, and how."""

    model_id: str
    text: str
    mask: Mask
    temperature: float = 0.0
    seed: int = 0

    @property
    def name(self) -> Hashable:
        """Equal names, equal tokens."""
        return loading.named(self.model_id), self.text, str(self.mask), self.temperature, self.seed


@dataclass(frozen=True, eq=False)
class Written:
    """A prompt and n tokens written on.

    Attributes:
        trace: of the whole text.
        n: tokens written; fewer than were asked for where the text ended or was full.
        ended: the last token is a mark of the model's, such as the end of the text.
        is_full: no more are written here.
        cache_bytes: that the keys and values of all tokens take.
    """

    trace: AttentionTrace
    n: int
    ended: bool
    is_full: bool
    cache_bytes: int

    @property
    def nbytes(self) -> int:
        """Of the trace."""
        return self.trace.nbytes

    @property
    def may_go_on(self) -> bool:
        """Whether another token can be written."""
        return not self.ended and not self.is_full


class Run:
    """The longest text written for a prompt so far. It holds no model between two calls: models may be let go."""

    def __init__(self, model: AttentionModel, prompt: Prompt) -> None:
        self._made = Generation(model, prompt.text, mask=prompt.mask, temperature=prompt.temperature, seed=prompt.seed)
        self._states = [self._made.tokens]
        self._most = most_tokens(model)
        self._map_bytes = 4 * model.n_layers * model.n_heads  # times N²
        self._lock = threading.Lock()
        del self._made.model

    @property
    def nbytes(self) -> int:
        """About as many as its rows, keys and values take."""
        return self._map_bytes * len(self._states[-1]) ** 2 + self._made.cache.nbytes

    def at(self, model: AttentionModel, n: int) -> Written:
        """The text with n tokens written on, or as many as there can be. What isn't there yet is written."""
        with self._lock:
            self._made.model = model
            try:
                made = self._made
                while len(made.written) < n and not made.ended and len(made.tokens) < self._most:
                    made.step()
                    self._states.append(made.tokens)
                return self._beginning(min(n, len(made.written)))
            finally:
                del self._made.model

    def _beginning(self, n: int) -> Written:
        made = self._made
        trace, n_tokens, is_longest = made.trace(), made.n_prompt + n, n == len(made.written)
        if not is_longest and trace.hidden is not None:
            attention = np.ascontiguousarray(trace.attention[:, :, :n_tokens, :n_tokens])
            trace = made.model.as_trace(self._states[n], made.mask, attention, trace.hidden[:n_tokens].copy())
        return Written(
            trace=replace(trace, model=None),
            n=n,
            ended=is_longest and made.ended,
            is_full=n_tokens >= self._most,
            cache_bytes=made.cache.nbytes * n_tokens // len(made.tokens),
        )


def most_tokens(model: AttentionModel) -> int:
    """Tokens up to which a model writes on here, the prompt among them."""
    by_maps = math.isqrt(MOST_MAP_BYTES // (4 * model.n_layers * model.n_heads))
    return min(MOST_TOKENS, model.token_limit, by_maps)


class _Runs:
    """The runs that are kept, least recently used out first."""

    def __init__(self) -> None:
        self._kept: LRUCache[Hashable, Run] = LRUCache(MOST_BYTES, getsizeof=lambda run: run.nbytes)
        self._lock = threading.Lock()

    def at(self, prompt: Prompt, n: int) -> Written:
        model = loading.load_model(prompt.model_id)
        with self._lock:
            run = self._kept.get(prompt.name)
        if run is None:
            run = Run(model, prompt)
        found = run.at(model, n)
        with self._lock:
            self._kept.pop(prompt.name, None)
            if run.nbytes <= self._kept.maxsize:
                self._kept[prompt.name] = run  # measured again: it has grown
        return found


@st.cache_resource(show_spinner=False)
def _runs() -> _Runs:
    return _Runs()


@st.cache_resource(show_spinner=False)
def _traces() -> ByteCache:
    return ByteCache(MOST_TRACE_BYTES, at_once=os.cpu_count())


def written(prompt: Prompt, n: int) -> Written:
    """A prompt and n tokens written on, written once for everybody.

    Raises:
        HeadworkError: as `model.generation.Generation`; also for a prompt that leaves no room.
    """
    return _traces().get((prompt.name, n), lambda: _runs().at(prompt, n))


def forget() -> None:
    """Forgets all runs: for tests."""
    _runs.clear()
    _traces().clear()


def check_room(model: AttentionModel, n_tokens: int) -> None:
    """Raises HeadworkError for a prompt of as many tokens as are written here, or more."""
    if n_tokens >= (most := most_tokens(model)):
        raise HeadworkError(
            "The sentence has {n} tokens, and writing on stops at {most}. Shorten it to write on.",
            n=n_tokens,
            most=most,
        )
