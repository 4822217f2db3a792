"""Numbers that describe a head in one sentence.

Every metric is a value for each row, averaged over the rows that count: queries that are not special and may look at
two keys or more (with one key there is nothing to choose: the first word under a causal mask). A row whose
previous or next unit doesn't exist, is special or is masked doesn't count for metrics about that neighbour. Where no
row counts, the number is NaN. Over a corpus, average sentences, not rows.
In cross-attention, where the keys are another text, metrics about places (neighbours, itself, distance) mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.words.units import Kind, UnitTrace, rescale
from model.errors import HeadworkError

Values = NDArray[np.float64]
MOST_LOCAL = 2  # units to either side that local mass takes in


@dataclass(frozen=True)
class LayerRows:
    """What the metrics see of one layer: R rows that count, U keys. What is said of keys is (U,)."""

    weights: NDArray[np.float32]  # (h, R, U)
    others: NDArray[np.float32]  # (h, R, U)  Wn: special keys and self 0, rows rescaled
    allowed: NDArray[np.bool_]  # (R, U)
    queries: NDArray[np.intp]  # (R,)
    is_content: NDArray[np.bool_]  # (U,)
    is_punctuation: NDArray[np.bool_]  # (U,)
    is_start: NDArray[np.bool_]  # (U,)
    is_separator: NDArray[np.bool_]  # (U,)

    def mass(self, keys: NDArray[np.bool_]) -> Values:
        """(h, R), weight on the keys where (U,) is True."""
        return np.asarray(self.weights[..., keys].sum(axis=-1, dtype=np.float64))

    def neighbour(self, offset: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Each row's key at an offset, and whether it exists, is content and may be looked at. Both (R,)."""
        keys = self.queries + offset
        inside = (keys >= 0) & (keys < len(self.is_content))
        keys = np.where(inside, keys, 0)
        return keys, inside & self.is_content[keys] & self.allowed[np.arange(len(keys)), keys]

    def offset_mass(self, offset: int) -> Values:
        """(h, R), weight on the key at an offset; NaN where there is none."""
        keys, there = self.neighbour(offset)
        weights = self.weights[:, np.arange(len(keys)), keys].astype(np.float64)
        return np.where(there, weights, np.nan)

    def offset_is_top(self, offset: int) -> Values:
        """(h, R), 1 where no other content key, self included, gets more; NaN where there is no key at the offset."""
        keys, there = self.neighbour(offset)
        content = np.where(self.is_content, self.weights, -1)
        top = (content.argmax(axis=-1) == keys) & (content.max(axis=-1) > 0)
        return np.where(there, top.astype(np.float64), np.nan)

    def distance(self) -> Values:
        """(h, R), Σ_j Wn |i − j|; NaN where nothing lies on others."""
        steps = np.abs(self.queries[:, None] - np.arange(len(self.is_content)))  # (R, U)
        return self._where_others((self.others * steps.astype(np.float32)).sum(axis=-1, dtype=np.float64))

    def content_entropy(self) -> Values:
        """(h, R), nats; NaN where nothing lies on others."""
        return self._where_others(row_entropy(self.others))

    def content_confidence(self) -> Values:
        """(h, R); NaN where nothing lies on others."""
        return self._where_others(self.others.max(axis=-1, initial=0).astype(np.float64))

    def _where_others(self, values: Values) -> Values:
        return np.where(self.others.any(axis=-1), values, np.nan)


@dataclass(frozen=True)
class Metric:
    """One number of a head: what column headers say, and how it is got.

    Attributes:
        definition: one sentence; its first word can follow the title and a colon.
        unit: "" for shares from 0 to 1.
        highest: the largest value possible, from the number of units U. The least is 0.
        of: the value of each row (h, R) in one layer; NaN where a row doesn't count.
        by_place: it compares the places of query and key, so both must be of one text.
    """

    name: str
    title: str
    definition: str
    of: Callable[[LayerRows], Values]
    unit: str = ""
    highest: Callable[[int], float] = lambda n_units: 1.0
    by_place: bool = False


