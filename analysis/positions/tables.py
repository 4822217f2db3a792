"""The numbers behind each way to give places: products of position vectors, the turn that shifts them, turning hands.

Sinusoidal: Vaswani et al. 2017, section 3.5. Rotary: Su et al. 2021, sections 3.2 and 3.3. Shape letters: see
model.attention.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model import AttentionModel
from model.errors import HeadworkError
from model.positions import sinusoidal_positions
from model.rotary import RotaryScaling, rotary_frequencies, rotate, rotation

Array = NDArray[np.float64]


def similarity(table: Array) -> Array:
    """Cosines between every two rows of a table of position vectors: (P, d_model) → (P, P); 0 for a row of zeros."""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    unit = np.divide(table, lengths, out=np.zeros_like(table), where=lengths > 0)
    return np.asarray(unit @ unit.T)


def sinusoids(n_positions: int, d_model: int) -> Array:
    """The sinusoidal table (n_positions, d_model) in float64."""
    return sinusoidal_positions(n_positions, d_model, torch.float64).numpy()


def products_by_offset(d_model: int, farthest: int) -> Array:
    """PE(p) · PE(p + k) for k = 0 … farthest, the same for every p: Σ_i cos(k · ω_i). (farthest + 1,)."""
    frequencies = 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (d_model / 2,)
    return np.asarray(np.cos(np.arange(farthest + 1)[:, None] * frequencies).sum(axis=1))


def shift_error(d_model: int, n_positions: int, k: int) -> float:
    """Largest difference between PE(p + k) and PE(p) with each pair of columns turned by k · ω_i.

    For any fixed offset k, PE(p + k) is a linear function of PE(p) (section 3.5): the turn is that function.
    """
    table = sinusoids(n_positions + k, d_model)
    frequencies = 10_000.0 ** (-np.arange(0, d_model, 2) / d_model)
    sine, cosine = table[:n_positions, 0::2], table[:n_positions, 1::2]
    turned = np.empty((n_positions, d_model))
    turned[:, 0::2] = sine * np.cos(k * frequencies) + cosine * np.sin(k * frequencies)
    turned[:, 1::2] = cosine * np.cos(k * frequencies) - sine * np.sin(k * frequencies)
    return float(np.abs(turned - table[k:]).max())


def learned_table(model: AttentionModel) -> Array | None:
    """The position vectors that a model learned, (P, d_model), from its first place on; None where it has none."""
    embeddings = model.transformer.embeddings
    if embeddings.positions != "learned" or embeddings.position is None:
        return None
    return embeddings.position[embeddings.position_offset :].detach().double().numpy()


@dataclass(frozen=True)
class Hands:
    """A query at place m and a key at place n, turned by rotary positions, pair of columns by pair.

    Attributes:
        frequencies: (P,), θ of each of the P = width / 2 pairs, radians a token.
        query, key: (P, 2), as they were before the turn.
        turned_query, turned_key: (P, 2), after it.
        parts: (P,), each pair's part of the product of the turned vectors.
        rest: what columns that aren't turned add to it.
    """

    frequencies: Array
    query: Array
    key: Array
    turned_query: Array
    turned_key: Array
    parts: Array
    rest: float

    @property
    def product(self) -> float:
        """The product q · k after the turn."""
        return float(self.parts.sum() + self.rest)


def hands(
    query: Array,
    key: Array,
    m: int,
    n: int,
    *,
    width: int | None = None,
    base: float = 10_000.0,
    scaling: RotaryScaling | None = None,
) -> Hands:
    """The pairs of one query and one key of width d_k, turned to the places m and n; see `rotary_frequencies`.

    Raises:
        HeadworkError: an odd width, which can't be taken in pairs.
    """
    width = len(query) if width is None else width
    if width % 2 or not 0 < width <= len(query):
        raise HeadworkError(
            "Rotary positions turn pairs of columns: {width} of {d_k} columns of a head can't be taken in pairs.",
            width=width,
            d_k=len(query),
        )
    frequencies = rotary_frequencies(width, base, scaling)
    vectors = torch.tensor(np.stack([query, key]))[:, None]  # (2, 1, d_k)
    turn = rotation(torch.tensor([[m], [n]]), frequencies, torch.float64)  # two of (2, 1, 1, width)
    turned = rotate(vectors[:, None], turn)[:, 0, 0].numpy()  # (2, d_k)
    before, after = _pairs(np.stack([query, key]), width), _pairs(turned, width)  # (2, P, 2)
    return Hands(
        frequencies.double().numpy(),
        before[0],
        before[1],
        after[0],
        after[1],
        (after[0] * after[1]).sum(axis=-1),
        float(query[width:] @ key[width:]),
    )


def _pairs(vectors: Array, width: int) -> Array:
    """Column c stands with column c + width / 2: (…, d_k) → (…, width / 2, 2)."""
    return np.stack([vectors[..., : width // 2], vectors[..., width // 2 : width]], axis=-1)
