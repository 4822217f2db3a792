"""Models and traces, computed once for everybody: keyed by model id, text and mask, never by arrays."""

import gc
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import get_args
from weakref import WeakKeyDictionary, ref

import numpy as np
import streamlit as st
import torch

import model
from model import AttentionModel, AttentionTrace, HeadworkError, Mask, settings
from model.catalogue import resolve
from model.seq2seq import EncoderDecoderModel
from model.trace import Check, MapsOf, Traces
from model.weights.trained import PREFIX
from ui.frame.cache import ByteCache
from ui.frame.languages import _

PARTS: tuple[MapsOf, ...] = get_args(MapsOf)
MOST_BYTES = 1_500_000_000  # of models: BERT-large, or SmolLM2 with both small ones; while one loads, twice as much


class TwoParts(HeadworkError):
    """An encoder–decoder where a model of one part is asked for: a page says where to look at it."""


def load_any(model_id: str) -> AttentionModel | EncoderDecoderModel:
    """The model of a canonical id, shared by all sessions. A folder that was written again is read again.

    Raises:
        HeadworkError: the model can't be loaded, or HEADWORK_THREADS makes no sense.
    """
    if model_id.startswith(PREFIX):
        small: AttentionModel | EncoderDecoderModel = trained_models(model_id)
        return small
    return models().get((model_id, version(model_id)), lambda: _load(model_id))


def load_model(model_id: str) -> AttentionModel:
    """As `load_any`, for what reads one text.

    Raises:
        TwoParts: it is an encoder–decoder.
        HeadworkError: as `load_any`.
    """
    loaded = load_any(model_id)
    if isinstance(loaded, EncoderDecoderModel):
        raise TwoParts(
            "{model} has two parts: an encoder reads a source, and a decoder writes a target and looks back at it. Its "
            "maps stand on the page Attention; this page takes a model of one part.",
            model=loaded.label,
        )
    return loaded


def is_encoder_decoder(model_id: str) -> bool:
    """Whether the model reads a source and a target. Raises as `load_any`."""
    if resolve(model_id).source in ("built in", "toy"):  # known without loading it
        return False
    with st.spinner(_("Loading the model and reading the sentence…")):
        return bool(load_any(model_id).is_encoder_decoder)


@st.cache_resource(show_spinner=False)
def models() -> ByteCache:
    """The one store of this server's models. One that is let go is loaded again when somebody asks for it.

    Nothing else may keep a model for long: what is kept of it (traces, readings) is kept under its name.
    """
    return ByteCache(MOST_BYTES, at_once=1, n_bytes=weight_bytes)


def _load(model_id: str) -> AttentionModel | EncoderDecoderModel:
    with kept_for_long():
        return model.load(model_id)


def weight_bytes(loaded: AttentionModel | EncoderDecoderModel) -> int:
    """Bytes of all numbers that the modules of a model hold, those packed or in few bits too; shared ones once."""
    held = {
        id(numbers): numbers.nbytes
        for module in loaded.transformer.modules()
        for numbers in (*module.parameters(recurse=False), *module.buffers(recurse=False), *vars(module).values())
        if isinstance(numbers, torch.Tensor | np.ndarray)
    }
    return sum(held.values())


@st.cache_resource(max_entries=16, show_spinner=False)
def trained_models(model_id: str) -> AttentionModel | EncoderDecoderModel:
    """Models trained here: small ones, up to 4 MB, and one for each person, so they don't drive out the others."""
    torch.set_num_threads(settings.threads())
    return model.load(model_id)


