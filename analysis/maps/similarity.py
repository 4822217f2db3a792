"""How alike two heads look at a sentence: the Jensen-Shannon divergence between their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.words.units import UnitTrace

MOST_ROWS = 64  # 144 heads at 512 tokens: about a second with 64 rows, ten with all


@dataclass(frozen=True, eq=False)
class Similarity:
    """Divergence between all pairs of heads, in bits: 0 = the same rows, 1 = no key in common.

    Attributes:
        bits: (L·h, L·h), symmetric, zeros on the diagonal; (layer, head) is row layer · h + head. NaN if no row counts.
        n_heads: h.
        n_rows: rows that were compared.
        n_rows_in_all: rows that could have been: more in a long text, where evenly spaced ones stand for all.
    """

    bits: NDArray[np.float64]
    n_heads: int
    n_rows: int
    n_rows_in_all: int

    def nearest(self, layer: int, head: int, count: int = 3) -> list[tuple[int, int, float]]:
        """The most similar other heads, (layer, head, bits) from 0, nearest first."""
        return self._sorted(layer, head)[:count]

    def farthest(self, layer: int, head: int, count: int = 3) -> list[tuple[int, int, float]]:
        """The least similar heads, farthest first."""
        return self._sorted(layer, head)[::-1][:count]

    def _sorted(self, layer: int, head: int) -> list[tuple[int, int, float]]:
        asked = layer * self.n_heads + head
        bits = self.bits[asked]
        order = [int(i) for i in np.argsort(bits, kind="stable") if i != asked and not np.isnan(bits[i])]
        return [(*divmod(i, self.n_heads), float(bits[i])) for i in order]


def head_similarity(trace: UnitTrace, *, most_rows: int | None = MOST_ROWS) -> Similarity:
    """JS(P, Q) = H((P + Q) / 2) − (H(P) + H(Q)) / 2 in bits, averaged over the same rows for every pair.

    The rows are those of queries that aren't special and may look at two keys or more; special keys stay in.

    Args:
        trace: weights whose rows sum to 1.
        most_rows: compare at most so many rows, evenly spaced; None = all.
    """
    n_layers, n_heads, _, n_keys = trace.attention.shape
    queries = np.flatnonzero(~trace.is_special & trace.rows_with(2))
    chosen = queries
    if most_rows is not None and len(queries) > most_rows:
        chosen = queries[np.linspace(0, len(queries) - 1, most_rows).round().astype(int)]
    rows = trace.attention[:, :, chosen].reshape(n_layers * n_heads, len(chosen), n_keys)
    bits = jensen_shannon(rows) if len(chosen) else np.full((len(rows), len(rows)), np.nan)
    return Similarity(bits, n_heads, len(chosen), len(queries))


def jensen_shannon(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Mean divergence in bits between every two of n heads: (n, R, U) → (n, n).

    One head is compared with all later ones at a time, so memory grows with n, not n².
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    n_heads, n_rows, _ = rows.shape
    own = _sum_p_log_p(rows)  # (n,)
    bits = np.zeros((n_heads, n_heads))
    for head in range(n_heads - 1):
        middle = (rows[head] + rows[head + 1 :]) * np.float32(0.5)  # (n − head − 1, R, U)
        apart = (own[head] + own[head + 1 :]) / 2 - _sum_p_log_p(middle)
        bits[head, head + 1 :] = np.clip(apart / n_rows, 0, 1)  # rounding can leave −1e-8
    return bits + bits.T


def _sum_p_log_p(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Σ p log₂ p over all rows and keys of each head: (n, R, U) → (n,)."""
    logs = np.maximum(rows, np.finfo(np.float32).tiny)
    np.log2(logs, out=logs)
    logs *= rows
    return np.asarray(logs.sum(axis=-1).sum(axis=-1, dtype=np.float64))
