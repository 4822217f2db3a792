"""How sure a share is: bootstrap intervals over groups of arcs, and halves that keep groups together.

Arcs of one sentence are not independent, and neither are sentences of one document, so whole groups are drawn with
replacement (Efron & Tibshirani 1993, chapters 8 and 13: the percentile interval). Letters: U groups, K shares.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000
LEVEL = 0.95
FEWEST_ARCS = 30  # below it no interval is given (section 3.4: what few arcs say changes with the next few)
FEWEST_SENTENCES = 50  # from here on the name of the best head is called stable (section 3.4)
FEWEST_GROUPS = 10  # with fewer, documents or pairs of nouns can't show how much they differ: nothing is drawn of them
_CELLS = 4_000_000  # draws × groups made at once: 32 MB

Interval = tuple[float, float]


def groups_of(documents: Sequence[tuple[str, str] | None]) -> tuple[NDArray[np.int64], str]:
    """The group that each example belongs to, by number.

    Args:
        documents: for each example the file and document it comes from; None = not known, a group of its own.

    Returns:
        (examples,), group of each from 0, and what a group is: "document" or "sentence".
    """
    known = {document for document in documents if document is not None}
    by_document = len(known) >= FEWEST_GROUPS
    numbers: dict[Hashable, int] = {}
    out = [
        numbers.setdefault(document if by_document and document is not None else i, len(numbers))
        for i, document in enumerate(documents)
    ]
    return np.array(out, dtype=np.int64), "document" if by_document else "sentence"


def halves(groups: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Two halves of about the same number of examples, groups kept whole.

    Args:
        groups: (examples,), group of each.
        seed: of the shuffle.

    Returns:
        (examples,), True = second half. A group is never split.
    """
    sizes = np.bincount(groups)  # (U,)
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    # Of each two groups of about the same size one goes to each half.
    first_of_pair = generator.integers(2, size=(len(sizes) + 1) // 2, dtype=np.int64)  # (pairs,)
    place = np.arange(len(sizes))
    second = np.empty(len(sizes), dtype=bool)
    second[order] = (place % 2) == first_of_pair[place // 2]
    return second[groups]


def group_sums(values: NDArray[np.generic], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums per group, groups without a value left out.

    Args:
        values: (n, K).
        groups: (n,).

    Returns:
        (U, K + 1): the sums, and the number of values in the last column.
    """
    _, index = np.unique(groups, return_inverse=True)
    order = np.argsort(index, kind="stable")
    starts = np.flatnonzero(np.diff(index[order], prepend=-1))
    counted = np.concatenate([values, np.ones((len(values), 1))], axis=1).astype(np.float64)
    return np.add.reduceat(counted[order], starts, axis=0) if len(values) else np.empty((0, values.shape[1] + 1))


def bootstrap(sums: NDArray[np.float64], *, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """Shares in resampled corpora, paired: every column is computed from the same draw.

    Args:
        sums: (U, K + 1), of `group_sums`.
        draws: how many corpora.
        seed: same seed, same draws.

    Returns:
        (draws, K).
    """
    generator = np.random.default_rng(seed)
    n_groups = len(sums)
    at_once = max(1, min(draws, _CELLS // max(1, n_groups)))
    shares = []
    for start in range(0, draws, at_once):
        n_draws = min(at_once, draws - start)
        drawn = generator.integers(n_groups, size=(n_draws, n_groups)) + np.arange(n_draws)[:, None] * n_groups
        times = np.bincount(drawn.ravel(), minlength=n_draws * n_groups).reshape(n_draws, n_groups)
        totals = times.astype(np.float64) @ sums  # (n_draws, K + 1)
        shares.append(totals[:, :-1] / totals[:, -1:])
    return np.concatenate(shares)


def percentile_interval(shares: NDArray[np.float64], level: float = LEVEL) -> NDArray[np.float64]:
    """(draws, …) → (2, …): the bounds that hold the middle `level` of the draws."""
    tail = (1 - level) / 2
    return np.quantile(shares, [tail, 1 - tail], axis=0)


def interval(shares: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """As `percentile_interval`, for one share (draws,)."""
    low, high = percentile_interval(shares, level)
    return float(low), float(high)
