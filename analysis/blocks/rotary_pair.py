"""One pair of columns under rotary positions: a point in a plane, turned by an angle that grows with the position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.blocks.record import Floats, Record, array, tensor
from analysis.blocks.steps import before


@dataclass(frozen=True, eq=False)
class Pair:
    """Two columns of one head's queries and of the keys that it meets.

    Attributes:
        columns: the two, from 0.
        angles: (N,) radians by which the token at each position is turned, m · θ.
        queries: (N, 2) before and after.
        keys: (N, 2) before and after, of the head's key head.
    """

    columns: tuple[int, int]
    angles: Floats
    queries: tuple[Floats, Floats]
    keys: tuple[Floats, Floats]


def rotary_width(record: Record) -> int:
    """Columns of a head that are turned, the first ones; 0 without rotary positions."""
    return 0 if record.rotation is None else record.rotation[0].size(-1)


def rotary_pair(record: Record, index: int) -> Pair:
    """Pair number `index`, from 0: columns index and index + width / 2 of the head that is looked at."""
    assert record.rotation is not None
    half = rotary_width(record) // 2
    columns = (index, index + half)
    cosines, sines = (each[:, index].double().numpy() for each in record.rotation)  # (N,) each
    turns = np.unwrap(np.arctan2(sines, cosines)) if len(cosines) > 1 else np.arctan2(sines, cosines)
    queries, keys = before(record, "rotate")
    steps, picked = record.steps.attention, list(columns)
    return Pair(
        columns,
        turns.astype(np.float32),
        (queries[record.head][:, picked], array(tensor(steps.queries))[record.head][:, picked]),
        (keys[record.head // record.group][:, picked], array(tensor(steps.keys))[record.head][:, picked]),
    )
