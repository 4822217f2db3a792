"""What a decoder expects to come next, at every position of a text.

Shape letters: see model.attention; V is the size of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from model.encoder_decoder import EncoderDecoder
from model.errors import HeadworkError, shown
from model.tokenizers.tokens import Tokenizer
from model.transformer import Transformer

_POSITIONS_AT_ONCE = 64  # 64 × 50,000 logits take 13 MB


class NextToken(NamedTuple):
    """A token that may come next."""

    token: str  # the text that it adds: " Paris"
    label: str  # as on an axis: "▁Paris"
    id: int
    probability: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """The hidden states of a text, and what reads the next token off them. It keeps the model alive.

    Attributes:
        hidden: (N, d_model), after the final norm.
        ids: the N tokens that the model read.
        n_padding: how many at the end are padding, after which nothing is expected.
    """

    hidden: NDArray[np.float32]
    ids: tuple[int, ...]
    transformer: Transformer | EncoderDecoder
    tokenizer: Tokenizer
    n_padding: int = 0

    @property
    def n_vocabulary(self) -> int:
        """Tokens that may come next, V."""
        return self.transformer.output_matrix().size(0)

    def _logits(self, positions: slice | list[int]) -> torch.Tensor:
        hidden = torch.tensor(self.hidden[positions])  # a copy: read-only arrays make torch warn
        return self.transformer.logits(hidden)

    @torch.inference_mode()
    def logits(self) -> NDArray[np.float32]:
        """The score of every token of the vocabulary, after each token: (N, V)."""
        return self._logits(slice(None)).numpy()

    @torch.inference_mode()
    def next(self, k: int = 5, position: int = -1) -> tuple[NextToken, ...]:
        """The k most probable tokens after the one at `position`, counted from 0 or back from the end of the text.

        Raises:
            HeadworkError: no such position, or k below 1.
        """
        n = len(self.ids) - self.n_padding
        if not isinstance(position, int) or not -n <= position < n:
            raise HeadworkError("There is no token {position}: the text has {n}.", position=shown(position), n=n)
        if not isinstance(k, int) or k < 1:
            raise HeadworkError("At least 1 next token can be asked for, not {k}.", k=shown(k))
        return self._likeliest(self._logits([position % n]), k)[0]

    def surprise(self) -> NDArray[np.float32]:
        """−ln p of each token given those before it, in nats: (N,). NaN for the first, and for padding."""
        return self.after_each(0)[1]

    @torch.inference_mode()
    def after_each(self, k: int, first: int = 0) -> tuple[list[tuple[NextToken, ...]], NDArray[np.float32]]:
        """What is expected after each token from `first` on, and how surprising each is: one pass through the logits.

        Args:
            k: how many next tokens of each.
            first: counted from 0.

        Returns:
            The k most probable next tokens after each, N − first of them; and the surprise at each, (N − first,), as
            `surprise` has it: NaN at `first`, whose predictor isn't read.
        """
        n, n_text = len(self.ids), len(self.ids) - self.n_padding
        found: list[tuple[NextToken, ...]] = []
        surprise = torch.full((n - first,), torch.nan)
        for start in range(first, n, _POSITIONS_AT_ONCE):
            logits = self._logits(slice(start, min(start + _POSITIONS_AT_ONCE, n)))
            if k:
                found += self._likeliest(logits, k)
            came = torch.tensor(self.ids[start + 1 : min(start + 1 + len(logits), n_text)], dtype=torch.long)
            log_p = logits[: len(came)].log_softmax(-1)
            at = start + 1 - first
            surprise[at : at + len(came)] = -log_p.gather(-1, came[:, None])[:, 0]
        return found, surprise.numpy()

    def _likeliest(self, logits: torch.Tensor, k: int) -> list[tuple[NextToken, ...]]:
        """The k most probable tokens of each row of logits (n, V)."""
        probabilities, ids = logits.softmax(-1).topk(min(k, logits.size(-1)))
        return [
            tuple(next_token(self.tokenizer, id_, p) for id_, p in zip(*row, strict=True))
            for row in zip(ids.tolist(), probabilities.tolist(), strict=True)
        ]


def next_token(tokenizer: Tokenizer, id_: int, probability: float) -> NextToken:
    """A token of the vocabulary with its probability."""
    return NextToken(tokenizer.text_of([id_]), tokenizer.label_of(id_), id_, probability)
