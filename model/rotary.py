"""Rotary positions (Su et al. 2021, section 3.2): queries and keys are turned by an angle that grows with the position.

A head's columns are taken in pairs, and each pair is a point in a plane. Turning the query at position i by i·θ and the
key at j by j·θ leaves their product to depend on i − j alone. Column c is paired with column c + width / 2, as GPT-NeoX
and Llama store them; the paper pairs neighbours, which is the same up to the order of the columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from model.errors import HeadworkError

Rotation = tuple[Tensor, Tensor]  # cosines and sines (…, N, width), each pair's angle in both of its columns


@dataclass(frozen=True)
class RotaryScaling:
    """How a model trained on short texts was stretched to longer ones.

    Attributes:
        kind: "linear" divides every frequency by `factor` (Chen et al. 2023). "llama3" does so for waves longer than
            original_context / low, leaves those shorter than original_context / high, and blends between (Llama 3.1).
        original_context: tokens that the model was first trained on.
    """

    kind: Literal["linear", "llama3"]
    factor: float
    low: float = 1.0
    high: float = 4.0
    original_context: int = 8192

    def __post_init__(self) -> None:
        """Refuses what makes no frequencies."""
        numbers = (self.factor, self.low, self.high, self.original_context)
        if self.kind not in ("linear", "llama3") or not all(
            isinstance(n, int | float) and math.isfinite(n) and n > 0 for n in numbers
        ):
            raise HeadworkError("Rotary positions scaled by {scaling} are not supported.", scaling=repr(self)[:120])
        if self.high <= self.low and self.kind == "llama3":
            raise HeadworkError(
                "Scaled rotary positions need a high frequency factor above the low one: {high} is not above {low}.",
                high=self.high,
                low=self.low,
            )


def rotary_frequencies(width: int, base: float = 10_000.0, scaling: RotaryScaling | None = None) -> Tensor:
    """Radians a position for each pair of columns: θ_i = base^(−2i / width), i = 0 … width / 2 − 1.

    Returns:
        (width / 2,) float32: models are trained with tables of this precision, so another would not be more exact.
    """
    frequencies = 1.0 / base ** (torch.arange(0, width, 2, dtype=torch.float32) / width)
    if scaling is None:
        return frequencies
    if scaling.kind == "linear":
        return frequencies / scaling.factor
    wavelength = 2 * math.pi / frequencies  # positions until a pair has come round
    longest, shortest = scaling.original_context / scaling.low, scaling.original_context / scaling.high
    share = (scaling.original_context / wavelength - scaling.low) / (scaling.high - scaling.low)
    blended = (1 - share) * frequencies / scaling.factor + share * frequencies
    scaled = torch.where(wavelength > longest, frequencies / scaling.factor, blended)
    return torch.where(wavelength < shortest, frequencies, scaled)


def rotation(positions: Tensor, frequencies: Tensor, dtype: torch.dtype = torch.float32) -> Rotation:
    """Cosines and sines for tokens at these positions.

    Args:
        positions: (N,) or (B, N), whole numbers from 0.
        frequencies: (width / 2,), see `rotary_frequencies`.
        dtype: of the result.

    Returns:
        Two of (N, width), or of (B, 1, N, width).
    """
    angles = positions[..., None].float() * frequencies  # (…, N, width / 2)
    angles = torch.cat((angles, angles), dim=-1)  # (…, N, width)
    if positions.dim() == 2:
        angles = angles[:, None]  # (B, 1, N, width): the same for every head
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Queries or keys (B, h, N, d_k), each pair of its first `width` columns turned; the others stay as they are."""
    cosines, sines = rotation
    width = cosines.size(-1)
    turned, rest = (x, None) if width == x.size(-1) else (x[..., :width], x[..., width:])
    first, second = turned.chunk(2, dim=-1)  # two of (B, h, N, width / 2)
    turned = turned * cosines + torch.cat((-second, first), dim=-1) * sines
    return turned if rest is None else torch.cat((turned, rest), dim=-1)
