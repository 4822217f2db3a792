"""Lesson "One head averages": one row of a head, what a weighted mean forgets, and the heads of a layer together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import weight as as_weight
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars, Looks
from analysis.words.units import UnitTrace, by_words, drop_padding
from model import HeadworkError
from model.head_id import HeadId


@answers("heaviest_key")
def heaviest_key(setup: Setup, *, layer: int, head: int, query: str) -> Answer:
    """token: the word, or special token, that a word looks at most in one head.

    Says head, query; then key, weight, second, second_weight.
    """
    trace, of, at = _row(setup, layer, head, query)
    weights = trace.attention[*of, at]
    order = np.argsort(-weights, kind="stable")
    first, second = int(order[0]), int(order[min(1, len(order) - 1)])  # a sentence may be one token long
    said = {"key": trace.labels[first], "weight": as_weight(weights[first])}
    said |= {"second": trace.labels[second], "second_weight": as_weight(weights[second])}
    given = {"head": str(of), "query": trace.labels[at]}
    return Answer(first, said, given, trace.labels, "strip", Looks(trace, (of,), at, first))


@answers("room_left")
def room_left(setup: Setup, *, layer: int, head: int, query: str) -> Answer:
    """number: what a row leaves for all keys but its heaviest: 1 − the largest weight, since the row sums to 1.

    Says head, query, key, weight; then rest, sum, second, second_weight.
    """
    found = heaviest_key(setup, layer=layer, head=head, query=query)
    looks: Looks = found.shown
    weights = looks.trace.attention[*looks.heads[0], looks.query]
    rest = 1 - float(weights[looks.key])
    given = {**found.given, "key": found.said["key"], "weight": found.said["weight"]}
    said = {**found.said, "rest": as_weight(rest), "sum": as_weight(weights.sum())}
    return replace(found, right=rest, given=given, said=said)


@answers("favourites_of_layer")
def favourites_of_layer(setup: Setup, *, layer: int, query: str) -> Answer:
    """number: how many different words or special tokens the heads of one layer look at most.

    Says query, layer, heads; then n, tokens.
    """
    trace, of, at = _row(setup, layer, 1, query)
    keys = trace.attention[of.layer, :, at].argmax(axis=-1)  # (h,)
    seen = np.unique(keys)
    counts = {int(key): int((keys == key).sum()) for key in seen}
    tokens = ", ".join(f"{trace.labels[key]} {counts[key]}×" for key in sorted(counts, key=counts.__getitem__)[::-1])
    given = {"query": trace.labels[at], "layer": f"{layer}", "heads": f"{trace.n_heads}"}
    weights = trace.attention[of.layer, range(trace.n_heads), at, keys].tolist()
    names = [f"{HeadId(of.layer, head)} → {trace.labels[key]}" for head, key in enumerate(keys.tolist())]
    shown = Bars(tuple(Bar(*each) for each in zip(names, weights, strict=True)), unit="weight")
    return Answer(len(seen), {"n": f"{len(seen)}", "tokens": tokens}, given, trace.labels, "bars", shown)


@answers("mixture")
def mixture(setup: Setup, *, weights: list[float], values: list[float]) -> Answer:
    """number: one number of a head's output: Σ weight · value over the keys.

    Says value_1 …, weight_1 …; then sum, mixed.
    """
    mixed = _mean(weights, values)
    parts = [f"{weight:g} · {value:g}" for weight, value in zip(weights, values, strict=True)]
    bars = [Bar(part, weight * value) for part, weight, value in zip(parts, weights, values, strict=True)]
    given = {f"value_{number}": f"{value:g}" for number, value in enumerate(values, 1)}
    given |= {f"weight_{number}": f"{weight:g}" for number, weight in enumerate(weights, 1)}
    shown = Bars((*bars, Bar("Σ", mixed, is_right=True)))
    return Answer(mixed, {"sum": " + ".join(parts), "mixed": f"{mixed:g}"}, given, picture="bars", shown=shown)


@answers("mixtures_alike")
def mixtures_alike(setup: Setup, *, weights: list[float], values: list[float], swapped: list[float]) -> Answer:
    """choice: whether the same weights make the same number of two lists of values: "same" or "other".

    Says values_1, values_2; then mixed_1, mixed_2.
    """
    both = values, swapped
    mixed = [_mean(weights, each) for each in both]
    names = [f"({', '.join(f'{value:g}' for value in each)})" for each in both]
    given = {f"values_{number}": name for number, name in enumerate(names, 1)}
    said = {f"mixed_{number}": f"{value:g}" for number, value in enumerate(mixed, 1)}
    shown = Bars(tuple(Bar(name, value) for name, value in zip(names, mixed, strict=True)))
    return Answer("same" if math.isclose(mixed[0], mixed[1]) else "other", said, given, picture="bars", shown=shown)


def _mean(weights: list[float], values: list[float]) -> float:
    if len(weights) != len(values):
        raise HeadworkError(
            "Each value needs its weight; here are {values} values and {weights} weights.",
            values=len(values),
            weights=len(weights),
        )
    return float(np.dot(weights, values))


def _row(setup: Setup, layer: int, head: int, query: str) -> tuple[UnitTrace, HeadId, int]:
    """The maps between words with special tokens, so that rows sum to 1; the head; and the row."""
    trace = drop_padding(by_words(setup.trace))
    return trace, setup.head(layer, head), setup.place(query, trace)
