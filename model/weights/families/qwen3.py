"""Qwen3 (Yang et al. 2025): Llama with a norm of each head's query and key, and heads of a width of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.transformer import TransformerConfig
from model.weights.families import llama
from model.weights.families.decoders import windows_by_layer


def config(raw: dict[str, Any]) -> TransformerConfig:
    """Our sizes from a config.json."""
    head_width = raw.get("head_dim") or 128  # as transformers has it where nothing is said
    raw = {"num_key_value_heads": 32} | raw  # as transformers has it where nothing is said; null = as many as heads
    return llama.config(raw, windows=windows_by_layer(raw), qk_norm=True, head_width=head_width, bias=False)


QWEN3 = replace(llama.LLAMA, model_types=("qwen3",), config=config)
