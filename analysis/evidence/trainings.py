"""What can be said about trainings: what was measured as tables, and by which run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from model.head_id import HeadId
from model.tasks.translate import CLASSES
from model.training import Training
from model.training.kinds import AnyRun
from model.training.peek import Peeking
from model.training.translate import Translating


def curves_table(trainings: Sequence[AnyRun]) -> pd.DataFrame:
    """Loss (nats) and right answers at every checkpoint; of relations also right answers of each that is asked."""
    rows: list[dict[str, object]] = []
    for training in trainings:
        if not isinstance(training, Training):
            rows += [_about(training) | point._asdict() for point in list(training.curve)]
            continue
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


def heads_table(trainings: Sequence[AnyRun]) -> pd.DataFrame:
    """Of every head at every checkpoint what was measured.

    Of relations: entropy (nats), mean weight on each relation's key, and how often it has the most weight. Of a
    translation: alignment error, weight on the aligned word, and the share aligned of each word class. Of Peek: mean
    weight on the next word, and from a verb on its subject.
    """
    rows: list[dict[str, object]] = []
    for training in trainings:
        if not isinstance(training, Training):
            rows += _other_heads(training)
            continue
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


def _other_heads(run: AnyRun) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for frame in list(run.frames):
        measured = (
            {"alignment error": frame.alignment.error, "share": frame.alignment.share}
            | {f"aligned {name}": frame.alignment.by_class[..., number] for number, name in enumerate(CLASSES)}
            if isinstance(run, Translating)
            else {"next word": frame.answer, "subject": frame.before}
        )
        for layer, head in np.ndindex(next(iter(measured.values())).shape):
            numbers = {name: float(values[layer, head]) for name, values in measured.items()}
            rows.append(_about(run) | {"step": frame.step, "head": str(HeadId(layer, head))} | numbers)
    return rows


def source(training: AnyRun) -> dict[str, str]:
    """What a file says about the run that it comes from."""
    settings = training.settings
    block = {"block": "encoder of so many layers, decoder of one"}
    if not isinstance(training, Translating):
        block = {
            "block": "with FFN" if training.settings.ffn else "attention only",
            "mask": training.settings.mask,
        }
    return {
        "task": settings.task,
        **block,
        "steps": str(settings.steps),
        "learning rate": f"{settings.learning_rate:g}",
        "seed": str(settings.seed),
        "d_model": str(settings.d_model),
        "batch": str(settings.batch),
        "parameters": str(training.n_parameters),
        "measured on": "held-out sentences of the task",
    }


def _about(training: AnyRun) -> dict[str, object]:
    settings = training.settings
    mask = {"mask": settings.mask} if isinstance(training, Peeking) else {}
    return {"heads": settings.heads, "layers": settings.layers} | mask
