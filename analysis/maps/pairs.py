"""Two texts read as a pair: which rows and columns belong to A → A, A → B, B → A and B → B.

The separator between the texts belongs to the first, as its segment id says, and the one at the end to the second.
Shape letters: see model.attention; U units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.words.units import Units, UnitTrace
from model import Tokens

Part = Literal["aa", "ab", "ba", "bb"]
PARTS: dict[str, str] = {"aa": "A → A", "ab": "A → B", "ba": "B → A", "bb": "B → B"}  # queries' text → keys' text


def rows_and_columns(units: Units, tokens: Tokens, part: Part) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the queries and of the keys of one part, in order. Padding is in none."""
    text = np.array([None if tokens.is_padding[first] else "ab"[tokens.segments[first]] for first, *_ in units.pieces])
    query, key = part
    return np.flatnonzero(text == query), np.flatnonzero(text == key)


def share(trace: UnitTrace, tokens: Tokens, part: Part) -> NDArray[np.float64]:
    """Weight from one text to the other (or to itself), in the mean over the text's queries that see something: (L, h).

    NaN where no query of the text sees anything.
    """
    rows, columns = rows_and_columns(trace.units, tokens, part)
    rows = rows[trace.rows_with(1)[rows]]
    weights = trace.attention[:, :, rows][..., columns].sum(axis=-1, dtype=np.float64)  # (L, h, rows)
    return weights.mean(axis=-1) if rows.size else np.full(weights.shape[:2], np.nan)


@dataclass(frozen=True, eq=False)
class Between:
    """One head's map from the queries of a text to the keys of a text.

    Attributes:
        weights: (U_q, U_k).
        allowed: (U_q, U_k).
        queries: labels of the rows.
        keys: labels of the columns.
    """

    weights: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    queries: tuple[str, ...]
    keys: tuple[str, ...]


def between(trace: UnitTrace, tokens: Tokens, part: Part, layer: int, head: int) -> Between:
    """The part of a head's map that lies between two texts; layer and head from 0."""
    rows, columns = rows_and_columns(trace.units, tokens, part)
    cells = np.ix_(rows, columns)
    queries, keys = (tuple(trace.labels[i] for i in places) for places in (rows, columns))
    return Between(trace.attention[layer, head][cells], trace.allowed_in(layer)[cells], queries, keys)
