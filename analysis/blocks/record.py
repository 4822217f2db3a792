"""One recorded forward: what went through the whole stack, and every step of one of its layers.

All numbers are the ones that the modules themselves kept while they ran (model.attention.AttentionSteps,
model.blocks.BlockSteps). Shape letters: see model.attention; h_kv key heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.blocks import BlockSteps, TransformerBlock
from model.rotary import Rotation
from model.transformer import Transformer

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Stack:
    """What a run of blocks in a row leaves of B = 1 sentence, whichever layer is looked at.

    Attributes:
        hidden_states: (L + 1, N, d_model): what enters the first layer, then what each layer hands on.
        maps: of the first and of the last layer, (h, N, N) each.
        query_weights: W_q of the first and of the last layer, (h · d_k, d_model) each.
        transformer: the model that ran, for what comes after its last layer; None for blocks alone.
    """

    hidden_states: Floats
    maps: tuple[Floats, Floats]
    query_weights: tuple[Floats, Floats]
    transformer: Transformer | None = None

    @property
    def nbytes(self) -> int:
        """Bytes it keeps in memory, without the model."""
        return self.hidden_states.nbytes + sum(each.nbytes for each in (*self.maps, *self.query_weights))


@dataclass(frozen=True, eq=False)
class Record:
    """One forward of B = 1 sentence: every step of one layer, and what is needed to compare it with the others.

    Attributes:
        labels: the N tokens as shown.
        allowed: (N, N) in this layer, True = the query (row) may attend to the key (column).
        layer: which layer `block` and `steps` are of, from 0.
        head: which head is looked at, from 0. Nothing that is recorded depends on it.
        rotation: cosines and sines of the positions, (N, width) each; None without rotary positions.
    """

    labels: tuple[str, ...]
    allowed: Bools
    layer: int
    head: int
    block: TransformerBlock
    steps: BlockSteps
    stack: Stack
    rotation: Rotation | None = None

    @property
    def bias(self) -> Tensor | None:
        """What positions added to the scores, (1, h, N, N); None where they add nothing."""
        made = self.steps.attention
        return None if made.biased_scores is None or made.scores is None else made.biased_scores - made.scores

    def of_head(self, head: int) -> Record:
        """The same, with another head looked at."""
        return replace(self, head=head)

    @property
    def hidden_states(self) -> Floats:
        """(L + 1, N, d_model)."""
        return self.stack.hidden_states

    @property
    def n_tokens(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def n_layers(self) -> int:
        """L."""
        return len(self.hidden_states) - 1

    @property
    def n_heads(self) -> int:
        """Number of heads, h."""
        return self.block.attention.num_heads

    @property
    def n_key_heads(self) -> int:
        """Heads of keys and values, h_kv."""
        return self.block.attention.num_key_heads

    @property
    def group(self) -> int:
        """Query heads that share a key head, h / h_kv."""
        return self.n_heads // self.n_key_heads

    @property
    def d_model(self) -> int:
        """Width of a hidden state."""
        return self.block.attention.d_model

    @property
    def d_k(self) -> int:
        """Width of one head."""
        return self.block.attention.d_k

    @property
    def width(self) -> int:
        """Columns of all heads together, h · d_k."""
        return self.n_heads * self.d_k

    @property
    def nbytes(self) -> int:
        """Bytes it keeps in memory, the weights of its block included."""
        weights = sum(4 * parameter.numel() for parameter in self.block.parameters())
        return self.stack.nbytes + self.allowed.nbytes + weights + sum(4 * made.numel() for made in tensors(self.steps))


@torch.inference_mode()
def run_stack(transformer: Transformer, x: Tensor, allowed: Tensor) -> Stack:
    """Embeddings x (1, N, d_model) through a whole model, under a mask (N, N) that its own windows are laid over."""
    masks = transformer.layer_masks(allowed, x.size(1))
    turn, bias = transformer.rotation(None, x), transformer.position_bias(None, x, x.size(1))
    return _run(transformer.blocks, x, masks, turn, bias=bias, transformer=transformer)[0]


@torch.inference_mode()
def record_layer(stack: Stack, allowed: Tensor, labels: Sequence[str], *, layer: int, head: int = 0) -> Record:
    """Every step of one layer of a stack that has run: only this one block runs again.

    Args:
        stack: of a whole model.
        allowed: (N, N), as it ran.
        labels: N.
        layer: from 0.
        head: from 0.
    """
    model = stack.transformer
    assert model is not None
    x = torch.from_numpy(stack.hidden_states[layer])[None]  # (1, N, d_model)
    mask = model.layer_masks(allowed, x.size(1))[layer]
    turn, block, steps = model.rotation(None, x), model.blocks[layer], BlockSteps()
    assert isinstance(block, TransformerBlock)
    block(x, _mask(mask), rotation=turn, bias=model.position_bias(None, x, x.size(1)), steps=steps)
    visible = allowed if mask is None else mask
    return Record(tuple(labels), visible.numpy(), layer, head, block, steps, stack, turn)


@torch.inference_mode()
def record_forward(
    blocks: Iterable[nn.Module],
    x: Tensor,
    allowed: Tensor,
    labels: Sequence[str],
    *,
    layer: int,
    head: int = 0,
    rotation: Rotation | None = None,
) -> Record:
    """Every step of one block, from a run of blocks in a row.

    Args:
        blocks: in eval mode. One at a time is needed, so they may be made as they are asked for.
        x: (1, N, d_model).
        allowed: (N, N).
        labels: N.
        layer: whose steps to keep, from 0.
        head: which one is looked at, from 0.
        rotation: of rotary positions.
    """
    stack, kept = _run(blocks, x, allowed, rotation, layer=layer)
    if kept is None:
        raise ValueError(f"There is no layer {layer + 1}: there are {len(stack.hidden_states) - 1}.")
    return Record(tuple(labels), allowed.numpy(), layer, head, *kept, stack, rotation)


def _run(
    blocks: Iterable[nn.Module],
    x: Tensor,
    masks: Tensor | Sequence[Tensor | None],
    rotation: Rotation | None,
    *,
    bias: Tensor | None = None,
    layer: int | None = None,
    transformer: Transformer | None = None,
) -> tuple[Stack, tuple[TransformerBlock, BlockSteps] | None]:
    hidden, maps, weights = [array(x)], list[Floats](), list[Floats]()
    kept: tuple[TransformerBlock, BlockSteps] | None = None
    for number, block in enumerate(blocks):
        assert isinstance(block, TransformerBlock)
        steps = BlockSteps() if number == layer else None
        mask = masks if isinstance(masks, Tensor) else masks[number]
        x, attention = block(x, _mask(mask), rotation=rotation, bias=bias, steps=steps)
        hidden.append(array(x))
        weight: Tensor = block.attention.W_q.weight  # type: ignore[assignment]
        maps = [*maps[:1], array(attention)]  # of the first and the last so far
        weights = [*weights[:1], weight.detach().numpy()]
        if steps is not None:
            kept = block, steps
    first_and_last = (maps[0], maps[-1]), (weights[0], weights[-1])
    return Stack(np.stack(hidden), *first_and_last, transformer), kept


def _mask(mask: Tensor | None) -> Tensor | None:
    return None if mask is None or bool(mask.all()) else mask


def tensor(recorded: Tensor | None) -> Tensor:
    """A step that the forward has recorded."""
    if recorded is None:
        raise ValueError("This forward did not record that step.")
    return recorded


def array(made: Tensor) -> Floats:
    """(1, …) → (…), as numpy."""
    numbers: Floats = made.detach()[0].numpy()
    return numbers


def tensors(steps: object) -> list[Tensor]:
    """Every tensor below a dataclass of steps, each piece of memory once."""
    found: dict[int, Tensor] = {}
    waiting: list[object] = [steps]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tensor):
            found[item.data_ptr()] = item
        elif is_dataclass(item):
            waiting += [getattr(item, field.name) for field in fields(item)]
    return list(found.values())
