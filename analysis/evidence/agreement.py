"""Two nouns, two pronouns: does a head give each pronoun's weight to the noun of its gender, wherever the nouns stand?

A sentence and the same sentence with its nouns swapped make four questions. A head that only likes one noun, or only
one place, gets two of them right, which is also what tossing a coin gets on average. So a head has to be asked all four
before it is believed; and one that gets them all matches genders, which is not yet understanding the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model import AttentionTrace, HeadworkError
from model.tokenizers.tokenizer_json import UNKNOWN_TOKENS

Verdict = Literal["all", "one noun", "one place", "some", "hidden"]
Span = tuple[int, int]


@dataclass(frozen=True)
class Question:
    """A pronoun of the sentence, the noun that agrees with it in gender, and the other noun; each as it is written."""

    pronoun: str
    right: str
    wrong: str


@dataclass(frozen=True, eq=False)
class Answers:
    """What every head answers to the same questions, in a sentence and then in the one with the nouns swapped.

    Attributes:
        questions: K of them.
        weights: (L, h, 2, K, 2): as written and swapped, question, weight of the pronoun on the right and the wrong
            noun. NaN where the mask hides a noun from the pronoun.
    """

    questions: tuple[Question, ...]
    weights: NDArray[np.float32]

    @property
    def hits(self) -> NDArray[np.bool_]:
        """(L, h, 2, K), whether the right noun gets more than the wrong one."""
        return np.asarray(self.weights[..., 0] > self.weights[..., 1])

    @property
    def n_asked(self) -> int:
        """2 K."""
        return 2 * len(self.questions)

    def n_right(self) -> NDArray[np.intp]:
        """(L, h), how many of the questions each head gets right."""
        return np.asarray(self.hits.sum(axis=(-2, -1)))

    def expected_by_chance(self) -> float:
        """How many of the heads would get every question right by tossing coins."""
        n_layers, n_heads = self.weights.shape[:2]
        return float(n_layers * n_heads / 2**self.n_asked)

    def verdict(self, head: tuple[int, int]) -> Verdict:
        """What the answers of one head, (layer, head) from 0, look like.

        "one noun": right for some pronouns wherever the nouns stand, and wrong for the others. "one place": right as
        written and wrong when swapped, or the other way round. "hidden": the mask keeps a pronoun from seeing a noun.
        """
        if np.isnan(self.weights[head]).any():
            return "hidden"
        hits = self.hits[head]  # (2, K)
        if hits.all():
            return "all"
        if hits.any():
            if (hits[0] == hits[1]).all():
                return "one noun"
            if (hits[0] != hits[1]).all() and len(set(hits[0].tolist())) == 1:
                return "one place"
        return "some"


def ask(written: AttentionTrace, swapped: AttentionTrace, questions: Sequence[Question]) -> Answers:
    """Every head's answers in both sentences.

    Weight to a noun is the sum over its tokens, weight from a pronoun the mean over its tokens (analysis.words.units).

    Args:
        written: the sentence as it is written.
        swapped: the same model and mask on the sentence with the nouns swapped.
        questions: their words stand in both texts.

    Raises:
        HeadworkError: a word isn't in a text, is cut off or unknown to the model, or has no token of its own.
    """
    return Answers(tuple(questions), np.stack([_asked(trace, questions) for trace in (written, swapped)], axis=2))


def own_tokens(trace: AttentionTrace, word: str) -> tuple[int, ...]:
    """The tokens that make up the first such word of the text, and nothing else of it.

    Raises:
        HeadworkError: as `ask`.
    """
    start, end = _span(trace.text, word)
    tokens = trace.tokenized
    found = [i for i, (first, last) in enumerate(tokens.spans) if first < end and start < last]
    if not found or any(tokens.pieces[i] in UNKNOWN_TOKENS for i in found):
        raise HeadworkError(
            "{model} can't read “{word}”, so its heads can't be asked about it.", model=trace.model_label, word=word
        )
    first, last = tokens.spans[found[0]][0], tokens.spans[found[-1]][1]
    if trace.text[first:last].strip() != word:
        raise HeadworkError(
            "“{word}” has no token of its own here: it is a part of “{piece}”.",
            word=word,
            piece=trace.text[first:last].strip(),
        )
    return tuple(found)


def _asked(trace: AttentionTrace, questions: Sequence[Question]) -> NDArray[np.float32]:
    """(L, h, K, 2)."""
    tokens = {word: own_tokens(trace, word) for q in questions for word in (q.pronoun, q.right, q.wrong)}
    weights = np.full((trace.n_layers, trace.n_heads, len(questions), 2), np.nan, dtype=np.float32)
    for k, question in enumerate(questions):
        rows = list(tokens[question.pronoun])
        for which, noun in enumerate((question.right, question.wrong)):
            columns = list(tokens[noun])
            seen = trace.allowed[..., rows, :][..., columns].any(axis=(-2, -1))  # one answer, or one for each layer
            asked = trace.attention[:, :, rows][..., columns].sum(axis=-1).mean(axis=-1)  # (L, h)
            weights[:, :, k, which] = np.where(seen.reshape(-1, 1), asked, np.nan)
    return weights


def _span(text: str, word: str) -> Span:
    """The characters of the first such word. In Latin letters it must stand alone: "man" is no part of "woman"."""
    found = re.search(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", text)
    if found is None:
        raise HeadworkError("“{word}” is not in “{text}”.", word=word, text=text)
    return found.span()
