"""Attention rollout (Abnar & Zuidema 2020, section 3): how much of each input token reaches each place of a layer.

It assumes that attention and the residual carry half each, that heads matter alike, and that the feed-forward
network moves nothing. It is a sketch of the flow under those assumptions, not a proof of use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from model import HeadworkError

RESIDUAL = 0.5  # Abnar & Zuidema 2020, section 3: A = 0.5 W + 0.5 I


def rollout(attention: NDArray[np.floating], *, layers: int | None = None) -> NDArray[np.float64]:
    """Ã_l = A_l Ã_{l−1} with A = 0.5 W + 0.5 I, W the mean over heads, and Ã_0 = I.

    The later layer stands on the left: a row of A_l says which outputs of layer l − 1 a token reads, and each of these
    was made as its row of Ã_{l−1} says.

    An empty row of W (a query that may attend to nothing) passes on only its residual: its row of A is that of I.

    Args:
        attention: (L, h, N, N), of self-attention.
        layers: how many layers to go through; None = all.

    Returns:
        (layers, N, N): what each token (row) holds of each input token (column) after layer 1, 2, …; rows sum to 1.
    """
    n_layers, _, n_tokens, n_keys = attention.shape
    if n_tokens != n_keys:
        raise HeadworkError(
            "Rollout follows one text through all layers; these maps look from {n_tokens} tokens at {n_keys} of "
            "another text.",
            n_tokens=n_tokens,
            n_keys=n_keys,
        )
    layers = n_layers if layers is None else layers
    if not 1 <= layers <= n_layers:
        raise HeadworkError(
            "Rollout goes through 1 to {n_layers} layers, not {layers}.", n_layers=n_layers, layers=layers
        )
    result = np.empty((layers, n_tokens, n_tokens))
    so_far = np.eye(n_tokens)
    for layer in range(layers):
        mixed = RESIDUAL * attention[layer].mean(axis=0, dtype=np.float64) + (1 - RESIDUAL) * np.eye(n_tokens)
        mixed /= mixed.sum(axis=-1, keepdims=True)  # only empty rows sum to less than 1
        so_far = mixed @ so_far
        result[layer] = so_far
    return result
