"""Encoder and decoder (Vaswani et al. 2017, section 3): one reads a source, the other writes a target and looks back.

Three families of maps come out: the encoder's (source looks at source), the decoder's (target at target, never ahead)
and cross-attention's (target at source). Shape letters: see model.attention; N_q target tokens, N_k source tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model.cache import DecoderCache
from model.decoder_block import DecoderBlock, DecoderBlockSteps
from model.errors import HeadworkError
from model.transformer import (
    Masks,
    Record,
    Transformer,
    TransformerConfig,
    TransformerOutput,
    check_size,
    refuse_overflow,
)


@dataclass(frozen=True)
class EncoderDecoderConfig:
    """The sizes and choices of both parts, and what they share.

    Attributes:
        decoder: its `output` says what turns hidden states into the scores of target tokens.
        shared_embedding: both parts have one table of token vectors.
        output_scale: hidden states are multiplied by it before the output matrix (T5: d_model^−½ where it is tied).
        output_bias: a number is added to each token's score (BART's and Marian's final_logits_bias).
    """

    encoder: TransformerConfig
    decoder: TransformerConfig
    shared_embedding: bool = True
    output_scale: float = 1.0
    output_bias: bool = False

    def __post_init__(self) -> None:
        """Refuses parts that don't fit together."""
        encoder, decoder = self.encoder, self.decoder
        if encoder.d_model != decoder.d_model:
            raise HeadworkError(
                "The decoder's d_model is {decoder} and the encoder's {encoder}: they must be equal, since the decoder "
                "reads what the encoder made.",
                decoder=decoder.d_model,
                encoder=encoder.d_model,
            )
        if self.shared_embedding and (encoder.vocab_size != decoder.vocab_size or not encoder.vocab_size):
            raise HeadworkError(
                "Encoder and decoder can't share their token vectors: the vocabularies have {encoder} and {decoder} "
                "tokens.",
                encoder=encoder.vocab_size,
                decoder=decoder.vocab_size,
            )
        if self.output_bias and decoder.output == "none":
            raise HeadworkError("The scores of tokens can't have a bias where there is no output matrix.")


@dataclass(kw_only=True)
class DecoderOutput(TransformerOutput):
    """What one call of a decoder made: what a Transformer makes of N_q target tokens, and cross-attention."""

    cross: Tensor  # (L, B, h, N_q, N_k)


@dataclass
class EncoderDecoderOutput:
    """What one call of an encoder–decoder made."""

    encoder: TransformerOutput
    decoder: DecoderOutput

    @property
    def cross(self) -> Tensor:
        """(L, B, h, N_q, N_k): the decoder's rows look at the encoder's columns."""
        return self.decoder.cross

    @property
    def hidden(self) -> Tensor:
        """(B, N_q, d_model): the decoder's last, off which `EncoderDecoder.logits` reads the next token."""
        return self.decoder.hidden


class Decoder(Transformer):
    """A Transformer whose blocks also look at a source that an encoder has read."""

    block_class = DecoderBlock

    def forward(  # type: ignore[override]  # it needs the source
        self,
        ids: Tensor,
        context: Tensor | None = None,
        mask: Masks = None,
        cross_mask: Tensor | None = None,
        *,
        cache: DecoderCache | None = None,
        head_mask: Tensor | None = None,
        cross_head_mask: Tensor | None = None,
        record: Record = "maps",
    ) -> DecoderOutput:
        """Runs the stack on target ids (B, N_q).

        Args:
            ids: (B, N_q).
            context: the source as the encoder left it, (B, N_k, d_model).
            mask: of self-attention, broadcastable to (B, h, N_q, N_q); None = causal: a target token sees those before
                it and itself. A list has one a layer.
            cross_mask: which source tokens are seen, broadcastable to (B, h, N_q, N_k); None = all.
            cache: of earlier target tokens and of the source; columns of the mask are then all target tokens so far.
            head_mask: (L, h), a factor for each head of self-attention.
            cross_head_mask: (L, h), likewise of cross-attention.
            record: as in Transformer.forward.

        Raises:
            HeadworkError: no source; maps of more than MOST_MAP_BYTES; numbers beyond the floating point.
        """
        if context is None:
            raise HeadworkError("This decoder looks at a source: give it what the encoder made of one as context.")
        n_before = 0 if cache is None else cache.n_tokens
        batch, n_queries = ids.shape
        n_keys = n_before + n_queries
        positions = None if cache is None else torch.arange(n_before, n_keys)
        x = self.embeddings(ids, positions=positions)  # (B, N_q, d_model)
        layers, heads, n_source = self.config.num_layers, self.config.num_heads, context.size(1)
        shape, cross_shape = (layers, batch, heads, n_queries, n_keys), (layers, batch, heads, n_queries, n_source)
        check_size(self.config, [shape, cross_shape], x.element_size(), record)
        if mask is None:
            mask = torch.ones(n_keys, n_keys, dtype=torch.bool).tril()[n_before:]  # (N_q, all target tokens so far)
        masks = self.layer_masks(mask, n_queries, n_keys)
        turn, bias = self.rotation(positions, x), self.position_bias(positions, x, n_keys)
        if cache is not None and cache.has_context:
            context = context[:, :0]  # its keys and values are kept: nothing is to be added
        hidden_states = None if record == "maps" else [x]
        blocks = [DecoderBlockSteps() for _ in self.blocks] if record == "steps" else None

        # Without gradients each layer writes its maps straight into the results, where they stay.
        is_kept = torch.is_grad_enabled()
        maps, cross_maps = (None, None) if is_kept else (x.new_empty(shape), x.new_empty(cross_shape))
        kept: list[tuple[Tensor, Tensor]] = []
        for layer, (block, layers_own) in enumerate(zip(self.blocks, masks, strict=True)):
            x, *both = block(
                x,
                context,
                layers_own,
                cross_mask,
                rotation=turn,
                bias=bias,
                cache=None if cache is None else cache.layers[layer],
                cross_cache=None if cache is None else cache.context[layer],
                head_mask=None if head_mask is None else head_mask[layer],
                cross_head_mask=None if cross_head_mask is None else cross_head_mask[layer],
                steps=None if blocks is None else blocks[layer],
                out=None if maps is None else maps[layer],
                cross_out=None if cross_maps is None else cross_maps[layer],
            )
            if is_kept:
                kept.append((both[0], both[1]))
            if hidden_states is not None:
                hidden_states.append(x)
        if self.final_norm is not None:
            x = self.final_norm(x)
        if maps is None or cross_maps is None:
            maps, cross_maps = (torch.stack(of_layers) for of_layers in zip(*kept, strict=True))
        elif not x.is_meta:
            refuse_overflow(x)
        return DecoderOutput(x, maps, hidden_states, None if blocks is None else [*blocks], cross=cross_maps)


