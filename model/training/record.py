"""Finished runs in one file, with every frame: what a page can show before anybody has trained.

safetensors: the weights in float32, frames in float16 (three digits of a weight), curve and origin as JSON in the
header. Those that ship with the app are written by
`python -m model.training --task TASK --record data/learning/TASK.safetensors`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from model.errors import HeadworkError
from model.files import write_whole
from model.training.alignment import Alignment
from model.training.frames import Frame, Point
from model.training.kinds import AnyRun, run_class, settings_class
from model.training.peek import PeekFrame, Peeking, PeekPoint, PeekSettings
from model.training.training import Training
from model.training.translate import TranslateFrame, TranslatePoint, TranslateSettings, Translating

FOLDER = Path(__file__).parents[2] / "data" / "learning"
SHIPPED = FOLDER / "neighbours.safetensors"
KEY = "headwork-record"  # in the header of the file
_FRAME = ("maps", "share", "hit", "entropy", "accuracy")  # arrays of a frame, by kind of training
_TRANSLATE_FRAME = ("cross", "error", "share", "by_class")
_PEEK_FRAME = ("maps", "answer", "before", "loss_by_place")
RunT = TypeVar("RunT", Training, Translating, Peeking)


@dataclass(frozen=True)
class Recorded(Generic[RunT]):
    """Runs that were made before, and where they come from.

    Attributes:
        trainings: at their ends, as if they had just been made; the smaller network first, the causal mask first.
        date: of the day, as 2026-05-17.
        command: that makes them again.
        versions: of Python and torch.
    """

    trainings: tuple[RunT, ...]
    date: str
    command: str
    versions: str

    @property
    def seed(self) -> int:
        """Of every run."""
        return self.trainings[0].settings.seed


def shipped(task: str) -> Path:
    """Where the record of a task lies that comes with the app; not every task has one."""
    return FOLDER / f"{task}.safetensors"


def write_record(path: Path, runs: Sequence[AnyRun], *, date: str, command: str, versions: str) -> None:
    """Writes finished runs.

    Raises:
        OSError: the file can't be written.
    """
    tensors: dict[str, Tensor] = {}
    for number, run in enumerate(runs):
        for name, tensor in run.network.state_dict().items():
            tensors[f"{number}.network.{name}"] = tensor
        for name, array in _arrays(run).items():
            tensors[f"{number}.{name}"] = torch.from_numpy(array).half()
    about = {
        "date": date,
        "command": command,
        "versions": versions,
        "runs": [
            {
                "settings": asdict(run.settings),
                "seconds": round(run.seconds, 2),
                "curve": [[point[0], *(round(number, 4) for number in _numbers(point))] for point in run.curve],
                **({"written": [frame.written for frame in run.frames]} if isinstance(run, Translating) else {}),
            }
            for run in runs
        ],
    }
    write_whole(path, save(tensors, {KEY: json.dumps(about, ensure_ascii=False)}))


def _numbers(point: tuple[Any, ...]) -> list[float]:
    """What a point says beside its step; what lies in the frames as well is left out."""
    return [number for number in point[1:] if isinstance(number, float)]


def _arrays(run: AnyRun) -> dict[str, NDArray[np.float32]]:
    """The arrays of all frames, one over the other."""
    if isinstance(run, Translating):
        alignments = [frame.alignment for frame in run.frames]
        arrays = {name: np.stack([getattr(found, name) for found in alignments]) for name in _TRANSLATE_FRAME[1:]}
        return {"cross": np.stack([frame.cross for frame in run.frames]), **arrays}
    names = _PEEK_FRAME if isinstance(run, Peeking) else _FRAME
    return {name: np.stack([getattr(frame, name) for frame in run.frames]) for name in names}


@overload
def read_record(path: Path = SHIPPED) -> Recorded[Training]: ...
@overload
def read_record(path: Path, kind: type[RunT]) -> Recorded[RunT]: ...
def read_record(path: Path = SHIPPED, kind: Any = Training) -> Any:
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
        runs = tuple(_run(number, run, tensors) for number, run in enumerate(about["runs"]))
        if not all(isinstance(run, kind) for run in runs):
            raise ValueError("its runs are of another task")
        return Recorded(runs, str(about["date"]), str(about["command"]), str(about["versions"]))
    except HeadworkError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=str(error)) from error


def _run(number: int, about: dict[str, Any], tensors: dict[str, Tensor]) -> AnyRun:
    settings = settings_class(about["settings"]["task"])(**about["settings"])
    steps, points = [int(row[0]) for row in about["curve"]], [tuple(map(float, row[1:])) for row in about["curve"]]

    def arrays(*names: str) -> Iterator[list[NDArray[np.float32]]]:
        """Of each frame."""
        stacks = [tensors[f"{number}.{name}"].float().numpy() for name in names]
        return (list(of_frame) for of_frame in zip(*stacks, strict=True))

    frames: list[Any]
    curve: list[Any]
    if isinstance(settings, TranslateSettings):
        frames = [
            TranslateFrame(step, cross, Alignment(*found), tuple(words))
            for step, (cross, *found), words in zip(steps, arrays(*_TRANSLATE_FRAME), about["written"], strict=True)
        ]
        curve = [TranslatePoint(step, *point) for step, point in zip(steps, points, strict=True)]
    elif isinstance(settings, PeekSettings):
        frames = [PeekFrame(step, *found) for step, found in zip(steps, arrays(*_PEEK_FRAME), strict=True)]
        curve = [PeekPoint(step, *point) for step, point in zip(steps, points, strict=True)]
    else:
        frames = [Frame(step, *found) for step, found in zip(steps, arrays(*_FRAME), strict=True)]
        curve = [
            Point(step, loss, accuracy, tuple(frame.accuracy.tolist()))
            for step, (loss, accuracy), frame in zip(steps, points, frames, strict=True)
        ]
    prefix = f"{number}.network."
    return run_class(settings).resume(
        {
            "settings": settings,
            "step_number": settings.steps,
            "seconds": float(about["seconds"]),
            "curve": curve,
            "frames": frames,
            "network": {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)},
            "optimizer": None,  # nothing is left to train
            "generator": None,
        }
    )
