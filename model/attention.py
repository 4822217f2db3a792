"""Scaled dot-product attention and multi-head attention (Vaswani et al. 2017, section 3.2).

Letters used in every shape comment of this package:
    B batch, N tokens, L layers, h heads, d_model, d_k = d_model / h, d_ff.
A map's rows are queries and its columns are keys: attention[b, head, query, key]. In self-attention both are the same
N tokens; where they aren't, N_q is the number of queries and N_k that of keys, and (N, N) reads (N_q, N_k).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.cache import LayerCache
from model.errors import HeadworkError
from model.norms import RMSNorm
from model.rotary import Rotation, rotate


@dataclass
class AttentionSteps:
    """Every intermediate tensor of one attention call, copied as it was when the call made it.

    Hand an empty one to `forward(..., steps=AttentionSteps())` and read it afterwards.
    """

    projected_queries: Tensor | None = None  # (B, h, N, d_k)  x W_q, before any norm and rotation
    projected_keys: Tensor | None = None  # (B, key heads, N, d_k)  x W_k, likewise
    normed_queries: Tensor | None = None  # (B, h, N, d_k)  after the norm of each head, where there is one
    normed_keys: Tensor | None = None  # (B, key heads, N, d_k)
    queries: Tensor | None = None  # (B, h, N, d_k)  as they enter the product: normed and rotated, where that is done
    keys: Tensor | None = None  # (B, h, N, d_k)  where query heads share a key head, once for each of them
    values: Tensor | None = None  # (B, h, N, d_k)  likewise
    products: Tensor | None = None  # (B, h, N, N)  q kᵀ
    scores: Tensor | None = None  # (B, h, N, N)  q kᵀ / √d_k; q kᵀ itself where attention isn't scaled
    biased_scores: Tensor | None = None  # (B, h, N, N)  with what places add, where they add to scores
    masked_scores: Tensor | None = None  # (B, h, N, N)  q kᵀ / √d_k + M
    attention: Tensor | None = None  # (B, h, N, N)  softmax of masked_scores
    head_outputs: Tensor | None = None  # (B, h, N, d_k)  attention · values
    concatenated: Tensor | None = None  # (B, N, h·d_k)  the heads side by side, after the head mask: the input of W_o
    output: Tensor | None = None  # (B, N, d_model)

    def keep(self, **tensors: Tensor) -> None:
        """Stores a copy of each tensor, since later steps work in place."""
        for name, tensor in tensors.items():
            setattr(self, name, tensor.detach().clone())


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    scaled: bool = True,
    steps: AttentionSteps | None = None,
    out: Tensor | None = None,
    softmax: Callable[..., Tensor] = torch.softmax,
) -> tuple[Tensor, Tensor]:
    """softmax(q kᵀ / √d_k + M) v, with M = 0 where the mask allows and −inf where it doesn't (section 3.2.1).

    Args:
        q: queries (B, h, N, d_k).
        k: keys (B, h, N, d_k); of another sequence, N_k of them.
        v: values (B, h, N, d_k), one for each key.
        mask: boolean, broadcastable to (B, h, N, N); True = the query (row) may attend to the key (column).
        bias: broadcastable to (B, h, N, N), added to q kᵀ / √d_k before the mask: what places add (model.alibi,
            model.relative).
        scaled: False leaves out the division by √d_k (T5, Raffel et al. 2020, whose first weights make up for it).
        steps: filled with every intermediate tensor.
        out: (B, h, N, N), where the map is to be written. Only without gradients.
        softmax: another implementation of the same.

    Returns:
        The mixed values (B, h, N, d_k) and the attention map (B, h, N, N). Rows sum to 1;
        a row that may attend to nothing is 0 throughout, and so is its output.

    Raises:
        HeadworkError: a mask that isn't boolean.
    """
    scores = torch.matmul(q, k.transpose(-2, -1), out=out)  # (B, h, N, N)
    if steps is not None:
        steps.keep(products=scores)
    if scaled:
        scores /= math.sqrt(q.size(-1))
    if steps is not None:
        steps.keep(scores=scores)
    if bias is not None:
        scores += bias
        if steps is not None:
            steps.keep(biased_scores=scores)

    empty = None
    if mask is not None and not all_visible(mask):
        scores += torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill_(~mask, -math.inf)
        if steps is not None:
            steps.keep(masked_scores=scores)
        empty = ~mask.any(dim=-1, keepdim=True)  # (…, N, 1): rows that may attend to nothing
        if empty.any():
            scores.masked_fill_(empty, 0.0)  # the softmax of nothing but −inf would be 0 / 0
        else:
            empty = None
    elif steps is not None:
        steps.keep(masked_scores=scores)

    attention = softmax(scores, dim=-1, out=out)  # (B, h, N, N)
    if empty is not None:
        attention = attention.masked_fill(empty, 0.0) if out is None else out.masked_fill_(empty, 0.0)
    mixed = attention @ v  # (B, h, N, d_k)
    if steps is not None:
        steps.keep(attention=attention, head_outputs=mixed)
    return mixed, attention


def all_visible(mask: Tensor) -> bool:
    """Whether a mask hides nothing, so that M is 0 everywhere.

    Raises:
        HeadworkError: it isn't boolean.
    """
    if mask.dtype != torch.bool:
        raise not_boolean(mask.dtype)
    return bool(mask.all())


def not_boolean(kind: object) -> HeadworkError:
    """The error for a mask that holds something else: other libraries add −inf to the scores, or count in ones."""
    return HeadworkError(
        "This mask holds {kind}, but a mask here is boolean, True = may attend. Where 0 means may attend and −inf may "
        "not, give mask == 0; where 1 means may attend and 0 may not, give mask == 1.",
        kind=str(kind).removeprefix("torch."),
    )


class MultiHeadAttention(nn.Module):
    """Multi-head attention: concat(head_1 … head_h) W_o (section 3.2.2).

    One product per projection makes the queries of all heads at once; a reshape then deals the columns out to the
    heads, d_k to each. There is no loop over heads.

    The weights of the map are never dropped out, so that a row always sums to 1; a block drops out what comes after.

    Args:
        num_key_heads: heads of keys and values; each serves num_heads / num_key_heads query heads in a row (grouped
            queries, Ainslie et al. 2023). None = as many as there are queries.
        d_k: width of one head. None = d_model / num_heads.
        output_bias: whether W_o has a bias. None = as the others.
        qk_norm_eps: ε of an RMSNorm over the d_k columns of each head's queries and keys (Henry et al. 2020, in the
            form of Qwen3); None = there is none.
        scaled: whether scores are divided by √d_k (T5 doesn't).

    Raises:
        HeadworkError: d_model can't be split evenly over num_heads, nor num_heads over num_key_heads.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        bias: bool = True,
        *,
        num_key_heads: int | None = None,
        d_k: int | None = None,
        output_bias: bool | None = None,
        qk_norm_eps: float | None = None,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, num_heads, num_key_heads=num_key_heads, d_k=d_k)
        self.d_model = d_model
        self.num_heads = num_heads
        self.num_key_heads = num_key_heads or num_heads
        self.d_k = d_k or d_model // num_heads
        self.scaled = scaled
        self.softmax: Callable[..., Tensor] = torch.softmax
        self.W_q: nn.Module = nn.Linear(d_model, num_heads * self.d_k, bias=bias)
        self.W_k: nn.Module = nn.Linear(d_model, self.num_key_heads * self.d_k, bias=bias)
        self.W_v: nn.Module = nn.Linear(d_model, self.num_key_heads * self.d_k, bias=bias)
        self.W_o: nn.Module = nn.Linear(
            num_heads * self.d_k, d_model, bias=bias if output_bias is None else output_bias
        )
        self.has_qk_norm = qk_norm_eps is not None
        if qk_norm_eps is not None:
            self.q_norm = RMSNorm(self.d_k, qk_norm_eps)
            self.k_norm = RMSNorm(self.d_k, qk_norm_eps)

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, N, h·d_k) → (B, h, N, d_k): head i takes columns i·d_k … (i+1)·d_k − 1."""
        batch, n_tokens, width = x.shape
        x = x.view(batch, n_tokens, width // self.d_k, self.d_k)  # (B, N, h, d_k)
        return x.transpose(1, 2)  # (B, h, N, d_k)

    def merge_heads(self, x: Tensor) -> Tensor:
        """(B, h, N, d_k) → (B, N, h·d_k): the heads side by side again."""
        return x.transpose(1, 2).flatten(2)  # (B, N, h·d_k)

    def share_heads(self, x: Tensor) -> Tensor:
        """Keys or values (B, num_key_heads, N, d_k) → (B, h, N, d_k): each for the query heads that it serves."""
        group = self.num_heads // self.num_key_heads
        return x if group == 1 else x.repeat_interleave(group, dim=1)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        context: Tensor | None = None,
        rotation: Rotation | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        head_mask: Tensor | None = None,
        steps: AttentionSteps | None = None,
        out: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attends from every position of x to every position of x, or of another sequence, that the mask allows.

        Args:
            x: (B, N, d_model).
            mask: boolean, broadcastable to (B, h, N, N); True = may attend.
            context: (B, N_k, d_model), where keys and values come from (cross-attention, section 3.2.3); None = from x
                (self-attention).
            rotation: turns queries and keys by their positions (model.rotary); None = they stay as they are.
            bias: broadcastable to (B, h, N, N), added to the scores by positions (model.alibi, model.relative); None =
                nothing.
            cache: keys and values of earlier tokens, which x attends to as well; those of x, or of the context, are
                added to it.
            head_mask: (h,), a factor for each head's slice of the input to W_o; 0 switches the head off, 1 leaves it.
            steps: filled with every intermediate tensor.
            out: (B, h, N, N), where the map is to be written. Only without gradients.

        Returns:
            The output (B, N, d_model) and the map of every head (B, h, N, N).
        """
        context = x if context is None else context
        q = self.split_heads(self.W_q(x))  # (B, h, N, d_k)
        k = self.split_heads(self.W_k(context))  # (B, key heads, N, d_k)
        v = self.split_heads(self.W_v(context))  # (B, key heads, N, d_k)
        if steps is not None:
            steps.keep(projected_queries=q, projected_keys=k)
        if self.has_qk_norm:
            q, k = self.q_norm(q), self.k_norm(k)
            if steps is not None:
                steps.keep(normed_queries=q, normed_keys=k)
        if rotation is not None:
            q, k = rotate(q, rotation), rotate(k, rotation)
        if cache is not None:
            k, v = cache.append(k, v)
        k, v = self.share_heads(k), self.share_heads(v)  # (B, h, N, d_k)
        if steps is not None:
            steps.keep(queries=q, keys=k, values=v)
        mixed, attention = scaled_dot_product_attention(
            q, k, v, mask, bias=bias, scaled=self.scaled, steps=steps, out=out, softmax=self.softmax
        )
        if head_mask is not None:
            mixed = mixed * head_mask.view(1, self.num_heads, 1, 1)  # (B, h, N, d_k)
        concatenated = self.merge_heads(mixed)  # (B, N, h·d_k)
        output: Tensor = self.W_o(concatenated)  # (B, N, d_model)
        if steps is not None:
            steps.keep(concatenated=concatenated, output=output)
        return output, attention


