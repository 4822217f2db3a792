"""The rest of a recorded block: residuals, layer normalisation of one token, the FFN, and who is moved by whom."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from analysis.blocks.record import Floats, Record, array, tensor
from model.attention import attention_entropy
from model.blocks import Activation, NormPlace

BoxKey = Literal["input", "attention_norm", "attention", "attention_sum", "ffn_norm", "ffn", "ffn_sum"]
_FFN_BOXES: tuple[BoxKey, ...] = ("ffn_norm", "ffn", "ffn_sum")
_ORDERS: dict[NormPlace, tuple[BoxKey, ...]] = {
    "pre": ("input", "attention_norm", "attention", "attention_sum", "ffn_norm", "ffn", "ffn_sum"),
    "post": ("input", "attention", "attention_sum", "attention_norm", "ffn", "ffn_sum", "ffn_norm"),
    "none": ("input", "attention", "attention_sum", "ffn", "ffn_sum"),
}
_PARALLEL: tuple[BoxKey, ...] = ("input", "attention_norm", "attention", "ffn_norm", "ffn", "ffn_sum")
Edge = tuple[BoxKey, BoxKey]


@dataclass(frozen=True, eq=False)
class Box:
    """One box of the block's diagram: what goes in and what comes out, (N, d_model) each."""

    key: BoxKey
    before: Floats
    after: Floats


def boxes(record: Record) -> tuple[Box, ...]:
    """The boxes that a block has, in the order in which it runs them."""
    steps = record.steps
    added = array(tensor(steps.ffn.output)) if record.block.d_ff else None
    if record.block.parallel and added is not None:  # one sum of three
        added = added + array(tensor(steps.attention.output))
    pairs = {
        "input": (steps.input, steps.input),
        "attention_norm": (steps.attention_norm.input, steps.attention_norm.output),
        "attention": (steps.attention_input, steps.attention.output),
        "attention_sum": (steps.attention.output, steps.attention_sum),
        "ffn_norm": (steps.ffn_norm.input, steps.ffn_norm.output),
        "ffn": (steps.ffn_input, steps.ffn.output),
    }
    found = []
    for key in _order(record):
        if key == "ffn_sum" and added is not None:
            found.append(Box(key, added, array(tensor(steps.ffn_sum))))
        else:
            found.append(Box(key, *(array(tensor(made)) for made in pairs[key])))
    return tuple(found)


def _order(record: Record) -> list[BoxKey]:
    block = record.block
    order = _PARALLEL if block.parallel and block.d_ff else _ORDERS[block.norm]
    return [key for key in order if block.d_ff or key not in _FFN_BOXES]


def branches(record: Record) -> tuple[tuple[BoxKey, ...], ...]:
    """The boxes of a parallel block that stand beside each other, a row for each branch; () for other blocks."""
    if not (record.block.parallel and record.block.d_ff):
        return ()
    return ("attention_norm", "attention"), ("ffn_norm", "ffn")


def arrows(record: Record) -> tuple[Edge, ...]:
    """From which box the numbers go to which, save past a sublayer (`skips`)."""
    if not branches(record):
        order = _order(record)
        return tuple(pairwise(order))
    return tuple(
        edge
        for norm, sublayer in branches(record)
        for edge in (("input", norm), (norm, sublayer), (sublayer, "ffn_sum"))
    )


def skips(record: Record) -> tuple[Edge, ...]:
    """The residual connections of a block: from which box to which sum x is carried past a sublayer."""
    around_attention: Edge = ("input", "attention_sum")
    if not record.block.d_ff:
        return (around_attention,)
    if branches(record):
        return (("input", "ffn_sum"),)
    return around_attention, ("attention_norm" if record.block.norm == "post" else "attention_sum", "ffn_sum")


@dataclass(frozen=True, eq=False)
class Residual:
    """Euclidean norms of each token's vector around one residual connection, (N,) each."""

    carried: Floats  # ‖x‖, what is carried past the sublayer
    added: Floats  # ‖sublayer(x)‖
    total: Floats  # ‖x + sublayer(x)‖
    beside: Floats | None = None  # ‖attention(x)‖, where attention is added in the same sum as the FFN


