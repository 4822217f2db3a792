"""What is measured while a network learns: how well it answers, where each head looks, how widely.

L layers, h heads, N tokens, R relations; heads are counted from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from model.attention import attention_entropy
from model.tasks import NO_KEY, NOTHING_ASKED, Batch, Task
from model.training.network import Network

Singles = NDArray[np.float32]


class Point(NamedTuple):
    """A point of the learning curve, on sentences that are never trained on."""

    step: int
    loss: float  # nats for each answer
    accuracy: float  # of all answers
    by_relation: tuple[float, ...]  # R; NaN where a relation is looked for and not asked


@dataclass(frozen=True, eq=False)
class Frame:
    """Every head at one step.

    Attributes:
        maps: (L, h, N, N), of the example sentence.
        share: (L, h, R), mean weight on the relation's key, over held-out sentences.
        hit: (L, h, R), how often the relation's key is the one with the most weight.
        entropy: (L, h), nats, mean over the rows that have something to look for.
        accuracy: (R,), of the answers; NaN where a relation isn't asked.
    """

    step: int
    maps: Singles
    share: Singles
    hit: Singles
    entropy: Singles
    accuracy: Singles


@dataclass(frozen=True)
class Winners:
    """Which head looks most where each relation leads."""

    heads: tuple[tuple[int, int], ...]  # R of (layer, head)
    shares: tuple[float, ...]  # R, its mean weight there

    @property
    def all_different(self) -> bool:
        """Whether no head won two relations."""
        return len(set(self.heads)) == len(self.heads)


def winners(frame: Frame) -> Winners:
    """The (layer, head) with the largest share of each relation."""
    _, n_heads, n_relations = frame.share.shape
    flat = frame.share.reshape(-1, n_relations)  # (L·h, R)
    best = flat.argmax(axis=0)  # (R,)
    return Winners(
        heads=tuple((int(number) // n_heads, int(number) % n_heads) for number in best),
        shares=tuple(float(flat[number, relation]) for relation, number in enumerate(best)),
    )


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats over everything that is asked: logits (B, N, R', A), targets (B, N, R')."""
    return F.cross_entropy(logits.flatten(0, 2), targets.flatten(), ignore_index=NOTHING_ASKED)


def accuracy_of(logits: Tensor, targets: Tensor) -> tuple[float, Tensor]:
    """The share of right answers: of all, and of each relation (R',)."""
    asked = targets != NOTHING_ASKED  # (B, N, R')
    right = (logits.argmax(dim=-1) == targets) & asked
    n_right, n_asked = right.sum(dim=(0, 1)), asked.sum(dim=(0, 1))
    return float(n_right.sum() / n_asked.sum()), n_right / n_asked


@torch.no_grad()
def look(network: Network, task: Task, held_out: Batch, mask: Tensor | None, step: int) -> tuple[Point, Frame]:
    """What a network does on held-out sentences; the first of them is the example."""
    asked = list(task.asked)
    targets = held_out.targets[..., asked]
    logits, output = network(held_out.ids, mask)
    loss = float(loss_of(logits, targets))
    accuracy, of_asked = accuracy_of(logits, targets)
    by_relation = torch.full((len(task.relations),), torch.nan)
    by_relation[asked] = of_asked

    attention = output.attention  # (L, B, h, N, N)
    n_layers, _, n_heads, _, _ = attention.shape
    leads = held_out.keys != NO_KEY  # (B, N, R)
    counts = leads.sum(dim=(0, 1))  # (R,)
    keys = held_out.keys.clamp(min=0)[None, :, None].expand(n_layers, -1, n_heads, -1, -1)  # (L, B, h, N, R)
    weights = attention.gather(-1, keys) * leads[None, :, None]  # (L, B, h, N, R)
    hits = (attention.argmax(dim=-1, keepdim=True) == keys) & leads[None, :, None]
    rows = leads.any(dim=-1)  # (B, N)
    entropy = attention_entropy(attention) * rows[None, :, None]  # (L, B, h, N)
    frame = Frame(
        step=step,
        maps=attention[:, 0].numpy().copy(),
        share=(weights.sum(dim=(1, 3)) / counts).numpy(),
        hit=(hits.sum(dim=(1, 3)) / counts).numpy(),
        entropy=(entropy.sum(dim=(1, 3)) / rows.sum()).numpy(),
        accuracy=by_relation.numpy(),
    )
    return Point(step, loss, accuracy, tuple(by_relation.tolist())), frame


def steps_to_look_at(steps: int) -> tuple[int, ...]:
    """When to measure: always at 0 and at the end; most densely where heads part company.

    For 800 steps every 20th, and every 5th from 40 to 140; in the same proportions for other lengths.
    """
    every = max(1, steps // 40)
    dense = range(steps // 20, 7 * steps // 40 + 1, max(1, every // 4))
    return tuple(sorted({0, steps, *range(0, steps, every), *dense}))
