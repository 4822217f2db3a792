"""Controls for head scores: what a model does without training, and without words.

A score means something only beside them: random weights show what chance and the shape of the model give (Clark et al.
2019, section 5, has a probe on a randomly initialised BERT for the same reason), and a text of [MASK] alone shows what
position gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import nn

from model.errors import HeadworkError
from model.norms import LayerNorm, RMSNorm
from model.tokenizers.tokenizer_json import MASK_TOKENS
from model.tokenizers.tokens import Tokens
from model.tracing import AttentionModel
from model.transformer import Transformer

Control = Literal["mask", "untrained"]
CONTROLS: tuple[Control, ...] = ("mask", "untrained")
INITIAL_DEVIATION = 0.02  # Devlin et al. 2019: BERT's initializer_range in its published config.json


def untrained(model: AttentionModel, seed: int = 0) -> AttentionModel:
    """A model of the same shape and tokenizer with weights as before training: normal, mean 0, deviation 0.02."""
    transformer = Transformer(model.config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in transformer.modules():
            if isinstance(module, LayerNorm | RMSNorm):
                continue  # begins as γ = 1, β = 0
            for name, parameter in module.named_parameters(recurse=False):
                if name == "bias":
                    parameter.zero_()
                else:
                    nn.init.normal_(parameter, std=INITIAL_DEVIATION, generator=generator)
    label = f"{model.label}, untrained, seed {seed}"
    entry = replace(model.entry, label=label, trained=False, trained_mask=None)
    return AttentionModel(entry, transformer, model.tokenizer, sha256=None, packed=model.is_packed)


def mask_id(model: AttentionModel) -> int:
    """The id of the model's [MASK] token.

    Raises:
        HeadworkError: the model has none.
    """
    for name in MASK_TOKENS:
        tokens = model.tokenizer.encode(name, limit=model.token_limit)
        content = [i for i, special in enumerate(tokens.is_special) if not special]
        if len(content) == 1 and tokens.pieces[content[0]] == name:
            return tokens.ids[content[0]]
    raise HeadworkError("{model} has no [MASK] token, so it can't be run without words.", model=model.label)


def without_words(tokens: Tokens, mask: int) -> tuple[int, ...]:
    """The ids with [MASK] in place of everything but special tokens."""
    return tuple(id_ if special else mask for id_, special in zip(tokens.ids, tokens.is_special, strict=True))