def residual(record: Record, sublayer: Literal["attention", "ffn"]) -> Residual:
    """The norms around attention or around the FFN."""
    steps = record.steps
    if sublayer == "attention":
        return Residual(*map(_lengths, (steps.input, steps.attention.output, steps.attention_sum)))
    if branches(record):
        return Residual(*map(_lengths, (steps.input, steps.ffn.output, steps.ffn_sum, steps.attention.output)))
    return Residual(*map(_lengths, (steps.middle, steps.ffn.output, steps.ffn_sum)))


def _lengths(part: Tensor | None) -> Floats:
    lengths: Floats = np.linalg.norm(array(tensor(part)), axis=-1).astype(np.float32)
    return lengths


@dataclass(frozen=True, eq=False)
class Normalisation:
    """Normalisation of one token: d_model features, one scale and, in LayerNorm, one mean."""

    before: Floats  # (d_model,)
    mean: float | None  # None for RMSNorm, which takes none off
    scale: float  # √(variance + ε); RMSNorm: √(mean of squares + ε)
    normalised: Floats  # (d_model,)
    after: Floats  # (d_model,): · γ, in LayerNorm + β


def normalisation(record: Record, which: Literal["attention_norm", "ffn_norm"], token: int) -> Normalisation:
    """What one normalisation did to one token, as it recorded it."""
    steps = record.steps.attention_norm if which == "attention_norm" else record.steps.ffn_norm
    return Normalisation(
        before=array(tensor(steps.input))[token],
        mean=None if steps.mean is None else float(array(steps.mean)[token, 0]),
        scale=float(array(tensor(steps.scale))[token, 0]),
        normalised=array(tensor(steps.normalised))[token],
        after=array(tensor(steps.output))[token],
    )


@dataclass(frozen=True, eq=False)
class Neurons:
    """One token inside the FFN: d_ff units before and after the nonlinearity."""

    activation: Activation
    up: Floats  # (d_ff,) x W_1 + b_1
    gate: Floats | None  # (d_ff,) x W_gate, for SwiGLU
    after: Floats  # (d_ff,)
    output: Floats  # (d_model,)

    @property
    def bent(self) -> Floats:
        """What goes into the curve: the gate for SwiGLU, else what W_1 made."""
        return self.up if self.gate is None else self.gate

    @property
    def share_silent(self) -> float:
        """Share of units whose activation is exactly 0."""
        return float((self.after == 0).mean())


def neurons(record: Record, token: int) -> Neurons:
    """The FFN's units for one token, as recorded."""
    steps = record.steps.ffn
    return Neurons(
        activation=record.block.ffn.activation,
        up=array(tensor(steps.pre_activation))[token],
        gate=None if steps.gate is None else array(steps.gate)[token],
        after=array(tensor(steps.activation))[token],
        output=array(tensor(steps.output))[token],
    )


def curve(activation: Activation, inputs: Floats) -> Floats:
    """The nonlinearity itself; for SwiGLU that of its gate, SiLU."""
    x = torch.from_numpy(inputs)
    if activation == "relu":
        y = F.relu(x)
    elif activation == "swiglu":
        y = F.silu(x)
    else:
        y = F.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")
    numbers: Floats = y.numpy()
    return numbers


@dataclass(frozen=True, eq=False)
class Movement:
    """How far each token's output moves, largest change of a feature, when one token's input changes. (N,) each."""

    attention: Floats
    ffn: Floats | None  # None where the block has no FFN


