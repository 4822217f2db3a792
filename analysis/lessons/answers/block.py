"""Lesson "Inside a block": who is moved by whom, what the residual carries, and where the normalisation stands."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.blocks.block_steps import BoxKey, Movement, Residual, boxes, movement, residual
from analysis.blocks.record import Record, Stack, record_layer, run_stack
from analysis.lessons.answer import Answer, answers
from analysis.lessons.answers.masks import token_of
from analysis.lessons.kept import kept
from analysis.lessons.setup import Setup
from model import HeadworkError

MOVED = 1e-6  # a change of a feature: less is float32's rounding


@dataclass(frozen=True, eq=False)
class OfTokens:
    """One or several numbers of each token (picture "of_tokens"): name and (N,) each; `selected` is asked about."""

    series: tuple[tuple[str, NDArray[np.float32]], ...]
    selected: int


@dataclass(frozen=True, eq=False)
class Boxes:
    """How long vectors are after each part of a block, in the order in which it runs (picture "boxes")."""

    keys: tuple[BoxKey, ...]
    lengths: list[float]


@answers("moved_outputs")
def moved_outputs(setup: Setup, *, part: str, layer: int, change: str) -> Answer:
    """choice: whose outputs move with one input's sign: "all", "one" (its own), "after" (and later ones), "some".

    Says change, n, before, behind; then n_moved, most, own.
    """
    record = _record(setup, layer)
    at, word = token_of(setup, change)
    found: Movement = movement(record, at)
    moves = found.attention if part == "attention" else found.ffn
    if moves is None:
        raise HeadworkError("A block of {model} has no FFN.", model=_name(setup))
    moved = moves > MOVED
    n, later = len(moved), np.arange(len(moved)) >= at
    right = "all" if moved.all() else "after" if (moved == later).all() else "one" if moved.sum() == 1 else "some"
    given = {"change": word, "n": f"{n}", "before": f"{at}", "behind": f"{n - at - 1}"}
    said = {"n_moved": f"{int(moved.sum())}", "most": f"{np.delete(moves, at).max(initial=0):.2f}"}
    said |= {"own": f"{moves[at]:.2f}"}
    shown = OfTokens((("max |Δ|", moves),), at)
    return Answer(right, said, given, setup.trace.tokens, picture="of_tokens", shown=shown)


@answers("carried_or_added")
def carried_or_added(setup: Setup, *, layer: int, query: str) -> Answer:
    """choice: which is longer around attention's residual connection, x or attention(x): "carried" or "added".

    Says query, layer, n; then carried, added, n_carried.
    """
    found: Residual = residual(_record(setup, layer), "attention")
    at, word = token_of(setup, query)
    carried, added = float(found.carried[at]), float(found.added[at])
    n_carried = int((found.carried > found.added).sum())
    said = {"carried": f"{carried:.2f}", "added": f"{added:.2f}", "n_carried": f"{n_carried}"}
    given = {"query": word, "layer": f"{layer}", "n": f"{len(setup.trace.tokens)}"}
    lengths = (("‖x‖", found.carried), ("‖attention(x)‖", found.added), ("‖x + attention(x)‖", found.total))
    right = "carried" if carried > added else "added"
    return Answer(right, said, given, setup.trace.tokens, "of_tokens", OfTokens(lengths, at))


@answers("order_of_block")
def order_of_block(setup: Setup, *, layer: int = 1) -> Answer:
    """order: the boxes of a block in the order in which this model runs them (analysis.blocks.block_steps.BoxKey).

    Says model.
    """
    record = _record(setup, layer)
    after = {box.key: box.after for box in boxes(record)}
    order = tuple(key.replace("_", "-") for key in after if key != "input")
    lengths = [float(np.linalg.norm(each, axis=-1).mean()) for each in after.values()]
    return Answer(order, {}, {"model": _name(setup)}, picture="boxes", shown=Boxes(tuple(after), lengths))


@answers("growth")
def growth(setup: Setup) -> Answer:
    """number: how many times as long a token's state is after the last layer as after the first; the mean over tokens.

    Says model, layers, first; then last, times.

    The first token is left out: in decoders its state is hundreds of times as long as the others' (Sun et al. 2024).
    """
    if len(setup.trace.tokens) < 2:
        raise HeadworkError("The question takes a sentence of at least two tokens. Type a longer one.")
    lengths = np.linalg.norm(_stack(setup).hidden_states, axis=-1)[:, 1:].mean(axis=-1)  # (L + 1,)
    times = float(lengths[-1] / lengths[1])
    given = {"model": _name(setup), "layers": f"{len(lengths) - 1}", "first": f"{lengths[1]:.1f}"}
    said = {"last": f"{lengths[-1]:.1f}", "first": f"{lengths[1]:.1f}", "times": f"{times:.1f}"}
    return Answer(times, said, given, picture="over_layers", shown=lengths[1:])


@torch.inference_mode()
def _record(setup: Setup, layer: int) -> Record:
    """Every step of one layer, counted from 1."""
    of, tokens = setup.head(layer, 1), setup.trace.tokenized
    stack = replace(_stack(setup), transformer=setup.model.transformer)
    return record_layer(stack, _allowed(setup), tokens.labels, layer=of.layer)


def _stack(setup: Setup) -> Stack:
    """What went through the whole model, without the model."""

    def run() -> Stack:
        model, tokens = setup.model, setup.trace.tokenized
        with torch.inference_mode():
            x = model.transformer.embeddings(torch.tensor([tokens.ids]), model.token_types(tokens))
            return replace(run_stack(model.transformer, x, _allowed(setup)), transformer=None)

    return kept(setup, "stack", run)


def _allowed(setup: Setup) -> torch.Tensor:
    tokens = setup.trace.tokenized
    return setup.trace.mask.allowed(len(tokens), torch.tensor(tokens.is_padding))


def _name(setup: Setup) -> str:
    """The model's name without what the menu says besides."""
    return setup.model.label.split(",")[0].split(" (")[0]
