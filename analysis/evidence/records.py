"""Scores that were measured before and come with the app, and fresh scores in the same form.

A record is what `analysis.evidence.report.report` lays out, with three digits, the offsets of all arrows, and in its
provenance the corpus, its source, the date and the command. `analysis.evidence.measure` writes the shipped ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.corpora.corpus import Corpus
from analysis.evidence.dependencies import OFFSETS
from analysis.evidence.intervals import FEWEST_ARCS
from analysis.evidence.report import BY_LINES, Scores, report
from analysis.evidence.scoring import Run
from model.files import json_by_lines
from model.head_id import HeadId

FOLDER = Path(__file__).parents[2] / "data" / "records"
OWN_FILES = ("grammar_en.jsonl", "hand_en.jsonl")
OWN_FOLDER = Path(__file__).parents[2] / "data" / "corpus"
DIGITS = 3  # a tenth of a percentage point
Variant = Literal["trained", "causal", "fair", "untrained", "mask"]
VARIANTS: tuple[Variant, ...] = ("trained", "fair", "causal", "untrained", "mask")
CONTROLS: tuple[Variant, ...] = ("untrained", "mask")
COREFERENCE = {"coref-noun": "noun", "coref": "all"}  # task → subset of mentions
GENDER = "gender"  # the task of a balanced set: pronoun → noun of its gender
# What comes with the app: model → corpus → runs. In the order in which a page offers them.
ENGLISH_CORPORA = ("ud", "gum", "gap", "own", "gender_en")
CHINESE_CORPORA = ("ud_zh", "own_zh", "gender_zh")
_WITH_CONTROLS: tuple[Variant, ...] = ("trained", *CONTROLS)
SHIPPED: dict[str, dict[str, tuple[Variant, ...]]] = {
    "minilm": {name: VARIANTS for name in ("ud", "gum", "gap", "own")} | {"gender_en": _WITH_CONTROLS},
    "smollm2-135m": {name: ("trained", "untrained") for name in ENGLISH_CORPORA},
    "e5-small-4bit": {name: _WITH_CONTROLS for name in ENGLISH_CORPORA}
    | {"ud_zh": VARIANTS, "own_zh": VARIANTS, "gender_zh": _WITH_CONTROLS},
}

Grid = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """One task (a relation in one direction, or coreference) on one corpus, for every head.

    Attributes:
        task: a relation, a key of `COREFERENCE`, or `GENDER`.
        direction: of a relation; "" for the others.
        accuracy: (L, h), 0 to 1.
        low, high: (L, h), interval of each head's accuracy as if it alone had been asked about; None under 30 arcs.
        gain_low, gain_high: likewise of its gain over the baseline.
        baseline, baseline_name: the best fixed offset ("-2"), or the best of the coreference baselines.
        held_out: heads and baselines chosen on one half and scored on the other, see `HeldOut`; for `GENDER` chosen on
            other nouns and templates, see `analysis.evidence.noun_pairs`; None = no halves.
        query_control: (L, h), the right mention found from other words; None for a relation.
        n_unseen: arcs of a relation, or passages, that make no question since the mask hides what is right.
    """

    task: str
    direction: str
    n: int
    n_examples: int
    accuracy: Grid
    low: Grid | None
    high: Grid | None
    gain_low: Grid | None
    gain_high: Grid | None
    baseline: float
    baseline_name: str
    held_out: dict[str, Any] | None
    ties: tuple[str, ...]
    stable: bool
    arrow_share: Grid | None
    query_control: Grid | None
    chance: float | None
    baselines: dict[str, float]
    n_unseen: int = 0

    @property
    def gain(self) -> Grid:
        """(L, h), accuracy − baseline."""
        return self.accuracy - self.baseline

    @property
    def is_thin(self) -> bool:
        """Fewer questions than an interval needs."""
        return self.n < FEWEST_ARCS

    @property
    def beats(self) -> NDArray[np.bool_]:
        """(L, h), True where the whole interval of the gain lies above 0; without intervals, where the gain does."""
        return np.asarray((self.gain if self.gain_low is None else self.gain_low) > 0)

    def ranked(self) -> list[HeadId]:
        """All heads, the most accurate first."""
        order = np.argsort(-self.accuracy.ravel(), kind="stable")
        return [HeadId(*divmod(int(i), self.accuracy.shape[1])) for i in order]


@dataclass(frozen=True, eq=False)
class Record:
    """Everything measured on one corpus in one way."""

    raw: Mapping[str, Any]

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What was run on what."""
        about: Mapping[str, Any] = self.raw["provenance"]
        return about

    @property
    def shape(self) -> tuple[int, int]:
        """(L, h)."""
        model = self.provenance["model"]
        return int(model["layers"]), int(model["heads"])

    def relations(self, fewest: int = 1) -> list[str]:
        """Relations with so many questions in some direction, the most frequent first."""
        return list(dict.fromkeys(each["relation"] for each in self.raw["dependencies"] if each["n"] >= fewest))

    def tasks(self, fewest: int = 1) -> list[tuple[str, str]]:
        """(task, direction) of everything with so many questions."""
        found = [(each["relation"], each["direction"]) for each in self.raw["dependencies"] if each["n"] >= fewest]
        subsets = {each["subset"] for each in self.raw["coreference"] if each["n"] >= fewest}
        found += [(task, "") for task, subset in COREFERENCE.items() if subset in subsets]
        return found + [(GENDER, "") for each in self.raw.get("gender", ())[:1] if each["n"] >= fewest]

    def table(self, task: str, direction: str = "dep>head") -> Table | None:
        """One task; None where the corpus has no question of it."""
        if task in COREFERENCE:
            for each in self.raw["coreference"]:
                if each["subset"] == COREFERENCE[task]:
                    return _coreference(task, each)
            return None
        if task == GENDER:
            return next((_gender(each) for each in self.raw.get("gender", ())), None)
        for each in self.raw["dependencies"]:
            if (each["relation"], each["direction"]) == (task, direction):
                return _relation(each, int(self.raw["other_arrows"]["n"]))
        return None

    def no_arc(self) -> Grid | None:
        """(L, h), share of a head's arrows between words that no arc links."""
        return None if not self.raw["dependencies"] else _grid(self.raw["other_arrows"]["no_arc"])

    def offset_share(self) -> Grid | None:
        """(L, h, 10), share of a head's arrows to each of OFFSETS."""
        shares = self.raw["other_arrows"].get("offsets")
        return None if shares is None or not self.raw["dependencies"] else _grid(shares["share"])


