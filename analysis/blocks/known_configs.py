"""The sizes of a model from its config alone: no weights are read, none are fetched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from model.catalogue import E5, SMOLLM2, local_folder, resolve
from model.encoder_decoder import EncoderDecoderConfig
from model.errors import HeadworkError, clipped, of_two_parts
from model.training.saved import about
from model.transformer import TransformerConfig
from model.weights import trained
from model.weights.checkpoints import config_from, known_family, read_config
from model.weights.e5 import E5_HUB
from model.weights.minilm import minilm_folder
from model.weights.toy import toy_config

CONFIGS = Path(__file__).parents[2] / "data" / "model_configs.json"  # as published on the hub
SMOLLM2_HUB = "HuggingFaceTB/SmolLM2-135M"  # the built-in one is this, tuned further: the same sizes
MOST_LETTERS = 100_000  # of a pasted config.json; published ones have a few thousand
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Known:
    """What a config says.

    Attributes:
        config: sizes and choices.
        bytes_each: of one number in the published weights; 0 = it doesn't say.
    """

    config: TransformerConfig
    bytes_each: int = 0


def known_config(model_id: str) -> TransformerConfig:
    """The config of a model of the catalogue, a folder, or a hub model that is on this computer.

    Raises:
        HeadworkError: the id names nothing, or its config is not here.
    """
    return known(model_id).config


def known(model_id: str) -> Known:
    """As `known_config`, with the format of the numbers."""
    entry = resolve(model_id)
    if entry.source == "toy":
        return Known(toy_config(entry.id))
    if entry.source == "trained here":
        config = about(trained.read(entry)).settings.config
        if isinstance(config, EncoderDecoderConfig):
            raise of_two_parts(entry.label)
        return Known(config)
    if entry.id in (E5, SMOLLM2):
        return taken_apart(published()[E5_HUB if entry.id == E5 else SMOLLM2_HUB])
    if entry.source == "built in":
        return taken_apart(read_config(minilm_folder()))
    folder = entry.folder or local_folder(entry)
    if folder is not None:
        return taken_apart(read_config(folder))
    if entry.id in published():
        return taken_apart(published()[entry.id])
    raise HeadworkError(
        "The sizes of {model} are not on this computer. Type them below, or download the model on the page Attention.",
        model=entry.label,
    )


def taken_apart(raw: dict[str, Any]) -> Known:
    """What a config.json says.

    Raises:
        HeadworkError: it is of a family that this app doesn't know, or asks for something that the app doesn't have.
    """
    written = raw.get("dtype", raw.get("torch_dtype"))
    return Known(config_from(known_family(raw)), _BYTES.get(written, 0) if isinstance(written, str) else 0)


def parsed(text: str) -> dict[str, Any]:
    """A config.json that somebody has pasted.

    Raises:
        HeadworkError: it is no JSON object.
    """
    try:
        if len(text) > MOST_LETTERS:
            raise ValueError(f"{len(text)} letters")
        raw = json.loads(text)
        if not isinstance(raw, dict):
            raise ValueError(f"{type(raw).__name__}")
    except (ValueError, RecursionError) as error:
        raise HeadworkError(
            "This can't be read as a config.json ({reason}). Paste the whole file, from its first brace to its last.",
            reason=clipped(error),
        ) from error
    return raw


@cache
def published() -> dict[str, dict[str, Any]]:
    """The configs that come with the app, by model id."""
    configs: dict[str, dict[str, Any]] = json.loads(CONFIGS.read_text(encoding="utf-8"))
    return configs
