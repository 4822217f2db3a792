"""Prompts in batches of one length, and what stands in for a part that is off on all of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import torch

from analysis.effects.runs import OFF, Off, Replacement, Runner
from model.errors import HeadworkError, shown
from model.masks import Mask
from model.transformer import Transformer

TOKENS_AT_ONCE = 256  # of one batch of prompts; what a run of them keeps takes some 70 MB at SmolLM2's size


class Encoded(Protocol):
    """A prompt as a model reads it."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Of its N tokens."""
        ...


def batches(asked: Sequence[Encoded]) -> list[list[int]]:
    """Which questions run together, by number: those of one length, at most TOKENS_AT_ONCE tokens."""
    order = sorted(range(len(asked)), key=lambda i: (len(asked[i].ids), i))
    found: list[list[int]] = []
    for i in order:
        n = len(asked[i].ids)
        if found and len(asked[found[-1][0]].ids) == n and (len(found[-1]) + 1) * n <= TOKENS_AT_ONCE:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def runner_of(
    transformer: Transformer,
    asked: Sequence[Encoded],
    mask: Mask,
    *,
    last_only: bool = True,
    stop: threading.Event | None = None,
) -> Runner:
    """A runner of prompts of one length."""
    return Runner(transformer, torch.tensor([each.ids for each in asked]), mask, last_only=last_only, stop=stop)


def replacement(transformer: Transformer, asked: Sequence[Encoded], mask: Mask, off: Off) -> Replacement:
    """What stands in for a part that is off: 0, its mean over all tokens of the set, or its mean at each position.

    Positions count from the start; the mean at one is over the prompts that reach so far.
    """
    if off not in OFF:
        raise HeadworkError("Off is one of {choices}, not {off}.", choices=", ".join(OFF), off=shown(off))
    config, weight = transformer.config, next(transformer.parameters())
    longest = 1 if off == "zero" else max(len(each.ids) for each in asked)
    shape = (config.num_layers, longest)
    mixed = weight.new_zeros(*shape, config.num_heads * config.d_k)
    ffn = weight.new_zeros(*shape, config.d_model)
    if off != "zero":
        count = weight.new_zeros(longest, 1)
        for batch in batches(asked):
            runner = runner_of(transformer, [asked[i] for i in batch], mask)
            whole, n = runner.whole(), runner.ids.size(1)
            count[:n] += len(batch)
            for layer in range(config.num_layers):
                mixed[layer, :n] += whole.mixed[layer].sum(dim=0)
                ffn[layer, :n] += whole.ffn[layer].sum(dim=0)
        if off == "mean":
            mixed, ffn, count = mixed.sum(1, keepdim=True), ffn.sum(1, keepdim=True), count.sum(0, keepdim=True)
        mixed, ffn = mixed / count, ffn / count
    return Replacement(list(mixed), list(ffn))
