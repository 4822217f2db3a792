"""Marian (Junczys-Dowmunt et al. 2018), the translators of OPUS-MT: BART with sinusoidal positions, in no file."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from model.encoder_decoder import EncoderDecoderConfig
from model.weights.families import bart
from model.weights.families.decoders import output_matrix, refuse


def config(raw: dict[str, Any]) -> EncoderDecoderConfig:
    """Our sizes from a config.json."""
    refuse(raw, is_encoder_decoder=True, normalize_before=False, add_final_layer_norm=False)
    refuse(raw, normalize_embedding=False, static_position_embeddings=True)
    own: dict[str, Any] = {"positions": "sinusoidal_halves", "position_offset": 0, "embedding_norm": False}
    shared = bool(raw.get("share_encoder_decoder_embeddings", True))
    target_size = raw["vocab_size"] if shared else raw.get("decoder_vocab_size") or raw["vocab_size"]
    decoder = bart.part(raw, "decoder", **own, vocab_size=target_size, output=output_matrix(raw, tied=True))
    return EncoderDecoderConfig(bart.part(raw, "encoder", **own), decoder, shared_embedding=shared, output_bias=True)


MARIAN = replace(
    bart.BART,
    model_types=("marian",),
    config=config,
    unneeded=re.compile(r"(encoder|decoder)\.(embed_positions\.weight|version)$|(lm_head\.weight|final_logits_bias)$"),
)
