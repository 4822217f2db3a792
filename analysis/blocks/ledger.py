"""What a Transformer weighs: every parameter by formula, beside a count of the real torch modules.

Counts are taken on torch's meta device: modules with shapes and no numbers. Shape letters: see model.attention;
h_kv key heads, V vocabulary, P positions, T token types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import nn

from model.blocks import GATED, TransformerBlock
from model.norms import NormKind
from model.transformer import Transformer, TransformerConfig

Part = Literal[
    "tokens",
    "positions",
    "types",
    "embedding_norm",
    "attention",
    "qk_norm",
    "ffn",
    "norms",
    "final_norm",
    "output",
    "pooler",
]
BLOCK_PARTS: tuple[Part, ...] = ("attention", "qk_norm", "ffn", "norms")
EMBEDDING_PARTS: tuple[Part, ...] = ("tokens", "positions", "types", "embedding_norm")
TIED = "tied: 0"

Term = tuple[str, str, int]  # a summand in letters, in numbers, and its value


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
        return sum(line.total for line in self.lines if line.part in EMBEDDING_PARTS)

    def line(self, part: Part) -> Line:
        """The line of a part that the model has."""
        return next(line for line in self.lines if line.part == part)

    def each(self, part: Part) -> int:
        """Parameters of one such part; 0 for what the model doesn't have."""
        return sum(line.each for line in self.lines if line.part == part)


@lru_cache(maxsize=64)
def ledger(config: TransformerConfig, *, pooler: bool = False) -> Ledger:
    """The parameters of a model of these sizes. `pooler` adds BERT's: one d_model × d_model layer after the stack."""
    counts = _module_counts(config)
    terms = _terms(config, pooler)
    lines = (
        Line(
            part,
            " + ".join(letters for letters, _, _ in summands) or TIED,
            " + ".join(numbers for _, numbers, _ in summands) or "0",
            sum(value for _, _, value in summands),
            counts[part],
            config.num_layers if part in BLOCK_PARTS else 1,
        )
        for part, summands in terms.items()
    )
    return Ledger(tuple(lines), counts["whole"] + (counts["pooler"] if pooler else 0))


def _terms(config: TransformerConfig, pooler: bool) -> dict[Part, list[Term]]:
    """The summands of every part that the model has, in the order of the page. A tied output matrix has none."""
    d, v, n_types = config.d_model, config.vocab_size, config.n_token_types
    n_positions = config.max_tokens + config.position_offset
    terms: dict[Part, list[Term]] = {}
    if v:
        terms["tokens"] = [("V·d_model", f"{v}·{d}", v * d)]
    if config.positions == "learned":
        terms["positions"] = [("P·d_model", f"{n_positions}·{d}", n_positions * d)]
    if n_types:
        terms["types"] = [("T·d_model", f"{n_types}·{d}", n_types * d)]
    if config.embedding_norm:
        terms["embedding_norm"] = [_norm("layer", d)]
    terms["attention"] = _attention(config)
    if config.qk_norm:
        terms["qk_norm"] = [("2·d_k", f"2·{config.d_k}", 2 * config.d_k)]
    if config.d_ff:
        terms["ffn"] = _ffn(config)
    if config.norm != "none":
        terms["norms"] = [_norm(config.norm_kind, d, 2 if config.d_ff else 1)]  # one for each sublayer
    if config.final_norm:
        terms["final_norm"] = [_norm(config.norm_kind, d)]
    if config.output != "none":
        terms["output"] = [("V·d_model", f"{v}·{d}", v * d)] if config.output == "own" else []
    if pooler:
        terms["pooler"] = [("d_model²", f"{d}²", d * d), ("d_model", f"{d}", d)]
    return terms


def _norm(kind: NormKind, d: int, n: int = 1) -> Term:
    """So many normalisations: γ and β of LayerNorm, γ alone of RMSNorm."""
    times = f"{n}·" if n > 1 else ""
    if kind == "rms":
        return f"{times}d_model", f"{times}{d}", n * d
    return f"{times}2·d_model", f"{times}2·{d}", n * 2 * d


def _attention(config: TransformerConfig) -> list[Term]:
    """W_q, W_k, W_v, W_o and their biases."""
    d, h, d_k = config.d_model, config.num_heads, config.d_k
    h_kv = config.key_heads
    place = config.attention_bias or ("all" if config.bias else "none")
    value = 2 * d * d_k * (h + h_kv)
    if h == h_kv and h * d_k == d:
        terms = [("4·d_model²", f"4·{d}²", value)]
        biases = {"none": [], "qkv": [("3·d_model", f"3·{d}", 3 * d)], "all": [("4·d_model", f"4·{d}", 4 * d)]}
        return terms + biases[place]
    if h == h_kv:
        terms = [("4·d_model·h·d_k", f"4·{d}·{h}·{d_k}", value)]
    else:
        terms = [("2·d_model·d_k·(h + h_kv)", f"2·{d}·{d_k}·({h} + {h_kv})", value)]
    if place != "none":
        terms.append(("d_k·(h + 2·h_kv)", f"{d_k}·({h} + 2·{h_kv})", d_k * (h + 2 * h_kv)))
    if place == "all":
        terms.append(("d_model", f"{d}", d))
    return terms


def _ffn(config: TransformerConfig) -> list[Term]:
    """W_1 and W_2, SwiGLU's W_gate, and their biases."""
    d, f, n = config.d_model, config.d_ff, n_matrices(config)
    terms = [(f"{n}·d_model·d_ff", f"{n}·{d}·{f}", n * d * f)]
    if config.bias:
        inner = "2·" if n == 3 else ""  # SwiGLU has two biases of d_ff
        terms += [(f"{inner}d_ff", f"{inner}{f}", (n - 1) * f), ("d_model", f"{d}", d)]
    return terms


def n_matrices(config: TransformerConfig) -> int:
    """Matrices of the FFN: SwiGLU and GEGLU have a third."""
    return 3 if config.activation in GATED else 2


def _module_counts(config: TransformerConfig) -> dict[str, int]:
    """Parameters of the modules that this app runs, for one block where blocks repeat."""
    with torch.device("meta"):
        model = Transformer(config)
        pooler = nn.Linear(config.d_model, config.d_model)
    block: TransformerBlock = model.blocks[0]  # type: ignore[assignment]
    embeddings = model.embeddings
    children = dict(block.named_children())
    parts: dict[str, list[nn.Module | None]] = {
        "tokens": [embeddings.token],
        "embedding_norm": [embeddings.norm],
        "attention": [block.attention.W_q, block.attention.W_k, block.attention.W_v, block.attention.W_o],
        "qk_norm": [block.attention.q_norm, block.attention.k_norm] if config.qk_norm else [],
        "ffn": [children.get("ffn")],
        "norms": [children.get("attention_norm"), children.get("ffn_norm")],
        "final_norm": [model.final_norm],
        "output": [model.output],
        "pooler": [pooler],
        "whole": [model],
    }
    counts = {name: sum(map(_n_parameters, modules)) for name, modules in parts.items()}
    counts["positions"] = 0 if embeddings.position is None else embeddings.position.numel()
    counts["types"] = 0 if embeddings.token_type is None else embeddings.token_type.numel()
    return counts


def _n_parameters(module: nn.Module | None) -> int:
    return 0 if module is None else sum(parameter.numel() for parameter in module.parameters())
