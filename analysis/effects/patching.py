"""Patching: a part of another run is put into this one, to see where what decides the answer is at that layer.

The other run is of the prompt changed so that the wrong answer is right (names swapped, the other number, another
country). Its residual stream at one layer and position, or a head's output at all positions, replaces that of this run;
everything after it is computed as usual (Vig et al. 2020; Meng et al. 2022; Wang et al. 2022).

Shape letters: see model.attention; n questions, all of N tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from analysis.effects.effects import directions, read_mask
from analysis.effects.questions import EncodedQuestion, encode_prompt
from analysis.effects.runs import ROWS_AT_ONCE, Replacement, Runner, Whole
from analysis.effects.side_by_side import side_by_side
from analysis.effects.sweep import Progress
from model.errors import HeadworkError, shown
from model.masks import MaskLike
from model.tracing import AttentionModel

Floats = NDArray[np.float64]
MOST_TOKENS = 256  # of all prompts together: each layer is run for every position of every prompt


@dataclass(frozen=True, eq=False)
class Patching:
    """What changes when parts of the other run are put into this one. Layers, heads and positions count from 0.

    Attributes:
        labels: the N tokens of the first prompt, and of its changed one.
        difference: (n,), logit of the right answer − logit of the wrong one, in this run.
        other: (n,), the same two answers after the changed prompt.
        residual: (n, L, N), the change of `difference` with the input of that layer, at that position, from the other
            run. 0 where both prompts are still the same.
        heads: (n, L, h), with that head's output, at all positions, from the other run.
    """

    labels: tuple[tuple[str, ...], tuple[str, ...]]
    difference: Floats
    other: Floats
    residual: Floats
    heads: Floats

    def share(self, change: Floats) -> Floats:
        """(n, …) → (…): mean change as a share of the whole: 0 = nothing, 1 = the answer of the other run."""
        whole = (self.other - self.difference).mean()
        return np.asarray(change.mean(axis=0) / whole)


def patch(
    model: AttentionModel,
    asked: Sequence[EncodedQuestion],
    *,
    mask: MaskLike | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Patching:
    """Patches every layer at every position, and every head.

    Args:
        model: one with an output matrix.
        asked: of one length, each with a changed prompt (`Question.changed`) of that length.
        mask: None = the model's own.
        workers: threads.
        progress: called with layers done and layers in all; what it raises stops the run.

    Raises:
        HeadworkError: no question, no changed prompt, or one of another length; too many tokens together.
    """
    if not asked:
        raise HeadworkError("There is no question. Give a prompt with a right and a wrong answer.")
    mask = read_mask(model, mask)
    other_ids, other_labels = zip(*(_changed(model, each) for each in asked), strict=True)
    n, n_tokens = len(asked), len(asked[0].ids)
    if any(len(each.ids) != n_tokens for each in asked) or n * n_tokens > MOST_TOKENS:
        raise HeadworkError(
            "Prompts are patched together when they have the same number of tokens, {most} in all. Choose fewer.",
            most=MOST_TOKENS,
        )
    stop = threading.Event()
    with torch.inference_mode():
        runner = Runner(model.transformer, torch.tensor([each.ids for each in asked]), mask, stop=stop, share=False)
        whole = runner.whole()
        changed = Runner(model.transformer, torch.tensor(other_ids), mask).whole()
    direction = directions(model, asked)

    @torch.inference_mode()
    def of_layer(layer: int) -> tuple[Floats, Floats]:
        heads = runner.heads_off(whole, layer, range(model.n_heads), Replacement(changed.mixed, changed.ffn))
        return _array(_residual(runner, whole, changed, layer, direction)), _array(_difference(heads, direction))

    before = _array(_difference(whole.hidden, direction))  # (n,)
    residual, heads = np.zeros((model.n_layers, n_tokens, n)), np.zeros((model.n_layers, model.n_heads, n))
    with closing(side_by_side(of_layer, range(model.n_layers), workers, stop)) as finished:
        for done, (layer, found) in enumerate(finished, 1):
            residual[layer], heads[layer] = found
            if progress is not None:
                progress(done, model.n_layers)
    return Patching(
        labels=(asked[0].labels, other_labels[0]),
        difference=before,
        other=_array(_difference(changed.hidden, direction)),
        residual=np.moveaxis(residual - before, -1, 0),
        heads=np.moveaxis(heads - before, -1, 0),
    )


def _changed(model: AttentionModel, each: EncodedQuestion) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ids and labels of the changed prompt."""
    text = each.question.changed
    if text is None:
        raise HeadworkError(
            "The prompt {prompt} has no changed one: both answers would have to stand in it, or the changed prompt be "
            "given as other.",
            prompt=shown(each.question.prompt),
        )
    ids, labels = encode_prompt(model, text)
    if len(ids) != len(each.ids):
        raise HeadworkError(
            "The prompt {prompt} has {n} tokens and the changed one has {other}, so their positions don't match. "
            "Choose words of as many tokens.",
            prompt=shown(each.question.prompt),
            n=len(each.ids),
            other=len(ids),
        )
    return ids, labels


def _residual(runner: Runner, whole: Whole, changed: Whole, layer: int, direction: Tensor) -> Tensor:
    """Differences of logits with one position of a layer's input from the other run: (N, n)."""
    here, there = whole.states[layer], changed.states[layer]  # (n, N, d_model)
    n, n_tokens, _ = here.shape
    found = _difference(whole.hidden, direction).repeat(n_tokens, 1)  # (N, n)
    places = [i for i in range(n_tokens) if not torch.equal(here[:, i], there[:, i])]  # at the others nothing changes
    at_once = max(1, ROWS_AT_ONCE // (n * n_tokens))
    for start in range(0, len(places), at_once):
        some = places[start : start + at_once]
        x = here.repeat(len(some), 1, 1, 1)  # (places, n, N, d_model)
        for k, place in enumerate(some):
            x[k, :, place] = there[:, place]
        hidden = runner.from_layer(x.flatten(0, 1), layer)
        found[some] = _difference(hidden.view(len(some), n, *hidden.shape[1:]), direction)
    return found


def _difference(hidden: Tensor, direction: Tensor) -> Tensor:
    """(…, n, N or 1, d_model) → (…, n)."""
    return (hidden[..., -1, :] * direction).sum(dim=-1)


def _array(tensor: Tensor) -> Floats:
    return np.asarray(tensor.double().numpy())