def as_record(run: Run, corpus: Corpus, about: Mapping[str, Any], *, seed: int = 0) -> dict[str, Any]:
    """A run's scores in the form of the shipped ones.

    Args:
        run: of `analysis.evidence.scoring.score`.
        corpus: what was run.
        about: more provenance, such as the corpus's name, the date and the command.
        seed: of the halves and the bootstrap.
    """
    scores = Scores.of(run, seed=seed)
    result = report(run, corpus, scores)
    result["provenance"] |= about
    if scores.dependencies.relations:
        shares = scores.dependencies.offset_share.tolist()
        result["other_arrows"]["offsets"] = {"of": list(OFFSETS), "share": shares}
    rounded: dict[str, Any] = _rounded(result)
    return rounded


def as_lines(record: dict[str, Any]) -> str:
    """JSON without spaces, a line for each relation."""
    return json_by_lines(record, BY_LINES, dense=True)


def lean(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the shares of arrows: they are accuracy × n / arrows, and a sixth of the file."""
    relations = [{k: v for k, v in each.items() if k != "share_of_arrows"} for each in record["dependencies"]]
    return {**record, "dependencies": relations}


def compact(record: dict[str, Any]) -> dict[str, Any]:
    """A control without what nobody asks of it: thin relations, intervals of every head, single pairs of nouns."""
    kept = {**record, "dependencies": [each for each in record["dependencies"] if each["n"] >= FEWEST_ARCS]}
    for name, left_out in (
        ("dependencies", ("head_intervals",)),
        ("coreference", ("head_intervals",)),
        (GENDER, ("by_pair", "by_template")),
    ):
        if name in kept:
            kept[name] = [{k: v for k, v in each.items() if k not in left_out} for each in kept[name]]
    return kept


@cache
def shipped(corpus: str, variant: str = "trained", model: str = "minilm") -> Record | None:
    """A record that comes with the app; None where there is none."""
    path = FOLDER / f"{model}-{corpus}-{variant}.json"
    return Record(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


@cache
def patterns(model: str = "minilm") -> dict[str, Any] | None:
    """What heads do besides relations, averaged over sentences of the own corpus; None where nothing was measured."""
    path = FOLDER / f"{model}-patterns.json"
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return found


def best_heads(record: Record, tasks: list[tuple[str, str]]) -> list[str]:
    """The heads that were chosen for any of the tasks and beat the baseline there, in their order."""
    names: set[HeadId] = set()
    for task, direction in tasks:
        table = record.table(task, direction)
        if table is None or table.held_out is None:
            continue
        bounds = table.held_out["gain_interval"]
        if bounds is not None and bounds[0] > 0:
            names |= {HeadId.parse(name) for name in table.held_out["heads"]}
    return [str(head) for head in sorted(names)]


def _relation(each: Mapping[str, Any], n_arrows: int) -> Table:
    share = each.get("share_of_arrows")
    return Table(
        task=each["relation"],
        direction=each["direction"],
        n_examples=each["n_sentences"],
        baseline=each["offset"]["accuracy"],
        baseline_name=f"{each['offset']['best']:+d}",
        arrow_share=_grid(each["accuracy"]) * each["n"] / max(n_arrows, 1) if share is None else _grid(share),
        query_control=None,
        chance=None,
        baselines={},
        n_unseen=each.get("unseen", 0),
        **_common(each),
    )


def _coreference(task: str, each: Mapping[str, Any]) -> Table:
    name = max(each["baselines"], key=lambda name: each["baselines"][name])
    return Table(
        task=task,
        direction="",
        n_examples=each["n_documents"] or each["n"],
        baseline=each["baselines"][name],
        baseline_name=name,
        arrow_share=None,
        query_control=_grid(each["query_control"]),
        chance=each["chance"],
        baselines=dict(each["baselines"]),
        n_unseen=each.get("unseen", 0),
        **_common(each),
    )


def _gender(each: Mapping[str, Any]) -> Table:
    ((name, value),) = each["baselines"].items()
    return Table(
        task=GENDER,
        direction="",
        n_examples=each["n"],
        baseline=value,
        baseline_name=name,
        arrow_share=None,
        query_control=_grid(each["query_control"]),
        chance=value,
        baselines=dict(each["baselines"]),
        **_common(each),
    )


def _common(each: Mapping[str, Any]) -> dict[str, Any]:
    bounds = each.get("head_intervals") or {}
    return {
        "n": each["n"],
        "accuracy": _grid(each["accuracy"]),
        "low": _grid(bounds["accuracy"]["low"]) if bounds else None,
        "high": _grid(bounds["accuracy"]["high"]) if bounds else None,
        "gain_low": _grid(bounds["gain"]["low"]) if bounds else None,
        "gain_high": _grid(bounds["gain"]["high"]) if bounds else None,
        "held_out": each["held_out"],
        "ties": tuple(each["ties"] or ()),
        "stable": each["stable"],
    }


def _grid(values: Any) -> Grid:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return value
