"""BERT (Devlin et al. 2019)."""

from __future__ import annotations

import re
from typing import Any

from model.errors import HeadworkError, clipped
from model.transformer import TransformerConfig
from model.weights.families.decoders import refuse
from model.weights.families.family import Family, activation


def config(raw: dict[str, Any], position_offset: int = 0) -> TransformerConfig:
    """Our sizes from a config.json. `position_offset` is the number of the first position."""
    if raw.get("position_embedding_type", "absolute") != "absolute":
        raise HeadworkError(
            "Position embeddings of the kind {kind} are not supported, only absolute ones.",
            kind=clipped(raw["position_embedding_type"]),
        )
    if raw.get("embedding_size", raw["hidden_size"]) != raw["hidden_size"]:
        raise HeadworkError("Models whose embeddings have a different width from their layers are not supported.")
    refuse(raw, add_cross_attention=False)
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["hidden_size"],
        num_heads=raw["num_attention_heads"],
        num_layers=raw["num_hidden_layers"],
        d_ff=raw["intermediate_size"],
        max_tokens=raw["max_position_embeddings"] - position_offset,
        n_token_types=raw.get("type_vocab_size", 2),
        activation=activation(raw.get("hidden_act", "gelu")),
        position_offset=position_offset,
        layer_norm_eps=raw.get("layer_norm_eps", 1e-12),
    )


BERT = Family(
    model_types=("bert",),
    config=config,
    names={
        "embeddings.token.weight": "embeddings.word_embeddings.weight",
        "embeddings.position": "embeddings.position_embeddings.weight",
        "embeddings.token_type": "embeddings.token_type_embeddings.weight",
        "embeddings.norm": "embeddings.LayerNorm",
        "blocks.{i}.attention.W_q": "encoder.layer.{i}.attention.self.query",
        "blocks.{i}.attention.W_k": "encoder.layer.{i}.attention.self.key",
        "blocks.{i}.attention.W_v": "encoder.layer.{i}.attention.self.value",
        "blocks.{i}.attention.W_o": "encoder.layer.{i}.attention.output.dense",
        "blocks.{i}.attention_norm": "encoder.layer.{i}.attention.output.LayerNorm",
        "blocks.{i}.ffn.W_1": "encoder.layer.{i}.intermediate.dense",
        "blocks.{i}.ffn.W_2": "encoder.layer.{i}.output.dense",
        "blocks.{i}.ffn_norm": "encoder.layer.{i}.output.LayerNorm",
    },
    prefix="bert.",
    unneeded=re.compile(r"(pooler|cls|lm_head|classifier|qa_outputs)\.|embeddings\.(position_ids|token_type_ids)$"),
)
