"""Scores of heads against a baseline, without choosing and testing on the same sentences.

The best of 72 heads is partly luck. So the head and the baseline are chosen on one half of the corpus and scored on the
other, both ways, and the two halves' results are put together. (Clark et al. 2019 and Voita et al. 2019 choose and
score on the same data.) Intervals hold for the heads chosen: they don't say how sure the choice is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.intervals import (
    DRAWS,
    FEWEST_ARCS,
    Interval,
    bootstrap,
    group_sums,
    interval,
    percentile_interval,
)
from model.head_id import HeadId


@dataclass(frozen=True)
class HeldOut:
    """Both halves put together: each scored with what was chosen on the other.

    Attributes:
        heads: (layer, head), chosen on the first half and on the second.
        baselines: their names, likewise.
        gain: accuracy − baseline.
        interval, baseline_interval, gain_interval: 95 %, given the choice; None below FEWEST_ARCS questions or with one
            group only.
    """

    heads: tuple[HeadId, HeadId]
    baselines: tuple[str, str]
    accuracy: float
    baseline: float
    gain: float
    interval: Interval | None
    baseline_interval: Interval | None
    gain_interval: Interval | None


@dataclass(frozen=True, eq=False)
class Hits:
    """Who was right, question by question.

    Attributes:
        heads: (n, L, h), the head's arrow is right.
        baselines: (n, K), the baseline's is.
        names: of the K baselines.
        example: (n,), the sentence or passage, as numbered in the run.
        group: (n,), what is drawn together in the bootstrap, and kept together in the halves.
        second_half: (n,).
    """

    heads: NDArray[np.bool_]
    baselines: NDArray[np.bool_]
    names: tuple[str, ...]
    example: NDArray[np.int64]
    group: NDArray[np.int64]
    second_half: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """How many questions."""
        return len(self.heads)

    @property
    def n_examples(self) -> int:
        """How many sentences or passages they come from."""
        return len(np.unique(self.example))

    def accuracy(self) -> NDArray[np.float64]:
        """(L, h), 0 to 1; NaN without a question."""
        return _mean(self.heads)

    def baseline_accuracy(self) -> NDArray[np.float64]:
        """(K,), 0 to 1; NaN without a question."""
        return _mean(self.baselines)


def held_out(hits: Hits, *, draws: int = DRAWS, seed: int = 0) -> HeldOut | None:
    """What head and baseline reach on one half when they are chosen on the other, the first of equals.

    Returns:
        None when one half has nothing to choose on.
    """
    second = hits.second_half
    if not second.any() or second.all():
        return None
    flat = hits.heads.reshape(hits.n, -1)  # (n, L·h)
    heads = [int(flat[half].mean(axis=0).argmax()) for half in (~second, second)]
    baselines = [int(hits.baselines[half].mean(axis=0).argmax()) for half in (~second, second)]
    rows = np.arange(hits.n)
    ours = flat[rows, np.where(second, heads[0], heads[1])]  # (n,)
    theirs = hits.baselines[rows, np.where(second, baselines[0], baselines[1])]
    values = np.stack([ours, theirs, ours.astype(np.int64) - theirs], axis=1)  # (n, 3)
    bounds: list[Interval | None] = [None, None, None]
    if _allows_intervals(hits):
        shares = bootstrap(group_sums(values, hits.group), draws=draws, seed=seed)  # (draws, 3)
        bounds = [interval(shares[:, i]) for i in range(3)]
    n_heads = hits.heads.shape[2]
    accuracy, baseline, gain = (float(mean) for mean in values.mean(axis=0))
    return HeldOut(
        heads=(HeadId(*divmod(heads[0], n_heads)), HeadId(*divmod(heads[1], n_heads))),
        baselines=(hits.names[baselines[0]], hits.names[baselines[1]]),
        accuracy=accuracy,
        baseline=baseline,
        gain=gain,
        interval=bounds[0],
        baseline_interval=bounds[1],
        gain_interval=bounds[2],
    )


@dataclass(frozen=True, eq=False)
class HeadIntervals:
    """Intervals of every head, each as if it alone had been asked about. Only from FEWEST_ARCS questions on.

    Attributes:
        accuracy: (2, L, h), low and high.
        gain: (2, L, h), over the best baseline of the whole corpus.
        ties: heads that can't be told from the best: the interval of the difference reaches 0. The best comes first,
            then by accuracy.
    """

    accuracy: NDArray[np.float64]
    gain: NDArray[np.float64]
    ties: tuple[HeadId, ...]


def head_intervals(hits: Hits, *, draws: int = DRAWS, seed: int = 0) -> HeadIntervals | None:
    """Intervals of all heads from one set of draws; None below FEWEST_ARCS questions."""
    if not _allows_intervals(hits):
        return None
    flat = hits.heads.reshape(hits.n, -1)  # (n, L·h)
    rate = flat.mean(axis=0)
    best = int(rate.argmax())
    baseline = hits.baselines[:, [int(hits.baselines.mean(axis=0).argmax())]]
    sums = group_sums(np.concatenate([flat, baseline], axis=1), hits.group)
    shares = bootstrap(sums, draws=draws, seed=seed)  # (draws, L·h + 1)
    shape = (2, *hits.heads.shape[1:])
    behind = percentile_interval(shares[:, [best]] - shares[:, :-1])[0]  # (L·h,), low end of how far it is behind
    order = np.argsort(-rate, kind="stable")
    return HeadIntervals(
        accuracy=percentile_interval(shares[:, :-1]).reshape(shape),
        gain=percentile_interval(shares[:, :-1] - shares[:, -1:]).reshape(shape),
        ties=tuple(HeadId(*divmod(int(i), hits.heads.shape[2])) for i in order if behind[i] <= 0),
    )


def _allows_intervals(hits: Hits) -> bool:
    """One group, however large, says nothing of how much groups differ."""
    return hits.n >= FEWEST_ARCS and len(np.unique(hits.group)) > 1


def _mean(hits: NDArray[np.bool_]) -> NDArray[np.float64]:
    return hits.mean(axis=0) if len(hits) else np.full(hits.shape[1:], np.nan)
