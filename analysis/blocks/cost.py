"""What a Transformer weighs and what it computes: formulas beside counts of the real torch modules.

Counts are taken on torch's meta device: modules with shapes and no numbers. A FLOP is a multiplication or an addition,
so a product of (a, b) by (b, c) takes 2·a·b·c. Shape letters: see model.attention; V vocabulary, P positions, T token
types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from model.blocks import TransformerBlock
from model.tracing import MOST_TOKENS
from model.transformer import Transformer, TransformerConfig

Part = Literal["tokens", "positions", "types", "embedding_norm", "attention", "ffn", "norms", "final_norm", "pooler"]
BLOCK_PARTS: tuple[Part, ...] = ("attention", "ffn", "norms")
BYTES = 4  # float32


@dataclass(frozen=True)
class Line:
    """One line of the ledger: `times` equal parts of `each` parameters."""

    part: Part
    formula: str
    numbers: str  # the formula with its numbers
    each: int
    counted: int  # parameters of one such torch module
    times: int = 1

    @property
    def total(self) -> int:
        """Parameters of all equal parts."""
        return self.each * self.times


@dataclass(frozen=True)
class Ledger:
    """Every parameter of a model, by formula and by count."""

    lines: tuple[Line, ...]
    counted: int  # parameters of the whole torch module, the pooler's added where asked for

    @property
    def total(self) -> int:
        """By formula."""
        return sum(line.total for line in self.lines)

    @property
    def block(self) -> int:
        """One block, by formula."""
        return sum(line.each for line in self.lines if line.part in BLOCK_PARTS)

    @property
    def embeddings(self) -> int:
        """Tokens, positions, token types and their normalisation, by formula."""
        return sum(line.total for line in self.lines if line.part in ("tokens", "positions", "types", "embedding_norm"))

    def line(self, part: Part) -> Line:
        """The line of a part that the model has."""
        return next(line for line in self.lines if line.part == part)

    def each(self, part: Part) -> int:
        """Parameters of one such part; 0 for what the model doesn't have."""
        return sum(line.each for line in self.lines if line.part == part)


@lru_cache(maxsize=64)
def ledger(config: TransformerConfig, *, pooler: bool = False) -> Ledger:
    """The parameters of a model of these sizes. `pooler` adds BERT's: one d_model × d_model layer after the stack."""
    d, f, layers = config.d_model, config.d_ff, config.num_layers
    gates = 3 if config.activation == "swiglu" else 2
    b = int(config.bias)
    n_positions = config.max_tokens + config.position_offset
    counts = _module_counts(config)
    inner = "2·" if gates == 3 else ""  # SwiGLU has two biases of d_ff
    attention_bias, attention_numbers = (" + 4·d_model", f" + 4·{d}") if b else ("", "")
    ffn_bias, ffn_numbers = (f" + {inner}d_ff + d_model", f" + {inner}{f} + {d}") if b else ("", "")
    lines = []
    if config.vocab_size:
        n = config.vocab_size
        lines.append(Line("tokens", "V·d_model", f"{n}·{d}", n * d, counts["tokens"]))
    if config.positions == "learned":
        lines.append(
            Line("positions", "P·d_model", f"{n_positions}·{d}", n_positions * d, counts["positions"]),
        )
    if config.n_token_types:
        n = config.n_token_types
        lines.append(Line("types", "T·d_model", f"{n}·{d}", n * d, counts["types"]))
    if config.embedding_norm:
        lines.append(Line("embedding_norm", "2·d_model", f"2·{d}", 2 * d, counts["embedding_norm"]))
    lines += [
        Line(
            "attention",
            "4·d_model²" + attention_bias,
            f"4·{d}²" + attention_numbers,
            4 * d * d + 4 * d * b,
            counts["attention"],
            layers,
        ),
    ]
    if f:
        lines.append(
            Line(
                "ffn",
                f"{gates}·d_model·d_ff" + ffn_bias,
                f"{gates}·{d}·{f}" + ffn_numbers,
                gates * d * f + b * ((gates - 1) * f + d),
                counts["ffn"],
                layers,
            )
        )
    if config.norm != "none":
        n = 2 if f else 1  # one for each sublayer
        lines.append(Line("norms", f"{n}·2·d_model", f"{n}·2·{d}", 2 * n * d, counts["norms"], layers))
    if config.final_norm:
        lines.append(Line("final_norm", "2·d_model", f"2·{d}", 2 * d, counts["final_norm"]))
    if pooler:
        lines.append(
            Line("pooler", "d_model² + d_model", f"{d}² + {d}", d * d + d, counts["pooler"]),
        )
    return Ledger(tuple(lines), counts["whole"] + (counts["pooler"] if pooler else 0))


