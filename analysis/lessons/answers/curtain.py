"""Lesson "Causal, padding, prefix": a causal mask that closes like a curtain, and rows that no longer change."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.lessons.answer import Answer, answers
from analysis.lessons.setup import Setup
from analysis.maps.mask_runs import layer_scores
from analysis.maps.masking import Doubles
from model import HeadworkError, Mask

MOST_TOKENS = 24  # rows that stay large enough to be told apart


@dataclass(frozen=True, eq=False)
class Curtain:
    """One head's scores, (N, N), before any mask (picture "curtain").

    With the edge at key t, counted from 0, query i sees the keys up to max(i, t): everything at t = N − 1, a causal
    mask at t = 0. In the first layer scores don't depend on the mask: each row is a softmax over the scores it sees.
    """

    scores: Doubles
    head: str


@answers("row_that_stays")
def row_that_stays(setup: Setup, *, head: int) -> Answer:
    """token: the query whose weights stay as they are while a causal mask closes, from no mask on: the last.

    Of a head of the first layer. Says head, n; then token, first_changes (how often the first row changes).
    """
    of = setup.head(1, head)
    tokens = setup.trace.tokens
    if len(tokens) > MOST_TOKENS:
        raise HeadworkError(
            "The sentence has {n} tokens; a curtain takes up to {most}.", n=len(tokens), most=MOST_TOKENS
        )
    scores = layer_scores(setup.model, setup.text, Mask.bidirectional(), of.layer).scores[of.head].astype("float64")
    n = len(tokens)
    given = {"head": str(of), "n": f"{n}"}
    said = {"token": tokens[-1], "first": tokens[0], "first_changes": f"{n - 1}"}
    return Answer(n - 1, said, given, tokens, "curtain", Curtain(scores, str(of)))
