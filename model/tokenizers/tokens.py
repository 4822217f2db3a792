"""Text to tokens: their texts and ids, the characters and the word each belongs to, and which are special.

`Tokens` keeps one entry a token in every field, so labels can't get out of step with the model's ids: the text is
tokenised once, and cutting and padding change all fields together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from model.errors import HeadworkError

MAX_CHARACTERS = 20_000  # more than any model here reads (512 tokens); tokenising so much takes 30 ms
SPACE = "▁"  # how a space inside a piece is shown, as SentencePiece prints it
LONGEST_LABEL = 32  # characters; the toy model takes any word, and an axis can't
_VISIBLE = {"\n": "↵", "\r": "↵", "\t": "⇥", " ": SPACE}


@dataclass(frozen=True)
class Token:
    """One token before cutting and padding. `word` numbers words from 0 in any order; None for special tokens."""

    text: str
    id: int
    span: tuple[int, int]
    word: int | None
    is_special: bool = False
    is_padding: bool = False
    segment: int = 0


@dataclass(frozen=True)
class Tokens:
    """One sentence as the model reads it, after cutting and padding. Every tuple but `words` has N entries.

    Attributes:
        text: what was tokenised: the person's text without control characters, cut at `MAX_CHARACTERS`.
        pieces: entries of the vocabulary, such as "##s" or "[CLS]".
        labels: the pieces made readable, for axes; never empty, never a line break, not unique.
        spans: (start, end) in `text`; (0, 0) for tokens that stand for no character ([CLS], [SEP], [PAD]).
        word_ids: index into `words`; None for special tokens.
        is_special: [CLS], [SEP], <s>, </s>, [PAD] and their like, also when the person typed them; not [UNK] and
            not [MASK], which stand for words.
        is_padding: [PAD] added by `pad_to`. A typed [PAD] is special and not padding.
        segments: of a pair, 0 = the first text, 1 = the second; all 0 for one text, and for [PAD].
        token_types: the row of the token type table for each token (BERT's segment A and B); all 0 for a tokenizer that
            doesn't tell the two texts of a pair apart.
        n_unknown: how many tokens are [UNK].
        n_cut: tokens dropped because of the token limit.
        n_cut_characters: characters dropped before that, because the text was longer than `MAX_CHARACTERS`.
    """

    text: str
    pieces: tuple[str, ...]
    labels: tuple[str, ...]
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    word_ids: tuple[int | None, ...]
    words: tuple[str, ...]
    is_special: tuple[bool, ...]
    is_padding: tuple[bool, ...]
    segments: tuple[int, ...] = ()
    token_types: tuple[int, ...] = ()
    n_unknown: int = 0
    n_cut: int = 0
    n_cut_characters: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_pair(self) -> bool:
        """Whether these are two texts, read as a pair."""
        return any(self.segments)


class Tokenizer(Protocol):
    """What every model's tokenizer can do."""

    def pair(self, first: str, second: str) -> str:
        """The text that `encode` reads as this pair, with the model's separator in it: "first [SEP] second".

        Raises:
            HeadworkError: one of them is empty, the first holds a separator itself, or the model knows no separator,
                as here.
        """
        raise HeadworkError("This model has no separator between two texts: it reads one text. Choose another model.")

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """The text as at most `limit` tokens, padded with [PAD] to `pad_to` tokens.

        A text with a separator in it, as `pair` writes it, is a pair; of a pair that is too long, the longer text is
        cut first.

        Raises:
            HeadworkError: no text; `pad_to` smaller than the sentence or larger than `limit`.
        """
        ...

    @property
    def start_mark(self) -> str:
        """The token with which the model's texts begin in training and that `encode` doesn't put there; "" = none."""
        return ""

    def text_of(self, ids: Sequence[int]) -> str:
        """What tokens add to a text before them, special ones too; bytes that make no character become U+FFFD.

        Raises:
            HeadworkError: the tokens of this model stand for no text, as here.
        """
        raise HeadworkError("The tokens of this model can't be turned into text: it doesn't write. Choose a decoder.")

    def label_of(self, id_: int) -> str:
        """The token's label, as `Tokens.labels` has it."""
        return self.text_of([id_])

    def is_special(self, id_: int) -> bool:
        """Whether a token is one of the model's marks, such as the end of a text."""
        return False

    def is_ordinary(self, id_: int) -> bool:
        """Whether an id is that of a word or a part of one: not a mark, a sign or a byte of a character."""
        return not self.is_special(id_)


def is_letters(label: str) -> bool:
    """Whether a label is a word or a part of one, whatever its tokenizer marks it with: "▁the", "##ing"."""
    return label.removeprefix("##").replace(SPACE, "").isalpha()


def grown(tokens: Tokens, id_: int, label: str, text: str, *, is_special: bool) -> Tokens:
    """The tokens with one more at the end.

    Args:
        tokens: not padded.
        id_: of the new token.
        label: likewise.
        text: the whole text, with what the new token added.
        is_special: whether it is one of the model's marks.
    """
    start = min(len(tokens.text), len(text))
    goes_on = (
        start > 0 and text[start - 1 : start + 1].isalnum() and len(text) > start and tokens.word_ids[-1] is not None
    )
    span = _trim(text, (start, len(text)))
    word = None if is_special else tokens.word_ids[-1] if goes_on else len(tokens.words)
    words = tokens.words
    if word is not None:
        added = text[slice(*span)].strip()
        words = (*words[:-1], words[-1] + added) if goes_on else (*words, added or label)
    return replace(
        tokens,
        text=text,
        pieces=(*tokens.pieces, label),
        labels=(*tokens.labels, label),
        ids=(*tokens.ids, id_),
        spans=(*tokens.spans, span),
        word_ids=(*tokens.word_ids, word),
        words=words,
        is_special=(*tokens.is_special, is_special),
        is_padding=(*tokens.is_padding, False),
        segments=(*tokens.segments, 0),
        token_types=(*tokens.token_types, 0),
    )


def clean_text(text: str) -> tuple[str, int]:
    """The text without what no model or screen can show, cut at `MAX_CHARACTERS`, and how many characters were cut.

    Halves of surrogate pairs are joined or become U+FFFD (neither tokenizers nor browsers take them); control
    characters go, NUL among them, except tab and line breaks. All else stays, joiners and marks of direction too.
    """
    n_cut = max(0, len(text) - MAX_CHARACTERS)
    text = text[:MAX_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = "".join(c for c in text if c in "\t\n\r" or unicodedata.category(c) != "Cc")
    if not text.strip():
        raise no_text()
    return text, n_cut


def no_text() -> HeadworkError:
    """The error for a text without anything to tokenise."""
    return HeadworkError("There is no text to look at. Type a sentence.")


def visible(text: str) -> str:
    """A token's text with its spaces, line breaks and invisible marks of direction made visible, for use as a label.

    Joiners inside an emoji stay, since they hold it together; anything else invisible is named by its code point.
    """
    if len(text) > LONGEST_LABEL:
        text = text[: LONGEST_LABEL - 1] + "…"
    out = []
    for i, c in enumerate(text):
        if c in _VISIBLE:
            out.append(_VISIBLE[c])
        elif c in "\u200c\u200d" and 0 < i < len(text) - 1:
            out.append(c)
        elif unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Zs"):
            out.append(f"<U+{ord(c):04X}>")
        else:
            out.append(c)
    return "".join(out) or SPACE


def assemble(
    text: str,
    tokens: Sequence[Token],
    *,
    limit: int,
    pad_to: int | None,
    padding: Token | None,
    label: Callable[[Token], str] = lambda token: visible(token.text),
    unknown_id: int | None = None,
    has_token_types: bool = False,
    n_cut_characters: int = 0,
) -> Tokens:
    """The tokens of a text cut to `limit`, with the special tokens at both ends, padded to `pad_to`, words numbered.

    `padding` is the model's [PAD], or None when it has none. `label` is called for the tokens that are kept.
    """
    kept = _cut(tokens, limit)
    n_cut = len(tokens) - len(kept)
    if pad_to is not None:
        kept += _padding(len(kept), pad_to, limit, padding)
    spans = tuple(_trim(text, token.span) for token in kept)
    word_ids, words = _words(text, [token.word for token in kept], spans)
    segments = tuple(token.segment for token in kept)
    return Tokens(
        text=text,
        pieces=tuple(token.text for token in kept),
        labels=tuple(label(token) for token in kept),
        ids=tuple(token.id for token in kept),
        spans=spans,
        word_ids=word_ids,
        words=words,
        is_special=tuple(token.is_special for token in kept),
        is_padding=tuple(token.is_padding for token in kept),
        segments=segments,
        token_types=segments if has_token_types else (0,) * len(segments),
        n_unknown=sum(token.id == unknown_id for token in kept),
        n_cut=n_cut,
        n_cut_characters=n_cut_characters,
    )


def _cut(tokens: Sequence[Token], limit: int) -> list[Token]:
    if len(tokens) <= limit:
        return list(tokens)
    # Only the tokenizer's own marks are kept at the end, not special tokens that the person typed: those have a span.
    frame = [token.is_special and token.span == (0, 0) for token in tokens]
    n_head = frame.index(False)
    n_tail = frame[::-1].index(False)
    n_content = limit - n_head - n_tail
    if n_content < 1:
        raise HeadworkError(
            "A limit of {limit} tokens leaves no room for the text: this model adds {n_added} of its own.",
            limit=limit,
            n_added=n_head + n_tail,
        )
    content, tail = tokens[n_head : len(tokens) - n_tail], tokens[len(tokens) - n_tail :]
    return [*tokens[:n_head], *_cut_content(content, n_content), *tail]


def _cut_content(tokens: Sequence[Token], limit: int) -> list[Token]:
    """The first tokens; of a pair, the first of each text around the separator, the longer text cut first.

    So transformers cuts a pair (truncation "longest_first"): an odd place goes to the longer text.
    """
    n_first = sum(token.segment == 0 for token in tokens)
    first, second = tokens[:n_first], tokens[n_first:]
    n_text = max((i for i, token in enumerate(first, 1) if not token.is_special), default=0)
    if not second or limit - (n_first - n_text) < 2:  # one text, or no room for two
        return list(tokens[:limit])
    limit -= n_first - n_text  # the separator stays
    n_shorter = min(n_text, len(second), limit // 2)
    n_kept = n_shorter if n_text <= len(second) else limit - n_shorter
    return [*first[:n_kept], *first[n_text:], *second[: limit - n_kept]]


def _padding(n_tokens: int, pad_to: int, limit: int, padding: Token | None) -> list[Token]:
    if pad_to < n_tokens:
        raise HeadworkError(
            "padding:{pad_to} is too short: this sentence has {n_tokens} tokens. Choose {n_tokens} or more.",
            pad_to=pad_to,
            n_tokens=n_tokens,
        )
    if pad_to > limit:
        raise HeadworkError(
            "padding:{pad_to} is too long: this model reads at most {limit} tokens. Choose {limit} or less.",
            pad_to=pad_to,
            limit=limit,
        )
    if pad_to > n_tokens and padding is None:
        raise HeadworkError("This model has no padding token, so its sentences can't be padded. Choose another mask.")
    return [padding] * (pad_to - n_tokens) if padding is not None else []


def _trim(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A span without the space that byte-level and SentencePiece pieces carry in front."""
    start, end = span
    while start < end - 1 and text[start].isspace():
        start += 1
    while end - 1 > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _words(
    text: str, numbers: Sequence[int | None], spans: Sequence[tuple[int, int]]
) -> tuple[tuple[int | None, ...], tuple[str, ...]]:
    """Word numbers made gapless from 0, and each word's characters."""
    order: dict[int, int] = {}
    edges: list[tuple[int, int]] = []
    for number, (start, end) in zip(numbers, spans, strict=True):
        if number is None:
            continue
        if number not in order:
            order[number] = len(edges)
            edges.append((start, end))
        else:
            first, last = edges[order[number]]
            edges[order[number]] = (min(first, start), max(last, end))
    word_ids = tuple(None if number is None else order[number] for number in numbers)
    return word_ids, tuple(text[start:end].strip() or SPACE for start, end in edges)
