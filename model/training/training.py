"""Training a small Transformer step by step, so that one can watch, pause and go on."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from model.tasks import NOTHING_ASKED, Batch
from model.training.frames import Frame, Point, Singles, accuracy_of, look, loss_of, steps_to_look_at
from model.training.network import Network, new_network
from model.training.run import HELD_OUT, TEST, WEIGHTS, Run, stream
from model.training.settings import Settings

N_HELD_OUT = 128  # sentences behind each frame
N_TEST = 1024  # sentences behind the final numbers


class SwitchedOff(NamedTuple):
    """What each head is needed for: the accuracy of every relation without it, and with all heads."""

    without: Singles  # (L, h, R)
    unharmed: Singles  # (R,)


class Training(Run[Settings, Network, Point, Frame]):
    """One Transformer that learns a task. What it shares with other kinds is in model.training.run."""

    def __init__(self, settings: Settings) -> None:
        self.task = task = settings.rule
        with torch.inference_mode(False):
            network = new_network(settings.config, task, stream(settings.seed, WEIGHTS))
            super().__init__(settings, network, steps_to_look_at(settings.steps))
            self._held_out = task.batch(stream(settings.seed, HELD_OUT), N_HELD_OUT)
            allowed = settings.allowed.allowed(task.n_tokens)  # (N, N)
            self._mask: Tensor | None = None if bool(allowed.all()) else allowed
        self._look()

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

    def _loss(self) -> Tensor:
        batch = self.task.batch(self._generator, self.settings.batch)
        logits, _ = self.network(batch.ids, self._mask)
        return loss_of(logits, batch.targets[..., list(self.task.asked)])

    def _look(self) -> None:
        point, frame = look(self.network, self.task, self._held_out, self._mask, self.step_number)
        self.curve.append(point)
        self.frames.append(frame)

    @cached_property
    def _test(self) -> Batch:
        return self.task.batch(stream(self.settings.seed, TEST), N_TEST)

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
