"""What a mask does to attention, as arithmetic on maps and scores: nothing here runs a model.

A map is (…, N, N), query × key; `allowed` is boolean (…, N, N), True = the query may attend to the key.
Sums are taken in float64, so that what is left over is the model's rounding and not ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model import HeadworkError

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int16]


def additive(allowed: Bools) -> Doubles:
    """M, the mask as it is added to the scores: 0 where the query may look, −∞ where it may not."""
    added: Doubles = np.where(allowed, 0.0, -np.inf)
    return added


def masked_softmax(scores: Floats, allowed: Bools) -> Doubles:
    """softmax(S + M) over keys, the right way. A row that may attend to nothing is 0 throughout.

    Args:
        scores: S = q kᵀ / √d_k, (…, N, N).
        allowed: broadcastable to scores.
    """
    masked = scores.astype(np.float64) + additive(allowed)
    highest = masked.max(axis=-1, keepdims=True)
    powers = np.exp(masked - np.where(np.isfinite(highest), highest, 0.0))
    total = powers.sum(axis=-1, keepdims=True)
    weights: Doubles = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
    return weights


def zero_after_softmax(scores: Floats, allowed: Bools) -> Doubles:
    """The wrong way round: softmax(S) first, then 0 where the mask forbids. Rows then sum to what was left over.

    The hidden keys still took part in the row's denominator, so their scores shine through in what remains.
    """
    everything = np.ones_like(allowed)
    left: Doubles = np.where(allowed, masked_softmax(scores, everything), 0.0)
    return left


def cut_and_rescale(attention: Floats, allowed: Bools) -> Doubles:
    """A map with the forbidden cells set to 0 and what remains of each row scaled up to sum to 1.

    On the same scores this is softmax(S + M): exp(s_j) / Σ exp(s_k) over the allowed keys only. A row without any
    weight left, because nothing is allowed or because it all underflowed, is 0.
    """
    kept = np.where(allowed, attention.astype(np.float64), 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    weights: Doubles = np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)
    return weights


def hides_only(narrow: Bools, wide: Bools) -> bool:
    """Whether everything that `narrow` allows is allowed by `wide` too, so that narrow is wide with cells cut off."""
    return not np.any(narrow & ~wide)


def empty_rows(allowed: Bools) -> list[int]:
    """The queries that may look at nothing. Their weights and their output are 0."""
    return [int(row) for row in np.flatnonzero(~allowed.any(axis=-1))]


@dataclass(frozen=True, eq=False)
class Split:
    """Where the difference between two maps of the same head comes from. The two parts add up to the whole.

    Attributes:
        difference: second map − first map, (…, N, N).
        by_mask: the part that appears with the first run's input and the second mask. Where the second mask only
            hides, this is "cut and rescale".
        by_input: the rest: layers below saw another mask, so this layer's input is another.
    """

    difference: Doubles
    by_mask: Doubles
    by_input: Doubles

    @property
    def max_error(self) -> float:
        """Largest |difference − (by_mask + by_input)|."""
        return largest(self.difference - (self.by_mask + self.by_input))


def split_difference(first: Floats, second: Floats, first_scores: Floats, second_allowed: Bools) -> Split:
    """Splits second − first into what the mask does to the same input, and what a changed input does.

    Args:
        first: map under the first mask, (…, N, N).
        second: map under the second mask.
        first_scores: q kᵀ / √d_k of the first run, before its mask.
        second_allowed: the second mask.
    """
    between = masked_softmax(first_scores, second_allowed)
    first, second = first.astype(np.float64), second.astype(np.float64)
    return Split(difference=second - first, by_mask=between - first, by_input=second - between)


def largest(values: Floats) -> float:
    """Largest absolute value; 0 of an empty array. NaN cells don't count."""
    finite = np.abs(values[~np.isnan(values)])
    return float(finite.max()) if finite.size else 0.0


def weight_hidden(attention: Floats, allowed: Bools) -> Doubles:
    """Share of each row that lies on keys the mask hides, (…, N): what the mask takes away."""
    share: Doubles = np.where(allowed, 0.0, attention.astype(np.float64)).sum(axis=-1)
    return share


def weight_moved(difference: Floats) -> Doubles:
    """Half of Σ |difference| of each row, mean over queries, (…): the share of weight that went to other keys."""
    share: Doubles = np.abs(difference.astype(np.float64)).sum(axis=-1).mean(axis=-1) / 2
    return share


def layers_needed(allowed: Bools, n_layers: int) -> Ints:
    """The fewest layers after which a query can know of a key, (N, N): 0 on the diagonal, −1 if n_layers aren't enough.

    A token keeps what it knows through the residual connection, even where the mask hides it from itself; each layer
    then adds what the keys it may look at know.
    """
    if n_layers < 0:
        raise HeadworkError("{n} layers can't be counted: choose 0 or more.", n=n_layers)
    n_tokens = len(allowed)
    needed = np.where(np.eye(n_tokens, dtype=bool), 0, -1).astype(np.int16)
    step = allowed.astype(np.float32)
    for layer in range(1, n_layers + 1):
        known = needed >= 0
        new = (step @ known.astype(np.float32) > 0) & ~known  # (N, N)
        if not new.any():
            break
        needed[new] = layer
    return needed


def cone(allowed: Bools, query: int, n_layers: int) -> Bools:
    """Where a state can reach `query` at the top from, one row a level: (n_layers + 1, N), row 0 = embeddings."""
    n_tokens = len(allowed)
    reached = np.zeros((n_layers + 1, n_tokens), dtype=bool)
    reached[n_layers, query] = True
    for layer in range(n_layers, 0, -1):
        reached[layer - 1] = reached[layer] | allowed[reached[layer]].any(axis=0)
    return reached


def reach(needed: Ints) -> tuple[int, int]:
    """How many tokens back and how many ahead information travels at most, from what `layers_needed` says."""
    query, key = np.nonzero(needed >= 0)
    return int(max(query - key, default=0)), int(max(key - query, default=0))
