"""Linear biases, ALiBi (Press et al. 2022, section 3): a head's scores fall with the distance from query to key.

Nothing is added to the embeddings and nothing is learned: head i subtracts m_i · (distance) from q kᵀ / √d_k before the
softmax. The slopes m are fixed, one a head, so that some heads look near and some far.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from model.errors import HeadworkError


def alibi_slopes(num_heads: int) -> Tensor:
    """m_1 … m_h: the geometric sequence 2^(−8/h), 2^(−16/h), …, 2^(−8), where h is a power of two.

    Otherwise the slopes of the next lower power of two, and after them every other one of twice as many heads: the
    rule of the paper's code (section 3, footnote), which BLOOM follows.

    Returns:
        (h,) float64.

    Raises:
        HeadworkError: fewer than one head.
    """
    if num_heads < 1:
        raise HeadworkError("ALiBi has a slope for each head, and there are {n}.", n=num_heads)
    lower = 2 ** int(math.log2(num_heads))
    slopes = _powers(lower)
    if lower < num_heads:
        slopes += _powers(2 * lower)[::2][: num_heads - lower]
    return torch.tensor(slopes, dtype=torch.float64)


def _powers(n: int) -> list[float]:
    return [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]


def alibi_bias(num_heads: int, positions: Tensor, key_positions: Tensor | None = None) -> Tensor:
    """−m · |i − j| for every head, query and key, to be added to the scores.

    Under a causal mask this is the paper's −m · (i − j); without one, its symmetric form: later keys are as far as
    earlier ones. BLOOM adds m · j instead, which differs by m · i in row i, and the softmax of a row doesn't see
    what is added to all of it.

    Args:
        num_heads: h.
        positions: (N,) or (B, N), where the queries stand.
        key_positions: where the keys stand; None = as the queries.

    Returns:
        (h, N, N) float64, or (B, h, N, N).
    """
    keys = positions if key_positions is None else key_positions
    distance = (positions[..., :, None] - keys[..., None, :]).abs().double()  # (…, N, N)
    return -alibi_slopes(num_heads)[:, None, None] * distance[..., None, :, :]  # (…, h, N, N)
