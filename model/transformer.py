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
from torch.nn import functional as F

from model.alibi import alibi_bias
from model.blocks import BlockSteps, TransformerBlock
from model.cache import KeyValueCache
from model.config import OutputMatrix as OutputMatrix
from model.config import TransformerConfig as TransformerConfig
from model.errors import HeadworkError
from model.norms import make_norm
from model.positions import Embeddings, HashedEmbedding
from model.relative import RelativeBias
from model.rotary import Rotation, rotary_frequencies, rotation

Masks = Tensor | Sequence[Tensor | None] | None  # one for all layers, or one each
Record = Literal["maps", "hidden", "steps"]
ADDED = ("alibi", "relative")  # positions that add to the scores

MOST_MAP_BYTES = 2_000_000_000  # of one forward; BERT-large's maps of 512 tokens take 0.4 GB


@dataclass
class TransformerOutput:
    """What one call of a Transformer made."""

    hidden: Tensor  # (B, N, d_model)  after the last layer, and the final norm where there is one
    attention: Tensor  # (L, B, h, N, N)  with a cache (L, B, h, N, all tokens so far)
    hidden_states: list[Tensor] | None = None  # L + 1 of (B, N, d_model): the embeddings, then each layer's output
    blocks: list[BlockSteps] | None = None  # L


