"""From a sentence to the maps of every head: a loaded model, ready to be asked."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from model.entry import Entry, Named
from model.errors import HeadworkError, shown
from model.masks import Mask, MaskLike
from model.packed import pack
from model.prediction import Prediction
from model.tokenizers.tokens import Tokenizer, Tokens
from model.trace import AttentionTrace
from model.transformer import Record, Transformer, TransformerConfig, TransformerOutput

Text = str | tuple[str, str]
MOST_TOKENS = 512  # a map of every head at 512 tokens takes 1 MiB a head


class AttentionModel(Named):
    """A model ready to be asked: tokenizer, Transformer and where they come from. Safe to share between threads."""

    is_encoder_decoder = False

    def __init__(
        self,
        entry: Entry,
        transformer: Transformer,
        tokenizer: Tokenizer,
        *,
        sha256: str | None,
        packed: bool = True,
    ) -> None:
        """Takes the parts. `packed` packs the weights for oneDNN where that is faster (model.packed)."""
        self.entry = entry
        self.sha256 = sha256
        self.tokenizer = tokenizer
        self.transformer = transformer.eval().requires_grad_(False)
        self.is_packed = packed and pack(self.transformer.blocks, only_if_faster=True, writes=self.has_output)

    @property
    def config(self) -> TransformerConfig:
        """Sizes and choices of the Transformer."""
        return self.transformer.config

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return self.config.num_layers

    @property
    def n_heads(self) -> int:
        """Number of heads in a layer."""
        return self.config.num_heads

    @property
    def has_output(self) -> bool:
        """Whether it predicts the next token."""
        return self.config.output != "none"

    @property
    def default_mask(self) -> Mask:
        """The mask that the model was trained under; bidirectional where that isn't known."""
        return Mask.of(self.entry.trained_mask or "bidirectional")

    @property
    def token_limit(self) -> int:
        """Longest sentence in tokens: the model's own limit, at most 512."""
        return min(self.config.max_tokens, MOST_TOKENS)

    @torch.inference_mode()
    def run(
        self,
        text: Text,
        mask: MaskLike | None = None,
        *,
        record: Record = "steps",
        head_mask: Iterable[Iterable[float]] | NDArray[np.float32] | None = None,
    ) -> tuple[Tokens, torch.Tensor, TransformerOutput]:
        """The tokens of a text, the mask, and everything that one run of the Transformer made of them.

        Args:
            text: any text, or two of them as a pair; what exceeds the token limit is cut (`Tokens.n_cut`).
            mask: a Mask, its spelling, or a boolean matrix (N, N); None = `default_mask`.
            record: see Transformer.forward.
            head_mask: (L, h), 0 = the head is off.

        Returns:
            The tokens, the mask as a boolean (N, N), or (L, N, N) where windows of layers are shorter than the text,
            and everything the Transformer made, with B = 1.

        Raises:
            HeadworkError: empty text, what is no text, an unknown mask, a mask that doesn't fit the sentence, a head
                mask of another shape.
        """
        mask = self._mask(mask)
        tokens = self.tokens(text, mask)
        allowed = mask.allowed(len(tokens.ids), torch.tensor(tokens.is_padding))  # (N, N)
        factors = None if head_mask is None else self._factors(head_mask)  # (L, h)
        ids, token_types = torch.tensor([tokens.ids]), self.token_types(tokens)
        output = self.transformer(ids, allowed, token_types=token_types, head_mask=factors, record=record)
        return tokens, self._in_layers(allowed), output

    def _mask(self, mask: MaskLike | None) -> Mask:
        return self.default_mask if mask is None else Mask.of(mask)

    def _in_layers(self, allowed: torch.Tensor) -> torch.Tensor:
        """The mask (N, N), or those of all layers (L, N, N) where they differ from it."""
        masks = self.transformer.layer_masks(allowed, allowed.size(0))
        return allowed if all(mask is allowed for mask in masks) else torch.stack([m for m in masks if m is not None])

    def tokens(self, text: Text, mask: Mask | None = None) -> Tokens:
        """The tokens of a text, padded where the mask asks for it. Raises as `run`."""
        pad_to = None if mask is None else mask.padded_length
        tokens = self.tokenizer.encode(self._one_text(text), limit=self.token_limit, pad_to=pad_to)
        check_ids(tokens, self.config.vocab_size)
        return tokens

    def token_types(self, tokens: Tokens) -> torch.Tensor | None:
        """Which row of the token type table each token gets (1, N); None = all the first, for models without types."""
        is_told_apart = 0 < max(tokens.token_types, default=0) < self.config.n_token_types
        return torch.tensor([tokens.token_types]) if is_told_apart else None

    def _one_text(self, text: Text) -> str:
        if isinstance(text, str):
            return text
        if isinstance(text, tuple) and len(text) == 2 and all(isinstance(part, str) for part in text):
            return self.tokenizer.pair(*text)
        raise HeadworkError(
            "A trace is of one text, or of two that are read as a pair, (first, second); this is {text}. "
            "For several texts, make a trace of each.",
            text=shown(text),
        )

    def _factors(self, head_mask: Iterable[Iterable[float]] | NDArray[np.float32]) -> torch.Tensor:
        try:
            factors = np.asarray(head_mask, dtype=np.float32)
        except (TypeError, ValueError):  # text, rows of unequal length
            factors = np.array(np.nan, dtype=np.float32)
        if not np.isfinite(factors).all():
            raise HeadworkError(
                "A head mask holds a number for each head, 0 = off and 1 = as it is; this one doesn't: {head_mask}.",
                head_mask=shown(head_mask),
            )
        if factors.shape != (self.n_layers, self.n_heads):
            raise HeadworkError(
                "The head mask has the shape {found}; this model takes a factor for each of "
                "{n_layers} × {n_heads} heads.",
                found=factors.shape,
                n_layers=self.n_layers,
                n_heads=self.n_heads,
            )
        return torch.tensor(factors)

    def trace(
        self,
        text: Text,
        mask: MaskLike | None = None,
        *,
        head_mask: Iterable[Iterable[float]] | NDArray[np.float32] | None = None,
    ) -> AttentionTrace:
        """Every head's map for a text under a mask. Arguments as in `run`."""
        mask = self._mask(mask)
        tokens, _, output = self.run(text, mask, record="maps", head_mask=head_mask)
        return self.as_trace(tokens, mask, output.attention[:, 0].numpy(), output.hidden[0].numpy())

    def as_trace(
        self, tokens: Tokens, mask: Mask, attention: NDArray[np.float32], hidden: NDArray[np.float32]
    ) -> AttentionTrace:
        """What a run of this model made, as a trace.

        Args:
            tokens: N of them.
            mask: under which they were read.
            attention: (L, h, N, N).
            hidden: (N, d_model), `TransformerOutput.hidden` of one text. The arrays are made read-only.
        """
        visible = self._in_layers(mask.allowed(len(tokens), torch.tensor(tokens.is_padding))).numpy()
        for array in (attention, visible, hidden):
            array.flags.writeable = False
        return AttentionTrace(
            model_id=self.id,
            model_label=self.label,
            sha256=self.sha256,
            trained=self.trained,
            mask=mask,
            tokenized=tokens,
            attention=attention,
            allowed=visible,
            hidden=hidden,
            model=self,
        )

    def prediction(self, trace: AttentionTrace) -> Prediction:
        """What this model expects after each token of a trace that it made.

        Raises:
            HeadworkError: it has no output matrix, or the trace was kept without its hidden states.
        """
        self.transformer.output_matrix()
        if trace.hidden is None:
            raise HeadworkError(
                "This trace has no hidden states, off which the next token is read. Ask the model for a new one."
            )
        tokens = trace.tokenized
        return Prediction(trace.hidden, tokens.ids, self.transformer, self.tokenizer, sum(tokens.is_padding))


def check_ids(tokens: Tokens, vocab_size: int) -> None:
    """Raises HeadworkError where a token has no vector in a vocabulary of this size; 0 = every id has one."""
    if vocab_size and max(tokens.ids) >= vocab_size:
        raise HeadworkError(
            "The tokenizer gives the token {token} the id {id}, but the model has vectors for ids below "
            "{vocab_size}. Tokenizer and weights don't belong together.",
            token=tokens.labels[tokens.ids.index(max(tokens.ids))],
            id=max(tokens.ids),
            vocab_size=vocab_size,
        )
