"""What a decoder expected after each token, small enough to keep: the most probable next tokens, and the surprise.

All logits of a text would be N × V numbers, 25 million for 512 tokens of a vocabulary of 49,152; these are 41 a token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.words.units import Units
from model.prediction import NextToken, Prediction

MOST = 20  # next tokens kept of each position


@dataclass(frozen=True, eq=False)
class NextTokens:
    """What was expected at every position of a text of N tokens.

    Attributes:
        candidates: (N), up to `MOST` of the most probable tokens after each, the most probable first.
        surprise: (N,) −ln p of each token given those before it, in nats; NaN for the first, which nothing predicts,
            and for padding.
        ids: the N tokens.
        largest: ln V, the surprise at a token when all of the vocabulary are alike.
    """

    candidates: tuple[tuple[NextToken, ...], ...]
    surprise: NDArray[np.float32]
    ids: tuple[int, ...]
    largest: float

    @property
    def nbytes(self) -> int:
        """About as many as it takes: a candidate is a tuple of two short texts and two numbers."""
        return self.surprise.nbytes + 300 * sum(len(row) for row in self.candidates)

    def came(self, position: int) -> tuple[float, int | None] | None:
        """The token after `position` that the text goes on with: its probability and its rank from 1.

        The rank is None below the candidates. None at the end of the text, and before padding.
        """
        after = position + 1
        if after >= len(self.ids) or np.isnan(self.surprise[after]):
            return None
        ids = [token.id for token in self.candidates[position]]
        rank = ids.index(self.ids[after]) + 1 if self.ids[after] in ids else None
        return math.exp(-float(self.surprise[after])), rank

    def of_units(self, units: Units) -> NDArray[np.float32]:
        """(U,), the surprise at each unit; NaN where one of its tokens has none.

        That of a word is the sum over its tokens, since their probabilities multiply.
        """
        sums = [self.surprise[list(pieces)].sum() if pieces else np.nan for pieces in units.pieces]
        return np.array(sums, dtype=np.float32)


def next_tokens(prediction: Prediction, before: NextTokens | None = None) -> NextTokens:
    """Reads the next tokens off a text's hidden states.

    Args:
        prediction: of the text.
        before: of the same text as far as it went: what is known is not computed again. Only under a causal mask.
    """
    ids, n_vocabulary = prediction.ids, prediction.n_vocabulary
    if before is None or before.ids != ids[: len(before.ids)]:
        candidates, surprise = prediction.after_each(MOST)
    else:  # the last known token predicts the first new one
        new, surprise = prediction.after_each(MOST, len(before.ids) - 1)
        candidates = [*before.candidates, *new[1:]]
        surprise = np.concatenate([before.surprise, surprise[1:]])
    return NextTokens(tuple(candidates), surprise, ids, math.log(n_vocabulary))
