"""Lessons "The mask goes in before the softmax" and "Causal, padding, prefix": sums of rows, cells and what leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.lessons.answer import Answer, answers
from analysis.lessons.kept import kept
from analysis.lessons.setup import Setup
from analysis.maps.mask_runs import Leak, edit_word, layer_scores, leak
from analysis.maps.masking import (
    Bools,
    Doubles,
    cut_and_rescale,
    layers_needed,
    masked_softmax,
    zero_after_softmax,
)
from analysis.words.units import by_words
from model import HeadworkError

Way = Literal["rescaled", "zero"]
MOVED = 1e-6  # of a state's length: less is float32's rounding
SAME = 1e-6  # of a weight


@dataclass(frozen=True, eq=False)
class RowSums:
    """What each row sums to, (N,) (picture "row_sums"), with the mask before or after the softmax."""

    sums: Doubles
    is_right: bool
    row: int


@dataclass(frozen=True, eq=False)
class TwoOrders:
    """One head's weights the right way and another way (picture "two_orders").

    Attributes:
        right: softmax(S + M), (N, N).
        other: "rescaled": softmax(S), then 0 where the mask forbids, then rows divided by their sums; "zero": softmax
            with 0 for −∞.
        way: which of them `other` is.
        allowed: (N, N).
        row: the query that the step is about; None = all.
    """

    right: Doubles
    other: Doubles
    way: Way
    allowed: Bools
    row: int | None = None


@dataclass(frozen=True, eq=False)
class Flow:
    """Who may look at whom, layer by layer, (picture "flow")."""

    allowed: Bools
    query: int
    n_layers: int


@answers("row_sum_in_order")
def row_sum_in_order(setup: Setup, *, layer: int, head: int, query: str, order: str = "before") -> Answer:
    """number: what one row sums to with the mask before the softmax, or after it (`order` "after").

    Says head, query, n_hidden; then right, wrong, hidden.
    """
    scores, allowed = _scores(setup, layer, head)
    at, _ = token_of(setup, query)
    return _orders(setup, scores, allowed, layer, head, at, is_right=order != "after")


@answers("least_row_sum")
def least_row_sum(setup: Setup, *, layer: int, head: int) -> Answer:
    """token: the query that keeps least of its row when the mask comes after the softmax.

    Says head; then query, wrong, hidden, n_seen, n.
    """
    scores, allowed = _scores(setup, layer, head)
    sums = zero_after_softmax(scores, allowed).sum(axis=-1)
    at = int(sums.argmin())
    found = _orders(setup, scores, allowed, layer, head, at)
    seen = {"n_seen": f"{int(allowed[at].sum())}", "n": f"{len(allowed)}"}
    said = {**found.said, **seen, "query": setup.trace.tokens[at]}
    return Answer(at, said, _given(layer, head), setup.trace.tokens, picture="row_sums", shown=found.shown)


@answers("last_row_sum")
def last_row_sum(setup: Setup, *, layer: int, head: int) -> Answer:
    """number: what the last row sums to when the mask comes after the softmax.

    Says head, query; then wrong.
    """
    scores, allowed = _scores(setup, layer, head)
    return _orders(setup, scores, allowed, layer, head, len(allowed) - 1)


@answers("rescaled")
def rescaled(setup: Setup, *, layer: int, head: int) -> Answer:
    """choice: whether rows scaled up to 1 after the wrong order are what the right order gives: "same" or "other".

    Says head; then error, n.
    """
    scores, allowed = _scores(setup, layer, head)
    right = masked_softmax(scores, allowed)
    repaired = cut_and_rescale(masked_softmax(scores, np.ones_like(allowed)), allowed)
    error = float(np.abs(right - repaired).max())
    said = {"error": "0.00" if error < SAME else f"{error:.2f}", "n": f"{len(allowed)}"}
    shown = TwoOrders(right, repaired, "rescaled", allowed)
    return Answer(
        "same" if error < SAME else "other",
        said,
        _given(layer, head),
        setup.trace.tokens,
        picture="two_orders",
        shown=shown,
    )


@answers("zero_for_infinity")
def zero_for_infinity(setup: Setup, *, layer: int, head: int, query: str) -> Answer:
    """number: the share of a row that goes to hidden keys when their scores are set to 0 in place of −∞.

    Says head, query, n_hidden; then share.
    """
    scores, allowed = _scores(setup, layer, head)
    at, _ = token_of(setup, query)
    wrong = masked_softmax(np.where(allowed, scores, 0.0), np.ones_like(allowed))
    share = float(wrong[at, ~allowed[at]].sum())
    n_hidden = int((~allowed[at]).sum())
    given = {**_given(layer, head), "query": setup.trace.tokens[at], "n_hidden": f"{n_hidden}"}
    said = {"share": f"{share:.2f}"}
    shown = TwoOrders(masked_softmax(scores, allowed), wrong, "zero", allowed, at)
    return Answer(share, said, given, setup.trace.tokens, picture="two_orders", shown=shown)


@answers("allowed_cells")
def allowed_cells(setup: Setup) -> Answer:
    """cells: the cells (query, key) that the setup's mask allows.

    Says tokens, n_padding, prefix; then n, total, first, last.
    """
    allowed = setup.trace.allowed_in(0)
    cells = frozenset((int(query), int(key)) for query, key in np.argwhere(allowed))
    said = {"n": f"{len(cells)}", "total": f"{allowed.size}", "first": f"{int(allowed[0].sum())}"}
    said |= {"last": f"{int(allowed[-1].sum())}"}
    given = {"tokens": f"{len(allowed)}", "n_padding": f"{sum(setup.trace.tokenized.is_padding)}"}
    given |= {"prefix": f"{setup.mask.prefix_length or 0}"}
    return Answer(cells, said, given, setup.trace.tokens, picture="mask", shown=allowed)


@answers("layers_to_reach")
def layers_to_reach(setup: Setup, *, most: int) -> Answer:
    """number: after how many layers the last token can know of the first, under the setup's mask; counted up to `most`.

    Says query, key, n; then layers, after_one.
    """
    allowed = setup.trace.allowed_in(0)
    needed = int(layers_needed(allowed, most)[-1, 0])
    if needed < 0:
        raise HeadworkError("{most} layers aren't enough under this mask. Take more, or a wider mask.", most=most)
    given = {"query": setup.trace.tokens[-1], "key": setup.trace.tokens[0], "n": f"{len(allowed)}"}
    said = {"layers": f"{needed}", "after_one": f"{int(allowed[-1].sum()) - 1}"}
    shown = Flow(allowed, len(allowed) - 1, needed)
    return Answer(float(needed), said, given, setup.trace.tokens, picture="flow", shown=shown)


@answers("peek")
def peek(setup: Setup, *, into: str) -> Answer:
    """choice: which tokens before the last word move when it becomes `into`: "none", "some" or "all" of them.

    Says word, into, n_before; then n_moved, most.
    """
    trace = setup.trace
    words = trace.tokenized.words
    last = max((number for number, word in enumerate(words) if word.isalnum()), default=len(words) - 1)
    edited = edit_word(trace.tokenized, last, into)
    found = kept(setup, ("leak", into), lambda: leak(setup.model, trace.text, edited, trace.mask))
    moves = _largest(found)
    n_moved = int((moves > MOVED).sum())
    right = "none" if n_moved == 0 else "all" if n_moved == len(moves) else "some"
    given = {"word": words[last], "into": into, "n_before": f"{found.n_before}"}
    said = {"n_moved": f"{n_moved}", "most": f"{moves.max(initial=0):.2f}" if n_moved else "0"}
    return Answer(right, said, given, setup.trace.tokens, picture="moves", shown=found)


def token_of(setup: Setup, word: str) -> tuple[int, str]:
    """Where the last token of a word stands, from 0, and the word as the sentence has it.

    Raises:
        HeadworkError: the sentence hasn't that word.
    """
    words = by_words(setup.trace)
    at = setup.place(word, words)
    return words.units.pieces[at][-1], words.labels[at]


def _scores(setup: Setup, layer: int, head: int) -> tuple[NDArray[np.float64], Bools]:
    """Scores (N, N) of a head counted from 1, and the mask of its layer."""
    trace, of = setup.trace, setup.head(layer, head)
    of_layer = kept(
        setup, ("scores", of.layer), lambda: layer_scores(setup.model, trace.text, trace.mask, of.layer).scores
    )
    scores = of_layer[of.head]
    return scores.astype(np.float64), trace.allowed_in(of.layer)


def _orders(
    setup: Setup, scores: NDArray[np.float64], allowed: Bools, layer: int, head: int, at: int, *, is_right: bool = False
) -> Answer:
    right, wrong = masked_softmax(scores, allowed), zero_after_softmax(scores, allowed)
    total, lost = float(right[at].sum()), float(wrong[at].sum())
    given = {**_given(layer, head), "query": setup.trace.tokens[at], "n_hidden": f"{int((~allowed[at]).sum())}"}
    said = {"right": f"{total:.2f}", "wrong": f"{lost:.2f}", "hidden": f"{max(0.0, 1 - lost):.2f}"}
    shown = RowSums((right if is_right else wrong).sum(axis=-1), is_right, at)
    return Answer(round(float(shown.sums[at]), 6), said, given, setup.trace.tokens, "row_sums", shown)


def _given(layer: int, head: int) -> dict[str, str]:
    return {"head": f"{layer}-{head}"}


def _largest(found: Leak) -> Doubles:
    """(n_before,) the largest move of each token before the edit, over all levels."""
    moves: Doubles = found.moved[:, : found.first].max(axis=0)
    return moves
