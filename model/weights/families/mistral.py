"""Mistral (Jiang et al. 2023): Llama with a sliding window in every layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.transformer import TransformerConfig
from model.weights.families import llama
from model.weights.families.decoders import n_layers


def config(raw: dict[str, Any]) -> TransformerConfig:
    """Our sizes from a config.json."""
    window = raw.get("sliding_window", 4096)  # as transformers has it where nothing is said; null = none
    windows = () if window is None else (window,) * n_layers(raw)
    raw = {"num_key_value_heads": 8} | raw  # as transformers has it where nothing is said; null = as many as heads
    return llama.config(raw, windows=windows, attention_bias="none", bias=False)


MISTRAL = replace(llama.LLAMA, model_types=("mistral",), config=config)
