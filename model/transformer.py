"""A stack of Transformer blocks that hands out the map of every head in every layer.

Shape letters: see model.attention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from model.attention import check_heads
from model.blocks import Activation, BlockSteps, LayerNorm, NormPlace, TransformerBlock
from model.errors import HeadworkError, check_whole_numbers, shown
from model.positions import Embeddings, HashedEmbedding, Positions

Record = Literal["maps", "hidden", "steps"]

MOST_MAP_BYTES = 2_000_000_000  # of one forward; BERT-large's maps of 512 tokens take 0.4 GB

# Far above any published model of these families: what a broken or hostile config.json may ask for ends here.
_BOUNDS = {
    "vocab_size": (0, 10_000_000),
    "d_model": (1, 65_536),
    "num_heads": (1, 1_024),
    "num_layers": (1, 512),
    "d_ff": (0, 1_048_576),
    "max_tokens": (1, 10_000_000),
    "n_token_types": (0, 1_000),
    "position_offset": (0, 1_000),
    "num_key_heads": (0, 1_024),
    "head_width": (0, 65_536),
}


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes and choices that make a model. The defaults are BERT's (Devlin et al. 2019).

    vocab_size 0 means a model without a vocabulary: every token id gets a random vector drawn from `seed`.
    d_ff 0 means blocks without a feed-forward network; with norm "none" they are attention and its residual only.
    num_key_heads 0 means as many key heads as query heads, head_width 0 heads of d_model / h columns.
    """

    vocab_size: int
    d_model: int
    num_heads: int
    num_layers: int
    d_ff: int
    max_tokens: int = 512
    n_token_types: int = 0
    norm: NormPlace = "post"
    activation: Activation = "gelu"
    positions: Positions = "learned"
    position_offset: int = 0
    embedding_norm: bool = True
    final_norm: bool = False
    bias: bool = True
    layer_norm_eps: float = 1e-12
    dropout: float = 0.1
    seed: int = 0
    num_key_heads: int = 0
    head_width: int = 0

    def __post_init__(self) -> None:
        """Refuses sizes that make no model."""
        check_whole_numbers(self, _BOUNDS)
        if not isinstance(self.layer_norm_eps, float) or not 0 <= self.layer_norm_eps < 1:
            raise HeadworkError(
                "layer_norm_eps is {value}: it must be a small number.", value=shown(self.layer_norm_eps)
            )
        check_heads(self.d_model, self.num_heads, num_key_heads=self.num_key_heads, d_k=self.head_width)

    @property
    def d_k(self) -> int:
        """Width of one head: d_model / h unless head_width says another."""
        return self.head_width or self.d_model // self.num_heads


@dataclass
class TransformerOutput:
    """What one call of a Transformer made."""

    hidden: Tensor  # (B, N, d_model)  after the last layer
    attention: Tensor  # (L, B, h, N, N)
    hidden_states: list[Tensor] | None = None  # L + 1 of (B, N, d_model): the embeddings, then each layer's output
    blocks: list[BlockSteps] | None = None  # L


class Transformer(nn.Module):
    """Embeddings, then `num_layers` blocks in a row. Every map is returned; none is thrown away."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        token: nn.Module = (
            nn.Embedding(config.vocab_size, config.d_model)
            if config.vocab_size
            else HashedEmbedding(config.d_model, config.seed)
        )
        self.embeddings = Embeddings(
            token,
            config.d_model,
            config.max_tokens + config.position_offset,
            positions=config.positions,
            n_token_types=config.n_token_types,
            position_offset=config.position_offset,
            norm_eps=config.layer_norm_eps if config.embedding_norm else None,
            dropout=config.dropout,
        )
        self.blocks = nn.ModuleList(
            TransformerBlock(
                config.d_model,
                config.num_heads,
                config.d_ff,
                config.dropout,
                norm=config.norm,
                activation=config.activation,
                bias=config.bias,
                layer_norm_eps=config.layer_norm_eps,
                num_key_heads=config.num_key_heads,
                d_k=config.head_width,
            )
            for _ in range(config.num_layers)
        )
        self.final_norm = LayerNorm(config.d_model, config.layer_norm_eps) if config.final_norm else None

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | Sequence[Tensor | None] | None = None,
        *,
        token_types: Tensor | None = None,
        head_mask: Tensor | None = None,
        record: Record = "maps",
    ) -> TransformerOutput:
        """Runs the stack on ids (B, N).

        Args:
            ids: (B, N).
            mask: boolean, broadcastable to (B, h, N, N), True = may attend; None = everything. A list has one a layer.
            token_types: (B, N); None = all of the first type.
            head_mask: (L, h), a factor for each head's slice of the input to W_o; 0 = off.
            record: "maps"; "hidden" also returns hidden_states; "steps" also returns every intermediate tensor.

        Raises:
            HeadworkError: the maps would take more than MOST_MAP_BYTES.
        """
        return self.encode(self.embeddings(ids, token_types), mask, head_mask=head_mask, record=record)

    def _check_size(self, batch: int, n_tokens: int, element_bytes: int, record: Record) -> None:
        layers, heads = self.config.num_layers, self.config.num_heads
        n_maps = 5 if record == "steps" else 1  # a layer's steps: products, scores, masked scores, its map once more
        over_n2 = n_maps * layers * batch * heads * element_bytes  # bytes / N²
        if over_n2 * n_tokens**2 > MOST_MAP_BYTES:
            raise HeadworkError(
                "{layers} layers of {heads} heads make {size:.1f} GB of maps for {n_tokens} tokens, and this app makes "
                "at most {most:.0f} GB. Shorten the text to {fewer} tokens.",
                layers=layers,
                heads=heads,
                size=over_n2 * n_tokens**2 / 1e9,
                n_tokens=n_tokens,
                most=MOST_MAP_BYTES / 1e9,
                fewer=math.isqrt(MOST_MAP_BYTES // over_n2),
            )

    def encode(
        self,
        x: Tensor,
        mask: Tensor | Sequence[Tensor | None] | None = None,
        *,
        head_mask: Tensor | None = None,
        record: Record = "maps",
    ) -> TransformerOutput:
        """As forward, from embeddings x (B, N, d_model) on."""
        masks = [mask] * self.config.num_layers if mask is None or isinstance(mask, Tensor) else mask
        batch, n_tokens, _ = x.shape
        self._check_size(batch, n_tokens, x.element_size(), record)
        hidden_states = None if record == "maps" else [x]
        blocks = [BlockSteps() for _ in self.blocks] if record == "steps" else None

        # Without gradients each layer writes its map straight into the result, where it stays.
        shape = (self.config.num_layers, batch, self.config.num_heads, n_tokens, n_tokens)
        maps = None if torch.is_grad_enabled() else x.new_empty(shape)  # (L, B, h, N, N)
        kept = []
        for layer, (block, layers_own) in enumerate(zip(self.blocks, masks, strict=True)):
            x, attention = block(
                x,
                layers_own,
                head_mask=None if head_mask is None else head_mask[layer],
                steps=None if blocks is None else blocks[layer],
                out=None if maps is None else maps[layer],
            )
            if maps is None:
                kept.append(attention)
            if hidden_states is not None:
                hidden_states.append(x)
        if self.final_norm is not None:
            x = self.final_norm(x)
        return TransformerOutput(x, torch.stack(kept) if maps is None else maps, hidden_states, blocks)
