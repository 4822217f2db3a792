"""What a decoder expects to come next, and what a causal mask does to its rows: lesson 13."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import percent, probability
from analysis.lessons.numbers import weight as as_weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars, Expected, Looks
from model import HeadworkError

SHOWN = 6  # candidates in the picture
CHANGED = 1e-4  # maps of the same rows in two runs differ by less, in float32


@answers("likeliest")
def likeliest(setup: Setup, *, words: list[str]) -> Answer:
    """choice: which of some words the model finds most probable after the text; ids are the words in small letters.

    Says word and p, the next of them second and second_p, and top and top_p: the most probable token of all.
    """
    p = _probabilities(setup)
    found = {word: float(p[_token(setup, word)]) for word in words}
    first, second = sorted(words, key=lambda word: -found[word])[:2]
    candidates = _candidates(setup)
    return Answer(
        right=first.casefold(),
        said={
            "word": first,
            "p": probability(found[first]),
            "second": second,
            "second_p": probability(found[second]),
            "top": candidates[0][0].strip(),
            "top_p": probability(candidates[0][1]),
        },
        picture="next_tokens",
        shown=Expected(setup.trace, candidates),
    )


@answers("probability_next")
def probability_next(setup: Setup, *, word: str) -> Answer:
    """number: the probability of one word to come next, in %. Says word; then p, and top and top_p."""
    p = float(_probabilities(setup)[_token(setup, word)])
    candidates = _candidates(setup)
    bars = [Bar(token.strip() or token, share, is_right=token == f" {word}") for token, share in candidates]
    if not any(bar.is_right for bar in bars):
        bars.append(Bar(word, p, is_right=True))
    return Answer(
        right=100 * p,
        given={"word": word},
        said={"p": probability(p), "top": candidates[0][0].strip(), "top_p": probability(candidates[0][1])},
        picture="bars",
        shown=Bars(tuple(bars), "weight"),
    )


@answers("most_surprising")
def most_surprising(setup: Setup) -> Answer:
    """token: the word that the model expected least, of all but the first, which nothing predicts.

    Says word, its surprise in nats and p, its probability (of several tokens, their product); second and second_nats.
    """
    words = setup.words
    if len(words.labels) < 3:
        raise HeadworkError("The question takes a sentence of at least three words. Type a longer one.")
    surprise = setup.model.prediction(setup.trace).surprise()  # (N,)
    of_words = np.array([surprise[list(pieces)].sum() for pieces in words.units.pieces])
    of_words[0] = -np.inf if np.isnan(of_words[0]) else of_words[0]
    order = np.argsort(-of_words)
    first, second = int(order[0]), int(order[1])
    bars = tuple(
        Bar(label, float(nats), is_right=i == first)
        for i, (label, nats) in enumerate(zip(words.labels, of_words, strict=True))
        if np.isfinite(nats)
    )
    return Answer(
        right=first,
        said={
            "word": words.labels[first],
            "nats": f"{of_words[first]:.1f}",
            "p": probability(float(np.exp(-of_words[first]))),
            "second": words.labels[second],
            "second_nats": f"{of_words[second]:.1f}",
        },
        labels=words.labels,
        picture="bars",
        shown=Bars(bars, "nat"),
    )


@answers("rows_that_change")
def rows_that_change(setup: Setup, *, other: str) -> Answer:
    """choice: whose rows of the maps change in any head when the last word is another: "last", "all" or "some".

    The other text has as many tokens. Says n (words), last and its other; then changed, and largest: the largest
    change of a weight in the rows before the last word.
    """
    changes, labels = _changes(setup, other)
    moved = changes > CHANGED
    right = "last" if not moved[:-1].any() and moved[-1] else "all" if moved.all() else "some"
    others = setup.trace_of(other).tokenized
    new = others.words[-1]
    names = (*labels[:-1], f"{labels[-1]} → {new}")
    bars = tuple(Bar(name, float(change)) for name, change in zip(names, changes, strict=True))
    return Answer(
        right=right,
        given={"n": str(len(labels)), "last": labels[-1], "other": new},
        said={
            "changed": str(int(moved.sum())),
            "largest": as_weight(float(changes[:-1].max(initial=0))),
            "change": as_weight(float(changes[-1])),
        },
        labels=labels,
        picture="bars",
        shown=Bars(bars, "weight"),
    )


def _changes(setup: Setup, other: str) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """(U,) the largest change of a weight in each word's rows, over all heads and keys, and the words."""
    here, there = setup.trace, setup.trace_of(other)
    if here.attention.shape != there.attention.shape:
        raise HeadworkError("The two texts of this question have to have as many tokens. Change one word for another.")
    of_tokens = np.abs(here.attention - there.attention).max(axis=(0, 1, 3))  # (N,)
    units = setup.words.units
    return np.array([of_tokens[list(pieces)].max() for pieces in units.pieces], dtype=np.float64), units.labels


