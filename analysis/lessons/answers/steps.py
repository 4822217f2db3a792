"""Lesson "Inside softmax(QKᵀ/√d_k + M)V": the worked example 猫 吃 鱼, its numbers as the modules recorded them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from analysis.blocks.record import Floats, Record, array, record_forward, tensor
from analysis.blocks.reshape import split
from analysis.blocks.steps import attention_stages
from analysis.blocks.worked_examples import EXAMPLES, LABELS, worked_example
from analysis.lessons.answer import Answer, answers
from analysis.lessons.answers.reshape import Moved
from analysis.lessons.numbers import weight as as_weight
from analysis.lessons.setup import Setup
from model import HeadworkError, Mask
from model.errors import shown as quoted


@dataclass(frozen=True, eq=False)
class Table:
    """Matrices of one step side by side (picture "table").

    Attributes:
        cells: matrices (R, C) each, of one size; −inf is drawn as masked.
        names: their symbols.
        rows: R labels.
        columns: C labels; () = numbers from 1.
        row: the row that the step is about.
        is_weights: all cells are attention weights, drawn from 0 to 1.
    """

    cells: Sequence[NDArray[np.floating]]
    names: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str] = ()
    row: int | None = None
    is_weights: bool = False


@lru_cache(maxsize=8)
def example(mask: str) -> Record:
    """Layer 1 of the worked example (d_model 8, 2 heads, seed 42) under a mask."""
    x, blocks = worked_example(EXAMPLES["cat"])
    return record_forward(blocks, x, Mask.of(mask).allowed(len(LABELS)), LABELS, layer=0)


@answers("order_of_attention")
def order_of_attention(setup: Setup, *, steps: list[str]) -> Answer:
    """order: the steps named, in the order in which the model runs them (keys of analysis.blocks.steps).

    Says n, d_model, heads.
    """
    record = example("causal")
    order = tuple(stage.key for stage in attention_stages(record) if stage.key in steps)
    given = {"n": f"{record.n_tokens}", "d_model": f"{record.d_model}", "heads": f"{record.n_heads}"}
    if "split" in order:
        found = split(record.n_tokens, record.d_model, record.n_heads)
        return Answer(order, {}, given, LABELS, "reshape", Moved(found))
    names = {"products": "QKᵀ", "scores": "÷ √d_k", "masked_scores": "+ M"}
    shown = Table([_of(record, name, 1) for name in names], list(names.values()), LABELS, LABELS)
    return Answer(order, {}, given, LABELS, "table", shown)


@answers("largest_product")
def largest_product(setup: Setup, *, query: str, head: int) -> Answer:
    """token: the key whose product with a query is the largest; the query's and all keys' numbers are given.

    Says query, head, q, k_1 …; then key, product_1 ….
    """
    record = example("bidirectional")
    at = _place(query)
    q, k = _of(record, "queries", head), _of(record, "keys", head)
    products = _of(record, "products", head)[at]
    key = int(products.argmax())
    given = {"query": query, "head": f"{head}", "q": _vector(q[at])}
    given |= {f"k_{number}": _vector(each) for number, each in enumerate(k, 1)}
    said = {f"product_{number}": as_weight(value) for number, value in enumerate(products, 1)}
    said |= {"key": LABELS[key], "query": query}
    shown = Table([_of(record, "products", head)], ["QKᵀ"], LABELS, LABELS, at)
    return Answer(key, said, given, LABELS, picture="table", shown=shown)


@answers("example_weight")
def example_weight(setup: Setup, *, query: str, key: str, head: int, mask: str = "bidirectional") -> Answer:
    """number: one weight of the worked example; the row's scores are given.

    Says query, key, head, scores; then powers, power, sum, weights, weight.
    """
    record = example(mask)
    at, to = _place(query), _place(key)
    scores, weights = _of(record, "masked_scores", head), _of(record, "attention", head)
    powers = np.exp(scores[at])  # exp(−∞) = 0
    given = {"query": query, "key": key, "head": f"{head}", "scores": _list(scores[at])}
    said = {"powers": _list(powers), "weights": _list(weights[at]), "weight": f"{weights[at, to]:.2f}"}
    said |= {"sum": f"{powers.sum():.2f}", "power": f"{powers[to]:.2f}"}
    visible = np.where(np.isneginf(scores), -np.inf, weights)
    shown = Table([visible], ["softmax(QKᵀ / √d_k + M)"], LABELS, LABELS, at, is_weights=True)
    return Answer(float(weights[at, to]), said, given, LABELS, picture="table", shown=shown)


@answers("without_scale")
def without_scale(setup: Setup, *, query: str, head: int) -> Answer:
    """choice: what becomes of a row's largest weight without the division by √d_k: "larger", "smaller" or "same".

    Says query, head, most; then most_bare, d_k.
    """
    record = example("bidirectional")
    at = _place(query)
    scaled = _of(record, "attention", head)
    bare = _softmax(_of(record, "products", head))
    most, most_bare = float(scaled[at].max()), float(bare[at].max())
    right = "same" if math.isclose(most, most_bare) else "larger" if most_bare > most else "smaller"
    given = {"query": query, "head": f"{head}", "most": f"{most:.2f}"}
    said = {"most": f"{most:.2f}", "most_bare": f"{most_bare:.2f}", "d_k": f"{record.d_k}"}
    shown = Table([scaled, bare], ["softmax(QKᵀ / √d_k)", "softmax(QKᵀ)"], LABELS, LABELS, at, is_weights=True)
    return Answer(right, said, given, LABELS, picture="table", shown=shown)


@answers("example_output")
def example_output(setup: Setup, *, query: str, head: int, column: int, mask: str = "bidirectional") -> Answer:
    """number: one number of a head's output, Σ weight · value; the row's weights and the column of values are given.

    Says query, head, weights, values; then sum, mixed.
    """
    record = example(mask)
    at = _place(query)
    weights, all_values = _of(record, "attention", head)[at], _of(record, "values", head)
    if not 1 <= column <= record.d_k:
        raise HeadworkError(
            "A head of the worked example has {d_k} columns, no column {column}.", d_k=record.d_k, column=column
        )
    values = all_values[:, column - 1]
    mixed = float(_of(record, "head_outputs", head)[at, column - 1])
    given = {"query": query, "head": f"{head}", "weights": _list(weights), "values": _list(values)}
    terms = [f"{weight:.2f} · {_factor(value)}" for weight, value in zip(weights, values, strict=True)]
    said = {"sum": " + ".join(terms), "mixed": as_weight(mixed)}
    outputs = _of(record, "head_outputs", head)
    shown = Table([all_values, outputs], ["V", "A V"], LABELS, (), at)
    return Answer(mixed, said, given, LABELS, picture="table", shown=shown)


def _of(record: Record, name: str, head: int) -> Floats:
    """What the forward kept under a name, of one head counted from 1: (N, columns)."""
    if not 1 <= head <= record.n_heads:
        raise HeadworkError("The worked example has no head {head}: it has {heads}.", head=head, heads=record.n_heads)
    kept: Floats = array(tensor(getattr(record.steps.attention, name)))[head - 1]
    return kept


def _place(word: str) -> int:
    """Where a token of the worked example stands, from 0."""
    if word not in LABELS:
        raise HeadworkError(
            "The worked example has no token {word}. It has {words}.", word=quoted(word), words=", ".join(LABELS)
        )
    return LABELS.index(word)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return weights


def _vector(numbers: Floats) -> str:
    return "(" + ", ".join(as_weight(number) for number in numbers) + ")"


def _list(numbers: Floats) -> str:
    return ", ".join("−∞" if np.isneginf(number) else as_weight(number) for number in numbers)


def _factor(number: float) -> str:
    """A number after a sign of multiplication."""
    return f"({as_weight(number)})" if number < 0 else as_weight(number)
