"""Traces made by hand: any maps, any tokens, no model."""

from dataclasses import replace

import numpy as np

from model import Mask, Tokens
from model.trace import AttentionTrace

SPECIAL = ("[CLS]", "[SEP]", "[PAD]", "<s>", "</s>")


def tokens_of(*pieces):
    """Tokens for pieces such as "[CLS]", "a", "##b", ","; the text is the words with one space between."""
    text, spans, word_ids, words = "", [], [], []
    for piece in pieces:
        if piece in SPECIAL:
            spans.append((0, 0))
            word_ids.append(None)
            continue
        if piece.startswith("##"):
            words[-1] += piece[2:]
        else:
            text += " " if text else ""
            words.append(piece)
        start = len(text)
        text += piece.removeprefix("##")
        spans.append((start, len(text)))
        word_ids.append(len(words) - 1)
    return Tokens(
        text=text or "[SEP]",
        pieces=pieces,
        labels=pieces,
        ids=tuple(range(len(pieces))),
        spans=tuple(spans),
        word_ids=tuple(word_ids),
        words=tuple(words),
        is_special=tuple(piece in SPECIAL for piece in pieces),
        is_padding=tuple(piece == "[PAD]" for piece in pieces),
    )


def trace_of(maps, tokens, allowed=None):
    """An AttentionTrace around maps (N, N), (h, N, N) or (L, h, N, N)."""
    maps = np.asarray(maps, dtype=np.float32)
    maps = maps.reshape((1,) * (4 - maps.ndim) + maps.shape)
    n_tokens = len(tokens.ids)
    assert maps.shape[-2:] == (n_tokens, n_tokens)
    return AttentionTrace(
        model_id="made",
        model_label="made by hand",
        sha256=None,
        trained=False,
        mask=Mask.bidirectional(),
        tokenized=tokens,
        attention=maps,
        allowed=np.ones((n_tokens, n_tokens), bool) if allowed is None else np.asarray(allowed, bool),
    )


def random_maps(rng, shape, allowed):
    """Rows drawn from a Dirichlet distribution over the allowed keys: (*shape, N, N). Empty rows are 0."""
    n_tokens = len(allowed)
    maps = rng.gamma(0.3, size=(*shape, n_tokens, n_tokens)) + 1e-9
    maps *= allowed
    sums = maps.sum(-1, keepdims=True)
    return np.divide(maps, sums, out=np.zeros_like(maps), where=sums > 0).astype(np.float32)


def with_spans(tokens, text, spans):
    """The tokens over another text."""
    return replace(tokens, text=text, spans=tuple(spans))
