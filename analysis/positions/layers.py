"""A model's run layer by layer: each map is seen and let go, and blocks can run in float64.

Two runs in float64 differ by nothing that is rounding; and 512 tokens need the memory of one layer's maps, not of all.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from model import Transformer
from model.packed import PackedLinear

MOST_NUMBERS = 30_000_000  # of all blocks: MiniLM has 10.6 million, e5 21; larger models stay in float32
MOST_TOKENS = 128  # likewise of longer texts: float64 takes twice the time


def runs_exactly(transformer: Transformer, n_tokens: int) -> bool:
    """Whether model and text are small enough for float64 on demand."""
    linears = (m for m in transformer.blocks.modules() if isinstance(m, nn.Linear | PackedLinear))
    n_numbers = sum(linear.in_features * linear.out_features for linear in linears)
    return n_numbers <= MOST_NUMBERS and n_tokens <= MOST_TOKENS


@torch.inference_mode()
def layers(
    transformer: Transformer,
    ids: Tensor,
    mask: Tensor | None,
    token_types: Tensor | None,
    *,
    placed: bool = True,
    exactly: bool = False,
) -> Iterator[tuple[Tensor, Tensor]]:
    """As `Transformer.forward`, a layer at a time.

    Args:
        transformer: any.
        ids: (B, N).
        mask: boolean, broadcastable to (B, h, N, N).
        token_types: (B, N), or None.
        placed: False = positions are off.
        exactly: blocks in float64, one of them copied at a time.

    Yields:
        For each layer its output (B, N, d_model), of the last one after the final norm, and its maps (B, h, N, N).
    """
    x = transformer.embeddings(ids, token_types, placed=placed)  # (B, N, d_model)
    x = x.double() if exactly else x
    n_tokens = ids.size(1)
    positions = None if placed else torch.zeros(n_tokens, dtype=torch.long)
    turn, bias = transformer.rotation(positions, x), transformer.position_bias(positions, x, n_tokens)
    bias = None if bias is None else bias.to(x.dtype)
    masks = transformer.layer_masks(mask, n_tokens)
    for number, (block, layers_own) in enumerate(zip(transformer.blocks, masks, strict=True), start=1):
        x, attention = (_doubled(block) if exactly else block)(x, layers_own, rotation=turn, bias=bias)
        norm = transformer.final_norm if number == len(masks) else None
        yield x if norm is None else (_doubled(norm) if exactly else norm)(x), attention


def _doubled(module: nn.Module) -> nn.Module:
    """A copy in float64; packed weights are unpacked, which gives back exactly what was packed."""
    packed = [child for child in module.modules() if isinstance(child, PackedLinear)]
    twin = copy.deepcopy(module, {id(child._packed): child._packed for child in packed})
    for parent in list(twin.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, PackedLinear):
                plain = nn.Linear(child.in_features, child.out_features, bias=child.bias is not None, device="meta")
                weights = {"weight": child.weight} | ({} if child.bias is None else {"bias": child.bias})
                plain.load_state_dict(weights, assign=True)
                setattr(parent, name, plain)
    return twin.double()
