"""DistilBERT (Sanh et al. 2019)."""

from __future__ import annotations

import re
from typing import Any

from model.transformer import TransformerConfig
from model.weights.families.family import Family, activation


def config(raw: dict[str, Any]) -> TransformerConfig:
    """Our sizes from a config.json."""
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["dim"],
        num_heads=raw["n_heads"],
        num_layers=raw["n_layers"],
        d_ff=raw["hidden_dim"],
        max_tokens=raw["max_position_embeddings"],
        activation=activation(raw.get("activation", "gelu")),
    )


DISTILBERT = Family(
    model_types=("distilbert",),
    config=config,
    names={
        "embeddings.token.weight": "embeddings.word_embeddings.weight",
        "embeddings.position": "embeddings.position_embeddings.weight",
        "embeddings.norm": "embeddings.LayerNorm",
        "blocks.{i}.attention.W_q": "transformer.layer.{i}.attention.q_lin",
        "blocks.{i}.attention.W_k": "transformer.layer.{i}.attention.k_lin",
        "blocks.{i}.attention.W_v": "transformer.layer.{i}.attention.v_lin",
        "blocks.{i}.attention.W_o": "transformer.layer.{i}.attention.out_lin",
        "blocks.{i}.attention_norm": "transformer.layer.{i}.sa_layer_norm",
        "blocks.{i}.ffn.W_1": "transformer.layer.{i}.ffn.lin1",
        "blocks.{i}.ffn.W_2": "transformer.layer.{i}.ffn.lin2",
        "blocks.{i}.ffn_norm": "transformer.layer.{i}.output_layer_norm",
    },
    prefix="distilbert.",
    unneeded=re.compile(r"(vocab_(transform|layer_norm|projector)|pre_classifier|classifier|qa_outputs)\."),
)
