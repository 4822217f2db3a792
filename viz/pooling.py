"""Long sentences in small pictures: blocks of cells, where a cell of its own would be smaller than a pixel or two."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from viz.theme import shortened

MOST_CELLS = 128  # a side of a map that is a third of a page wide: with more, a cell is smaller than two pixels
NAME = 7  # columns of each of the two tokens that name a block

Floats = npt.NDArray[np.floating]
Singles = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Pick = Literal["largest", "least", "farthest"]  # farthest from 0


def coarsen(values: Floats, step: int, pick: Pick = "largest") -> Singles:
    """(…, N, N) → (…, cells, cells): one value of each step × step block, NaN only where all of the block is NaN."""
    *others, n_tokens, _ = values.shape
    n_cells = math.ceil(n_tokens / step)
    padded = np.full((*others, n_cells * step, n_cells * step), np.nan, dtype=np.float32)
    padded[..., :n_tokens, :n_tokens] = values
    blocks = padded.reshape(*others, n_cells, step, n_cells, step)
    high: Singles = np.fmax.reduce(np.fmax.reduce(blocks, axis=-3), axis=-1)  # rows first: they lie side by side
    if pick == "largest":
        return high
    low: Singles = np.fmin.reduce(np.fmin.reduce(blocks, axis=-3), axis=-1)
    return low if pick == "least" else np.where(high >= -low, high, low)


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
