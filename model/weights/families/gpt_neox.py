"""GPT-NeoX (Black et al. 2022) and Pythia: rotary positions for a part of each head, attention and FFN in parallel."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor

from model.transformer import TransformerConfig
from model.weights.families.decoders import not_supported, output_matrix, rotary_entries, rotary_scaling
from model.weights.families.family import Family, activation


def config(raw: dict[str, Any]) -> TransformerConfig:
    """Our sizes from a config.json."""
    rotary = rotary_entries(raw)
    share = rotary.get("partial_rotary_factor", raw.get("rotary_pct", 0.25))
    width = int(raw["hidden_size"] // raw["num_attention_heads"] * share)
    if width == 0:  # which TransformerConfig would take for the whole head
        raise not_supported("config.json", "rotary_pct", share)
    return TransformerConfig(
        vocab_size=raw["vocab_size"],
        d_model=raw["hidden_size"],
        num_heads=raw["num_attention_heads"],
        num_layers=raw["num_hidden_layers"],
        d_ff=raw["intermediate_size"],
        max_tokens=raw["max_position_embeddings"],
        norm="pre",
        activation=activation(raw.get("hidden_act", "gelu")),
        positions="rotary",
        embedding_norm=False,
        final_norm=True,
        layer_norm_eps=raw.get("layer_norm_eps", 1e-5),
        rotary_width=width,
        rotary_base=rotary.get("rope_theta", raw.get("rotary_emb_base", 10_000.0)),
        rotary_scaling=rotary_scaling(rotary),
        attention_bias="all" if raw.get("attention_bias", True) else "none",
        parallel=bool(raw.get("use_parallel_residual", True)),
        output=output_matrix(raw),
    )


def apart(name: str, tensor: Tensor, raw: dict[str, Any]) -> dict[str, Tensor]:
    """One linear layer makes queries, keys and values: head by head, first the rows of its query, then key, value."""
    layer = re.fullmatch(r"(layers\.\d+\.attention\.query_key_value)\.(weight|bias)", name)
    heads = raw["num_attention_heads"]
    if not layer or not tensor.dim() or tensor.size(0) % (3 * heads):
        return {name: tensor}
    rows = tensor.view(heads, 3, -1, *tensor.shape[1:])  # (h, 3, d_k, d_model)
    return {f"{layer[1]}.{which}.{layer[2]}": rows[:, i].flatten(0, 1) for i, which in enumerate("qkv")}


GPT_NEOX = Family(
    model_types=("gpt_neox",),
    config=config,
    names={
        "embeddings.token": "embed_in",
        "blocks.{i}.attention_norm": "layers.{i}.input_layernorm",
        "blocks.{i}.attention.W_q": "layers.{i}.attention.query_key_value.q",
        "blocks.{i}.attention.W_k": "layers.{i}.attention.query_key_value.k",
        "blocks.{i}.attention.W_v": "layers.{i}.attention.query_key_value.v",
        "blocks.{i}.attention.W_o": "layers.{i}.attention.dense",
        "blocks.{i}.ffn_norm": "layers.{i}.post_attention_layernorm",
        "blocks.{i}.ffn.W_1": "layers.{i}.mlp.dense_h_to_4h",
        "blocks.{i}.ffn.W_2": "layers.{i}.mlp.dense_4h_to_h",
        "final_norm": "final_layer_norm",
        "output": "embed_out",
    },
    prefix="gpt_neox.",
    unneeded=re.compile(
        r"layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)$|embed_out\.weight$"
        r"|(score|classifier|qa_outputs)\."
    ),
    apart=apart,
    is_decoder=True,
)
