"""Is a head used? Each head switched off alone, and how far the last layer's hidden states move.

A head is switched off as Michel et al. 2019 do it: its slice of the input to W_o becomes 0. W_o's bias stays. One
sentence's change is what this sentence's vectors lose; it says nothing about any task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.masks import Mask
from model.tokenizers.tokens import Tokens
from model.tracing import AttentionModel

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Ablation:
    """What changes when each head is off alone.

    Attributes:
        tokens: the sentence's N tokens.
        change: (L, h, N), ‖x′ − x‖ / ‖x‖ of each token's last hidden state x, and x′ with the head off.
    """

    tokens: Tokens
    change: Floats

    @property
    def nbytes(self) -> int:
        """Bytes that the array takes."""
        return self.change.nbytes

    def of_pieces(self, pieces: tuple[int, ...]) -> Floats:
        """(L, h), the mean over a word's pieces."""
        return np.asarray(self.change[:, :, list(pieces)].mean(axis=-1))

    def of_sentence(self) -> Floats:
        """(L, h), the mean over all tokens that are not special; over all where every token is."""
        content = [i for i, special in enumerate(self.tokens.is_special) if not special]
        return self.of_pieces(tuple(content or range(len(self.tokens.ids))))


@torch.inference_mode()
def switch_off_each(model: AttentionModel, text: str, mask: Mask | str = "bidirectional") -> Ablation:
    """What changes without each head: the sentence is run once whole and once for each head without it.

    What lies below the head's layer is the same as before and is not run again; what lies above runs for all heads of
    the layer at once.

    Raises:
        HeadworkError: as `AttentionModel.run`.
    """
    tokens, allowed, whole = model.run(text, mask, record="hidden")
    states = whole.hidden_states or []
    transformer = model.transformer
    visible = None if bool(allowed.all()) else allowed
    masks = list(allowed) if allowed.dim() == 3 else [visible] * model.n_layers  # windows are in a layer's own mask
    turn, bias = transformer.rotation(None, states[0]), transformer.position_bias(None, states[0], len(tokens))
    final = whole.hidden[0]  # (N, d_model)
    size = final.norm(dim=-1).clamp(min=torch.finfo(final.dtype).tiny)  # (N,)
    changes = []
    for layer in range(model.n_layers):
        block = transformer.blocks[layer]
        head_masks = 1 - torch.eye(model.n_heads)  # (h, h), row i: head i is off
        own = masks[layer]
        without = [block(states[layer], own, rotation=turn, bias=bias, head_mask=off)[0] for off in head_masks]
        x = torch.cat(without)  # (h, N, d_model)
        for above in range(layer + 1, model.n_layers):
            x, _ = transformer.blocks[above](x, masks[above], rotation=turn, bias=bias)
        if transformer.final_norm is not None:
            x = transformer.final_norm(x)
        changes.append((x - final).norm(dim=-1) / size)  # (h, N)
    change: Tensor = torch.stack(changes)
    return Ablation(tokens, change.numpy())
