"""The sizes of a model from its config alone: no weights are read, none are fetched."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from model.catalogue import E5, local_folder, resolve
from model.errors import HeadworkError
from model.training.saved import about
from model.transformer import TransformerConfig
from model.weights import trained
from model.weights.checkpoints import config_from, read_config
from model.weights.e5 import E5_HUB
from model.weights.minilm import minilm_folder
from model.weights.toy import toy_config

CONFIGS = Path(__file__).parents[2] / "data" / "model_configs.json"  # as published on the hub


def known_config(model_id: str) -> TransformerConfig:
    """The config of a model of the catalogue, a folder, or a hub model that is on this computer.

    Raises:
        HeadworkError: the id names nothing, or its config is not here.
    """
    entry = resolve(model_id)
    if entry.source == "toy":
        return toy_config(entry.id)
    if entry.id == E5:
        return config_from(published()[E5_HUB])
    if entry.source == "built in":
        return config_from(read_config(minilm_folder()))
    if entry.source == "trained here":
        return about(trained.read(entry)).settings.config
    folder = entry.folder or local_folder(entry)
    if folder is not None:
        return config_from(read_config(folder))
    if entry.id in published():
        return config_from(published()[entry.id])
    raise HeadworkError(
        "The sizes of {model} are not on this computer. Type them below, or download the model on the page Attention.",
        model=entry.label,
    )


@cache
def published() -> dict[str, dict[str, Any]]:
    """The configs that come with the app, by model id."""
    configs: dict[str, dict[str, Any]] = json.loads(CONFIGS.read_text(encoding="utf-8"))
    return configs
