"""A head chosen on some pairs of nouns, and scored on others: in sentences it was chosen on, and in new ones.

A head is chosen on half of the pairs in one part of the templates, and scored on the other half of the pairs: in the
same templates ("other nouns") and in those of the other part ("new templates"). With a dozen pairs one such division is
luck, so all of them are made, both parts in turn, and their mean is taken: every sentence is scored by heads that were
chosen without its nouns.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.intervals import DRAWS, FEWEST_ARCS, FEWEST_GROUPS, Interval, bootstrap, interval
from model.head_id import HeadId

PARTS = 2  # of the templates
MOST_DIVISIONS = 1000  # of the pairs in two halves; 12 pairs have 924


@dataclass(frozen=True)
class Share:
    """How many of n sentences were right, with an interval over pairs of nouns where there are enough of them."""

    n: int
    n_pairs: int
    accuracy: float
    interval: Interval | None


@dataclass(frozen=True, eq=False)
class Chosen:
    """What heads reach that were chosen on other sentences.

    Attributes:
        heads: those that were chosen, the most often chosen first, and in which share of the divisions.
        other_nouns: other pairs, in the templates that the head was chosen on.
        new_templates: other pairs, in the other templates.
        rarer_nouns: pairs on which no head is chosen, in the other templates; None without any.
    """

    heads: tuple[tuple[HeadId, float], ...]
    other_nouns: Share
    new_templates: Share
    rarer_nouns: Share | None


def choose(
    right: NDArray[np.bool_],
    pair: NDArray[np.int64],
    is_second: NDArray[np.bool_],
    n_pairs: int,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Chosen | None:
    """What a head chosen on half of the pairs in one part of the templates reaches elsewhere, over all divisions.

    Args:
        right: (n, L, h), for n sentences.
        pair: (n,), number of each one's pair; from `n_pairs` on, the rarer ones.
        is_second: (n,), True = its template is of the second part.
        n_pairs: how many pairs a head may be chosen on.
        seed: of the divisions, where there are too many to make them all, and of the draws.
        draws: of the bootstrap.

    Returns:
        None with fewer than two pairs, or a pair that lacks one of the parts.
    """
    flat = right.reshape(len(right), -1).astype(np.float64)  # (n, L·h)
    part = is_second.astype(np.int64)
    sums = np.zeros((pair.max() + 1, PARTS, flat.shape[1]))  # (pairs, parts, L·h)
    np.add.at(sums, (pair, part), flat)
    counts = np.zeros(sums.shape[:2])
    np.add.at(counts, (pair, part), 1)
    if n_pairs < 2 or (counts[:n_pairs] == 0).any():
        return None
    inside = _halves(n_pairs, seed)  # (D, pairs), True = the head is chosen on the pair
    totals = (
        np.einsum("dp,ptk->dtk", inside, sums[:n_pairs]) / np.einsum("dp,pt->dt", inside, counts[:n_pairs])[..., None]
    )
    head = totals.argmax(axis=-1)  # (D, parts), the first of equals
    chosen = Counter(head.ravel().tolist())
    outside = np.concatenate([~inside, np.ones((len(inside), len(counts) - n_pairs), dtype=bool)], axis=1)
    shares = []
    for new in (False, True):
        # A pair's expected hits in a part, over the divisions that left the pair out.
        by_part = [sums[:, t][:, head[:, t if not new else 1 - t]] for t in range(PARTS)]  # (pairs, D) each
        hits = np.stack([np.einsum("pd,dp->p", each, outside.astype(float)) for each in by_part], axis=1)
        shares.append(hits / outside.sum(axis=0)[:, None])  # (pairs, parts)
    n_heads = right.shape[2]
    rest = slice(n_pairs, None)
    return Chosen(
        heads=tuple((HeadId(*divmod(number, n_heads)), times / head.size) for number, times in chosen.most_common()),
        other_nouns=_share(shares[0][:n_pairs], counts[:n_pairs], seed, draws),
        new_templates=_share(shares[1][:n_pairs], counts[:n_pairs], seed, draws),
        rarer_nouns=_share(shares[1][rest], counts[rest], seed, draws) if len(counts) > n_pairs else None,
    )


def _halves(n_pairs: int, seed: int) -> NDArray[np.bool_]:
    """(D, pairs): every way to take half of the pairs, or MOST_DIVISIONS drawn ones where there are more."""
    half = n_pairs // 2
    if math.comb(n_pairs, half) <= MOST_DIVISIONS:
        taken = np.array(list(itertools.combinations(range(n_pairs), half)))  # (D, half)
    else:
        generator = np.random.default_rng(seed)
        taken = np.stack([generator.permutation(n_pairs)[:half] for _ in range(MOST_DIVISIONS)])
    inside = np.zeros((len(taken), n_pairs), dtype=bool)
    np.put_along_axis(inside, taken, True, axis=1)
    return inside


def _share(hits: NDArray[np.float64], counts: NDArray[np.float64], seed: int, draws: int) -> Share:
    """The share of all sentences, given (pairs, parts) hits and sentences.

    An interval comes from FEWEST_ARCS sentences and FEWEST_GROUPS pairs on.
    """
    sums = np.stack([hits.sum(axis=1), counts.sum(axis=1)], axis=1)  # (pairs, 2), as of group_sums
    total = sums.sum(axis=0)
    bounds = None
    if total[1] >= FEWEST_ARCS and len(sums) >= FEWEST_GROUPS:
        bounds = interval(bootstrap(sums, draws=draws, seed=seed)[:, 0])
    return Share(int(total[1]), len(sums), float(total[0] / total[1]), bounds)
