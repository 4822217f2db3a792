"""The outcome of runs as JSON and in a line: what `python -m model.training` writes and prints."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from model.files import json_by_lines, write_whole
from model.head_id import HeadId
from model.tasks import PEEK
from model.tasks.translate import CLASSES
from model.training.frames import winners
from model.training.kinds import AnyRun, AnySettings
from model.training.peek import Peeking, PeekSettings
from model.training.training import N_TEST, Training
from model.training.translate import TranslateSettings, Translating
from model.version import app_version

DIGITS = 4


def summary(run: AnyRun) -> dict[str, Any]:
    """One run of the JSON's "runs": numbers on 1,024 fresh sentences, and `seconds` of CPU.

    `…_per_head` has one row for each head, layer after layer. For a translation `accuracy` is the share of whole
    sentences that it writes right, and `alignment_error` the best head's (model.training.alignment).
    """
    about = {"heads": run.settings.heads, "seed": run.settings.seed}
    if isinstance(run, Translating):
        found = run.test()
        return about | {
            "accuracy": _rounded(found.accuracy),
            "words": _rounded(found.words),
            "alignment_error": _rounded(found.alignment.best_error),
            "alignment_error_by_chance": _rounded(found.by_chance),
            "seconds": round(run.seconds, 2),
            "alignment_error_per_head": _rounded(found.alignment.error.ravel()),
            "share_per_head": _rounded(found.alignment.share.ravel()),
            "right_by_class_per_head": _rounded(found.alignment.by_class.reshape(-1, len(CLASSES))),
            "without_head_by_class": _rounded(run.switched_off().without.reshape(-1, len(CLASSES))),
        }
    if isinstance(run, Peeking):
        told = run.test()
        frame = run.frames[-1]
        return {
            "mask": run.settings.mask,
            **about,
            "loss": _rounded(told.loss),
            "floor": _rounded(PEEK.floor),
            "teacher_forced": _rounded(told.teacher_forced),
            "teacher_forced_allowed": _rounded(told.teacher_forced_allowed),
            "loss_alone": _rounded(told.loss_alone),
            "generating": _rounded(told.generating),
            "sentences": _rounded(told.sentences),
            "seconds": round(run.seconds, 2),
            "answer_share_per_head": _rounded(frame.answer.ravel()),
            "written": [" ".join(words) for words in told.written],
        }
    share = run.frames[-1].share  # (L, h, R)
    return about | {
        "accuracy": _rounded(run.test()[0]),
        "seconds": round(run.seconds, 2),
        "share_per_head": _rounded(share.reshape(-1, share.shape[-1])),
    }


def _rounded(values: ArrayLike) -> Any:
    return np.round(np.asarray(values, dtype=float), DIGITS).tolist()


def report(settings: AnySettings, runs: Sequence[dict[str, Any]], n_asked_for: int) -> dict[str, Any]:
    """All runs of one command, with what is needed to make them again."""
    each = ("task", "heads", "seed", *(("mask",) if isinstance(settings, PeekSettings) else ()))  # said in each run
    return {
        "task": settings.task,
        "runs": list(runs),
        "complete": len(runs) == n_asked_for,
        "provenance": {
            "program": f"headwork {app_version()}",
            **{name: value for name, value in asdict(settings).items() if name not in each},
            **_of_task(settings),
            "test_sentences": N_TEST,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
        },
    }


def _of_task(settings: AnySettings) -> dict[str, Any]:
    if isinstance(settings, TranslateSettings):
        return {"classes": list(CLASSES), "held_out": "one sentence in ten, by its words, never trained on"}
    if isinstance(settings, PeekSettings):
        return {"best_accuracy": PEEK.best_accuracy, "chance": round(PEEK.chance, DIGITS)}
    return {
        "relations": [relation.id for relation in settings.rule.relations],
        "chance": round(settings.rule.chance, DIGITS),
    }


def write(path: Path, result: dict[str, Any]) -> None:
    """Writes JSON with a line for each run; the file is whole at any moment.

    Raises:
        OSError: the file can't be written.
    """
    write_whole(path, json_by_lines(result, ("runs",)))


def line(run: AnyRun, told: dict[str, Any]) -> str:
    """A run in two lines: how well it does, and what each head has to do with it. `told` is its `summary`."""
    if isinstance(run, Translating):
        heads = [f"{HeadId(0, head)} {error:.3f}" for head, error in enumerate(told["alignment_error_per_head"])]
        return (
            f"seed {told['seed']}: {told['accuracy']:.1%} of sentences right, {told['seconds']:.1f} s, "
            f"99 % {_reached(run)}; alignment error of the best head {told['alignment_error']:.3f} "
            f"({', '.join(heads)})\n"
            f"    aligned by class: {_by_class(told['right_by_class_per_head'])}\n"
            f"    words right without one head: {_by_class(told['without_head_by_class'])}"
        )
    if isinstance(run, Peeking):
        return (
            f"seed {told['seed']}, {told['mask']}: loss {told['loss']:.3f} (floor {told['floor']:.3f}), "
            f"{told['seconds']:.1f} s; next words right {told['teacher_forced']:.1%} (from the past alone "
            f"{PEEK.best_accuracy:.1%} at best, on average); while it writes alone {told['generating']:.1%} allowed\n"
            f"    it writes: {told['written'][0]}"
        )
    return _line_of_training(run, told)


def _by_class(rows: Sequence[Sequence[float]]) -> str:
    """Such as "1-1 noun 1.00 adjective 0.53 …; 1-2 …"."""
    return "; ".join(
        f"{HeadId(0, head)} " + " ".join(f"{kind} {share:.2f}" for kind, share in zip(CLASSES, row, strict=True))
        for head, row in enumerate(rows)
    )


def _line_of_training(training: Training, told: dict[str, Any]) -> str:
    """How often it is right, which head took which relation, and what is left without each head."""
    _, by_relation = training.test()
    found = winners(training.frames[-1])
    parts = [
        f"{relation.id}: {'' if not relation.asked else f'{right:.3f} '}head {HeadId(layer, head)} ({share:.2f})"
        for relation, right, (layer, head), share in zip(
            training.task.relations, by_relation, found.heads, found.shares, strict=True
        )
    ]
    return (
        f"seed {told['seed']}: accuracy {told['accuracy']:.3f}, {told['seconds']:.1f} s, "
        f"99 % {_reached(training)}; {', '.join(parts)}\n"
        f"    right without one head: {_without(training)}"
    )


def _reached(run: Training | Translating) -> str:
    step = next((point.step for point in run.curve if point.accuracy >= 0.99), None)
    return "never" if step is None else f"at step {step}"


def _without(training: Training) -> str:
    """Such as "1-1 left 1.00 twin 0.05; 1-2 left 0.04 twin 1.00"."""
    without = training.switched_off().without  # (L, h, R)
    return "; ".join(
        f"{HeadId(layer, head)} "
        + " ".join(f"{training.task.relations[i].id} {without[layer, head, i]:.2f}" for i in training.task.asked)
        for layer in range(without.shape[0])
        for head in range(without.shape[1])
    )


def over_seeds(runs: Sequence[dict[str, Any]]) -> str:
    """Mean, deviation and range of several runs; "" for fewer. Of Peek, one line for each mask."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        groups.setdefault(run.get("mask", ""), []).append(run)
    if min(map(len, groups.values()), default=0) < 2:
        return ""
    lines = []
    for mask, of_mask in groups.items():
        names = ("loss", "generating") if mask else ("accuracy", "alignment_error")
        values = {name.replace("_", " "): [run[name] for run in of_mask] for name in names if name in of_mask[0]}
        spreads = [f"{name} {_spread(of_seeds)}" for name, of_seeds in values.items()]
        lines.append(f"{len(of_mask)} seeds{', ' * bool(mask)}{mask}: {', '.join(spreads)}")
    return "\n".join(lines)


def _spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f} [{min(values):.3f}, {max(values):.3f}]"
