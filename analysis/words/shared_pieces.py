"""Words that share a piece: 因为他 can be one entry of a vocabulary, and then 他 has no token, no row, of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.words.chinese import PRONOUN_LETTERS, has_chinese, is_pronoun
from analysis.words.spans import Span, deal_out, in_common, segmenter_spans
from analysis.words.units import is_punctuation
from model import Tokens

PARTS = ((" ", ""), ("", " "), (" ", " "), ("，", ""), ("，", "，"))  # what may be put before and after a word


@dataclass(frozen=True)
class SharedPiece:
    """One token that stands for characters of several words.

    Attributes:
        piece: its index among the N tokens.
        text: its characters.
        words: (start, end) of the words that it holds characters of, from left to right.
        owner: the one of them whose unit holds the piece.
        left_out: those of them without any other piece of their own: they have no unit.
    """

    piece: int
    text: str
    words: tuple[Span, ...]
    owner: Span
    left_out: tuple[Span, ...]


def shared_pieces(tokens: Tokens, spans: Sequence[Span] | None = None) -> tuple[SharedPiece, ...]:
    """The pieces that stand for several words, from left to right. Punctuation marks don't count as words.

    Args:
        tokens: the text as a model reads it.
        spans: the words; None = `segmenter_spans`.
    """
    spans = segmenter_spans(tokens)[0] if spans is None else spans
    ids = deal_out(tokens, spans)
    with_unit = set(ids)
    touches = in_common(tokens, spans) > 0  # (N, words)
    found = []
    for piece in np.flatnonzero(touches.sum(axis=1) > 1).tolist():
        owner, (start, end) = ids[piece], tokens.spans[piece]
        held = [
            word
            for word in np.flatnonzero(touches[piece]).tolist()
            if not is_punctuation(tokens.text[slice(*spans[word])])
        ]
        if owner is not None and len(held) > 1:
            found.append(
                SharedPiece(
                    piece=piece,
                    text=tokens.text[start:end],
                    words=tuple(spans[word] for word in held),
                    owner=spans[owner],
                    left_out=tuple(spans[word] for word in held if word not in with_unit),
                )
            )
    return tuple(found)


def pronouns_of(tokens: Tokens, shared: SharedPiece) -> tuple[Span, ...]:
    """The pronouns among the words of a shared piece."""
    return tuple(span for span in shared.words if is_pronoun(tokens.text[slice(*span)]))


def may_hold_pronouns(tokens: Tokens) -> bool:
    """Whether some piece holds a pronoun's character beside other Chinese ones. Loads no segmenter.

    So do 其他 and 他们, which are words: `shared_pronouns` says more.
    """
    return any(
        len(text) > 1 and has_chinese(text) and not set(PRONOUN_LETTERS).isdisjoint(text) and not is_pronoun(text)
        for text in {tokens.text[slice(*span)] for span in tokens.spans}
    )


def shared_pronouns(tokens: Tokens) -> tuple[SharedPiece, ...]:
    """The pieces that hold a pronoun and other words, so that no row is the pronoun's alone.

    Raises:
        NoSegmenter: some piece may hold one, and rjieba is not installed.
    """
    if not may_hold_pronouns(tokens):
        return ()
    return tuple(shared for shared in shared_pieces(tokens) if pronouns_of(tokens, shared))


def part_from_others(encode: Callable[[str], Tokens], text: str, word: Span) -> str | None:
    """The text with a space or a comma put beside a word, so that the word gets pieces of its own.

    Args:
        encode: the model's tokenizer. Each way is tried with it, and the first one that helps is taken.
        text: as it was tokenised.
        word: (start, end) of the word.

    Returns:
        The new text; None if nothing that was tried helps.
    """
    marks = _marks_that_part(encode, text, word)
    return None if marks is None else _put_beside(text, word, marks)


def part_pronouns(encode: Callable[[str], Tokens], text: str) -> str:
    """The text with a space or a comma beside every pronoun that a longer piece holds, where that helps.

    What helps one 他 in 因为他 is taken to help the others.
    """
    tokens = encode(text)
    text, known, changes = tokens.text, {}, []
    for shared in shared_pronouns(tokens):
        for word in pronouns_of(tokens, shared):
            name = (shared.text, text[slice(*word)])
            if name not in known:
                known[name] = _marks_that_part(encode, text, word)
            changes.append((word, known[name]))
    for word, marks in sorted(changes, key=lambda change: change[0], reverse=True):
        text = text if marks is None else _put_beside(text, word, marks)
    return text


def _marks_that_part(encode: Callable[[str], Tokens], text: str, word: Span) -> tuple[str, str] | None:
    """The first of `PARTS` that gives a word pieces of its own."""
    start, end = word
    for before, after in PARTS:
        first = start + len(before)
        if _stands_alone(encode(_put_beside(text, word, (before, after))), (first, first + end - start)):
            return before, after
    return None


def _put_beside(text: str, word: Span, marks: tuple[str, str]) -> str:
    start, end = word
    return text[:start] + marks[0] + text[start:end] + marks[1] + text[end:]


def _stands_alone(tokens: Tokens, word: Span) -> bool:
    """Whether the pieces of a word hold nothing else."""
    start, end = word
    touching = [
        span
        for span, special in zip(tokens.spans, tokens.is_special, strict=True)
        if span[0] < end and start < span[1] and not special
    ]
    return bool(touching) and all(start <= first and last <= end for first, last in touching)
