"""From a sentence to the maps of every head: a loaded model and what it says about one text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from model.entry import Entry
from model.errors import HeadworkError, shown
from model.masks import Mask, MaskLike
from model.packed import pack
from model.prediction import NextToken, Prediction
from model.tokenizers.tokens import Tokenizer, Tokens
from model.transformer import Record, Transformer, TransformerConfig, TransformerOutput

Text = str | tuple[str, str]
LARGEST_ROW_ERROR = 1e-4  # rows of 512 float32 weights stay within 1e-6; beyond this, something is wrong
MOST_TOKENS = 512  # a map of every head at 512 tokens takes 1 MiB a head


@dataclass(frozen=True)
class Check:
    """What must hold of every map, measured on this one."""

    max_row_error: float  # largest |row sum − 1| over rows that may attend to something
    masked_is_zero: bool  # every masked cell is exactly 0
    n_empty_rows: int  # rows that may attend to nothing in some layer; all 0


class HeadMaps:
    """What every trace is: a map of each head in each layer, (L, h, N, N), and who may attend to whom."""

    attention: NDArray[np.float32]
    allowed: NDArray[np.bool_]  # (N, N), or (L, N, N) where layers have masks of their own

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return int(self.attention.shape[0])

    @property
    def n_heads(self) -> int:
        """Number of heads in a layer."""
        return int(self.attention.shape[1])

    def allowed_in(self, layer: int) -> NDArray[np.bool_]:
        """Who may attend to whom in one layer, counted from 0: (N, N)."""
        return self.allowed if self.allowed.ndim == 2 else self.allowed[layer]


@dataclass(frozen=True, eq=False)
class AttentionTrace(HeadMaps):
    """Every attention map of one sentence under one mask. Arrays are read-only.

    Self-attention makes square maps over N tokens. In cross-attention N_q queries look at the N_k tokens of another
    text, the context; then (N, N) reads (N_q, N_k).

    Attributes:
        tokens: what the axes show, one for each of the N tokens; of the queries, in cross-attention.
        attention: (L, h, N, N) float32, [layer, head, query, key], counted from 0.
        allowed: (N, N), or (L, N, N) where layers have masks of their own; True = the query (row) may attend to the
            key (column). `allowed_in` gives that of one layer.
        sha256: of the weights; None for an untrained model.
        context: the tokens that are looked at, in cross-attention; None in self-attention.
        hidden: (N, d_model) float32, after the last layer and the final norm; None where it wasn't kept.
        model: what made the trace, which `logits` and its like read the next token with. A cache of traces leaves it
            out, since it would keep every model in memory; `AttentionModel.prediction` takes such a trace.
    """

    model_id: str
    model_label: str
    sha256: str | None
    trained: bool
    mask: Mask
    tokenized: Tokens
    attention: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    context: Tokens | None = None
    hidden: NDArray[np.float32] | None = None
    model: AttentionModel | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The labels of the N tokens: of the rows."""
        return self.tokenized.labels

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels of the columns: in self-attention the same as those of the rows."""
        return self.tokens if self.context is None else self.context.labels

    @property
    def kind(self) -> Literal["self", "cross"]:
        """Whether the tokens look at each other or at another text."""
        return "self" if self.context is None else "cross"

    @property
    def text(self) -> str:
        """The text that was tokenised."""
        return self.tokenized.text

    @property
    def n_tokens(self) -> int:
        """N."""
        return self.n_queries

    @property
    def n_queries(self) -> int:
        """Number of rows: N, or N_q."""
        return int(self.attention.shape[2])

    @property
    def n_keys(self) -> int:
        """Number of columns: N, or N_k."""
        return int(self.attention.shape[3])

    @property
    def is_square(self) -> bool:
        """Whether there are as many keys as queries; `kind` says whether they are the same tokens."""
        return self.n_queries == self.n_keys

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.attention.nbytes + self.allowed.nbytes + (0 if self.hidden is None else self.hidden.nbytes)

    @property
    def logits(self) -> NDArray[np.float32]:
        """The score of every token of the vocabulary to come after each token: (N, V), computed anew at each call.

        Raises:
            HeadworkError: the model has no output matrix, or isn't kept with the trace.
        """
        return self._prediction().logits()

    def next(self, k: int = 5, position: int = -1) -> tuple[NextToken, ...]:
        """The k most probable tokens after the one at `position` (from 0; -1 = the last). Raises as `logits`."""
        return self._prediction().next(k, position)

    def surprise(self) -> NDArray[np.float32]:
        """−ln p of each token given those before it, in nats: (N,), NaN for the first. Raises as `logits`."""
        return self._prediction().surprise()

    def _prediction(self) -> Prediction:
        if self.model is None:
            raise HeadworkError("This trace was kept without its model. Ask the model: model.prediction(trace).")
        return self.model.prediction(self)

    def check(self) -> Check:
        """Row sums and masked cells of this very trace, over all layers and heads."""
        allowed = [self.allowed_in(layer) for layer in range(self.n_layers)]  # L of (N, N)
        empty = ~np.array([rows.any(axis=-1) for rows in allowed])  # (L, N)
        error = np.abs(self.attention.sum(axis=-1, dtype=np.float64) - 1.0)  # (L, h, N)
        return Check(
            max_row_error=float(np.where(empty[:, None], 0.0, error).max()),
            masked_is_zero=not any(
                np.any(maps[:, ~visible]) for maps, visible in zip(self.attention, allowed, strict=True)
            ),
            n_empty_rows=int(empty.any(axis=0).sum()),
        )


class AttentionModel:
    """A model ready to be asked: tokenizer, Transformer and where they come from. Safe to share between threads."""

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
        self.is_packed = packed and pack(self.transformer.blocks, only_if_faster=True)

    @property
    def id(self) -> str:
        """The entry's."""
        return self.entry.id

    @property
    def label(self) -> str:
        """The entry's."""
        return self.entry.label

    @property
    def trained(self) -> bool:
        """False for random weights."""
        return self.entry.trained

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
        if self.config.vocab_size and max(tokens.ids) >= self.config.vocab_size:
            raise HeadworkError(
                "The tokenizer gives the token {token} the id {id}, but the model has vectors for ids below "
                "{vocab_size}. Tokenizer and weights don't belong together.",
                token=tokens.labels[tokens.ids.index(max(tokens.ids))],
                id=max(tokens.ids),
                vocab_size=self.config.vocab_size,
            )
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
            HeadworkError: it has no output matrix.
        """
        if not self.has_output or trace.hidden is None:
            raise HeadworkError("This model has no output matrix, so it predicts no token. Choose a decoder.")
        return Prediction(trace.hidden, trace.tokenized.ids, self.transformer, self.tokenizer)
