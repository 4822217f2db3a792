"""Two maps side by side: signed difference, distance of each row, and which tokens differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from analysis.words.units import Units, UnitTrace, drop_padding
from model import HeadworkError


@dataclass(frozen=True, eq=False)
class Comparison:
    """B beside A, unit by unit, padding left out. In cross-attention (U, U) reads (U_q, U_k).

    Attributes:
        a, b: (U, U), the two maps.
        difference: (U, U), b − a: positive where B looks more.
        row_distance: (U,), total-variation distance ½ Σ|b − a| from 0 (the same) to 1 (no key in common); NaN where
            a query may attend to nothing in one of the two.
        labels_a, labels_b: of the rows; `keys_a`, `keys_b` of the columns.
        same: (U,), whether both rows have the same label at this place.
    """

    a: NDArray[np.float32]
    b: NDArray[np.float32]
    difference: NDArray[np.float32]
    row_distance: NDArray[np.float64]
    labels_a: tuple[str, ...]
    labels_b: tuple[str, ...]
    keys_a: tuple[str, ...]
    keys_b: tuple[str, ...]
    allowed_a: NDArray[np.bool_]
    allowed_b: NDArray[np.bool_]
    same: NDArray[np.bool_]

    @property
    def largest(self) -> float:
        """The end of a colour range that is symmetric about 0."""
        return float(np.abs(self.difference).max(initial=0))


def compare(a: UnitTrace, b: UnitTrace, head_a: tuple[int, int], head_b: tuple[int, int]) -> Comparison:
    """One head's map beside another's: other mask, model, head or sentence.

    Tokens are aligned place by place. Padding is left out first, so a padded sentence can stand beside itself.

    Args:
        a: a trace.
        b: a trace of equally many units.
        head_a: (layer, head) from 0.
        head_b: (layer, head) from 0.

    Raises:
        HeadworkError: the two have different numbers of units.
    """
    a, b = drop_padding(a), drop_padding(b)
    check_alignable(a, b)
    map_a, map_b = a.attention[head_a], b.attention[head_b]
    allowed_a, allowed_b = a.allowed_in(head_a[0]), b.allowed_in(head_b[0])
    seeing = allowed_a.any(axis=-1) & allowed_b.any(axis=-1)
    return Comparison(
        a=map_a,
        b=map_b,
        difference=map_b - map_a,
        row_distance=np.where(seeing, total_variation(map_a, map_b), np.nan),
        labels_a=a.labels,
        labels_b=b.labels,
        keys_a=a.keys,
        keys_b=b.keys,
        allowed_a=allowed_a,
        allowed_b=allowed_b,
        same=np.array([x == y for x, y in zip(a.labels, b.labels, strict=True)], dtype=bool),
    )


def check_alignable(a: UnitTrace, b: UnitTrace) -> None:
    """Raises HeadworkError, with both numbers, unless the two traces have equally many rows, and columns."""
    if len(a.units) != len(b.units):
        _cannot_align(a.units, b.units)
    if len(a.key_units) != len(b.key_units):
        _cannot_align(a.key_units, b.key_units)


def _cannot_align(a: Units, b: Units) -> NoReturn:
    if "pieces" in (a.level, b.level):
        raise HeadworkError(
            "A has {n_a} tokens and B has {n_b}, so their maps can't be compared cell by cell. "
            "Compare word by word, or choose two sentences of equal length.",
            n_a=len(a),
            n_b=len(b),
        )
    raise HeadworkError(
        "A has {n_a} words and B has {n_b}, special tokens included, so their maps can't be compared cell by cell. "
        "Choose two sentences of equal length.",
        n_a=len(a),
        n_b=len(b),
    )


def total_variation(a: NDArray[np.floating], b: NDArray[np.floating]) -> NDArray[np.float64]:
    """½ Σ_j |a_ij − b_ij| of each row: (…, U, U) twice → (…, U). A distance between rows that sum to 1."""
    if a.shape[-2:] != b.shape[-2:]:
        raise HeadworkError(
            "A map of {n_a} tokens can't be compared with one of {n_b}.", n_a=a.shape[-1], n_b=b.shape[-1]
        )
    return np.asarray(np.abs(np.subtract(a, b, dtype=np.float64)).sum(axis=-1) / 2)


def all_row_distances(a: UnitTrace, b: UnitTrace) -> NDArray[np.float64]:
    """Total-variation distance between the same head in both, mean over rows that aren't special: (L, h).

    For two masks or two sentences under one model. NaN where no row can be compared.
    """
    a, b = drop_padding(a), drop_padding(b)
    check_alignable(a, b)
    if a.attention.shape != b.attention.shape:
        raise HeadworkError(
            "A has {layers_a} layers of {heads_a} heads and B {layers_b} of {heads_b}: head by head they don't match.",
            layers_a=a.n_layers,
            heads_a=a.n_heads,
            layers_b=b.n_layers,
            heads_b=b.n_heads,
        )
    rows = ~a.is_special & ~b.is_special & a.rows_with(1) & b.rows_with(1)
    if not rows.any():
        return np.full(a.attention.shape[:2], np.nan)
    layers = zip(a.attention[:, :, rows], b.attention[:, :, rows], strict=True)
    return np.stack([np.abs(x - y).sum(axis=-1, dtype=np.float64).mean(axis=-1) / 2 for x, y in layers])
