"""Weights kept in 4 bits (Q4_0, as llama.cpp has it), and a word embedding that decodes only the rows it is asked for.

A block holds 32 numbers: one scale in half precision and 32 nibbles, so 4.5 bits a number. The low nibbles of its 16
bytes are the first 16 numbers, the high ones the others; a number is scale · (nibble − 8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

BLOCK_SIZE = 32  # numbers in a block
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", (BLOCK_SIZE // 2,))])  # 18 bytes


def decoded(stored: NDArray[Any]) -> NDArray[np.float32]:
    """Stored weights as numbers, in memory of their own.

    Args:
        stored: blocks of the type BLOCK (…, n / 32), or float32 (…, n), which only gets copied.

    Returns:
        (…, n).
    """
    if stored.dtype != BLOCK:
        return np.array(stored, dtype=np.float32)
    nibbles = stored["nibbles"]  # (…, n / 32, 16)
    numbers = np.empty((*stored.shape, BLOCK_SIZE), dtype=np.float32)
    numbers[..., : BLOCK_SIZE // 2] = nibbles & 0x0F
    numbers[..., BLOCK_SIZE // 2 :] = nibbles >> 4
    numbers -= 8
    numbers *= stored["scale"][..., None]
    return numbers.reshape(*stored.shape[:-1], stored.shape[-1] * BLOCK_SIZE)


class QuantisedEmbedding(nn.Module):
    """A word embedding that stays as it is stored; only the rows of the tokens in a sentence are decoded.

    It has no torch parameters, since nothing here can be trained: the model's config says how many numbers it stands
    for. The same numbers as nn.Embedding with all rows decoded.

    Args:
        stored: one row a token, as `decoded` takes it; may lie in a file that is mapped into memory.
    """

    def __init__(self, stored: NDArray[Any]) -> None:
        super().__init__()
        self.num_embeddings = stored.shape[0]
        self._stored = stored

    def forward(self, ids: Tensor) -> Tensor:
        """(B, N) → (B, N, d_model), float32."""
        return torch.from_numpy(decoded(self._stored[ids.numpy()]))
