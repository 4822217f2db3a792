"""Finished runs in one file, with every frame: what a page can show before anybody has trained.

safetensors: the weights in float32, frames in float16 (three digits of a weight), curve and origin as JSON in the
header. The run that ships with the app is written by
`python -m model.training --task neighbours --record data/learning/neighbours.safetensors`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from model.errors import HeadworkError
from model.files import write_whole
from model.training.frames import Frame, Point
from model.training.settings import Settings
from model.training.training import Training

SHIPPED = Path(__file__).parents[2] / "data" / "learning" / "neighbours.safetensors"
KEY = "headwork-record"  # in the header of the file
_ARRAYS = ("maps", "share", "hit", "entropy", "accuracy")  # of a frame


@dataclass(frozen=True)
class Recorded:
    """Runs that were made before, and where they come from.

    Attributes:
        trainings: at their ends, as if they had just been made; the smaller network first.
        date: of the day, as 2026-05-17.
        command: that makes them again.
        versions: of Python and torch.
    """

    trainings: tuple[Training, ...]
    date: str
    command: str
    versions: str

    @property
    def seed(self) -> int:
        """Of every run."""
        return self.trainings[0].settings.seed


def write_record(path: Path, trainings: Sequence[Training], *, date: str, command: str, versions: str) -> None:
    """Writes finished runs.

    Raises:
        OSError: the file can't be written.
    """
    tensors: dict[str, Tensor] = {}
    for number, training in enumerate(trainings):
        for name, tensor in training.network.state_dict().items():
            tensors[f"{number}.network.{name}"] = tensor
        for name in _ARRAYS:
            stacked = np.stack([getattr(frame, name) for frame in training.frames])
            tensors[f"{number}.{name}"] = torch.from_numpy(stacked).half()
    about = {
        "date": date,
        "command": command,
        "versions": versions,
        "runs": [
            {
                "settings": asdict(training.settings),
                "seconds": round(training.seconds, 2),
                "curve": [[point.step, round(point.loss, 4), round(point.accuracy, 4)] for point in training.curve],
            }
            for training in trainings
        ],
    }
    write_whole(path, save(tensors, {KEY: json.dumps(about, ensure_ascii=False)}))


def read_record(path: Path = SHIPPED) -> Recorded:
    """Finished runs; one tells how they went on from `trainings` as from a run of one's own.

    Raises:
        HeadworkError: the file is missing, broken, or of another kind.
    """
    try:
        with safe_open(path, framework="pt") as stream:
            metadata = stream.metadata() or {}
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        if KEY not in metadata:
            raise ValueError("it holds no recorded runs")
        about = json.loads(metadata[KEY])
        trainings = tuple(_training(number, run, tensors) for number, run in enumerate(about["runs"]))
        return Recorded(trainings, str(about["date"]), str(about["command"]), str(about["versions"]))
    except HeadworkError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=str(error)) from error


def _training(number: int, run: dict[str, Any], tensors: dict[str, Tensor]) -> Training:
    settings = Settings(**run["settings"])
    arrays = [tensors[f"{number}.{name}"].float().numpy() for name in _ARRAYS]
    steps = [int(step) for step, _, _ in run["curve"]]
    frames = [Frame(step, *of_step) for step, *of_step in zip(steps, *arrays, strict=True)]
    curve = [
        Point(step, float(loss), float(accuracy), tuple(frame.accuracy.tolist()))
        for (step, loss, accuracy), frame in zip(run["curve"], frames, strict=True)
    ]
    prefix = f"{number}.network."
    return Training.resume(
        {
            "settings": settings,
            "step_number": settings.steps,
            "seconds": float(run["seconds"]),
            "curve": curve,
            "frames": frames,
            "network": {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)},
            "optimizer": None,  # nothing is left to train
            "generator": None,
        }
    )
