"""What is to be said of an architecture so that its checkpoints can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from model.blocks import Activation
from model.errors import HeadworkError, clipped
from model.transformer import TransformerConfig

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
}


@dataclass(frozen=True)
class Family:
    """How the checkpoints of one architecture are read. Its tokenizer needs no rule: tokenizer.json says all of it.

    Attributes:
        model_types: what config.json calls it.
        config: our sizes from a config.json. An entry that is missing is a KeyError, one of the wrong kind a TypeError.
        names: our tensors → theirs, as `model.weights.names.tensor_names` takes them.
        prefix: of their names in a model with a task head.
        unneeded: tensors that make no attention map: pooler, task heads, and buffers of old versions.
    """

    model_types: tuple[str, ...]
    config: Callable[[dict[str, Any]], TransformerConfig]
    names: Mapping[str, str]
    prefix: str
    unneeded: re.Pattern[str]


def activation(name: Any) -> Activation:
    """Our name of an activation in a config.json."""
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise HeadworkError(
            "The activation {name} is not supported. These are: {choices}.",
            name=clipped(name),
            choices=", ".join(_ACTIVATIONS),
        )
    return _ACTIVATIONS[name]
