"""What is to be said of an architecture so that its checkpoints can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch import Tensor

from model.blocks import Activation
from model.encoder_decoder import EncoderDecoderConfig
from model.errors import HeadworkError, clipped
from model.transformer import TransformerConfig

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
}
WITH_SILU: dict[str, Activation] = _ACTIVATIONS | {"silu": "silu", "swish": "silu"}
GATED: dict[str, Activation] = {"silu": "swiglu", "swish": "swiglu"}  # where the FFN has a third matrix


def _whole(name: str, tensor: Tensor, _: dict[str, Any]) -> dict[str, Tensor]:
    return {name: tensor}


Config = TypeVar("Config", TransformerConfig, EncoderDecoderConfig)


@dataclass(frozen=True)
class Family(Generic[Config]):
    """How the checkpoints of one architecture are read. Its tokenizer needs no rule: tokenizer.json says all of it.

    Attributes:
        model_types: what config.json calls it.
        config: our sizes from a config.json. An entry that is missing is a KeyError, one of the wrong kind a TypeError.
        names: our tensors → theirs, as `model.weights.names.tensor_names` takes them.
        prefix: of their names in a model with a task head.
        unneeded: tensors that make no attention map: pooler, task heads, and buffers of old versions.
        apart: takes a tensor (its name, itself, config.json) apart that holds several, or turns it to (out, in).
        is_decoder: trained under a causal mask.
    """

    model_types: tuple[str, ...]
    config: Callable[[dict[str, Any]], Config]
    names: Mapping[str, str]
    prefix: str
    unneeded: re.Pattern[str]
    apart: Callable[[str, Tensor, dict[str, Any]], dict[str, Tensor]] = _whole
    is_decoder: bool = False


def activation(name: Any, known: Mapping[str, Activation] = _ACTIVATIONS) -> Activation:
    """Our name of an activation in a config.json."""
    if not isinstance(name, str) or name not in known:
        raise HeadworkError(
            "The activation {name} is not supported. These are: {choices}.",
            name=clipped(name),
            choices=", ".join(known),
        )
    return known[name]