class EncoderDecoder(nn.Module):
    """An encoder, which is a Transformer as it is, and a decoder that reads what it made."""

    output_bias: Tensor | None  # (vocab_size,)

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Transformer(config.encoder)
        self.decoder = Decoder(config.decoder)
        if config.shared_embedding:
            self.decoder.embeddings.token = self.encoder.embeddings.token
        self.register_buffer("output_bias", torch.zeros(config.decoder.vocab_size) if config.output_bias else None)

    def forward(
        self,
        source_ids: Tensor,
        target_ids: Tensor,
        source_mask: Masks = None,
        target_mask: Masks = None,
        cross_mask: Tensor | None = None,
        *,
        encoder_head_mask: Tensor | None = None,
        decoder_head_mask: Tensor | None = None,
        cross_head_mask: Tensor | None = None,
        record: Record = "maps",
    ) -> EncoderDecoderOutput:
        """Reads source ids (B, N_k), then target ids (B, N_q): from the start token on, each predicts the next.

        Args:
            source_ids: (B, N_k).
            target_ids: (B, N_q), the first of them the token that a target starts with.
            source_mask: of the encoder, broadcastable to (B, h, N_k, N_k), True = may attend; None = everything.
            target_mask: of the decoder's self-attention, broadcastable to (B, h, N_q, N_q); None = causal.
            cross_mask: broadcastable to (B, h, N_q, N_k), (B, 1, 1, N_k) for padding; None = everything.
            encoder_head_mask: (L, h) of the encoder, a factor for each head's slice of the input to W_o; 0 = off.
            decoder_head_mask: (L, h), likewise of the decoder's self-attention.
            cross_head_mask: (L, h), likewise of cross-attention.
            record: "maps"; "hidden" also returns hidden_states; "steps" also returns every intermediate tensor.

        Raises:
            HeadworkError: maps of more than MOST_MAP_BYTES in all; numbers beyond the floating point.
        """
        self.check_size(source_ids, target_ids, record)
        encoded = self.encoder(source_ids, source_mask, head_mask=encoder_head_mask, record=record)
        decoded = self.decoder(
            target_ids,
            encoded.hidden,
            target_mask,
            cross_mask,
            head_mask=decoder_head_mask,
            cross_head_mask=cross_head_mask,
            record=record,
        )
        return EncoderDecoderOutput(encoded, decoded)

    def check_size(self, source_ids: Tensor, target_ids: Tensor, record: Record) -> None:
        """Raises HeadworkError where all three families of maps together would take more than MOST_MAP_BYTES."""
        encoder, decoder = self.config.encoder, self.config.decoder
        (batch, n_source), n_target = source_ids.shape, target_ids.size(1)
        of_decoder = (decoder.num_layers, batch, decoder.num_heads, n_target)
        shapes = [
            (encoder.num_layers, batch, encoder.num_heads, n_source, n_source),
            (*of_decoder, n_target),
            (*of_decoder, n_source),
        ]
        check_size(decoder, shapes, next(self.parameters()).element_size(), record)

    def output_matrix(self) -> Tensor:
        """What turns the decoder's hidden states into the scores of target tokens; raises HeadworkError as there."""
        return self.decoder.output_matrix()

    def logits(self, hidden: Tensor) -> Tensor:
        """The score of every target token to come next: (…, d_model) → (…, vocab_size).

        Args:
            hidden: `EncoderDecoderOutput.hidden`.

        Raises:
            HeadworkError: the decoder has no output matrix.
        """
        if self.config.output_scale != 1.0:
            hidden = hidden * self.config.output_scale
        return F.linear(hidden, self.output_matrix(), self.output_bias)
