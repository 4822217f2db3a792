"""The result of a run as JSON: one place where the structure of `python -m analysis --json` is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.controls import Control
from analysis.evidence.coreference import CoreferenceScore, left_out, score_coreference
from analysis.evidence.corpora.corpus import Corpus
from analysis.evidence.dependencies import DependencyScores, RelationScore, score_dependencies
from analysis.evidence.gender import BASELINE, GenderScore, score_gender
from analysis.evidence.held_out import HeadIntervals, HeldOut
from analysis.evidence.intervals import DRAWS, FEWEST_ARCS, FEWEST_SENTENCES, LEVEL, Interval
from analysis.evidence.noun_pairs import Chosen, Share
from analysis.evidence.scoring import Run
from model.files import json_by_lines
from model.version import app_version

BY_LINES = ("dependencies", "coreference", "gender")
DIGITS = 4  # of a share: a hundredth of a percentage point


@dataclass(frozen=True, eq=False)
class Scores:
    """Everything that is scored in a run, from one seed and as many draws."""

    dependencies: DependencyScores
    coreference: tuple[CoreferenceScore, ...]
    gender: tuple[GenderScore, ...]
    seed: int
    draws: int

    @classmethod
    def of(cls, run: Run, *, seed: int = 0, draws: int = DRAWS) -> Scores:
        """The scores of a run; `seed` is that of the halves and the bootstrap, `draws` of the bootstrap."""
        return cls(
            score_dependencies(run, seed=seed, draws=draws),
            score_coreference(run, seed=seed, draws=draws),
            score_gender(run, seed=seed, draws=draws),
            seed,
            draws,
        )


def report(run: Run, corpus: Corpus, scores: Scores | None = None) -> dict[str, Any]:
    """The scores of a run, laid out for JSON. The same run and seed give the same bytes.

    Args:
        run: of `analysis.evidence.scoring.score`.
        corpus: what was run.
        scores: of the run; None = `Scores.of(run)`.
    """
    scores = scores or Scores.of(run)
    dependencies, coreference, gender = scores.dependencies, scores.coreference, scores.gender
    units = {"dependencies": dependencies.unit} if dependencies.relations else {}
    units |= {"coreference": coreference[0].unit} if coreference else {}
    units |= {"gender": "pair of nouns"} if gender else {}
    result: dict[str, Any] = {
        "provenance": provenance(run, corpus)
        | {"seed": scores.seed, "draws": scores.draws, "level": LEVEL, "unit": units},
        "dependencies": [_relation(score) for score in dependencies.relations],
        "other_arrows": {
            "n": dependencies.n_arrows,
            "no_arc": _grid(dependencies.no_arc_share),
        },
        "coreference": [_coreference(score) for score in coreference],
        "skipped": {
            "count": len(run.skipped),
            "problems": [{"file": p.file, "line": p.line, "reason": p.reason} for p in run.skipped],
            "unclear": {
                "words": int(run.arrows.unclear.sum()),
                "of_words": len(run.arrows.unclear),
                "arcs": dependencies.n_unclear,
                "of_arcs": dependencies.n_arcs,
                "questions": dependencies.n_incomplete,
                "passages": left_out(run) + sum(each.n_unclear for each in gender),
            },
            **({"unseen": dependencies.n_unseen} if any(dependencies.n_unseen.values()) else {}),
        },
    }
    return result | ({"gender": [_gender(score) for score in gender]} if gender else {})


def as_text(result: dict[str, Any]) -> str:
    """JSON with a line for each relation."""
    return json_by_lines(result, BY_LINES)


def provenance(run: Run, corpus: Corpus) -> dict[str, Any]:
    """What was run on what, and by which rules. Holds no date, so that the same run gives the same bytes."""
    conditions = run.conditions
    return {
        "program": f"headwork {app_version()}",
        "model": {
            "id": run.model_id,
            "label": run.model_label,
            "trained": run.trained,
            "weights_sha256": run.sha256,
            "layers": run.n_layers,
            "heads": run.n_heads,
        },
        "mask": str(conditions.mask),
        "restricted_to": None if conditions.restrict is None else str(conditions.restrict),
        "words": run.writing,
        **({"start": run.start} if run.start else {}),
        "control": control_name(conditions.control, conditions.seed),
        "files": [
            {"name": s.file, "sha256": s.sha256, "sentences": s.n_sentences, "passages": s.n_passages}
            for s in corpus.sources
        ],
        "n_sentences": len(run.sentences),
        "n_passages": len(run.passages),
        "fewest_arcs_for_an_interval": FEWEST_ARCS,
        "fewest_sentences_for_stable": FEWEST_SENTENCES,
    }


def control_name(control: Control | None, seed: int) -> str | None:
    """How a control is written down, with the seed of its weights where there is one."""
    return f"untrained, seed {seed}" if control == "untrained" else control


def _relation(score: RelationScore) -> dict[str, Any]:
    return {
        "relation": score.relation,
        "direction": score.direction,
        "n": score.n,
        **({"unseen": score.n_unseen} if score.n_unseen else {}),
        "n_sentences": score.n_sentences,
        "accuracy": _grid(score.accuracy),
        "offset": {"best": score.best_offset, "accuracy": _number(score.offset_accuracy)},
        "held_out": _held_out(score.held_out),
        "ties": _ties(score.intervals),
        "head_intervals": _head_intervals(score.intervals),
        "stable": score.stable,
        "share_of_arrows": _grid(score.arrow_share),
    }


def _coreference(score: CoreferenceScore) -> dict[str, Any]:
    return {
        "subset": score.subset,
        "n": score.n,
        **({"unseen": score.n_unseen} if score.n_unseen else {}),
        "n_documents": score.n_documents,
        "accuracy": _grid(score.accuracy),
        "chance": _number(score.chance),
        "baselines": {name: _number(value) for name, value in score.baselines.items()},
        "held_out": _held_out(score.held_out),
        "ties": _ties(score.intervals),
        "head_intervals": _head_intervals(score.intervals),
        "stable": score.stable,
        "query_control": _grid(score.query_control),
    }


def _gender(score: GenderScore) -> dict[str, Any]:
    return {
        "file": score.file,
        "n": score.n,
        "left_out": {"unclear": score.n_unclear, "incomplete": score.n_incomplete},
        "accuracy": _grid(score.accuracy),
        "baselines": {BASELINE: _number(float(score.hits.baseline_accuracy()[0]))},
        "held_out": _chosen(score.chosen),
        "mean_map": _number(score.mean_map),
        "mean_of_heads": _number(score.mean_of_heads),
        "ties": _ties(score.intervals),
        "head_intervals": _head_intervals(score.intervals),
        "stable": score.stable,
        "follows_noun": _grid(score.follows_noun),
        "follows_pronoun": _grid(score.follows_pronoun),
        "query_control": _grid(score.query_control),
        "by_pair": [
            {"pair": name, "rarer": name in score.rarer, "accuracy": _grid(grid)}
            for name, grid in zip(score.pairs + score.rarer, score.by_pair, strict=True)
        ],
        "by_template": [
            {"template": name, "accuracy": _grid(grid)}
            for name, grid in zip(score.templates, score.by_template, strict=True)
        ],
    }


def _chosen(found: Chosen | None) -> dict[str, Any] | None:
    """In the form of `_held_out`, for new templates; the baseline is right in half of each cell, so exactly .5."""
    if found is None:
        return None
    bounds = found.new_templates.interval
    accuracy = found.new_templates.accuracy
    return {
        "heads": [str(head) for head, _ in found.heads],
        "chosen_in": [_number(share) for _, share in found.heads],
        "baselines": [BASELINE],
        "accuracy": _number(accuracy),
        "interval": _interval(bounds),
        "baseline": 0.5,
        "gain": _number(accuracy - 0.5),
        "gain_interval": None if bounds is None else _interval((bounds[0] - 0.5, bounds[1] - 0.5)),
        "other_nouns": _of_share(found.other_nouns),
        "rarer_nouns": None if found.rarer_nouns is None else _of_share(found.rarer_nouns),
    }


def _of_share(share: Share) -> dict[str, Any]:
    return {
        "n": share.n,
        "pairs": share.n_pairs,
        "accuracy": _number(share.accuracy),
        "interval": _interval(share.interval),
    }


def _held_out(result: HeldOut | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "heads": [str(head) for head in result.heads],
        "baselines": list(result.baselines),
        "accuracy": _number(result.accuracy),
        "interval": _interval(result.interval),
        "baseline": _number(result.baseline),
        "gain": _number(result.gain),
        "gain_interval": _interval(result.gain_interval),
    }


def _ties(intervals: HeadIntervals | None) -> list[str] | None:
    return None if intervals is None else [str(head) for head in intervals.ties]


def _head_intervals(intervals: HeadIntervals | None) -> dict[str, Any] | None:
    """Low and high grids of every head's accuracy and of its gain over the best baseline."""
    if intervals is None:
        return None
    return {
        name: {"low": _grid(bounds[0]), "high": _grid(bounds[1])}
        for name, bounds in (("accuracy", intervals.accuracy), ("gain", intervals.gain))
    }


def _interval(bounds: Interval | None) -> list[float | None] | None:
    return None if bounds is None else [_number(bound) for bound in bounds]


def _grid(values: NDArray[np.float64]) -> list[list[float | None]]:
    return [[_number(value) for value in row] for row in values.tolist()]


def _number(value: float) -> float | None:
    """Rounded; None for NaN, which JSON has no word for."""
    return None if np.isnan(value) else round(float(value), DIGITS) + 0.0  # −0.0 becomes 0.0
