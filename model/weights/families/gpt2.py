"""GPT-2 (Radford et al. 2019)."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor

from model.transformer import TransformerConfig
from model.weights.families.decoders import output_matrix, refuse
from model.weights.families.family import Family, activation


def config(raw: dict[str, Any]) -> TransformerConfig:
    """Our sizes from a config.json. `reorder_and_upcast_attn` changes nothing in float32."""
    refuse(raw, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    inner = raw.get("n_inner")
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["n_embd"],
        num_heads=raw["n_head"],
        num_layers=raw["n_layer"],
        d_ff=4 * raw["n_embd"] if inner is None else inner,
        max_tokens=raw["n_positions"],
        norm="pre",
        activation=activation(raw.get("activation_function", "gelu_new")),
        embedding_norm=False,
        final_norm=True,
        layer_norm_eps=raw.get("layer_norm_epsilon", 1e-5),
        output=output_matrix(raw, tied=True),
    )


def apart(name: str, tensor: Tensor, _: dict[str, Any]) -> dict[str, Tensor]:
    """Its linear layers are (in, out), and one makes queries, keys and values."""
    layer = re.fullmatch(r"(h\.\d+\.attn\.)c_attn\.(weight|bias)", name)
    if layer and tensor.dim() and tensor.size(-1) % 3 == 0:
        parts = zip("qkv", tensor.chunk(3, dim=-1), strict=True)
        return {f"{layer[1]}c_attn.{which}.{layer[2]}": part.t().contiguous() for which, part in parts}
    if re.fullmatch(r"h\.\d+\.(attn|mlp)\.c_\w+\.weight", name) and tensor.dim() == 2:
        return {name: tensor.t().contiguous()}
    return {name: tensor}


GPT2 = Family(
    model_types=("gpt2",),
    config=config,
    names={
        "embeddings.token": "wte",
        "embeddings.position": "wpe.weight",
        "blocks.{i}.attention_norm": "h.{i}.ln_1",
        "blocks.{i}.attention.W_q": "h.{i}.attn.c_attn.q",
        "blocks.{i}.attention.W_k": "h.{i}.attn.c_attn.k",
        "blocks.{i}.attention.W_v": "h.{i}.attn.c_attn.v",
        "blocks.{i}.attention.W_o": "h.{i}.attn.c_proj",
        "blocks.{i}.ffn_norm": "h.{i}.ln_2",
        "blocks.{i}.ffn.W_1": "h.{i}.mlp.c_fc",
        "blocks.{i}.ffn.W_2": "h.{i}.mlp.c_proj",
        "final_norm": "ln_f",
        "output": "lm_head",
    },
    prefix="transformer.",
    unneeded=re.compile(
        r"h\.\d+\.attn\.(bias|masked_bias)$|lm_head\.weight$|(score|classifier|qa_outputs|multiple_choice_head)\."
    ),
    apart=apart,
    is_decoder=True,
)
