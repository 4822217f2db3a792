"""BART (Lewis et al. 2020): an encoder of BERT's kind and a decoder of GPT's, and what Marian shares with it."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor

from model.encoder_decoder import EncoderDecoderConfig
from model.transformer import TransformerConfig
from model.weights.families.decoders import output_matrix, refuse
from model.weights.families.family import WITH_SILU, Family, activation

POSITION_OFFSET = 2  # its first two rows of positions are no positions, whatever pad_token_id says


def part(raw: dict[str, Any], which: str, **own: Any) -> TransformerConfig:
    """One of the two parts, "encoder" or "decoder". `own`: what another family has otherwise."""
    sizes: dict[str, Any] = {
        "vocab_size": raw["vocab_size"],
        "d_model": raw["d_model"],
        "num_heads": raw[f"{which}_attention_heads"],
        "num_layers": raw[f"{which}_layers"],
        "d_ff": raw[f"{which}_ffn_dim"],
        "max_tokens": raw["max_position_embeddings"],
        "activation": activation(raw.get("activation_function", "gelu"), WITH_SILU),
        "position_offset": POSITION_OFFSET,
        "layer_norm_eps": 1e-5,
        "scaled_embedding": bool(raw.get("scale_embedding", False)),
    }
    return TransformerConfig(**sizes | own)


def config(raw: dict[str, Any]) -> EncoderDecoderConfig:
    """Our sizes from a config.json."""
    refuse(raw, is_encoder_decoder=True, normalize_before=False, add_final_layer_norm=False)
    refuse(raw, normalize_embedding=True, static_position_embeddings=False)
    decoder = part(raw, "decoder", output=output_matrix(raw, tied=True))
    return EncoderDecoderConfig(part(raw, "encoder"), decoder, output_bias=True)


def apart(name: str, tensor: Tensor, _: dict[str, Any]) -> dict[str, Tensor]:
    """Its bias of the scores is a row (1, V)."""
    return {name: tensor.flatten() if name == "final_logits_bias" else tensor}


def names(which: str) -> dict[str, str]:
    """Our names → theirs, in one of the two parts."""
    attention = {
        f"W_{ours}": theirs for ours, theirs in zip("qkvo", ("q_proj", "k_proj", "v_proj", "out_proj"), strict=True)
    }
    block = {f"attention.{ours}": f"self_attn.{theirs}" for ours, theirs in attention.items()}
    block |= {f"cross_attention.{ours}": f"encoder_attn.{theirs}" for ours, theirs in attention.items()}
    block |= {"attention_norm": "self_attn_layer_norm", "cross_norm": "encoder_attn_layer_norm"}
    block |= {"ffn.W_1": "fc1", "ffn.W_2": "fc2", "ffn_norm": "final_layer_norm"}
    return {
        f"{which}.embeddings.token": f"{which}.embed_tokens",
        f"{which}.embeddings.position": f"{which}.embed_positions.weight",
        f"{which}.embeddings.norm": f"{which}.layernorm_embedding",
    } | {f"{which}.blocks.{{i}}.{ours}": f"{which}.layers.{{i}}.{theirs}" for ours, theirs in block.items()}


BART = Family(
    model_types=("bart",),
    config=config,
    names=names("encoder") | names("decoder") | {"decoder.output": "lm_head", "output_bias": "final_logits_bias"},
    prefix="model.",
    unneeded=re.compile(
        r"(encoder|decoder)\.version$|(lm_head\.weight|final_logits_bias)$|(classification_head|qa_outputs)\."
    ),
    apart=apart,
)
