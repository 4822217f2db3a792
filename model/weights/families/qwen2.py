"""Qwen2 (Yang et al. 2024) and Qwen2.5: Llama with biases on q, k and v alone, and a window from some layer on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.transformer import TransformerConfig
from model.weights.families import llama
from model.weights.families.decoders import refuse, windows_by_layer


def config(raw: dict[str, Any]) -> TransformerConfig:
    """Our sizes from a config.json."""
    refuse(raw, use_mrope=False)  # rotary positions in three directions, of Qwen2-VL
    raw = {"num_key_value_heads": 32} | raw  # as transformers has it where nothing is said; null = as many as heads
    return llama.config(raw, windows=windows_by_layer(raw), attention_bias="qkv", bias=False)


QWEN2 = replace(llama.LLAMA, model_types=("qwen2",), config=config)
