"""Normalisation of one token's features: LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019).

Shape letters: see model.attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.errors import HeadworkError

NormKind = Literal["layer", "rms"]


@dataclass
class NormSteps:
    """The intermediate tensors of one normalisation."""

    input: Tensor | None = None  # (B, N, d_model)
    mean: Tensor | None = None  # (B, N, 1)  over the features of each token; RMSNorm has none
    scale: Tensor | None = None  # (B, N, 1)  √(variance + ε); RMSNorm: √(mean of squares + ε)
    normalised: Tensor | None = None  # (B, N, d_model)  (input − mean) / scale, before γ and β
    output: Tensor | None = None  # (B, N, d_model)


class LayerNorm(nn.Module):
    """(x − mean) / √(variance + ε) · γ + β, over the d_model features of each token alone (Ba et al. 2016, section 3).

    Nothing is averaged over tokens or over the batch. The variance is the biased one (divided by d_model).
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor, *, steps: NormSteps | None = None) -> Tensor:
        """(B, N, d_model) → (B, N, d_model)."""
        if steps is None:
            return F.layer_norm(x, (x.size(-1),), self.gamma, self.beta, self.eps)
        # The same kernel, which also hands out what it computed on the way.
        output, mean, inverse = torch.native_layer_norm(x, (x.size(-1),), self.gamma, self.beta, self.eps)
        steps.input, steps.mean, steps.scale, steps.output = x, mean, 1 / inverse, output  # (B, N, 1) twice
        steps.normalised = (x - mean) * inverse
        return output


class RMSNorm(nn.Module):
    """x / √(mean(x²) + ε) · γ, over the features of each token alone (Zhang & Sennrich 2019, equation 4).

    LayerNorm without its mean and without β: the direction of x stays.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor, *, steps: NormSteps | None = None) -> Tensor:
        """(…, d_model) → (…, d_model)."""
        inverse = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)  # (B, N, 1)
        normalised = x * inverse
        output = self.gamma * normalised
        if steps is not None:
            steps.input, steps.scale, steps.normalised, steps.output = x, 1 / inverse, normalised, output
        return output


def make_norm(kind: NormKind, d_model: int, eps: float) -> LayerNorm | RMSNorm:
    """The normalisation that `kind` names."""
    if kind not in get_args(NormKind):
        raise HeadworkError("A normalisation is layer or rms, not {kind}.", kind=kind)
    return LayerNorm(d_model, eps) if kind == "layer" else RMSNorm(d_model, eps)
