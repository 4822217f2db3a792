"""AdamW on all parameters of a small network at once (Loshchilov & Hutter 2019, algorithm 2).

torch.optim has it too; its first use imports torch's compiler, which takes longer than a whole training here.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

BETAS = (0.9, 0.999)
EPSILON = 1e-8
DECAY = 0.01


class AdamW:
    """Keeps the parameters in one row of numbers, their gradients in another: a step is a few operations on rows.

    Args:
        module: float32. Its parameters become views of the row, and their gradients are added up in place.
    """

    def __init__(self, module: nn.Module) -> None:
        parameters = list(module.parameters())
        with torch.no_grad():
            self._numbers = torch.cat([parameter.flatten() for parameter in parameters])  # (n,)
            self._gradients = torch.zeros_like(self._numbers)
            start = 0
            for parameter in parameters:
                end = start + parameter.numel()
                parameter.data = self._numbers[start:end].view_as(parameter)
                parameter.grad = self._gradients[start:end].view_as(parameter)
                start = end
        self._mean = torch.zeros_like(self._numbers)
        self._square = torch.zeros_like(self._numbers)
        self._n_steps = 0

    def forget_gradients(self) -> None:
        """Sets all gradients to 0: to be called before each backward pass."""
        self._gradients.zero_()

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Moves every parameter by what the gradients say."""
        self._n_steps += 1
        first, second = BETAS
        self._mean.lerp_(self._gradients, 1 - first)  # m ← β₁ m + (1 − β₁) g
        self._square.mul_(second).addcmul_(self._gradients, self._gradients, value=1 - second)
        correction = math.sqrt(1 - second**self._n_steps)
        scale = (self._square.sqrt() / correction).add_(EPSILON)  # √v̂ + ε
        self._numbers.mul_(1 - learning_rate * DECAY)
        self._numbers.addcdiv_(self._mean, scale, value=-learning_rate / (1 - first**self._n_steps))

    def state(self) -> dict[str, Any]:
        """What `load` needs to go on; later steps don't change it."""
        return {"mean": self._mean.clone(), "square": self._square.clone(), "n_steps": self._n_steps}

    def load(self, state: dict[str, Any]) -> None:
        """Goes on from a `state`."""
        self._mean.copy_(state["mean"])
        self._square.copy_(state["square"])
        self._n_steps = state["n_steps"]
