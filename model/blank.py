"""A Transformer of given sizes without numbers, and filling it with those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from model.transformer import Transformer, TransformerConfig


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


def fill(transformer: Transformer, weights: Mapping[str, Tensor]) -> Transformer:
    """The same Transformer with `weights` (its state dict, taken over and not copied), in eval mode, not trained on."""
    transformer.load_state_dict(weights, assign=True)
    return transformer.eval().requires_grad_(False)
