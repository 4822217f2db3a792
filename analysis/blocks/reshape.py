"""The reshape between (N, d_model) and h matrices (N, d_k), with numbers that show which cell went where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from model.attention import MultiHeadAttention

Ints = NDArray[np.int64]
Way = Literal["right", "wrong"]

SPLIT_CODE = {
    "right": "x.view(B, N, h, d_k).transpose(1, 2)",
    "wrong": "x.view(B, h, N, d_k)  # the right shape, the wrong numbers",
}
MERGE_CODE = {
    "right": "heads.transpose(1, 2).contiguous().view(B, N, d_model)",
    "wrong": "heads.view(B, N, d_model)  # without the transpose",
}


@dataclass(frozen=True, eq=False)
class Regrouped:
    """Cells numbered 0, 1, 2 … row by row in x (N, d_model), before and after a reshape.

    `whole_heads` and `parts_heads` say of each cell which head its column of x belongs to.
    """

    whole: Ints  # (N, d_model)
    parts: Ints  # (h, N, d_k)
    whole_heads: Ints
    parts_heads: Ints
    misplaced: int  # cells in a head that their column doesn't belong to


def split(n_tokens: int, d_model: int, n_heads: int, way: Way = "right") -> Regrouped:
    """(N, d_model) → (h, N, d_k), by the module's own split_heads, or by a view without the transpose."""
    module = _module(d_model, n_heads)
    x = torch.arange(n_tokens * d_model).view(1, n_tokens, d_model)
    parts = module.split_heads(x) if way == "right" else x.view(1, n_heads, n_tokens, module.d_k)
    return _regrouped(x, parts, module.d_k)


def merge(n_tokens: int, d_model: int, n_heads: int, way: Way = "right") -> Regrouped:
    """(h, N, d_k) → (N, d_model), by the module's own merge_heads, or by a view without the transpose."""
    module = _module(d_model, n_heads)
    parts = module.split_heads(torch.arange(n_tokens * d_model).view(1, n_tokens, d_model)).contiguous()
    whole = module.merge_heads(parts) if way == "right" else parts.view(1, n_tokens, d_model)
    return _regrouped(whole, parts, module.d_k)


def view_without_contiguous(n_tokens: int, d_model: int, n_heads: int) -> str:
    """What torch says when the transposed heads are viewed without being copied first; empty where it can.

    A transpose moves no number: it only changes the steps from one to the next, and `view` needs rows that lie in
    one piece. With one head, one token or d_k = d_model there is nothing to move.
    """
    module = _module(d_model, n_heads)
    heads = module.split_heads(torch.arange(n_tokens * d_model).view(1, n_tokens, d_model)).contiguous()
    try:
        heads.transpose(1, 2).view(1, n_tokens, d_model)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return ""


def strides(n_tokens: int, d_model: int, n_heads: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The steps in memory along (h, N, d_k) of the split heads: after the transpose alone, and once contiguous."""
    heads = _module(d_model, n_heads).split_heads(torch.empty(1, n_tokens, d_model))
    return heads[0].stride(), heads.contiguous()[0].stride()


def _module(d_model: int, n_heads: int) -> MultiHeadAttention:
    with torch.device("meta"):
        return MultiHeadAttention(d_model, n_heads)


def _regrouped(whole: torch.Tensor, parts: torch.Tensor, d_k: int) -> Regrouped:
    d_model = whole.size(-1)
    first, second = whole[0].numpy(), parts[0].contiguous().numpy()
    of_whole, of_parts = first % d_model // d_k, second % d_model // d_k
    n_heads = len(second)
    at_home = of_parts == np.arange(n_heads)[:, None, None]
    columns = np.arange(d_model) // d_k
    misplaced = int((~at_home).sum()) + int((of_whole != columns).sum())
    return Regrouped(first, second, of_whole, of_parts, misplaced)
