"""The key-value cache of a decoder that writes: what was computed for earlier tokens is kept, not computed again.

Under a causal mask an earlier token sees nothing of a later one, so its keys and values never change. A new token needs
its own query alone; it meets the keys and values that are here. Shape letters: see model.attention.
"""

from __future__ import annotations

import torch
from torch import Tensor


class LayerCache:
    """Keys and values of one layer, (B, key heads, N, d_k) each."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Adds those of new tokens and returns those of all."""
        if self.keys is not None and self.values is not None:
            if keys.size(2) == 0:
                return self.keys, self.values
            keys, values = torch.cat((self.keys, keys), dim=2), torch.cat((self.values, values), dim=2)
        self.keys, self.values = keys, values
        return keys, values


class KeyValueCache:
    """Keys and values of every token read so far, layer by layer."""

    def __init__(self, num_layers: int) -> None:
        self.layers = [LayerCache() for _ in range(num_layers)]

    @property
    def n_tokens(self) -> int:
        """Tokens that are in it."""
        keys = self.layers[0].keys
        return 0 if keys is None else keys.size(2)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return sum(t.nbytes for layer in self.layers for t in (layer.keys, layer.values) if t is not None)

    def cut(self, n_tokens: int) -> None:
        """Forgets all but the first tokens."""
        for layer in self.layers:
            if layer.keys is not None and layer.values is not None:
                layer.keys, layer.values = layer.keys[:, :, :n_tokens], layer.values[:, :, :n_tokens]


class DecoderCache(KeyValueCache):
    """Likewise for a decoder that reads another sequence: keys and values of that one too, which are made once."""

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.context = [LayerCache() for _ in range(num_layers)]

    @property
    def has_context(self) -> bool:
        """Whether the other sequence is in it."""
        return self.context[0].keys is not None

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        tensors = (tensor for layer in self.context for tensor in (layer.keys, layer.values))
        return super().nbytes + sum(tensor.nbytes for tensor in tensors if tensor is not None)
