"""A Transformer of given sizes without numbers, and filling it with those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from model.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from model.positions import Embeddings
from model.transformer import Transformer, TransformerConfig

Module = TypeVar("Module", bound=nn.Module)


class NoInit(TorchFunctionMode):
    """Leaves out nn.init: on the meta device it has nothing to fill, and its first call there imports for a second."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", None) == "torch.nn.init":
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def blank(config: TransformerConfig) -> Transformer:
    """A Transformer on torch's meta device: names and shapes of its tensors, and no numbers."""
    with torch.device("meta"), NoInit():
        return Transformer(config)


def blank_pair(config: EncoderDecoderConfig) -> EncoderDecoder:
    """An encoder and decoder, likewise."""
    with torch.device("meta"), NoInit():
        return EncoderDecoder(config)


def fill(transformer: Module, weights: Mapping[str, Tensor]) -> Module:
    """The same Transformer with `weights` (its state dict, taken over and not copied), in eval mode, not trained on."""
    transformer.load_state_dict(weights, assign=True)
    for module in transformer.modules():
        if isinstance(module, Embeddings):
            module.make_sinusoids()  # no file has them
    return transformer.eval().requires_grad_(False)
