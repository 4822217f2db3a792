"""Long sentences in small pictures: blocks of cells, where a cell of its own would be smaller than a pixel or two."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
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
