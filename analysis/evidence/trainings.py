"""What can be said about trainings: what was measured as tables, and by which run."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from model.head_id import HeadId
from model.training import Training


def curves_table(trainings: Sequence[Training]) -> pd.DataFrame:
    """Loss (nats), right answers, and right answers of each relation that is asked, at every checkpoint."""
    rows = []
    for training in trainings:
        relations = training.task.relations
        for point in list(training.curve):
            answers = {
                f"accuracy {relation.id}": value
                for relation, value in zip(relations, point.by_relation, strict=True)
                if relation.asked
            }
            rows.append(
                _about(training) | {"step": point.step, "loss": point.loss, "accuracy": point.accuracy} | answers
            )
    return pd.DataFrame(rows)


def heads_table(trainings: Sequence[Training]) -> pd.DataFrame:
    """Entropy (nats), mean weight on each relation's key, and how often it has the most weight, of every head."""
    rows = []
    for training in trainings:
        relations = training.task.relations
        for frame in list(training.frames):
            for layer in range(training.settings.layers):
                for head in range(training.settings.heads):
                    row = _about(training) | {"step": frame.step, "head": str(HeadId(layer, head))}
                    row["entropy"] = float(frame.entropy[layer, head])
                    for number, relation in enumerate(relations):
                        row[f"share {relation.id}"] = float(frame.share[layer, head, number])
                        row[f"hit {relation.id}"] = float(frame.hit[layer, head, number])
                    rows.append(row)
    return pd.DataFrame(rows)


def source(training: Training) -> dict[str, str]:
    """What a file says about the run that it comes from."""
    settings = training.settings
    return {
        "task": settings.task,
        "block": "with FFN" if settings.ffn else "attention only",
        "mask": settings.mask,
        "steps": str(settings.steps),
        "learning rate": f"{settings.learning_rate:g}",
        "seed": str(settings.seed),
        "d_model": str(settings.d_model),
        "batch": str(settings.batch),
        "parameters": str(training.n_parameters),
        "measured on": "held-out sentences of the task",
    }


def _about(training: Training) -> dict[str, object]:
    return {"heads": training.settings.heads, "layers": training.settings.layers}
