"""Where a head looks: the commonest questions, about one head and one word or two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import percent
from analysis.lessons.numbers import weight as as_weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Looks, MapOf, Race
from analysis.words.units import UnitTrace
from model import HeadworkError
from model.head_id import HeadId


@answers("most_attended")
def most_attended(setup: Setup, *, layer: int, head: int, query: str) -> Answer:
    """token: the word that a head looks at most from `query`. Says query, key, weight, second, second_weight, special.

    `special` is the weight that the word leaves on special tokens, in %.
    """
    name, words = setup.head(layer, head), setup.words
    row = setup.place(query)
    weights = words.attention[*name, row]  # (U,)
    order = np.argsort(-weights, kind="stable")
    key = int(order[0])
    second = int(order[1]) if len(order) > 1 else key
    return Answer(
        right=key,
        given={"head": str(name), "query": words.labels[row]},
        said={
            "key": words.labels[key],
            "weight": as_weight(weights[key]),
            "second": words.labels[second],
            "second_weight": as_weight(weights[second]),
            "special": percent(max(0.0, 1 - float(weights.sum()))),
        },
        labels=words.labels,
        picture="strip",
        shown=Looks(words, (name,), row, key),
    )


@answers("weight")
def weight(setup: Setup, *, layer: int, head: int, query: str, key: str) -> Answer:
    """number: a head's weight from one word to another. Says head, query, key, weight, rest."""
    name, words = setup.head(layer, head), setup.words
    row, column = setup.place(query), setup.place(key)
    found = float(words.attention[*name, row, column])
    return Answer(
        right=found,
        given={"head": str(name), "query": words.labels[row], "key": words.labels[column]},
        said={"weight": as_weight(found), "rest": as_weight(1 - found)},
        labels=words.labels,
        picture="strip",
        shown=Looks(words, (name,), row, column),
    )


@answers("best_pair")
def best_pair(setup: Setup, *, layer: int, head: int) -> Answer:
    """pair: the two different words with the largest weight of a head. Says head, query, key, weight."""
    name, words = setup.head(layer, head), setup.words
    between = words.attention[name].copy()  # (U, U)
    np.fill_diagonal(between, -1)
    row, column = (int(i) for i in np.unravel_index(int(between.argmax()), between.shape))
    said = {"query": words.labels[row], "key": words.labels[column], "weight": as_weight(between[row, column])}
    return Answer(
        right=(row, column),
        given={"head": str(name)},
        said=said,
        labels=words.labels,
        picture="map",
        shown=MapOf(words, name, ((row, column),)),
    )


@answers("row_sum")
def row_sum(setup: Setup, *, layer: int, head: int, query: str) -> Answer:
    """number: what a row of a head sums to, over all tokens. Says head, query, sum, words, special."""
    name, words = setup.head(layer, head), setup.words
    row = setup.place(query)
    on_words = float(words.attention[*name, row].sum())
    pieces = words.units.pieces[row]
    total = float(setup.trace.attention[*name, list(pieces)].sum(axis=-1, dtype=np.float64).mean())
    return Answer(
        right=total,
        given={"head": str(name), "query": words.labels[row]},
        said={"sum": as_weight(total), "words": as_weight(on_words), "special": as_weight(total - on_words)},
        labels=words.labels,
        picture="strip",
        shown=Looks(words, (name,), row),
    )


@answers("race")
def race(setup: Setup, *, query: str, key: str) -> Answer:
    """pair: the two words of the question, `query` first; the picture shows every head's weight between them.

    Says query, key, heads (how many there are), head and weight of the winner, second, second_weight, and n: how many
    heads look from the query at the key more than at any other word.
    """
    words = setup.words
    row, column = setup.place(query), setup.place(key)
    if not words.allowed_in(0)[row, column]:
        raise HeadworkError(
            "“{query}” may not look at “{key}” under this mask. Choose two other words.",
            query=words.labels[row],
            key=words.labels[column],
        )
    weights = words.attention[:, :, row, column]  # (L, h)
    first, second = (HeadId(*divmod(int(i), weights.shape[1])) for i in np.argsort(-weights, axis=None)[:2])
    return Answer(
        right=(row, column),
        given={"heads": str(weights.size)},
        said={
            "query": words.labels[row],
            "key": words.labels[column],
            "head": str(first),
            "weight": as_weight(weights[first]),
            "second": str(second),
            "second_weight": as_weight(weights[second]),
            "n": str(int(_pointing(words, row, column).sum())),
        },
        labels=words.labels,
        picture="race",
        shown=Race(words, row, column, weights, first),
    )


@answers("winner")
def winner(setup: Setup, *, query: str, key: str) -> Answer:
    """choice: the name of the head that wins the race, such as 4-2. Says what `race` says; query and key beforehand."""
    found = race(setup, query=query, key=key)
    known = {name: found.said[name] for name in ("query", "key")}
    return replace(found, right=found.said["head"], given={**found.given, **known})


@answers("heads_there")
def heads_there(setup: Setup, *, query: str, key: str) -> Answer:
    """number: how many heads look from `query` at `key` more than at any other word. Says what `race` says."""
    found = race(setup, query=query, key=key)
    known = {name: found.said[name] for name in ("query", "key")}
    return replace(found, right=float(found.said["n"]), given={**found.given, **known})


def _pointing(words: UnitTrace, row: int, column: int) -> NDArray[np.bool_]:
    """(L, h), True for heads whose heaviest weight from the row on another word is on the column."""
    others = words.attention[:, :, row].copy()  # (L, h, U)
    others[..., row] = -1
    return np.asarray(others.argmax(axis=-1) == column)
