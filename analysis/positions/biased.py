"""A map with and without ALiBi's bias: the first layer of a model whose own positions are off (Press et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model import AttentionModel, TransformerBlock
from model.alibi import alibi_bias
from model.attention import AttentionSteps


@dataclass(frozen=True)
class Biased:
    """One head of layer 1, contents alone and with the distance taken off.

    Attributes:
        labels: of the N tokens.
        content: (N, N), softmax of the scores, the model's own positions off.
        bias: (N, N), −m · |i − j|.
        both: (N, N), softmax of scores plus bias.
        allowed: (N, N), the model's own mask.
    """

    labels: tuple[str, ...]
    content: NDArray[np.float32]
    bias: NDArray[np.float32]
    both: NDArray[np.float32]
    allowed: NDArray[np.bool_]


@torch.inference_mode()
def biased(model: AttentionModel, text: str, head: int, slope_of: int, n_slopes: int) -> Biased:
    """A head's map of a text with one of n slopes laid on it. The model wasn't trained with any.

    Args:
        model: any.
        text: what it reads, under its own mask.
        head: of layer 1, from 0.
        slope_of: which of the slopes, from 0.
        n_slopes: heads that would share the slopes out.

    Raises:
        HeadworkError: empty text.
    """
    tokens = model.tokens(text)
    allowed = model.default_mask.allowed(len(tokens), torch.tensor(tokens.is_padding))
    ids, types, block = torch.tensor([tokens.ids]), model.token_types(tokens), model.transformer.blocks[0]
    own = model.transformer.layer_masks(allowed, len(tokens))[0]  # where the layer has a window, laid over it
    assert isinstance(block, TransformerBlock) and own is not None
    x, steps = model.transformer.embeddings(ids, types, placed=False), AttentionSteps()  # (1, N, d_model)
    block.attention(block.attention_norm(x) if block.norm == "pre" else x, steps=steps)  # nothing turned, nothing added
    assert steps.scores is not None
    scores = steps.scores[0, head]  # (N, N)
    bias = alibi_bias(n_slopes, torch.arange(len(tokens)))[slope_of].float()
    maps = (torch.softmax(s.masked_fill(~own, -torch.inf), dim=-1).numpy() for s in (scores, scores + bias))
    content, both = maps
    return Biased(tokens.labels, content, bias.numpy(), both, own.numpy())
