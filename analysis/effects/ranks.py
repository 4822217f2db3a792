"""Attention beside effect: rank correlation over heads; heads chosen on half of the prompts and tried on the others.

Intervals are over prompts: prompts are drawn with replacement (analysis.evidence.intervals).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.intervals import DRAWS, Interval, bootstrap, group_sums, halves, percentile_interval
from model.head_id import HeadId

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's ρ over heads of attention and drop; `n` prompts say where they look. No interval from one prompt."""

    value: float
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class Chosen:
    """A head among the strongest on one half of the prompts, and what it does on the other half.

    Attributes:
        rank: 1 = the strongest of its half.
        chosen_effect: mean effect on the n_chosen prompts that it was chosen on: partly luck.
        effect: on the n other prompts, which had no say.
    """

    head: HeadId
    half: int
    rank: int
    chosen_effect: float
    n_chosen: int
    effect: float
    n: int
    interval: Interval | None


def mean_interval(values: Floats, *, draws: int = DRAWS, seed: int = 0) -> Floats | None:
    """(n, …) → (2, …): 95 % interval of the mean over n prompts; None for one prompt."""
    if len(values) < 2:
        return None
    flat = values.reshape(len(values), -1)
    drawn = bootstrap(group_sums(flat, np.arange(len(values))), draws=draws, seed=seed)
    return percentile_interval(drawn).reshape(2, *values.shape[1:])


def ranks(values: Floats) -> Floats:
    """(…, K) → (…, K): ranks from 1, equal values share the mean of theirs."""
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    k = values.shape[-1]
    is_new = np.concatenate([np.ones((*values.shape[:-1], 1), bool), np.diff(ordered, axis=-1) != 0], axis=-1)
    place = np.arange(k)
    first = np.maximum.accumulate(np.where(is_new, place, 0), axis=-1)
    is_last = np.concatenate([is_new[..., 1:], np.ones((*values.shape[:-1], 1), bool)], axis=-1)
    last = np.minimum.accumulate(np.where(is_last, place, k)[..., ::-1], axis=-1)[..., ::-1]
    out = np.empty(values.shape)
    np.put_along_axis(out, order, (first + last) / 2 + 1, axis=-1)
    return out


def spearman(x: Floats, y: Floats) -> Floats:
    """Rank correlation over the last axis (Spearman 1904); NaN where one side has a single value."""
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    size = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(axis=-1) / size, dtype=np.float64)


def rank_correlation(attention: Floats, effect: Floats, *, draws: int = DRAWS, seed: int = 0) -> RankCorrelation | None:
    """Whether the heads that look at the word matter: ρ > 0 says that those that look more are missed more.

    Args:
        attention: (n, L, h), NaN for prompts in which the word doesn't stand: they are left out on both sides.
        effect: (n, L, h), off − base: a head that helped has a negative one, so −effect is the drop.
        draws: of the bootstrap.
        seed: likewise.

    Returns:
        None where no prompt has the word, or where all heads do the same.
    """
    there = ~np.isnan(attention).any(axis=(1, 2))
    n = int(there.sum())
    if not n:
        return None
    both = np.concatenate([attention[there].reshape(n, -1), -effect[there].reshape(n, -1)], axis=1)  # (n, 2·L·h)
    looks, drop = np.split(both.mean(axis=0), 2)
    value = float(spearman(looks, drop))
    if np.isnan(value):
        return None
    if n < 2:
        return RankCorrelation(value, None, n)
    looks, drop = np.split(bootstrap(group_sums(both, np.arange(n)), draws=draws, seed=seed), 2, axis=1)
    low, high = np.nanquantile(spearman(looks, drop), [0.025, 0.975])
    return RankCorrelation(value, (float(low), float(high)), n)


def held_out(effect: Floats, k: int = 3, *, draws: int = DRAWS, seed: int = 0) -> tuple[Chosen, ...]:
    """The k heads that help most on one half of the prompts, and what they do on the other; both ways.

    Args:
        effect: (n, L, h), off − base. A head helps where it is negative.
        k: heads a half.
        draws: of the bootstrap.
        seed: of the bootstrap and the halves.

    Returns:
        Empty for one prompt, where there are no halves.
    """
    n = len(effect)
    if n < 2:
        return ()
    second = halves(np.arange(n), seed)
    found = []
    for half, chosen_on in enumerate((~second, second), 1):
        mean = effect[chosen_on].mean(axis=0)  # (L, h)
        strongest = np.argsort(mean, axis=None, kind="stable")[:k]
        tried = effect[~chosen_on].reshape(int((~chosen_on).sum()), -1)[:, strongest]  # (n', k)
        bounds = mean_interval(tried, draws=draws, seed=seed)
        for rank, index in enumerate(strongest):
            found.append(
                Chosen(
                    head=HeadId(*divmod(int(index), effect.shape[2])),
                    half=half,
                    rank=rank + 1,
                    chosen_effect=float(mean.ravel()[index]),
                    n_chosen=int(chosen_on.sum()),
                    effect=float(tried[:, rank].mean()),
                    n=len(tried),
                    interval=None if bounds is None else (float(bounds[0, rank]), float(bounds[1, rank])),
                )
            )
    return tuple(found)