def row_entropy(weights: NDArray[np.floating]) -> Values:
    """−Σ_j a_ij ln a_ij of each row, in nats; 0 for an empty row. (…, U) → (…)."""
    logs = np.log(np.maximum(weights, np.finfo(np.float32).tiny))
    logs *= weights
    return np.asarray(-logs.sum(axis=-1, dtype=np.float64))


def _most_entropy(n_units: int) -> float:
    return math.log(max(n_units, 2))


def _most_distance(n_units: int) -> float:
    return float(max(n_units - 1, 1))


def _local_mass(rows: LayerRows) -> Values:
    near = np.abs(rows.queries[:, None] - np.arange(len(rows.is_content))) <= MOST_LOCAL  # (R, U)
    return np.asarray((rows.weights * (near & rows.is_content)).sum(axis=-1, dtype=np.float64))


_ALL = (
    Metric(
        "entropy",
        "Entropy",
        "How spread out a row is: −Σ a ln a over all keys, 0 when one key gets everything.",
        lambda rows: row_entropy(rows.weights),
        "nats",
        _most_entropy,
    ),
    Metric(
        "normalised_entropy",
        "Entropy, share of uniform",
        "Entropy divided by the logarithm of the number of keys the row may look at: 1 is an even spread.",
        lambda rows: row_entropy(rows.weights) / np.log(rows.allowed.sum(axis=-1)),
    ),
    Metric(
        "content_entropy",
        "Entropy among other words",
        "Entropy after special tokens and the token itself are left out and the row is rescaled to 1.",
        LayerRows.content_entropy,
        "nats",
        _most_entropy,
    ),
    Metric(
        "mean_distance",
        "Mean distance",
        "How many positions away a row looks on average, special tokens and the token itself left out.",
        LayerRows.distance,
        "positions",
        _most_distance,
        by_place=True,
    ),
    Metric(
        "previous_mass",
        "Weight on previous",
        "Weight on the token or word just before, over rows that have one that isn't special.",
        lambda rows: rows.offset_mass(-1),
        by_place=True,
    ),
    Metric(
        "next_mass",
        "Weight on next",
        "Weight on the token or word just after, over rows that have one that isn't special.",
        lambda rows: rows.offset_mass(1),
        by_place=True,
    ),
    Metric(
        "self_mass",
        "Weight on itself",
        "Weight of a token or word on itself.",
        lambda rows: rows.offset_mass(0),
        by_place=True,
    ),
    Metric(
        "local_mass",
        "Weight nearby",
        "Weight on what stands at most two positions away, itself included and special tokens left out.",
        _local_mass,
        by_place=True,
    ),
    Metric(
        "previous_is_top",
        "Largest on previous",
        "Share of rows whose largest weight, special tokens left out, is on the one just before.",
        lambda rows: rows.offset_is_top(-1),
        by_place=True,
    ),
    Metric(
        "next_is_top",
        "Largest on next",
        "Share of rows whose largest weight, special tokens left out, is on the one just after.",
        lambda rows: rows.offset_is_top(1),
        by_place=True,
    ),
    Metric(
        "start_mass",
        "Weight on start token",
        "Weight on the special token that stands first: [CLS] in BERT, <s> in RoBERTa.",
        lambda rows: rows.mass(rows.is_start),
    ),
    Metric(
        "separator_mass",
        "Weight on separator",
        "Weight on the special tokens that end a text: [SEP] in BERT, </s> in RoBERTa.",
        lambda rows: rows.mass(rows.is_separator),
    ),
    Metric(
        "first_mass",
        "Weight on first token",
        "Weight on whatever stands first, special or not: where much lies there, an attention sink (Xiao et al. 2023).",
        lambda rows: rows.mass(np.arange(len(rows.is_content)) == 0),
    ),
    Metric(
        "punctuation_mass",
        "Weight on punctuation",
        "Weight on punctuation marks.",
        lambda rows: rows.mass(rows.is_punctuation),
    ),
    Metric(
        "special_mass",
        "Weight on special tokens",
        "Weight on all special tokens together.",
        lambda rows: rows.mass(~rows.is_content),
    ),
    Metric(
        "content_mass",
        "Weight on content",
        "Weight on everything but special tokens: how much the head is on.",
        lambda rows: rows.mass(rows.is_content),
    ),
    Metric(
        "confidence",
        "Confidence",
        "Largest weight of a row, special tokens left out (Voita et al. 2019).",
        lambda rows: rows.weights[..., rows.is_content].max(axis=-1, initial=0).astype(np.float64),
    ),
    Metric(
        "content_confidence",
        "Confidence among other words",
        "Largest weight of a row after special tokens and the token itself are left out and the row is rescaled to 1.",
        LayerRows.content_confidence,
    ),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
_OF_KIND: dict[str, Kind] = {"start_mass": "start", "separator_mass": "separator", "punctuation_mass": "punctuation"}


def metrics_of(trace: UnitTrace) -> list[str]:
    """The names of the metrics that mean something in these maps: in cross-attention none that compare places."""
    return [name for name, metric in METRICS.items() if trace.context is None or not metric.by_place]


def telling_metrics(trace: UnitTrace) -> list[str]:
    """Those of `metrics_of` that say something in these maps: none about tokens that are absent or always masked."""
    keys = trace.key_units
    absent = {name for name, kind in _OF_KIND.items() if not keys.of_kind(kind).any()}
    if not keys.is_special.any():
        absent |= {"special_mass", "content_mass"}
    if not trace.allowed[..., 0].any():  # the reading without the first token
        absent.add("first_mass")
    if trace.context is None and not np.triu(trace.allowed, 1).any():  # a causal mask: there is no next one to look at
        absent |= {"next_mass", "next_is_top"}
    return [name for name in metrics_of(trace) if name not in absent]


def row_metrics(trace: UnitTrace, names: Iterable[str] | None = None) -> dict[str, Values]:
    """Each metric for each row: name → (L, h, U), NaN for rows that don't count.

    Args:
        trace: weights between pieces or words, special tokens included.
        names: of metrics; None = all that mean something in these maps.

    Raises:
        ValueError: special tokens were dropped from the trace, so that weights on them are unknown.
        HeadworkError: a metric of places is asked for in cross-attention.
    """
    if not trace.is_complete:
        raise ValueError("Metrics need the special tokens: hand over the trace before they are dropped.")
    chosen = [METRICS[name] for name in (metrics_of(trace) if names is None else names)]
    for metric in chosen:
        if metric.name not in metrics_of(trace):
            raise HeadworkError(
                "“{metric}” compares places in one text; in these maps the keys are another text.", metric=metric.title
            )
    values = {metric.name: np.full(trace.attention.shape[:-1], np.nan) for metric in chosen}
    for layer in range(trace.n_layers):  # one at a time: at 512 tokens a map takes 1 MiB a head
        rows = _rows_of(trace, layer)
        for metric in chosen:
            values[metric.name][layer][:, rows.queries] = metric.of(rows)
    return values


def _rows_of(trace: UnitTrace, layer: int) -> LayerRows:
    """The rows of one layer that count."""
    keys, allowed = trace.key_units, trace.allowed_in(layer)
    queries = np.flatnonzero(~trace.is_special & (allowed.sum(axis=-1) >= 2))  # (R,)
    weights = trace.attention[layer][:, queries]  # (h, R, U)
    content = np.where(keys.is_special, 0, weights)
    if trace.context is None:
        content[:, np.arange(len(queries)), queries] = 0
    return LayerRows(
        weights=weights,
        others=rescale(content),
        allowed=allowed[queries],
        queries=queries,
        is_content=~keys.is_special,
        is_punctuation=keys.of_kind("punctuation"),
        is_start=keys.of_kind("start"),
        is_separator=keys.of_kind("separator"),
    )


def head_metrics(trace: UnitTrace, names: Iterable[str] | None = None) -> dict[str, Values]:
    """Each metric for each head: name → (L, h), the mean over rows that count; NaN where none does."""
    return {name: row_mean(values) for name, values in row_metrics(trace, names).items()}


def row_mean(values: Values) -> Values:
    """The mean over the last axis without NaN; NaN where there is nothing else."""
    counts = (~np.isnan(values)).sum(axis=-1)
    sums = np.nansum(values, axis=-1)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def metric_range(name: str, n_units: int) -> tuple[float, float]:
    """The least and largest value possible with U units: the ends of a colour scale."""
    return 0.0, METRICS[name].highest(n_units)