@contextmanager
def kept_for_long() -> Iterator[None]:
    """Around the making of something large that stays, with the server's number of threads.

    Streamlit collects garbage after every run, which takes a third of a second with torch in memory; frozen objects are
    left alone. What an earlier call froze is thawed first: since then it may have become garbage.

    Raises:
        HeadworkError: HEADWORK_THREADS makes no sense.
    """
    torch.set_num_threads(settings.threads())
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def version(model_id: str) -> str:
    """Changes with the files of a model on disk; empty for all others, which don't change under their name."""
    folder = resolve(model_id).folder
    if folder is None:
        return ""
    found = []
    files = (
        [folder] if folder.is_file() else [*folder.glob("*"), *folder.glob("*/*")]
    )  # sentence-transformers: one down
    for path in sorted(files):
        try:
            about = path.stat()
        except OSError:
            continue  # gone since, or a broken link
        if stat.S_ISREG(about.st_mode):
            found.append(f"{path.relative_to(folder)} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest()[:16]


@st.cache_resource(show_spinner=False)
def trace_cache() -> ByteCache:
    """The one cache of traces of this server. A forward takes up to 190 MB beside its result."""
    return ByteCache(settings.cache_bytes(), at_once=os.cpu_count(), n_bytes=_trace_bytes)


def _trace_bytes(made: AttentionTrace | Traces) -> int:
    return sum(made.of(name).nbytes for name in PARTS) if isinstance(made, Traces) else made.nbytes


def trace(text: str, model_id: str, mask: Mask) -> AttentionTrace:
    """Every map of a sentence, from the cache or computed behind a spinner.

    Raises:
        HeadworkError: the text is empty, the model can't be loaded, the mask doesn't fit the sentence, or a setting of
            the server makes no sense.
    """
    with st.spinner(_("Loading the model and reading the sentence…")):
        return quiet_trace(text, model_id, mask)


def quiet_trace(text: str, model_id: str, mask: Mask) -> AttentionTrace:
    """The same without a spinner: for files, which are made in a thread that knows no session."""
    loaded = load_model(model_id)
    key = (named(model_id), text, str(mask))
    # Without its model, which may be let go before the trace is.
    return trace_cache().get(key, lambda: replace(loaded.trace(text, mask), model=None))


def two_texts(source: str, target: str | None, model_id: str, mask: Mask) -> Traces:
    """The three families of maps of an encoder–decoder, as `trace`.

    Args:
        source: what the encoder reads.
        target: what the decoder reads; None = it writes it itself.
        model_id: of the encoder–decoder.
        mask: of the decoder's self-attention; its padding fills up the source.
    """
    with st.spinner(_("Loading the model and reading both texts…")):
        loaded = load_any(model_id)
        if not isinstance(loaded, EncoderDecoderModel):
            raise HeadworkError("{model} reads one text, and no target beside it.", model=loaded.label)

        def compute() -> Traces:
            of_target, of_source = masks_of(mask)
            made = loaded.trace(source, target, of_target, source_mask=of_source)
            encoder, decoder, cross = (replace(made.of(name), model=None) for name in PARTS)
            return replace(made, encoder=encoder, decoder=decoder, cross=cross)

        return trace_cache().get((named(model_id), source, target, str(mask)), compute)


def masks_of(mask: Mask) -> tuple[Mask, Mask]:
    """Of the decoder's self-attention and of the encoder, in an encoder–decoder under the mask of the sidebar."""
    padding = Mask.bidirectional() if mask.padded_length is None else Mask.padding(mask.padded_length)
    return replace(mask, padded_length=None), padding


def named(model_id: str) -> str:
    """A model's id, and its version if it has one: the name under which results are kept."""
    return f"{model_id} {version(model_id)}".rstrip()


class Again:
    """A trace that a session can ask for again without keeping it in memory.

    What a fragment is given is held as long as the session lives. This holds the question; the answer is the trace
    itself while somebody else has it, then the cache's, then a new forward's.
    """

    def __init__(self, trace: AttentionTrace, text: str) -> None:
        self._question = (text, trace.model_id, trace.mask)
        self._trace = ref(trace)

    def __call__(self) -> AttentionTrace:
        """The trace."""
        return self._trace() or trace(*self._question)


_checks: WeakKeyDictionary[AttentionTrace, Check] = WeakKeyDictionary()


def check(trace: AttentionTrace) -> Check:
    """What `trace.check()` found, measured once a trace."""
    if trace not in _checks:
        _checks[trace] = trace.check()
    return _checks[trace]
