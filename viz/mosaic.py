"""Tiles of one size as one heatmap: a subplot for each costs the browser most of a second when there are twelve.

The gaps between tiles are single empty columns and rows, wide only in the axis coordinates.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Mosaic:
    """Where the tiles stand, in units of a cell.

    Attributes:
        n_tiles: k.
        rows, columns: of cells in a tile.
        across: tiles beside each other.
        gap: between two of them.
        room: above each row of tiles.
    """

    n_tiles: int
    rows: int
    columns: int
    across: int
    gap: float
    room: float

    @property
    def down(self) -> int:
        """Rows of tiles."""
        return math.ceil(self.n_tiles / self.across)

    @property
    def width(self) -> float:
        """Of all tiles."""
        return self.across * (self.columns + self.gap) - self.gap

    @property
    def depth(self) -> float:
        """From the top of the first row of tiles to the end of the last."""
        return self.down * (self.rows + self.room) - self.room

    def box(self, tile: int) -> dict[str, Any]:
        """The rectangle of a tile."""
        row, column = divmod(tile, self.across)
        left, top = column * (self.columns + self.gap), row * (self.rows + self.room)
        return {"type": "rect", "x0": left, "x1": left + self.columns, "y0": top, "y1": top + self.rows}

    def whole(self, tiles: Singles) -> Singles:
        """(k, rows, columns) as one matrix, with an empty row and column between tiles."""
        shape = self.down * (self.rows + 1) - 1, self.across * (self.columns + 1) - 1
        whole = np.full(shape, np.nan, dtype=np.float32)
        for tile, cells in enumerate(tiles):
            row, column = divmod(tile, self.across)
            whole[row * (self.rows + 1) :, column * (self.columns + 1) :][: self.rows, : self.columns] = cells
        return whole

    def edges(self) -> dict[str, Singles]:
        """Borders of the cells: width 1 in a tile, then one cell as wide as the gap."""
        return {"x": self._across(np.arange(self.columns + 1)), "y": self._down(np.arange(self.rows + 1))}

    def middles(self) -> tuple[Singles, Singles]:
        """Of the columns and of the rows of all tiles."""
        return self._across(np.arange(self.columns) + 0.5), self._down(np.arange(self.rows) + 0.5)

    def _across(self, places: npt.NDArray[Any]) -> Singles:
        tiles = [places + tile * (self.columns + self.gap) for tile in range(self.across)]
        return np.concatenate(tiles).astype(np.float32)

    def _down(self, places: npt.NDArray[Any]) -> Singles:
        return np.concatenate([places + tile * (self.rows + self.room) for tile in range(self.down)]).astype(np.float32)
