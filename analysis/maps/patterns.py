"""What a head does in this sentence, by stated thresholds only; and one table with everything about every head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.maps.metrics import Values, metrics_of, row_mean, row_metrics
from analysis.words.units import UnitTrace
from model.head_id import HeadId

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Rule:
    """A threshold, published or plain, that earns a head a label."""

    label: str
    title: str
    metric: str
    threshold: float
    source: str
    at_least: bool = False  # else: more than


RULES = (
    Rule("previous", "previous word", "previous_is_top", 0.9, "Voita et al. 2019, section 4", at_least=True),
    Rule("previous", "previous word", "previous_mass", 0.5, "Clark et al. 2019, section 3.1"),
    Rule("next", "next word", "next_is_top", 0.9, "Voita et al. 2019, section 4", at_least=True),
    Rule("next", "next word", "next_mass", 0.5, "Clark et al. 2019, section 3.1"),
    Rule("broad", "broad", "normalised_entropy", 0.8, "more than 0.8 of an even spread"),
    Rule("sink", "rests on special tokens", "special_mass", 0.6, "Clark et al. 2019, released code"),
    # Of models that put no special token first: there the first token takes its place (Xiao et al. 2023).
    Rule("sink", "rests on the first token", "first_mass", 0.5, "more than half of the weight"),
)
NO_PATTERN = "no clear pattern"


@dataclass(frozen=True)
class Pattern:
    """A label that a head earned in this sentence, with what earned it: (rule, value, rows), one or more."""

    label: str
    title: str
    evidence: tuple[tuple[Rule, float, int], ...]


def find_patterns(trace: UnitTrace) -> list[list[tuple[Pattern, ...]]]:
    """What each head does here by the thresholds of `RULES`: [layer][head], none, one or several.

    A label is about this sentence: with few rows, a high share is easily reached. Nothing here means `NO_PATTERN`.
    """
    known = metrics_of(trace)
    return _patterns(trace, row_metrics(trace, [rule.metric for rule in RULES if rule.metric in known]))


def _patterns(trace: UnitTrace, rows: dict[str, Values]) -> list[list[tuple[Pattern, ...]]]:
    idle = "first_mass" if trace.key_units.is_special.any() else "special_mass"
    rules = [rule for rule in RULES if rule.metric in rows and rule.metric != idle]
    means = {rule.metric: row_mean(rows[rule.metric]) for rule in rules}
    counts = {name: (~np.isnan(rows[name])).sum(axis=-1) for name in means}
    n_layers, n_heads = means[rules[0].metric].shape

    def of_head(layer: int, head: int) -> tuple[Pattern, ...]:
        earned: dict[str, list[tuple[Rule, float, int]]] = {}
        for rule in rules:
            value = float(means[rule.metric][layer, head])
            if value > rule.threshold or (rule.at_least and value == rule.threshold):
                earned.setdefault(rule.label, []).append((rule, value, int(counts[rule.metric][layer, head])))
        return tuple(Pattern(label, found[0][0].title, tuple(found)) for label, found in earned.items())

    return [[of_head(layer, head) for head in range(n_heads)] for layer in range(n_layers)]


def metrics_table(trace: UnitTrace) -> pd.DataFrame:
    """One row for each head: name ("4-2"), layer and head from 1, every metric, and patterns (a list of titles)."""
    import pandas as pd  # not needed for the first map, and half a second to import

    rows = row_metrics(trace)
    found = _patterns(trace, rows)
    n_layers, n_heads = trace.n_layers, trace.n_heads
    layer, head = (axis.ravel() for axis in np.indices((n_layers, n_heads)))
    return pd.DataFrame(
        {
            "name": [str(HeadId(a, b)) for a, b in zip(layer.tolist(), head.tolist(), strict=True)],
            "layer": layer + 1,
            "head": head + 1,
            **{name: row_mean(values).ravel() for name, values in rows.items()},
            "patterns": [[pattern.title for pattern in of_head] for layer in found for of_head in layer],
        }
    )
