"""The outcome of runs as JSON: what `python -m model.training --json` writes."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from model.files import json_by_lines, write_whole
from model.training.settings import Settings
from model.training.training import N_TEST, Training
from model.version import app_version

DIGITS = 4


def summary(training: Training) -> dict[str, Any]:
    """One run of the JSON's "runs".

    `accuracy` is the share of right answers on 1,024 fresh sentences, `seconds` CPU time, `share_per_head` one row for
    each head, layer after layer, with its mean weight on each relation's key.
    """
    accuracy, _ = training.test()
    share = training.frames[-1].share  # (L, h, R)
    return {
        "heads": training.settings.heads,
        "seed": training.settings.seed,
        "accuracy": round(accuracy, DIGITS),
        "seconds": round(training.seconds, 2),
        "share_per_head": np.round(share.reshape(-1, share.shape[-1]).astype(float), DIGITS).tolist(),
    }


def report(settings: Settings, runs: Sequence[dict[str, Any]], n_asked_for: int) -> dict[str, Any]:
    """All runs of one command, with what is needed to make them again."""
    task = settings.rule
    return {
        "task": settings.task,
        "runs": list(runs),
        "complete": len(runs) == n_asked_for,
        "provenance": {
            "program": f"headwork {app_version()}",
            "layers": settings.layers,
            "ffn": settings.ffn,
            "mask": settings.mask,
            "steps": settings.steps,
            "learning_rate": settings.learning_rate,
            "d_model": settings.d_model,
            "batch": settings.batch,
            "relations": [relation.id for relation in task.relations],
            "chance": round(task.chance, DIGITS),
            "test_sentences": N_TEST,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
        },
    }


def write(path: Path, result: dict[str, Any]) -> None:
    """Writes JSON with a line for each run; the file is whole at any moment.

    Raises:
        OSError: the file can't be written.
    """
    write_whole(path, json_by_lines(result, ("runs",)))
