"""What a Transformer computes and keeps: FLOPs by formula and by torch's own counter, bytes of maps and of the cache.

A FLOP is a multiplication or an addition, so a product of (a, b) by (b, c) takes 2·a·b·c. Shape letters: see
analysis.blocks.ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from analysis.blocks.ledger import n_matrices
from model.blocks import TransformerBlock
from model.tracing import MOST_TOKENS
from model.transformer import TransformerConfig

BYTES = 4  # float32


@dataclass(frozen=True)
class Flops:
    """FLOPs of one block on N tokens. Softmax, scaling, normalisation and residuals are left out, as is usual."""

    projections: int  # W_q, W_k, W_v, W_o
    core: int  # Q Kᵀ and A V, over all heads
    ffn: int

    @property
    def attention(self) -> int:
        """The whole attention layer."""
        return self.projections + self.core

    @property
    def total(self) -> int:
        """The whole block."""
        return self.attention + self.ffn


def flops(config: TransformerConfig, n_tokens: int, n_keys: int | None = None) -> Flops:
    """By formula: 4·N_q·d_model·d_k·(h + h_kv) + 4·N_q·N_k·h·d_k + 4·N_q·d_model·d_ff (6 for SwiGLU).

    With h·d_k = d_model and a key head for every query head that is 8·N·d_model² + 4·N²·d_model + …, without any h.

    Args:
        config: its sizes.
        n_tokens: N_q, tokens that are computed.
        n_keys: N_k, tokens that they attend to, those in a key-value cache counted; None = N_q.
    """
    n, d, d_k = n_tokens, config.d_model, config.d_k
    core = 4 * n * (n if n_keys is None else n_keys) * config.num_heads * d_k
    return Flops(
        4 * n * d * d_k * (config.num_heads + config.key_heads), core, 2 * n_matrices(config) * n * d * config.d_ff
    )


@lru_cache(maxsize=256)
def counted_flops(config: TransformerConfig, n_tokens: int) -> Flops:
    """The same, counted by torch while the parts of one block of ours run on the meta device."""
    with torch.device("meta"):
        block = TransformerBlock(
            config.d_model,
            config.num_heads,
            config.d_ff,
            norm=config.norm,
            activation=config.activation,
            bias=config.bias,
            num_key_heads=config.num_key_heads,
            d_k=config.head_width,
        ).eval()
        x = torch.empty(1, n_tokens, config.d_model)
        heads = torch.empty(1, n_tokens, config.num_heads * config.d_k)
    attention = block.attention
    # Only totals are read: the counter's names of modules mix up when another thread runs a model meanwhile.
    projections = sum(_counted(part, x) for part in (attention.W_q, attention.W_k, attention.W_v))
    projections += _counted(attention.W_o, heads)
    return Flops(projections, _counted(attention, x) - projections, _counted(block.ffn, x) if block.d_ff else 0)


@torch.no_grad()
def _counted(module: nn.Module, x: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        module(x)
    return int(counter.get_total_flops())


def output_flops(config: TransformerConfig, n_tokens: int) -> int:
    """Scores of the whole vocabulary: 2·N·V·d_model, once after the last block; 0 without an output matrix."""
    return 0 if config.output == "none" else 2 * n_tokens * config.vocab_size * config.d_model


def core_multiplications(n_queries: int, n_keys: int, n_heads: int, d_k: int) -> int:
    """Multiplications in Q Kᵀ: h maps of N_q·N_k cells, d_k products a cell, however many heads share a key head."""
    return n_heads * n_queries * n_keys * d_k


def crossings(config: TransformerConfig) -> tuple[int, int]:
    """The N from which on Q Kᵀ and A V cost more than the projections, and more than projections and FFN together.

    Rounded: N = d_model·(1 + h_kv / h), which is 2·d_model without grouped queries, and n·d_model·d_ff / 2·h·d_k more,
    n the matrices of the FFN.
    """
    d, h, d_k = config.d_model, config.num_heads, config.d_k
    first = d * (h + config.key_heads) / h
    return round(first), round(first + n_matrices(config) * d * config.d_ff / (2 * h * d_k))


def map_bytes(n_layers: int, n_heads: int, n_tokens: int) -> int:
    """Memory of all maps of one sentence: L·h·N²·4 bytes."""
    return n_layers * n_heads * n_tokens**2 * BYTES


def cache_bytes(config: TransformerConfig, n_tokens: int, bytes_each: int, *, grouped: bool = True) -> int:
    """Keys and values of N tokens, kept while a decoder writes: 2·L·h_kv·d_k bytes_each a token.

    Args:
        config: its sizes. A layer with a window of W tokens needs no more than W.
        n_tokens: N.
        bytes_each: of one number: 4 float32, 2 float16 and bfloat16.
        grouped: False = as it would be if every query head had a key head of its own.
    """
    windows = config.windows or (0,) * config.num_layers
    kept = sum(min(n_tokens, window) if window else n_tokens for window in windows)  # tokens, over all layers
    return 2 * kept * (config.key_heads if grouped else config.num_heads) * config.d_k * bytes_each


MAP_LIMIT = MOST_TOKENS  # the app cuts a sentence here


@dataclass(frozen=True)
class HeadCount:
    """A row of Table 3 (A): the base model with another number of heads, d_k = 512 / h."""

    heads: int
    d_k: int
    perplexity: float
    bleu: float


TABLE_3 = (  # Vaswani et al. 2017, Table 3, rows (A) and base: English to German, newstest2013 (development set)
    HeadCount(1, 512, 5.29, 24.9),
    HeadCount(4, 128, 5.00, 25.5),
    HeadCount(8, 64, 4.92, 25.8),
    HeadCount(16, 32, 4.91, 25.8),
    HeadCount(32, 16, 5.01, 25.4),
)
