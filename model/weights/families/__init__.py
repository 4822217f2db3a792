"""Architectures whose checkpoints can be read: a file each, and its name in the list below."""

from model.encoder_decoder import EncoderDecoderConfig
from model.transformer import TransformerConfig
from model.weights.families import (
    bart,
    bert,
    distilbert,
    gpt2,
    gpt_neox,
    llama,
    marian,
    mistral,
    qwen2,
    qwen3,
    roberta,
    t5,
)
from model.weights.families.family import Family

_FAMILIES = (
    *(bert.BERT, roberta.ROBERTA, distilbert.DISTILBERT),
    *(gpt2.GPT2, gpt_neox.GPT_NEOX, llama.LLAMA, mistral.MISTRAL, qwen2.QWEN2, qwen3.QWEN3),
)
FAMILIES: dict[str, Family[TransformerConfig]] = {
    model_type: family for family in _FAMILIES for model_type in family.model_types
}  # by the model_type of a config.json
ENCODER_DECODERS: dict[str, Family[EncoderDecoderConfig]] = {
    model_type: family for family in (bart.BART, marian.MARIAN, t5.T5) for model_type in family.model_types
}
