"""One weight of one head, followed from the query and the key down to the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.blocks.record import Floats, Record, array, tensor
from model.errors import HeadworkError


@dataclass(frozen=True, eq=False)
class CellPath:
    """One weight of one head, followed from the query and the key down to the output.

    Every number is a recorded one, except `products` (query · key, number by number), `exponentials`
    (e to the score minus the largest score of the row, as softmax computes it) and `parts` (weight · value).
    """

    query: Floats  # (d_k,)
    key: Floats  # (d_k,)
    products: Floats  # (d_k,)
    dot: float
    scaled: float
    masked: float  # −inf where the mask forbids this key
    scores: Floats  # (N,) the whole masked row
    largest: float
    exponentials: Floats  # (N,)
    row_sum: float
    weight: float
    weights: Floats  # (N,) the whole row of the map
    value: Floats  # (d_k,)
    parts: Floats  # (d_k,) weight · value
    mixed: Floats  # (d_k,) the row of the head's output: parts of all keys added up


def cell_path(record: Record, head: int, query: int, key: int) -> CellPath:
    """Follows the cell (query, key) of a head. Indices from 0.

    Raises:
        HeadworkError: there is no such head, query or key.
    """
    for name, index, most in (("head", head, record.n_heads), ("query", query, record.n_tokens)):
        _check_index(name, index, most)
    _check_index("key", key, record.n_tokens)
    steps = record.steps.attention
    q, k, v = (array(tensor(made))[head] for made in (steps.queries, steps.keys, steps.values))  # (N, d_k) each
    scores = array(tensor(steps.masked_scores))[head, query]
    weights = array(tensor(steps.attention))[head, query]
    empty = bool(np.isneginf(scores).all())
    largest = 0.0 if empty else float(scores.max())
    exponentials = np.exp(scores - largest)
    return CellPath(
        query=q[query],
        key=k[key],
        products=q[query] * k[key],
        dot=float(array(tensor(steps.products))[head, query, key]),
        scaled=float(array(tensor(steps.scores))[head, query, key]),
        masked=float(scores[key]),
        scores=scores,
        largest=largest,
        exponentials=exponentials,
        row_sum=float(exponentials.sum()),
        weight=float(weights[key]),
        weights=weights,
        value=v[key],
        parts=weights[key] * v[key],
        mixed=array(tensor(steps.head_outputs))[head, query],
    )


def _check_index(name: str, index: int, most: int) -> None:
    if not 0 <= index < most:
        raise HeadworkError("There is no {name} {number}: there are {most}.", name=name, number=index + 1, most=most)
