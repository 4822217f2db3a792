"""What a model says about one text: the map of every head, and what it expects to come next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from model.errors import HeadworkError, shown
from model.masks import Mask
from model.prediction import NextToken, Prediction
from model.tokenizers.tokens import Tokens

MapsOf = Literal["encoder", "decoder", "cross"]
LARGEST_ROW_ERROR = 1e-4  # rows of 512 float32 weights stay within 1e-6; beyond this, something is wrong


@dataclass(frozen=True)
class Check:
    """What must hold of every map, measured on this one."""

    max_row_error: float  # largest |row sum − 1| over rows that may attend to something
    masked_is_zero: bool  # every masked cell is exactly 0
    n_empty_rows: int  # rows that may attend to nothing in some layer; all 0


class Predictor(Protocol):
    """A model that made traces."""

    def prediction(self, trace: AttentionTrace) -> Prediction:
        """What it expects after each token of a trace."""
        ...


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
    model: Predictor | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The labels of the N tokens: of the rows."""
        return self.tokenized.labels

    @property
    def key_tokens(self) -> Tokens:
        """The tokens of the columns: in self-attention those of the rows."""
        return self.tokenized if self.context is None else self.context

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels of the columns: in self-attention the same as those of the rows."""
        return self.key_tokens.labels

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


@dataclass(frozen=True, eq=False)
class Traces:
    """The three families of maps of one source and one target.

    Attributes:
        encoder: (L, h, N_k, N_k), source tokens look at source tokens.
        decoder: (L, h, N_q, N_q), target tokens at target tokens. It has the hidden states that the next token is read
            off: `decoder.next()`.
        cross: (L, h, N_q, N_k), target tokens (rows) at source tokens (columns, `cross.context`).
        is_written: whether the model wrote the target.
    """

    encoder: AttentionTrace
    decoder: AttentionTrace
    cross: AttentionTrace
    is_written: bool

    @property
    def source(self) -> str:
        """The source text as read."""
        return self.encoder.text

    @property
    def target(self) -> str:
        """The target text as read, or as written; "" where the model wrote its end at once."""
        return self.decoder.text.strip()

    def of(self, maps: MapsOf) -> AttentionTrace:
        """The maps of one family.

        Raises:
            HeadworkError: there is no such family.
        """
        if maps not in get_args(MapsOf):
            raise HeadworkError(
                "There are no maps {maps}. Use one of {choices}.",
                maps=shown(maps),
                choices=", ".join(get_args(MapsOf)),
            )
        found: AttentionTrace = getattr(self, maps)
        return found
