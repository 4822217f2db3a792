"""Architectures whose checkpoints can be read: a file each, and its name in the list below."""

from model.weights.families import bert, distilbert, roberta
from model.weights.families.family import Family

FAMILIES: dict[str, Family] = {
    model_type: family
    for family in (bert.BERT, roberta.ROBERTA, distilbert.DISTILBERT)
    for model_type in family.model_types
}  # by the model_type of a config.json
