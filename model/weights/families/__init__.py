"""Architectures whose checkpoints can be read: a file each, and its name in the list below."""

from model.weights.families import bert, distilbert, gpt2, gpt_neox, llama, mistral, qwen2, qwen3, roberta
from model.weights.families.family import Family

_FAMILIES = (
    *(bert.BERT, roberta.ROBERTA, distilbert.DISTILBERT),
    *(gpt2.GPT2, gpt_neox.GPT_NEOX, llama.LLAMA, mistral.MISTRAL, qwen2.QWEN2, qwen3.QWEN3),
)
FAMILIES: dict[str, Family] = {
    model_type: family for family in _FAMILIES for model_type in family.model_types
}  # by the model_type of a config.json
