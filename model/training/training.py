"""Training a small Transformer step by step, so that one can watch, pause and go on."""

from __future__ import annotations

import copy
import math
import time
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.tasks import NOTHING_ASKED, Batch
from model.training.adamw import AdamW
from model.training.frames import Frame, Point, Singles, accuracy_of, look, loss_of, steps_to_look_at
from model.training.network import Network, new_network
from model.training.settings import Settings

N_HELD_OUT = 128  # sentences behind each frame
N_TEST = 1024  # sentences behind the final numbers
_DATA, _HELD_OUT, _TEST = 1, 2, 3  # streams of one seed, beside 0 for the weights


class SwitchedOff(NamedTuple):
    """What each head is needed for: the accuracy of every relation without it, and with all heads."""

    without: Singles  # (L, h, R)
    unharmed: Singles  # (R,)


class Training:
    """One run. Nothing here is shared: no global random numbers, no settings of torch, no thread of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.task = settings.rule
        self.step_number = 0
        self.seconds = 0.0  # of CPU, as far as this thread spent them
        self.curve: list[Point] = []
        self.frames: list[Frame] = []
        task = self.task
        with torch.inference_mode(False):
            self.network: Network = new_network(settings.config, task, _stream(settings.seed, 0))
            self._optimizer = AdamW(self.network)
            self._generator = _stream(settings.seed, _DATA)
            self._held_out = task.batch(_stream(settings.seed, _HELD_OUT), N_HELD_OUT)
            allowed = settings.allowed.allowed(task.n_tokens)  # (N, N)
            self._mask: Tensor | None = None if bool(allowed.all()) else allowed
        self._looks = frozenset(steps_to_look_at(settings.steps))
        self._look()

    @property
    def done(self) -> bool:
        """Whether every step was made."""
        return self.step_number >= self.settings.steps

    @property
    def n_parameters(self) -> int:
        """Numbers that are trained, the read-out's included."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    @property
    def example(self) -> Batch:
        """The sentence whose maps the frames hold (B = 1)."""
        return Batch(*(part[:1] for part in self._held_out))

    @property
    def n_answers(self) -> int:
        """How many answers stand behind each accuracy of the curve."""
        return int((self._held_out.targets[..., list(self.task.asked)] != NOTHING_ASKED).sum())

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the example."""
        return self.task.words(self._held_out.ids[0])

    @property
    def entropy(self) -> Singles:
        """(frames, L, h), nats."""
        return np.stack([frame.entropy for frame in self.frames])

    def step(self, n: int = 1) -> None:
        """Makes up to n steps: fewer when the end is near."""
        start = time.thread_time()
        with torch.inference_mode(False), torch.enable_grad():
            for _ in range(min(n, self.settings.steps - self.step_number)):
                self._step()
        self.seconds += time.thread_time() - start

    def _step(self) -> None:
        settings = self.settings
        batch = self.task.batch(self._generator, settings.batch)
        logits, _ = self.network(batch.ids, self._mask)
        loss = loss_of(logits, batch.targets[..., list(self.task.asked)])
        self._optimizer.forget_gradients()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step(one_cycle(self.step_number, settings.steps, settings.learning_rate))
        self.step_number += 1
        if self.step_number in self._looks:
            self._look()

    def _look(self) -> None:
        point, frame = look(self.network, self.task, self._held_out, self._mask, self.step_number)
        self.curve.append(point)
        self.frames.append(frame)

    @cached_property
    def _test(self) -> Batch:
        return self.task.batch(_stream(self.settings.seed, _TEST), N_TEST)

    def test(self, head_mask: Tensor | None = None) -> tuple[float, Singles]:
        """The share of right answers on 1,024 fresh sentences: of all, and of each relation (R,), NaN if not asked.

        Args:
            head_mask: (L, h), 0 = the head is off.
        """
        asked = list(self.task.asked)
        with torch.no_grad():
            logits, _ = self.network(self._test.ids, self._mask, head_mask=head_mask)
            accuracy, of_asked = accuracy_of(logits, self._test.targets[..., asked])
        by_relation = np.full(len(self.task.relations), np.nan, dtype=np.float32)
        by_relation[asked] = of_asked.numpy()
        return accuracy, by_relation

    def switched_off(self) -> SwitchedOff:
        """What is left of each relation's accuracy when one head alone is switched off, for every head."""
        layers, heads = self.settings.layers, self.settings.heads
        without = np.empty((layers, heads, len(self.task.relations)), dtype=np.float32)
        for layer in range(layers):
            for head in range(heads):
                head_mask = torch.ones(layers, heads)
                head_mask[layer, head] = 0.0
                without[layer, head] = self.test(head_mask)[1]
        return SwitchedOff(without, self.test()[1])

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
    def resume(cls, state: dict[str, Any]) -> Training:
        """A run that goes on where `state` was taken, step by step the same as the one that was never stopped."""
        training = cls(state["settings"])
        training.step_number = state["step_number"]
        training.seconds = state["seconds"]
        training.curve, training.frames = list(state["curve"]), list(state["frames"])
        training.network.load_state_dict(state["network"])
        if not training.done:
            training._optimizer.load(state["optimizer"])
            training._generator.set_state(state["generator"])
        return training


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


def _stream(seed: int, number: int) -> torch.Generator:
    """One of several independent rows of random numbers that belong to a seed."""
    return torch.Generator().manual_seed(4 * seed + number)
