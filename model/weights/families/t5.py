"""T5 (Raffel et al. 2020), v1.1 and Flan-T5: relative position biases, RMSNorm first, scores that aren't scaled."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor

from model.blocks import Activation
from model.encoder_decoder import EncoderDecoderConfig
from model.transformer import TransformerConfig
from model.weights.families.decoders import not_supported, output_matrix, refuse
from model.weights.families.family import WITH_SILU, Family, activation

_GATED: dict[str, Activation] = {"gated-gelu": "geglu", "gated-gelu_new": "geglu", "gated-silu": "swiglu"}
N_POSITIONS = 512  # tokens in training; biases reach to any


def config(raw: dict[str, Any]) -> EncoderDecoderConfig:
    """Our sizes from a config.json."""
    refuse(raw, is_encoder_decoder=True)
    n_encoder = raw["num_layers"]
    n_decoder = raw.get("num_decoder_layers")
    # Where the output matrix is the embedding, hidden states are made smaller for it.
    is_tied = output_matrix(raw, tied=True) == "tied"
    scale = raw["d_model"] ** -0.5 if raw.get("scale_decoder_outputs", is_tied) else 1.0
    decoder = _part(
        raw,
        n_encoder if n_decoder is None else n_decoder,
        relative_past_only=True,
        output=output_matrix(raw, tied=True),
    )
    return EncoderDecoderConfig(_part(raw, n_encoder), decoder, output_scale=scale)


def _part(raw: dict[str, Any], num_layers: int, **own: Any) -> TransformerConfig:
    projection = raw.get("feed_forward_proj", "relu")
    if isinstance(projection, str) and projection.startswith("gated-") and projection not in _GATED:
        raise not_supported("config.json", "feed_forward_proj", projection)
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["d_model"],
        num_heads=raw["num_heads"],
        num_layers=num_layers,
        d_ff=raw["d_ff"],
        max_tokens=raw.get("n_positions", N_POSITIONS),
        norm="pre",
        norm_kind="rms",
        activation=_GATED.get(projection) or activation(projection, WITH_SILU),
        positions="relative",
        relative_buckets=raw.get("relative_attention_num_buckets", 32),
        relative_distance=raw.get("relative_attention_max_distance", 128),
        embedding_norm=False,
        final_norm=True,
        bias=False,
        layer_norm_eps=raw.get("layer_norm_epsilon", 1e-6),
        head_width=raw["d_kv"],
        scaled_scores=False,
        **own,
    )


def apart(name: str, tensor: Tensor, _: dict[str, Any]) -> dict[str, Tensor]:
    """Without a gate its first matrix is wi; with one it is wi_1, and the gate wi_0."""
    return {name.replace(".DenseReluDense.wi.", ".DenseReluDense.wi_1."): tensor}


def _names(which: str) -> dict[str, str]:
    last = "layer.2" if which == "decoder" else "layer.1"  # what comes after the attentions
    block = {f"attention.W_{x}": f"layer.0.SelfAttention.{x}" for x in "qkvo"}
    block |= {f"cross_attention.W_{x}": f"layer.1.EncDecAttention.{x}" for x in "qkvo"}
    block |= {"attention_norm": "layer.0.layer_norm", "cross_norm": "layer.1.layer_norm"}
    block |= {"ffn_norm": f"{last}.layer_norm"}
    block |= {f"ffn.{ours}": f"{last}.DenseReluDense.{theirs}" for ours, theirs in _MATRICES.items()}
    return {
        f"{which}.embeddings.token": f"{which}.embed_tokens",
        f"{which}.relative_bias.table": f"{which}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        f"{which}.final_norm": f"{which}.final_layer_norm",
    } | {f"{which}.blocks.{{i}}.{ours}": f"{which}.block.{{i}}.{theirs}" for ours, theirs in block.items()}


_MATRICES = {"W_gate": "wi_0", "W_1": "wi_1", "W_2": "wo"}

T5 = Family(
    model_types=("t5",),
    config=config,
    names=_names("encoder") | _names("decoder") | {"decoder.output": "lm_head"},
    prefix="transformer.",
    # Old files have a bias of cross-attention, which transformers never reads either.
    unneeded=re.compile(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight$|lm_head\."),
    apart=apart,
)
