"""A model's run in float64, block by block: what is left between two such runs isn't rounding."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from model import Transformer
from model.packed import PackedLinear

MOST_NUMBERS = 30_000_000  # of all blocks: MiniLM has 10.6 million, e5 21; larger models stay in float32


def runs_exactly(transformer: Transformer) -> bool:
    """Whether a model is small enough to be run in float64 on demand."""
    linears = (m for m in transformer.blocks.modules() if isinstance(m, nn.Linear | PackedLinear))
    return sum(linear.in_features * linear.out_features for linear in linears) <= MOST_NUMBERS


@torch.inference_mode()
def run_exactly(
    transformer: Transformer, ids: Tensor, mask: Tensor | None, token_types: Tensor | None, *, placed: bool
) -> tuple[Tensor, Tensor]:
    """As `Transformer.forward`, every block in float64. One block at a time is copied, so memory stays small.

    Returns:
        The hidden states (B, N, d_model) and the maps (L, B, h, N, N), float64.
    """
    x = transformer.embeddings(ids, token_types, placed=placed).double()  # (B, N, d_model)
    n_tokens = ids.size(1)
    positions = None if placed else torch.zeros(n_tokens, dtype=torch.long)
    turn, bias = transformer.rotation(positions, x), transformer.position_bias(positions, x, n_tokens)
    maps = []
    for block, layers_own in zip(transformer.blocks, transformer.layer_masks(mask, n_tokens), strict=True):
        x, attention = _doubled(block)(x, layers_own, rotation=turn, bias=bias)
        maps.append(attention)
    if transformer.final_norm is not None:
        x = _doubled(transformer.final_norm)(x)
    return x, torch.stack(maps)


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
