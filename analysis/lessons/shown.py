"""What pictures of lessons take: arrays and labels, no colours. Layers and heads from 0, as in arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analysis.words.units import UnitTrace
from model import AttentionTrace
from model.head_id import HeadId


@dataclass(frozen=True, eq=False)
class Looks:
    """Heads of one layer looking (picture "strip"): the sentence with the arcs of `heads` from `query`.

    Attributes:
        trace: between the units that `Answer.labels` names.
        heads: all of one layer; the first is the one asked about.
        query: the row, from 0.
        key: what it looks at most, or what is asked about; None = no single one.
    """

    trace: UnitTrace
    heads: tuple[HeadId, ...]
    query: int
    key: int | None = None


@dataclass(frozen=True, eq=False)
class Race:
    """Every head's weight for one pair of words (picture "race"), the heaviest being the winner.

    Attributes:
        weights: (L, h); NaN where the mask hides the key from the query.
    """

    trace: UnitTrace
    query: int
    key: int
    weights: NDArray[np.float32]
    winner: HeadId


@dataclass(frozen=True, eq=False)
class MapOf:
    """One head's whole map (picture "map"); `cells` are (query, key) to outline."""

    trace: UnitTrace
    head: HeadId
    cells: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Bar:
    """One bar, with its interval where it has one. `name` is a name in both languages by {"en": …, "zh": …}, or one."""

    name: str | Mapping[str, str]
    value: float
    low: float | None = None
    high: float | None = None
    is_right: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars beside each other (picture "bars").

    Attributes:
        unit: of the values: "%" (they are shares, 0 to 1), "weight" (0 to 1, two decimals), "nat", "logit" (with
            its sign), "×", "" = plain.
        baseline: a line across all bars, with its name.
        note: one line on where the numbers come from, by language; {} = computed here and now.
    """

    bars: tuple[Bar, ...]
    unit: str = ""
    baseline: float | None = None
    baseline_name: Mapping[str, str] = field(default_factory=dict)
    note: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Sentences:
    """Several sentences under each other, each with a head's arcs from one word (picture "sentences").

    Attributes:
        looks: one each, all in the same head or not.
        is_right: ● or ✕ beside each; () = none.
    """

    looks: tuple[Looks, ...]
    is_right: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class Expected:
    """What a decoder expects after a text (picture "next_tokens"): a bar for each candidate, `right` being the first.

    Attributes:
        trace: of the text.
        candidates: (text of the token, probability), the most probable first.
        surprise: (N,) nats, NaN for the first; None = not shown.
    """

    trace: AttentionTrace
    candidates: tuple[tuple[str, float], ...]
    surprise: NDArray[np.float32] | None = None
