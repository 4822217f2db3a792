"""Models and traces, computed once for everybody: keyed by model id, text and mask, never by arrays."""

import gc
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from weakref import WeakKeyDictionary

import streamlit as st
import torch
from cachetools import LRUCache

import model
from model import AttentionModel, AttentionTrace, Mask
from model.tracing import Check
from ui.languages import _

THREADS_VARIABLE = "HEADWORK_THREADS"
CACHE_VARIABLE = "HEADWORK_CACHE_MB"
CACHE_MB = 256  # BERT-base at 512 tokens takes 151 MB, an example sentence with the built-in model 0.04 MB

Key = tuple[str, str, str]


class TraceCache:
    """Traces up to a number of bytes, least recently used out first. Who asks for the same trace waits for one forward.

    Few forwards run at a time: each takes up to 190 MB beside its result.
    """

    def __init__(self, max_bytes: int, max_forwards: int) -> None:
        self._traces: LRUCache[Key, AttentionTrace] = LRUCache(max_bytes, getsizeof=lambda trace: trace.nbytes)
        self._running: dict[Key, Future[AttentionTrace]] = {}
        self._lock = threading.Lock()
        self._forwards = threading.BoundedSemaphore(max_forwards)

    def get(self, key: Key, compute: Callable[[], AttentionTrace]) -> AttentionTrace:
        """The trace of `key`, computed at most once at a time. Errors go to everyone who waits, and are not kept."""
        with self._lock:
            if (trace := self._traces.get(key)) is not None:
                return trace
            if running := self._running.get(key):
                mine = None
            else:
                mine = running = self._running[key] = Future()
        if mine is None:
            return running.result()
        try:
            with self._forwards:
                trace = compute()
        except BaseException as error:
            with self._lock:
                del self._running[key]
            mine.set_exception(error)
            raise
        with self._lock:
            if trace.nbytes <= self._traces.maxsize:
                self._traces[key] = trace
            del self._running[key]
        mine.set_result(trace)
        return trace


@st.cache_resource(max_entries=3, show_spinner=False)
def load_model(model_id: str) -> AttentionModel:
    """The model of a canonical id, shared by all sessions.

    Streamlit collects garbage after every run, which takes a third of a second with torch in memory; frozen objects are
    left alone.
    """
    torch.set_num_threads(int(os.environ.get(THREADS_VARIABLE, "1")))
    loaded = model.load(model_id)
    gc.collect()
    gc.freeze()
    return loaded


@st.cache_resource(show_spinner=False)
def trace_cache() -> TraceCache:
    """The one cache of traces of this server."""
    megabytes = float(os.environ.get(CACHE_VARIABLE, CACHE_MB))
    return TraceCache(int(megabytes * 1e6), max_forwards=os.cpu_count() or 1)


def trace(text: str, model_id: str, mask: Mask) -> AttentionTrace:
    """Every map of a sentence, from the cache or computed behind a spinner.

    Raises:
        HeadworkError: the text is empty, the model can't be loaded, or the mask doesn't fit the sentence.
    """
    with st.spinner(_("Loading the model and reading the sentence…")):
        loaded = load_model(model_id)
        return trace_cache().get((model_id, text, str(mask)), lambda: loaded.trace(text, mask))


_checks: WeakKeyDictionary[AttentionTrace, Check] = WeakKeyDictionary()


def check(trace: AttentionTrace) -> Check:
    """What `trace.check()` found, measured once a trace."""
    if trace not in _checks:
        _checks[trace] = trace.check()
    return _checks[trace]
