"""Direct effect: what each part of a decoder writes towards the right answer, and away from the wrong one.

In a pre-LN model every head and FFN adds its output to one sum, the residual stream (Elhage et al. 2021). The final
norm divides that sum by its scale; with the scale kept as it was in the run, the difference of the two logits is a sum
too, and each part has its term in it. What a part does by way of later layers isn't in its term.

Shape letters: see model.attention; B prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from analysis.effects.runs import Whole
from model.errors import HeadworkError
from model.norms import LayerNorm, NormSteps
from model.transformer import Transformer, TransformerConfig

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """The terms of the difference of logits, right − wrong, of each of n prompts. Their sum is the difference.

    Attributes:
        embedding: (n,), of the last token: what it says by itself.
        heads: (n, L, h), through W_o.
        ffns: (n, L), each with its output's own bias; 0 where a block has none.
        biases: (n,), of every W_o and of the final norm.
    """

    embedding: Floats
    heads: Floats
    ffns: Floats
    biases: Floats

    def total(self) -> Floats:
        """(n,), the difference of logits."""
        return np.asarray(
            self.embedding + self.heads.sum(axis=(1, 2)) + self.ffns.sum(axis=1) + self.biases, dtype=np.float64
        )


def has_direct_effects(config: TransformerConfig) -> bool:
    """Whether the parts of such a model add up: it predicts, and no norm stands in the residual stream."""
    return config.output != "none" and config.norm != "post"


def direct_effects(transformer: Transformer, whole: Whole, direction: Tensor) -> Parts:
    """The terms of one batch.

    Args:
        transformer: pre-LN or without norms, with an output matrix.
        whole: its run.
        direction: (B, d_model), the right answer's row of the output matrix minus the wrong one's.

    Raises:
        HeadworkError: the parts of this model don't add up.
    """
    config = transformer.config
    if not has_direct_effects(config):
        raise HeadworkError(
            "What a part writes towards an answer can be read only where a model predicts the next token and adds all "
            "parts up without a norm between them (pre-LN). Choose a decoder such as SmolLM2."
        )
    last = whole.states[-1][:, -1]  # (B, d_model)
    constant = torch.zeros_like(direction[:, 0])  # (B,)
    norm = transformer.final_norm
    if norm is not None:
        steps = NormSteps()
        norm(last, steps=steps)
        if isinstance(norm, LayerNorm):
            constant = direction @ norm.beta
        direction = direction * norm.gamma / steps.scale  # type: ignore[operator]
        if isinstance(norm, LayerNorm):  # (x − mean(x)) · e = x · (e − mean(e))
            direction = direction - direction.mean(dim=-1, keepdim=True)
    heads = []
    for layer, block in enumerate(transformer.blocks):
        w_o: Any = block.attention.W_o  # type: ignore[union-attr]
        towards = (direction @ w_o.weight) * whole.mixed[layer][:, -1]  # (B, h·d_k)
        heads.append(towards.view(len(direction), config.num_heads, config.d_k).sum(dim=-1))
        if w_o.bias is not None:
            constant = constant + direction @ w_o.bias
    ffns = [(ffn[:, -1] * direction).sum(dim=-1) for ffn in whole.ffn]
    return Parts(
        embedding=_array((whole.states[0][:, -1] * direction).sum(dim=-1)),
        heads=_array(torch.stack(heads, dim=1)),
        ffns=_array(torch.stack(ffns, dim=1)),
        biases=_array(constant),
    )


def joined(parts: list[Parts], order: list[int]) -> Parts:
    """Batches put together: the prompts of all batches in a row, as numbered in `order`, back in their own order."""
    back = np.argsort(order)
    return Parts(
        *(
            np.concatenate([getattr(each, name) for each in parts])[back]
            for name in ("embedding", "heads", "ffns", "biases")
        )
    )


def _array(tensor: Tensor) -> Floats:
    return np.asarray(tensor.double().numpy())
