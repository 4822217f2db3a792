"""Long sentences in small pictures: blocks of cells, where a cell of its own would be smaller than a pixel or two."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from viz.theme import shortened

MOST_CELLS = 128  # a side of a map that is a third of a page wide: with more, a cell is smaller than two pixels
NAME = 7  # columns of each of the two tokens that name a block

Floats = npt.NDArray[np.floating]
Values = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Pick = Literal["largest", "least", "farthest"]  # farthest from 0


def coarsen(values: Values, step: int | tuple[int, int], pick: Pick = "largest") -> Values:
    """(…, N_q, N_k) → (…, rows, columns): one value of each block, NaN only where all of the block is NaN.

    Args:
        values: numbers, or codes of maps; whole numbers have no NaN.
        step: how many queries and keys a block spans; one number = as many of both.
        pick: which of a block's values it shows.
    """
    rows, columns = (step, step) if isinstance(step, int) else step
    if rows == columns == 1:
        return values

    def reduced(by: np.ufunc) -> Values:
        some = by.reduceat(values, range(0, values.shape[-2], rows), axis=-2)  # rows first: they lie side by side
        found: Values = by.reduceat(some, range(0, values.shape[-1], columns), axis=-1)
        return found

    if pick != "farthest":
        return reduced(np.fmax if pick == "largest" else np.fmin)
    high, low = reduced(np.fmax), reduced(np.fmin)
    return np.where(high >= -low, high, low)


def block_size(n_tokens: int) -> int:
    """How many tokens a side a cell of a small map stands for."""
    return math.ceil(n_tokens / MOST_CELLS)


def in_blocks(
    values: Floats, allowed: Bools, labels: Sequence[str], pick: Pick = "largest"
) -> tuple[Floats, Bools, list[str]]:
    """A map for a third of a page: as it is up to 128 tokens, in blocks above.

    Args:
        values: (N, N), query × key.
        allowed: (N, N); a block is masked only where all of it is.
        labels: the N tokens.
        pick: which of a block's values that are not masked its cell shows.

    Returns:
        Values and mask (cells, cells), and the name of each block: "first … last" of its tokens.
    """
    n_tokens = len(labels)
    step = block_size(n_tokens)
    if step == 1:
        return values, allowed, list(labels)
    some_allowed = coarsen(np.where(allowed, 1.0, np.nan), step) == 1
    names = [_name(labels[at : at + step]) for at in range(0, n_tokens, step)]
    return coarsen(np.where(allowed, values, np.nan), step, pick), some_allowed, names


def _name(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return f"{shortened(labels[0], NAME)} … {shortened(labels[-1], NAME)}"
