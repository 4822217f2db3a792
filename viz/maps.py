"""What a picture of attention shows: numbers for queries × keys, what the mask allows, and both sides' tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from viz.pooling import Pick, coarsen
from viz.theme import Translate, shortened

if TYPE_CHECKING:
    from analysis import UnitTrace

MOST_CELLS = 128  # a side of a map: with more, a cell of a map a third of a page wide is smaller than two pixels
MOST_UNEVEN = 2.0  # the longer side of a map over the shorter one, on screen
NAME = 7  # columns of each of the two tokens that name a block

Bools = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Maps:
    """One map, or several over the same tokens.

    Attributes:
        cells: (…, N_q, N_k), a number for each query (row) and key (column): weights, scores, differences.
        allowed: (N_q, N_k); True = the query may attend to the key. The other cells are drawn as masked.
        queries: N_q tokens as text; whoever draws them escapes them.
        keys: N_k tokens; () = the same as the queries, as in self-attention.
        step: how many queries and keys a cell stands for; above 1 the cells are blocks.
    """

    cells: npt.NDArray[Any]
    allowed: Bools
    queries: Sequence[str]
    keys: Sequence[str] = ()
    step: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        if not len(self.keys):
            object.__setattr__(self, "keys", self.queries)
        n_queries, n_keys = len(self.queries), len(self.keys)
        shape = (math.ceil(n_queries / self.step[0]), math.ceil(n_keys / self.step[1]))
        if self.cells.shape[-2:] != shape or self.allowed.shape != shape:
            labels = f"{n_queries}" if n_queries == n_keys else f"{n_queries} and {n_keys}"
            raise ValueError(
                f"{labels} labels need a {n_queries} × {n_keys} map and mask; "
                f"got {self.cells.shape} and {self.allowed.shape}."
            )

    @classmethod
    def of(cls, trace: "UnitTrace", layer: int, head: int | None = None) -> "Maps":
        """A head's map, or those of all heads of a layer; both from 0."""
        cells = trace.attention[layer] if head is None else trace.attention[layer, head]
        return cls(cells, trace.allowed_in(layer), trace.labels, trace.keys)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        n_rows, n_columns = self.allowed.shape
        return n_rows, n_columns

    @property
    def row_names(self) -> list[str]:
        """What a row of cells is called: its query, or the first and last query of its block."""
        return _names(self.queries, self.step[0])

    @property
    def column_names(self) -> list[str]:
        """What a column of cells is called."""
        return _names(self.keys, self.step[1])

    def visible(self) -> Singles:
        """The cells, NaN where masked."""
        return np.where(self.allowed, self.cells, np.nan).astype(np.float32)

    def in_blocks(self, pick: Pick = "largest", most: int = MOST_CELLS) -> "Maps":
        """The same with at most `most` cells a side: a cell is one value of its block, masked only if all of it is."""
        step = block_step(len(self.queries), most), block_step(len(self.keys), most)
        if step == self.step:
            return self
        cells, allowed = coarsen(self.visible(), step, pick), coarsen(self.allowed, step)
        return replace(self, cells=cells, allowed=allowed, step=step)


def cell_height(n_rows: int, n_columns: int) -> float:
    """How many times as high as wide a cell is drawn: 1, unless the map would be more than twice as long one way."""
    ratio = n_columns / n_rows
    return ratio / min(max(ratio, 1 / MOST_UNEVEN), MOST_UNEVEN)


def block_step(n_tokens: int, most: int = MOST_CELLS) -> int:
    """How many tokens a cell stands for where at most `most` cells are drawn."""
    return math.ceil(n_tokens / most)


def says_blocks(step: tuple[int, int], t: Translate, pick: Pick = "largest") -> str:
    """What a cell of a coarse picture stands for; "" where it is one number."""
    if step == (1, 1):
        return ""
    said = (
        t("each cell: of {rows} × {columns} values the one farthest from 0")
        if pick == "farthest"
        else t("each cell: the largest of {rows} × {columns} weights")
    )
    return said.format(rows=step[0], columns=step[1])


def _names(labels: Sequence[str], step: int) -> list[str]:
    blocks = (labels[at : at + step] for at in range(0, len(labels), step))
    return [block[0] if len(block) == 1 else f"{_short(block[0])} … {_short(block[-1])}" for block in blocks]


def _short(label: str) -> str:
    return shortened(label, NAME)