def check_heads(d_model: int, num_heads: int, *, num_key_heads: int | None = None, d_k: int | None = None) -> None:
    """Raises HeadworkError unless heads of at least 1 share out d_model (where d_k doesn't say their width) evenly."""
    if min(d_model, num_heads, num_key_heads or 1, d_k or 1) < 1:
        raise HeadworkError(
            "d_model {d_model} with {num_heads} heads makes no model: both must be at least 1.",
            d_model=d_model,
            num_heads=num_heads,
        )
    if not d_k and d_model % num_heads:
        lower, higher = d_model - d_model % num_heads, d_model - d_model % num_heads + num_heads
        raise HeadworkError(
            "d_model {d_model} can't be split over {num_heads} heads: {d_model} / {num_heads} is not whole. "
            "Try {choices}.",
            d_model=d_model,
            num_heads=num_heads,
            choices=f"{lower} / {higher}" if lower else str(higher),
        )
    if num_key_heads and num_heads % num_key_heads:
        raise HeadworkError(
            "{num_heads} query heads can't share {num_key_heads} key heads: {num_heads} / {num_key_heads} is not "
            "whole.",
            num_heads=num_heads,
            num_key_heads=num_key_heads,
        )


def attention_entropy(attention: Tensor) -> Tensor:
    """−Σ_j a_ij ln a_ij of each row, in nats: 0 for one key only, ln N for N equal weights; 0 for an empty row.

    Args:
        attention: (…, N, N).

    Returns:
        (…, N), one value for each query.
    """
    entropy: Tensor = torch.special.entr(attention).sum(dim=-1)
    return entropy