@answers("sink")
def sink(setup: Setup) -> Answer:
    """number: what the last word gives to the first token, in the mean over all heads, in %.

    Says first and last (words), heads; then share, even (what it would be if all tokens got the same) and half: how
    many heads give more than half there.
    """
    words = setup.words
    weights = words.attention[:, :, -1]  # (L, h, U)
    mean = weights.mean(axis=(0, 1))  # (U,)
    n = int(setup.trace.allowed_in(0)[-1].sum())
    bars = tuple(
        Bar(label, float(share), is_right=i == 0)
        for i, (label, share) in enumerate(zip(words.labels, mean, strict=True))
    )
    return Answer(
        right=float(round(100 * float(mean[0]))),
        given={"first": words.labels[0], "last": words.labels[-1], "heads": str(weights[..., 0].size)},
        said={
            "share": percent(float(mean[0])),
            "even": percent(1 / n),
            "half": str(int((weights[..., 0] > 0.5).sum())),
        },
        picture="bars",
        shown=Bars(
            bars, "%", note={"en": "from the last word, mean over all heads", "zh": "从最后一个词出发，全部头的平均"}
        ),
    )


@answers("came_after")
def came_after(setup: Setup, *, layer: int, head: int) -> Answer:
    """token: where a head looks from the last word of the text. Says head and query; then key and weight.

    And before: the word that stands before the key; next and next_p: the most probable next token.
    """
    name, words = setup.head(layer, head), setup.words
    labels, row = words.labels, len(words.labels) - 1
    weights = words.attention[*name, row]
    key = int(weights.argmax())
    candidates = _candidates(setup)
    return Answer(
        right=key,
        given={"head": str(name), "query": labels[row]},
        said={
            "key": labels[key],
            "weight": as_weight(float(weights[key])),
            "before": labels[max(key - 1, 0)],
            "next": candidates[0][0].strip(),
            "next_p": probability(candidates[0][1]),
        },
        labels=labels,
        picture="strip",
        shown=Looks(words, (name,), row, key),
    )


@torch.inference_mode()
def _probabilities(setup: Setup) -> NDArray[np.float32]:
    """(V,), of every token to come after the text."""
    return setup.model.transformer.logits(_last_state(setup)).softmax(-1)[0].numpy()


def _last_state(setup: Setup) -> torch.Tensor:
    """(1, d_model). Raises HeadworkError where the model predicts nothing."""
    setup.model.transformer.output_matrix()
    hidden = setup.trace.hidden
    if hidden is None:
        hidden = setup.model.trace(setup.text, setup.mask).hidden
    assert hidden is not None
    return torch.tensor(hidden[-1:])


def _candidates(setup: Setup) -> tuple[tuple[str, float], ...]:
    found: Sequence[tuple[str, str, int, float]] = setup.model.prediction(setup.trace).next(SHOWN)
    return tuple((token, p) for token, _label, _id, p in found)


def _token(setup: Setup, word: str) -> int:
    """The id of a word as the next token, with its space.

    Raises:
        HeadworkError: the model writes it in several.
    """
    ids = setup.model.tokenizer.encode(f" {word}", limit=8).ids
    if len(ids) != 1:
        raise HeadworkError("“{word}” is {n} tokens here. Choose a word that is one.", word=word, n=len(ids))
    return int(ids[0])
