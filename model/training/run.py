"""What every training has in common: made step by step, so that one can watch, pause and go on.

Three kinds are made of it, alike for a page that shows them:

    training.Training        a Transformer on a Task                Settings, Point, Frame
    translate.Translating    an encoder–decoder on a Translation    TranslateSettings, TranslatePoint, TranslateFrame
    peek.Peeking             a language model under a mask on Peek  PeekSettings, PeekPoint, PeekFrame

Each has `settings`, `task`, `step_number`, `done`, `seconds`, `n_parameters`, `step(n)`, `curve` (a point for each
look, the first at step 0), `frames` (of the same looks: maps of the example, and numbers of each head), `test()` (on
many fresh sentences), `state()` and `resume(state)`. Each point has `step`, `loss` and `accuracy`, each frame `step`.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from model.training.adamw import AdamW

WEIGHTS, DATA, HELD_OUT, TEST = range(4)  # streams of one seed


class Budget(Protocol):
    """What the settings of every kind say."""

    @property
    def steps(self) -> int:
        """How many there will be."""
        ...

    @property
    def batch(self) -> int:
        """Sentences a step."""
        ...

    @property
    def learning_rate(self) -> float:
        """The highest of the cycle."""
        ...

    @property
    def seed(self) -> int:
        """Of first weights and of all sentences."""
        ...


SettingsT = TypeVar("SettingsT", bound=Budget)
NetworkT = TypeVar("NetworkT", bound=nn.Module)
PointT = TypeVar("PointT")
FrameT = TypeVar("FrameT")


class Run(ABC, Generic[SettingsT, NetworkT, PointT, FrameT]):
    """One run. Nothing here is shared: no global random numbers, no settings of torch, no thread of its own."""

    def __init__(self, settings: SettingsT, network: NetworkT, looks: Iterable[int]) -> None:
        """Takes a network with its first weights. A kind calls `_look` itself, when it is ready."""
        self.settings = settings
        self.step_number = 0
        self.seconds = 0.0  # of CPU, as far as this thread spent them
        self.curve: list[PointT] = []
        self.frames: list[FrameT] = []
        self.network = network
        self._optimizer = AdamW(network)
        self._generator = stream(settings.seed, DATA)
        self._looks = frozenset(looks)

    @abstractmethod
    def _loss(self) -> Tensor:
        """Of the next batch, which is drawn from `_generator`."""

    @abstractmethod
    def _look(self) -> None:
        """Adds a point and a frame."""

    @property
    def done(self) -> bool:
        """Whether every step was made."""
        return self.step_number >= self.settings.steps

    @property
    def n_parameters(self) -> int:
        """Numbers that are trained, the read-out's included."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def step(self, n: int = 1) -> None:
        """Makes up to n steps: fewer when the end is near."""
        start = time.thread_time()
        with torch.inference_mode(False), torch.enable_grad():
            for _ in range(min(n, self.settings.steps - self.step_number)):
                self._step()
        self.seconds += time.thread_time() - start

    def _step(self) -> None:
        settings = self.settings
        loss = self._loss()
        self._optimizer.forget_gradients()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step(one_cycle(self.step_number, settings.steps, settings.learning_rate))
        self.step_number += 1
        if self.step_number in self._looks:
            self._look()

    def state(self) -> dict[str, Any]:
        """Everything that `resume` needs to go on exactly here; later steps don't change it."""
        return {
            "settings": self.settings,
            "step_number": self.step_number,
            "seconds": self.seconds,
            "curve": list(self.curve),
            "frames": list(self.frames),
            "network": copy.deepcopy(self.network.state_dict()),
            "optimizer": self._optimizer.state(),
            "generator": self._generator.get_state(),
        }

    @classmethod
    def resume(cls, state: dict[str, Any]) -> Self:
        """A run that goes on where `state` was taken, step by step the same as the one that was never stopped."""
        run = cls(state["settings"])  # type: ignore[call-arg]  # a kind makes its own network
        run.step_number = state["step_number"]
        run.seconds = state["seconds"]
        run.curve, run.frames = list(state["curve"]), list(state["frames"])
        run.network.load_state_dict(state["network"])
        if not run.done:
            run._optimizer.load(state["optimizer"])
            run._generator.set_state(state["generator"])
        return run


def one_cycle(step: int, steps: int, highest: float) -> float:
    """The learning rate of a step: up along a cosine for a tenth of the run, then down to nearly 0.

    After Smith & Topin 2018; start and end are highest / 25 and highest / 250,000, as in torch's OneCycleLR.
    """
    rising = max(1.0, 0.1 * steps)
    lowest, last = highest / 25, highest / 250_000
    if step < rising:
        return _cosine(lowest, highest, step / rising)
    return _cosine(highest, last, (step - rising) / max(1.0, steps - rising))


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


def stream(seed: int, number: int) -> torch.Generator:
    """One of the independent rows of random numbers that belong to a seed: WEIGHTS, DATA, HELD_OUT or TEST."""
    return torch.Generator().manual_seed(4 * seed + number)