class Transformer(nn.Module):
    """Embeddings, then `num_layers` blocks in a row. Every map is returned; none is thrown away."""

    block_class: type[TransformerBlock] = TransformerBlock

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
            scaled=config.scaled_embedding,
        )
        self.blocks = nn.ModuleList(
            self.block_class(
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
                norm_kind=config.norm_kind,
                attention_bias=config.attention_bias,
                qk_norm=config.qk_norm,
                parallel=config.parallel,
                scaled=config.scaled_scores,
            )
            for _ in range(config.num_layers)
        )
        self.final_norm = (
            make_norm(config.norm_kind, config.d_model, config.layer_norm_eps) if config.final_norm else None
        )
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False) if config.output == "own" else None
        self.relative_bias = (
            RelativeBias(
                config.num_heads,
                config.relative_buckets,
                config.relative_distance,
                past_only=config.relative_past_only,
            )
            if config.positions == "relative"
            else None
        )

    def forward(
        self,
        ids: Tensor,
        mask: Masks = None,
        *,
        token_types: Tensor | None = None,
        positions: Tensor | None = None,
        placed: bool = True,
        cache: KeyValueCache | None = None,
        head_mask: Tensor | None = None,
        record: Record = "maps",
    ) -> TransformerOutput:
        """Runs the stack on ids (B, N).

        Args:
            ids: (B, N).
            mask: boolean, broadcastable to (B, h, N, N), True = may attend; None = everything. A list has one a layer.
                Windows of the config are laid over it.
            token_types: (B, N); None = all of the first type.
            positions: (N,) or (B, N), where each token stands; None = 0, 1, … after those in the cache.
            placed: False = positions are off: no vector is added, nothing is turned, no distance is subtracted. For a
                whole text, without a cache.
            cache: of earlier tokens, to be attended to as well; these are added to it. Columns of the mask and of the
                maps are then all tokens so far.
            head_mask: (L, h), a factor for each head's slice of the input to W_o; 0 = off.
            record: "maps"; "hidden" also returns hidden_states; "steps" also returns every intermediate tensor.

        Raises:
            HeadworkError: the maps would take more than MOST_MAP_BYTES, or the numbers grow beyond the floating point.
        """
        if positions is None and cache is not None:
            positions = torch.arange(cache.n_tokens, cache.n_tokens + ids.size(1))
        x = self.embeddings(ids, token_types, positions=positions, placed=placed)
        if not placed:  # all at one place: a turn by 0, a distance of 0
            assert cache is None
            positions = torch.zeros(ids.size(1), dtype=torch.long)
        return self.encode(x, mask, positions=positions, cache=cache, head_mask=head_mask, record=record)

    def output_matrix(self) -> Tensor:
        """What turns hidden states into the scores of tokens: (vocab_size, d_model), of a tied one the embedding.

        Raises:
            HeadworkError: the model has none.
        """
        if self.config.output == "none":
            raise HeadworkError("This model has no output matrix, so it predicts no token. Choose a decoder.")
        return self.embeddings.token.weight if self.output is None else self.output.weight  # type: ignore[return-value]

    def logits(self, hidden: Tensor) -> Tensor:
        """The score of every token of the vocabulary to come next: (…, d_model) → (…, vocab_size).

        Args:
            hidden: `TransformerOutput.hidden`, after the final norm.

        Raises:
            HeadworkError: the model has no output matrix.
        """
        return F.linear(hidden, self.output_matrix())

    def layer_masks(self, mask: Masks, n_queries: int, n_keys: int | None = None) -> list[Tensor | None]:
        """The mask of each layer: what is asked for, and the layer's own window where it is shorter than the text.

        Args:
            mask: as in forward.
            n_queries: N.
            n_keys: all tokens so far, the queries last among them; None = N.
        """
        masks = [mask] * self.config.num_layers if mask is None or isinstance(mask, Tensor) else list(mask)
        n_keys = n_queries if n_keys is None else n_keys
        shorter = {layer: window for layer, window in enumerate(self.config.windows) if 0 < window < n_keys}
        if not shorter:
            return masks
        back = torch.arange(n_keys - n_queries, n_keys)[:, None] - torch.arange(n_keys)[None, :]  # (N, N): i − j
        for layer, window in shorter.items():
            layers_own = masks[layer]
            masks[layer] = back < window if layers_own is None else layers_own & (back < window)
        return masks

    def rotation(self, positions: Tensor | None, x: Tensor) -> Rotation | None:
        """Cosines and sines for every layer, from where the tokens of x stand (None = 0, 1, …).

        None without rotary positions.
        """
        if self.config.positions != "rotary":
            return None
        width = self.config.rotary_width or self.config.d_k
        frequencies = rotary_frequencies(width, self.config.rotary_base, self.config.rotary_scaling)
        return rotation(torch.arange(x.size(1)) if positions is None else positions, frequencies, x.dtype)

    def position_bias(self, positions: Tensor | None, x: Tensor, n_keys: int) -> Tensor | None:
        """What ALiBi or a relative bias adds to the scores of every layer. None without either.

        Args:
            positions: where the tokens of x stand; None = they are the last of n_keys.
            x: (B, N, d_model).
            n_keys: all tokens so far.
        """
        if self.config.positions not in ADDED:
            return None
        n_before = n_keys - x.size(1)
        places = torch.arange(n_before, n_keys) if positions is None else positions
        keys = places if n_before == 0 else torch.arange(n_keys)
        if self.relative_bias is not None:
            return self.relative_bias(places, keys)  # type: ignore[no-any-return]
        return alibi_bias(self.config.num_heads, places, keys).to(x.dtype)

    def encode(
        self,
        x: Tensor,
        mask: Masks = None,
        *,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
        head_mask: Tensor | None = None,
        record: Record = "maps",
    ) -> TransformerOutput:
        """As forward, from embeddings x (B, N, d_model) on."""
        batch, n_tokens, _ = x.shape
        n_keys = n_tokens + (0 if cache is None else cache.n_tokens)
        shape = (self.config.num_layers, batch, self.config.num_heads, n_tokens, n_keys)
        check_size(self.config, [shape], x.element_size(), record)
        masks = self.layer_masks(mask, n_tokens, n_keys)
        turn, bias = self.rotation(positions, x), self.position_bias(positions, x, n_keys)
        hidden_states = None if record == "maps" else [x]
        blocks = [BlockSteps() for _ in self.blocks] if record == "steps" else None

        # Without gradients each layer writes its map straight into the result, where it stays.
        maps = None if torch.is_grad_enabled() else x.new_empty(shape)  # (L, B, h, N, N)
        kept = []
        for layer, (block, layers_own) in enumerate(zip(self.blocks, masks, strict=True)):
            x, attention = block(
                x,
                layers_own,
                rotation=turn,
                bias=bias,
                cache=None if cache is None else cache.layers[layer],
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
        if maps is not None and not x.is_meta:
            refuse_overflow(x)
        return TransformerOutput(x, torch.stack(kept) if maps is None else maps, hidden_states, blocks)


def check_size(
    config: TransformerConfig, shapes: Sequence[tuple[int, ...]], element_bytes: int, record: Record
) -> None:
    """Raises HeadworkError where the maps of one run would take more than MOST_MAP_BYTES.

    Args:
        config: of the model, or of its decoder.
        shapes: (L, B, h, N, N) of each family that it makes.
        element_bytes: of one weight.
        record: as in Transformer.forward.
    """
    # A layer's steps: products, scores (once more where places add to them), masked scores, its map once more.
    n_maps = 1 if record != "steps" else 6 if config.positions in ADDED else 5
    size = n_maps * element_bytes * sum(map(math.prod, shapes))
    if size > MOST_MAP_BYTES:
        n_tokens = max(shape[-1] for shape in shapes)
        raise HeadworkError(
            "{layers} layers of {heads} heads make {size:.1f} GB of maps for {n_tokens} tokens, and this app makes "
            "at most {most:.0f} GB. Shorten the text to {fewer} tokens.",
            layers=sum(shape[0] for shape in shapes),
            heads=shapes[0][2],
            size=size / 1e9,
            n_tokens=n_tokens,
            most=MOST_MAP_BYTES / 1e9,
            fewer=math.isqrt(MOST_MAP_BYTES * n_tokens**2 // size),
        )


def refuse_overflow(hidden: Tensor) -> None:
    """Raises HeadworkError where a run's hidden states aren't finite; what isn't so in a map is carried there."""
    if not bool(hidden.sum().isfinite()):
        raise HeadworkError(
            "The numbers in this model grow beyond float32, so there is no map to draw: its weights are damaged, or "
            "were never trained. Get the model again, or choose another."
        )
