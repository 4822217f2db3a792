"""Llama (Touvron et al. 2023), and what Mistral and Qwen share with it."""

from __future__ import annotations

import re
from typing import Any

from model.transformer import TransformerConfig
from model.weights.families.decoders import output_matrix, refuse, rotary_entries, rotary_scaling
from model.weights.families.family import GATED, Family, activation


def config(raw: dict[str, Any], **own: Any) -> TransformerConfig:
    """Our sizes from a config.json. `own`: what another family has otherwise."""
    rotary = rotary_entries(raw)
    refuse(rotary, partial_rotary_factor=1.0)
    refuse(raw, partial_rotary_factor=1.0)  # beside them, in older files
    sizes: dict[str, Any] = {
        "vocab_size": raw["vocab_size"],
        "d_model": raw["hidden_size"],
        "num_heads": raw["num_attention_heads"],
        "num_layers": raw["num_hidden_layers"],
        "d_ff": raw["intermediate_size"],
        "max_tokens": raw["max_position_embeddings"],
        "norm": "pre",
        "activation": activation(raw.get("hidden_act", "silu"), GATED),
        "positions": "rotary",
        "embedding_norm": False,
        "final_norm": True,
        "bias": bool(raw.get("mlp_bias", False)),
        "layer_norm_eps": raw.get("rms_norm_eps", 1e-6),
        "num_key_heads": raw.get("num_key_value_heads") or 0,
        "head_width": raw.get("head_dim") or 0,
        "norm_kind": "rms",
        "rotary_base": rotary.get("rope_theta", 10_000.0),
        "rotary_scaling": rotary_scaling(rotary),
        "attention_bias": "all" if raw.get("attention_bias", False) else "none",
        "output": output_matrix(raw),
    }
    return TransformerConfig(**sizes | own)


LLAMA = Family(
    model_types=("llama",),
    config=config,
    names={
        "embeddings.token": "embed_tokens",
        "blocks.{i}.attention_norm": "layers.{i}.input_layernorm",
        "blocks.{i}.attention.W_q": "layers.{i}.self_attn.q_proj",
        "blocks.{i}.attention.W_k": "layers.{i}.self_attn.k_proj",
        "blocks.{i}.attention.W_v": "layers.{i}.self_attn.v_proj",
        "blocks.{i}.attention.W_o": "layers.{i}.self_attn.o_proj",
        "blocks.{i}.attention.q_norm": "layers.{i}.self_attn.q_norm",  # of Qwen3
        "blocks.{i}.attention.k_norm": "layers.{i}.self_attn.k_norm",
        "blocks.{i}.ffn_norm": "layers.{i}.post_attention_layernorm",
        "blocks.{i}.ffn.W_gate": "layers.{i}.mlp.gate_proj",
        "blocks.{i}.ffn.W_1": "layers.{i}.mlp.up_proj",
        "blocks.{i}.ffn.W_2": "layers.{i}.mlp.down_proj",
        "final_norm": "norm",
        "output": "lm_head",
    },
    prefix="model.",
    unneeded=re.compile(
        r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq$|lm_head\.weight$|(score|qa_outputs|classifier)\."
    ),
    is_decoder=True,
)