def _module_counts(config: TransformerConfig) -> dict[str, int]:
    """Parameters of the modules that this app runs, for one block where blocks repeat."""
    with torch.device("meta"):
        model = Transformer(config)
        pooler = nn.Linear(config.d_model, config.d_model)
    block: TransformerBlock = model.blocks[0]  # type: ignore[assignment]
    embeddings = model.embeddings
    norms = [child for name, child in block.named_children() if name in ("attention_norm", "ffn_norm")]
    parts: dict[str, nn.Module | None] = {
        "tokens": embeddings.token,
        "embedding_norm": embeddings.norm,
        "attention": block.attention,
        "ffn": block.ffn if block.d_ff else None,
        "norms": nn.ModuleList(norms),
        "final_norm": model.final_norm,
        "pooler": pooler,
        "whole": model,
    }
    counts = {name: _n_parameters(part) for name, part in parts.items()}
    counts["positions"] = 0 if embeddings.position is None else embeddings.position.numel()
    counts["types"] = 0 if embeddings.token_type is None else embeddings.token_type.numel()
    return counts


def _n_parameters(module: nn.Module | None) -> int:
    return 0 if module is None else sum(parameter.numel() for parameter in module.parameters())


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


def flops(config: TransformerConfig, n_tokens: int) -> Flops:
    """By formula: 8·N·d_model² + 4·N²·d_model + 4·N·d_model·d_ff (6 for SwiGLU). h is nowhere in it."""
    n, d = n_tokens, config.d_model
    gates = 3 if config.activation == "swiglu" else 2
    return Flops(8 * n * d * d, 4 * n * n * d, 2 * gates * n * d * config.d_ff)


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
        ).eval()
        x = torch.empty(1, n_tokens, config.d_model)
    attention = block.attention
    # Only totals are read: the counter's names of modules mix up when another thread runs a model meanwhile.
    projections = sum(_counted(part, x) for part in (attention.W_q, attention.W_k, attention.W_v, attention.W_o))
    return Flops(projections, _counted(attention, x) - projections, _counted(block.ffn, x) if block.d_ff else 0)


@torch.no_grad()
def _counted(module: nn.Module, x: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        module(x)
    return int(counter.get_total_flops())


def core_multiplications(n_tokens: int, d_model: int, n_heads: int) -> int:
    """Multiplications in Q Kᵀ: h maps of N² cells, d_k products a cell. Equal to N²·d_model whatever h is."""
    return n_heads * n_tokens**2 * (d_model // n_heads)


def crossings(config: TransformerConfig) -> tuple[int, int]:
    """The N at which Q Kᵀ and A V cost as much as the projections, and as much as projections and FFN together."""
    gates = 3 if config.activation == "swiglu" else 2
    return 2 * config.d_model, 2 * config.d_model + gates * config.d_ff // 2


def map_bytes(n_layers: int, n_heads: int, n_tokens: int) -> int:
    """Memory of all maps of one sentence: L·h·N²·4 bytes."""
    return n_layers * n_heads * n_tokens**2 * BYTES


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
