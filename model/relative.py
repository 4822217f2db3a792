"""Relative position biases (Raffel et al. 2020, section 2.1): a learned number for each head and range of distances.

It is added to q kᵀ before the softmax. Near distances have a number each, farther ones share it in ranges that grow
logarithmically, and all beyond the farthest have the last. One table serves all layers. Shape letters: see
model.attention.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from model.errors import HeadworkError


def relative_buckets(distance: Tensor, n_buckets: int, farthest: int, *, past_only: bool) -> Tensor:
    """The range that each distance falls into, as T5 numbers them.

    Args:
        distance: whole numbers, place of the key − place of the query.
        n_buckets: how many ranges there are. Half of them are of one distance each; where later keys are seen as well,
            the upper half of all is for those.
        farthest: distances from here on share the last range.
        past_only: later keys are never seen; they fall into range 0.

    Returns:
        Ranges from 0 to n_buckets − 1, of the shape of `distance`.
    """
    if past_only:
        upper, back = torch.zeros_like(distance), (-distance).clamp(min=0)
    else:
        n_buckets //= 2
        upper, back = (distance > 0).long() * n_buckets, distance.abs()
    exact = n_buckets // 2
    # In float32, as it was trained: at the border of a range, more digits would give another one.
    growth = torch.log(back.float() / exact) / math.log(farthest / exact)
    shared = exact + (growth * (n_buckets - exact)).long().clamp(max=n_buckets - 1 - exact)
    return upper + torch.where(back < exact, back, shared)


class RelativeBias(nn.Module):
    """The table: a number for each range of distances and head.

    Raises:
        HeadworkError: the ranges of one distance alone reach as far as all of them together should.
    """

    def __init__(self, num_heads: int, n_buckets: int = 32, farthest: int = 128, *, past_only: bool = False) -> None:
        super().__init__()
        exact = n_buckets // (2 if past_only else 4)
        if not 1 <= exact < farthest:
            raise HeadworkError(
                "{n_buckets} ranges of distances give the first {exact} distances one each, so the farthest must be "
                "beyond: {farthest} is not.",
                n_buckets=n_buckets,
                exact=exact,
                farthest=farthest,
            )
        self.n_buckets, self.farthest, self.past_only = n_buckets, farthest, past_only
        self.table = nn.Parameter(nn.init.normal_(torch.empty(n_buckets, num_heads)))  # (ranges, h)

    def forward(self, positions: Tensor, key_positions: Tensor) -> Tensor:
        """The bias of every head, query and key.

        Args:
            positions: (N,) or (B, N), where the queries stand.
            key_positions: likewise the keys.

        Returns:
            (h, N, N), or (B, h, N, N).
        """
        distance = key_positions[..., None, :] - positions[..., :, None]  # (…, N, N)
        buckets = relative_buckets(distance, self.n_buckets, self.farthest, past_only=self.past_only)
        return self.table[buckets].movedim(-1, -3)  # (…, h, N, N)