@torch.inference_mode()
def movement(record: Record, token: int) -> Movement:
    """How far all tokens move when one token's input changes its sign, through attention and through the FFN alone."""
    steps, block = record.steps, record.block
    mask = None if record.allowed.all() else torch.from_numpy(record.allowed)
    sign = torch.ones(1, record.n_tokens, 1)
    sign[:, token] = -1

    def moved(sublayer: Callable[[Tensor], Tensor], x: Tensor) -> Floats:
        return array((sublayer(sign * x) - sublayer(x)).abs()).max(axis=-1)  # type: ignore[no-any-return]

    return Movement(
        attention=moved(
            lambda x: block.attention(x, mask, rotation=record.rotation, bias=record.bias)[0],
            tensor(steps.attention_input),
        ),
        ffn=moved(block.ffn, tensor(steps.ffn_input)) if block.d_ff else None,
    )


@dataclass(frozen=True, eq=False)
class Split:
    """The same weights read as h heads of d_k and as one head of all their columns."""

    heads: Floats  # (h, N, N), as recorded
    average: Floats  # (N, N), the mean of the h maps
    one: Floats  # (N, N), with the same queries and keys and one softmax over the products of all columns
    heads_entropy: Floats  # (h, N), nats
    average_entropy: Floats  # (N,)
    one_entropy: Floats  # (N,)


@torch.inference_mode()
def one_against_many(record: Record) -> Split:
    """The block's heads beside one head over all h · d_k columns: its product is the sum of the heads' products."""
    products = tensor(record.steps.attention.products).sum(dim=1)  # (1, N, N)
    allowed = torch.from_numpy(record.allowed)
    scores = (products / math.sqrt(record.width)).masked_fill(~allowed, -math.inf)
    one = scores.softmax(dim=-1).masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)  # a row that sees nothing is 0
    heads = tensor(record.steps.attention.attention)  # (1, h, N, N)
    average = heads.mean(dim=1)  # (1, N, N)
    return Split(
        heads=array(heads),
        average=array(average),
        one=array(one),
        heads_entropy=array(attention_entropy(heads)),
        average_entropy=array(attention_entropy(average)),
        one_entropy=array(attention_entropy(one)),
    )


@dataclass(frozen=True, eq=False)
class Drift:
    """Where each token's hidden state goes from layer to layer, as cosines. Row 0 is what enters the first layer."""

    to_start: NDArray[np.float64]  # (L + 1, N), with the same token in row 0
    to_neighbours: NDArray[np.float64]  # (L + 1, N), the mean with the tokens before and after; NaN for one token


def drift(record: Record) -> Drift:
    """Cosine similarity of hidden states to their start and to their neighbours."""
    states = record.hidden_states.astype(np.float64)  # (L + 1, N, d_model)
    lengths = np.linalg.norm(states, axis=-1, keepdims=True)
    units = states / np.where(lengths > 0, lengths, 1.0)
    to_start = (units * units[:1]).sum(axis=-1)
    beside = (units[:, 1:] * units[:, :-1]).sum(axis=-1)  # (L + 1, N − 1), token i with token i + 1
    n = record.n_tokens
    sums, counts = np.zeros((len(units), n)), np.zeros(n)
    sums[:, :-1] += beside
    sums[:, 1:] += beside
    counts[:-1] += 1
    counts[1:] += 1
    with np.errstate(invalid="ignore"):
        return Drift(to_start, sums / counts)


@dataclass(frozen=True)
class SameNumber:
    """Two heads that share a number, in the first and in the last layer."""

    weights_cosine: float  # of their rows of W_q
    map_distance: float  # mean over queries of half the sum of |differences|: 0 = the same map, 1 = nothing shared


def same_number(record: Record) -> SameNumber:
    """Head k of the first layer against head k of the last, where k is the recorded head."""
    rows = slice(record.head * record.d_k, (record.head + 1) * record.d_k)
    first, last = (weights[rows].astype(np.float64).ravel() for weights in record.stack.query_weights)
    lengths = np.linalg.norm(first) * np.linalg.norm(last)
    difference = np.abs(np.subtract(*(maps[record.head] for maps in record.stack.maps))).sum(axis=-1) / 2
    return SameNumber(float(first @ last / lengths) if lengths else 0.0, float(difference.mean()))
