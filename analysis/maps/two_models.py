"""Two models on the same sentence, word by word, so that their rows can be compared though their tokens differ.

Words are those of the first model's tokenizer. Special tokens are no words: what lies on them is left out of the maps,
and told. Shape letters: see model.attention; W words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.maps.mask_runs import Arrays
from analysis.words.spans import Span, tokenizer_spans
from analysis.words.units import UnitTrace, by_words, select, word_units
from model import AttentionTrace, HeadworkError


def common_words(first: AttentionTrace, second: AttentionTrace) -> list[Span]:
    """The words of a sentence, by the first model's tokenizer, that have a token of their own in both models.

    Raises:
        HeadworkError: the traces are of different texts, or no word is left.
    """
    if first.text != second.text:
        raise HeadworkError("The two models read different texts, so their words can't be compared.")
    spans = tokenizer_spans(first.tokenized)
    shown = [set(word_units(trace.tokenized, spans).unit_of_word()) for trace in (first, second)]
    if not (both := sorted(shown[0] & shown[1])):
        raise HeadworkError("No word of this text has a token of its own in both models. Type another sentence.")
    return [spans[word] for word in both]


def word_map(trace: AttentionTrace, words: list[Span], layer: int, head: int) -> UnitTrace:
    """One head's map between the words: a trace with one layer of one head."""
    one = replace(trace, attention=trace.attention[layer : layer + 1, head : head + 1], allowed=trace.allowed_in(layer))
    return _between(one, words)


def _between(trace: AttentionTrace, words: list[Span]) -> UnitTrace:
    """The trace's maps between the words only."""
    by = by_words(trace, words)
    return select(by, np.array([word is not None for word in by.units.word_ids], dtype=bool))


@dataclass(frozen=True, eq=False)
class Directions(Arrays):
    """Where the words of a sentence look: shares of their weight, mean over all heads of all layers, (W,) each.

    Attributes:
        before: on words before it.
        itself: on the word itself.
        after: on words after it.
        elsewhere: on special tokens, and on text that isn't a word of both models.
        seen: how many words it may look at, itself among them.
    """

    before: NDArray[np.float64]
    itself: NDArray[np.float64]
    after: NDArray[np.float64]
    elsewhere: NDArray[np.float64]
    seen: NDArray[np.int64]


def directions(trace: AttentionTrace, words: list[Span]) -> Directions:
    """Where the words look, over all heads. Layer by layer, since the maps of a long text are large."""
    total = np.zeros((len(words), len(words)))
    seen = np.zeros((len(words), len(words)), dtype=bool)
    for layer in range(trace.n_layers):
        one = replace(trace, attention=trace.attention[layer : layer + 1], allowed=trace.allowed_in(layer))
        between = _between(one, words)
        total += between.attention[0].mean(axis=0, dtype=np.float64)
        seen |= between.allowed
    mean = total / trace.n_layers  # (W, W)
    before, after = np.tril(mean, -1).sum(axis=-1), np.triu(mean, 1).sum(axis=-1)
    itself = np.diagonal(mean).copy()
    elsewhere = np.clip(1 - before - itself - after, 0, 1)
    return Directions(before, itself, after, elsewhere, seen.sum(axis=-1))
