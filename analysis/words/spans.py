"""Whose words: the characters of each word as the tokenizer, the person's spaces or a segmenter part them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from analysis.words import chinese
from model import HeadworkError, Tokens

Span: TypeAlias = tuple[int, int]
By: TypeAlias = Literal["tokenizer", "spaces", "segmenter"]

# Marks of Chinese text stand beside words without a space, and SentencePiece takes them for part of a word.
_MARKS = "[—“”…\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
CHINESE = "\0"  # stands for a Chinese character where only the others count; no text that was tokenised holds it
_OTHERS = re.compile(f"({_MARKS})\\1*|(?:(?!{_MARKS})[^{CHINESE}])+")


def space_spans(text: str) -> list[Span]:
    """The spans between white space: how a person parts Chinese words, or any words, by hand."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def tokenizer_spans(tokens: Tokens) -> list[Span]:
    """The words as the tokenizer parts them, in the order of their first piece. Special tokens belong to none."""
    spans: dict[int, Span] = {}
    for word, (start, end) in zip(tokens.word_ids, tokens.spans, strict=True):
        if word is not None:
            first, last = spans.get(word, (start, end))
            spans[word] = (min(first, start), max(last, end))
    return list(spans.values())


def segmenter_spans(tokens: Tokens) -> tuple[list[Span], tuple[str, ...]]:
    """Chinese words as `words.chinese` parts them, everything else as the tokenizer does, with Chinese marks apart.

    Returns:
        The words from left to right, and who parted the Chinese ones: of "jieba" and "spaces", none without Chinese.

    Raises:
        NoSegmenter: there is Chinese and rjieba is not installed.
    """
    read = tokens.text[: max((end for _start, end in tokens.spans), default=0)]  # a long text was cut
    parting = chinese.part(read)
    if not parting.words:
        return tokenizer_spans(tokens), ()
    characters = list(read)
    for start, end in parting.words:
        characters[start:end] = CHINESE * (end - start)
    rest = "".join(characters)
    others = [part for span in tokenizer_spans(tokens) for part in _outside(rest, span)]
    return sorted({*parting.words, *others}), parting.by


def deal_out(tokens: Tokens, spans: Sequence[Span]) -> tuple[int | None, ...]:
    """The span that each piece belongs to: the one that holds most of its characters, the earlier one in a tie.

    None for special tokens, for pieces outside every span and for pieces without characters (`is_bare`). A piece that
    stands for a space, such as the mark ▁ in front of a word, goes with the next piece of its word.

    Raises:
        HeadworkError: a span that ends before it starts.
    """
    for start, end in spans:
        if not 0 <= start <= end:
            raise HeadworkError("A word can't reach from character {start} to {end}.", start=start, end=end)
    shared = in_common(tokens, spans)  # (N, words)
    shared[list(tokens.is_special)] = 0
    best = shared.argmax(axis=1) if len(spans) else np.zeros(len(tokens), dtype=int)
    ids = [int(word) if len(spans) and shared[piece, word] > 0 else None for piece, word in enumerate(best)]
    for i in range(len(ids) - 2, -1, -1):
        word, is_space = tokens.word_ids[i], tokens.text[slice(*tokens.spans[i])].isspace()
        if ids[i] is None and is_space and word is not None and tokens.word_ids[i + 1] == word:
            ids[i] = ids[i + 1]
    return tuple(ids)


def is_bare(tokens: Tokens, piece: int) -> bool:
    """Whether a piece stands for no character and is no special token: SentencePiece's mark ▁ before a text.

    Such a piece is no part of a word: it has no meaning to look at, and heads rest on it as on special tokens.
    """
    start, end = tokens.spans[piece]
    return start == end and not tokens.is_special[piece]


def in_common(tokens: Tokens, spans: Sequence[Span]) -> NDArray[np.int32]:
    """(N, words), how many characters each piece shares with each word."""
    pieces, words = (np.array(each, dtype=np.int32).reshape(-1, 2) for each in (tokens.spans, spans))
    ends, starts = np.minimum(pieces[:, None, 1], words[:, 1]), np.maximum(pieces[:, None, 0], words[:, 0])
    return np.asarray(np.maximum(ends - starts, 0))


def _outside(rest: str, span: Span) -> list[Span]:
    """The parts of a span that hold no Chinese, without the spaces around them."""
    found = []
    for part in _OTHERS.finditer(rest, *span):
        start = part.end() - len(part[0].lstrip())
        end = part.start() + len(part[0].rstrip())
        if start < end:
            found.append((start, end))
    return found
