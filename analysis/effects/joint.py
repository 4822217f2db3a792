"""Several heads off together, beside the sum of what each does alone.

Where the effect of all is larger than the sum, the heads stood in for one another: with one off, the others went on
with its work ("backup heads", Wang et al. 2022). Where it is smaller, they did parts of one thing, and one missing part
is enough to lose it.

n prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.effects.effects import directions, read_mask
from analysis.effects.prompts import batches, replacement, runner_of
from analysis.effects.questions import EncodedQuestion
from analysis.effects.ranks import mean_interval
from analysis.effects.runs import Off
from analysis.evidence.intervals import DRAWS, Interval
from model.errors import HeadworkError
from model.head_id import HeadId
from model.masks import MaskLike
from model.tracing import AttentionModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Joint:
    """Some heads off together, on n prompts.

    Attributes:
        heads: those that are off, from 0; none = everything is on.
        difference: (n,), logit of the right answer − logit of the wrong one.
        p_right, p_wrong: (n,), their probabilities.
    """

    heads: tuple[HeadId, ...]
    off: Off
    difference: Floats
    p_right: Floats
    p_wrong: Floats


@dataclass(frozen=True)
class Together:
    """The mean effect of several heads off together, and the sum of their effects alone; intervals over prompts.

    Attributes:
        more: together − sum. Below 0 they cost more together than one by one: they stood in for one another.
    """

    together: float
    sum_of_singles: float
    more: float
    interval: Interval | None
    sum_interval: Interval | None
    more_interval: Interval | None


@torch.inference_mode()
def switch_off(
    model: AttentionModel,
    asked: Sequence[EncodedQuestion],
    heads: Sequence[HeadId],
    *,
    off: Off = "zero",
    mask: MaskLike | None = None,
) -> Joint:
    """The answers with these heads off together: one run of every prompt, and another for means.

    Raises:
        HeadworkError: no such head, no question, a model that predicts nothing.
    """
    if not asked:
        raise HeadworkError("There is no question. Give a prompt with a right and a wrong answer.")
    of_layer: dict[int, list[int]] = {}
    for layer, head in sorted(set(heads)):
        if not (0 <= layer < model.n_layers and 0 <= head < model.n_heads):
            raise HeadworkError(
                "There is no head {head}: this model has {n_layers} layers of {n_heads} heads.",
                head=str(HeadId(layer, head)),
                n_layers=model.n_layers,
                n_heads=model.n_heads,
            )
        of_layer.setdefault(layer, []).append(head)
    mask = read_mask(model, mask)
    direction = directions(model, asked)
    instead = replacement(model.transformer, asked, mask, off)
    out = np.empty((3, len(asked)))
    for batch in batches(asked):
        some = [asked[i] for i in batch]
        runner = runner_of(model.transformer, some, mask)
        last = runner.several_off(of_layer, instead.cut(runner.ids.size(1)))[:, -1]  # (B, d_model)
        p = model.transformer.logits(last).softmax(dim=-1)  # (B, V)
        rows = torch.arange(len(batch))
        out[0, batch] = (last * direction[batch]).sum(dim=-1).double().numpy()
        out[1, batch] = p[rows, [each.right_id for each in some]].double().numpy()
        out[2, batch] = p[rows, [each.wrong_id for each in some]].double().numpy()
    return Joint(tuple(sorted(set(heads))), off, *out)


class Singles(Protocol):
    """What is asked of effects here: fresh ones, or a record's."""

    @property
    def n(self) -> int:
        """How many prompts."""

    @property
    def heads(self) -> Floats:
        """(n, L, h), the effect of each head."""

    @property
    def difference(self) -> Floats:
        """(n,), everything on."""

    @property
    def seed(self) -> int:
        """Of the bootstrap."""


def together(joint: Joint, effects: Singles, draws: int = DRAWS) -> Together:
    """What the heads of `joint` do together, beside the sum of what each does alone, on the prompts of `effects`."""
    singles = np.zeros(effects.n)
    for layer, head in joint.heads:
        singles += effects.heads[:, layer, head]
    all_off = joint.difference - effects.difference
    values = np.stack([all_off, singles, all_off - singles], axis=1)  # (n, 3)
    bounds = mean_interval(values, draws=draws, seed=effects.seed)
    intervals = [None] * 3 if bounds is None else [(float(low), float(high)) for low, high in bounds.T]
    all_off_mean, sum_mean, rest_mean = (float(mean) for mean in values.mean(axis=0))
    return Together(all_off_mean, sum_mean, rest_mean, *intervals)
