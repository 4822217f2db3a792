"""What can be said about trainings: what was measured as tables, and by which run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.head_id import HeadId
from model.tasks.translate import CLASSES
from model.training import Training
from model.training.kinds import AnyRun
from model.training.peek import Peeking, PeekPoint
from model.training.translate import TranslatePoint, TranslateSettings, Translating


def curves_table(trainings: Sequence[AnyRun]) -> pd.DataFrame:
    """Loss (nats) and right answers at every checkpoint; of relations also right answers of each that is asked."""
    rows: list[dict[str, object]] = []
    for training in trainings:
        if not isinstance(training, Training):
            rows += _other_points(training)
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


def _other_points(run: Translating | Peeking) -> list[dict[str, object]]:
    points: list[TranslatePoint | PeekPoint] = list(run.curve)
    return [_about(run) | point._asdict() for point in points]


def _other_heads(run: Translating | Peeking) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for step, measured in _alignments(run) if isinstance(run, Translating) else _weights(run):
        for layer, head in np.ndindex(next(iter(measured.values())).shape):
            numbers = {name: float(values[layer, head]) for name, values in measured.items()}
            rows.append(_about(run) | {"step": step, "head": str(HeadId(layer, head))} | numbers)
    return rows


Measured = tuple[int, dict[str, NDArray[np.float32]]]  # a step, and under each name (L, h)


def _alignments(run: Translating) -> Iterator[Measured]:
    for frame in list(run.frames):
        found = frame.alignment
        by_class = {f"aligned {name}": found.by_class[..., number] for number, name in enumerate(CLASSES)}
        yield frame.step, {"alignment error": found.error, "share": found.share, **by_class}


def _weights(run: Peeking) -> Iterator[Measured]:
    for frame in list(run.frames):
        yield frame.step, {"next word": frame.answer, "subject": frame.before}


def source(training: AnyRun) -> dict[str, str]:
    """What a file says about the run that it comes from."""
    settings = training.settings
    block = {"block": "encoder of so many layers, decoder of one"}
    if not isinstance(settings, TranslateSettings):
        block = {"block": "with FFN" if settings.ffn else "attention only", "mask": settings.mask}
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
    about: dict[str, object] = {"heads": training.settings.heads, "layers": training.settings.layers}
    return about | ({"mask": training.settings.mask} if isinstance(training, Peeking) else {})
