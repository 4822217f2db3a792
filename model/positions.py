"""How tokens and their places become vectors: embeddings, learned and sinusoidal positions.

Rotary positions (model.rotary), ALiBi (model.alibi) and relative biases (model.relative) add no vector: they act inside
attention.

Sources: Vaswani et al. 2017, sections 3.4 and 3.5; Devlin et al. 2019, section 3 (token types). Shape letters: see
model.attention.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from model.errors import HeadworkError
from model.norms import LayerNorm
from model.seeds import mixed_seed

Positions = Literal["learned", "sinusoidal", "sinusoidal_halves", "rotary", "alibi", "relative", "none"]


def sinusoidal_positions(n_positions: int, d_model: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same (Vaswani et al. 2017, section 3.5).

    Returns:
        (n_positions, d_model). Works for an odd d_model too: the last column is a sine.
    """
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (n_positions, 1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / d_model))
    angle = position * frequency  # (n_positions, ⌈d_model / 2⌉)
    table = torch.zeros(n_positions, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle[:, : d_model // 2].cos()
    return table.to(dtype)


class HashedEmbedding(nn.Module):
    """A random vector for any token id, drawn from (seed, id): a word has the same vector in every sentence.

    For a model without a vocabulary. The entries are standard normal, as in nn.Embedding; nothing here is trained.
    """

    def __init__(self, d_model: int, seed: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.seed = seed

    def forward(self, ids: Tensor) -> Tensor:
        """(B, N) → (B, N, d_model)."""
        return torch.stack([torch.stack([self._vector(token) for token in row]) for row in ids.tolist()])

    def _vector(self, token: int) -> Tensor:
        generator = torch.Generator().manual_seed(mixed_seed(self.seed, token))
        return torch.randn(self.d_model, generator=generator)  # (d_model,)


class Embeddings(nn.Module):
    """token vector + position vector (+ token type vector), then layer normalisation where the model has one.

    Args:
        token: what turns ids (B, N) into vectors (B, N, d_model).
        n_positions: rows of the position table: the longest sentence, plus position_offset.
        n_token_types: rows of the token type table; 0 = the model has none.
        position_offset: number of the first position (RoBERTa counts from 2: padding has position 1).
        scaled: token vectors are multiplied by √d_model (Vaswani et al. 2017, section 3.4).
        norm_eps: ε of the layer normalisation; None = the model has none.
    """

    def __init__(
        self,
        token: nn.Module,
        d_model: int,
        n_positions: int,
        *,
        positions: Positions = "learned",
        n_token_types: int = 0,
        position_offset: int = 0,
        norm_eps: float | None = None,
        dropout: float = 0.1,
        scaled: bool = False,
    ) -> None:
        super().__init__()
        self.token = token
        self.scale = math.sqrt(d_model) if scaled else None
        self.position_offset = position_offset
        self.n_positions = n_positions
        self.position: nn.Parameter | None = None
        if positions == "learned":
            self.position = nn.Parameter(nn.init.normal_(torch.empty(n_positions, d_model)))
        elif positions not in get_args(Positions):
            raise HeadworkError(
                "Positions are {known}, not {positions}.", known=", ".join(get_args(Positions)), positions=positions
            )
        self.positions, self.d_model = positions, d_model
        self.make_sinusoids()
        self.token_type: nn.Parameter | None = None
        if n_token_types:
            self.token_type = nn.Parameter(nn.init.normal_(torch.empty(n_token_types, d_model)))
        self.norm = LayerNorm(d_model, norm_eps) if norm_eps is not None else None
        self.dropout = nn.Dropout(dropout)

    def make_sinusoids(self) -> None:
        """Makes the table of sinusoidal positions, where the model has them: they are no parameters."""
        if self.positions in ("sinusoidal", "sinusoidal_halves"):
            table = sinusoidal_positions(self.n_positions, self.d_model)
            if self.positions == "sinusoidal_halves":
                table = torch.cat((table[:, 0::2], table[:, 1::2]), dim=1)  # first all sines, then all cosines
            self.register_buffer("sinusoids", table, persistent=False)

    def forward(
        self,
        ids: Tensor,
        token_types: Tensor | None = None,
        *,
        positions: Tensor | None = None,
        placed: bool = True,
    ) -> Tensor:
        """(B, N) → (B, N, d_model).

        Args:
            ids: (B, N).
            token_types: (B, N), 0 for the first segment; None = all 0.
            positions: (N,) or (B, N), where each token stands; None = 0, 1, …
            placed: False = no position vector is added.

        Raises:
            HeadworkError: the sentence is longer than the position table.
        """
        n_tokens = ids.size(1) if positions is None else int(positions.max()) + 1
        longest = self.n_positions - self.position_offset
        if self.positions not in ("none", "alibi", "relative") and n_tokens > longest:
            raise HeadworkError(
                "The text has {n_tokens} tokens, but this model has positions for {longest}. Shorten it.",
                n_tokens=n_tokens,
                longest=longest,
            )
        x: Tensor = self.token(ids)  # (B, N, d_model)
        if self.scale is not None:
            x = x * self.scale
        if self.token_type is not None:
            x = x + (self.token_type[0] if token_types is None else self.token_type[token_types])
        table = self.position if self.positions == "learned" else getattr(self, "sinusoids", None)
        if table is not None and placed:
            places = slice(0, n_tokens) if positions is None else positions
            x = x + table[self.position_offset :][places]  # (N, d_model) for every sentence, or (B, N, d_model)
        if self.norm is not None:
            x = self.norm(x)
        return self.dropout(x)  # type: ignore[no-any-return]
