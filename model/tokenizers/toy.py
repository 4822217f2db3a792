"""The toy model's tokenizer: words, punctuation marks and Chinese characters, with no vocabulary to look them up in."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator

from model.tokenizers.tokenizer_json import is_han
from model.tokenizers.tokens import Token, Tokenizer, Tokens, assemble, clean_text, no_text

PAD = Token("[PAD]", 0, (0, 0), None, is_special=True, is_padding=True)
MASK = "[MASK]"
LONGEST_CHINESE_WORD = 4  # characters; almost every Chinese word and most idioms are that long or shorter
APOSTROPHES = ("'", "\u2019")
_VARIATION = range(0xFE00, 0xFE10)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_REGIONAL = range(0x1F1E6, 0x1F200)
_ZWJ = "\u200d"


class ToyTokenizer(Tokenizer):
    """Splits text into words and punctuation marks, and Chinese or Japanese into characters.

    Chinese words stay whole when the person parted them with spaces: then there is a space between two Chinese
    characters, and no run of them is longer than an idiom. "猫吃鱼" and "猫 吃 鱼" are three tokens each, "小猫 吃 鱼"
    too, "床前明月光 疑是地上霜" ten. An emoji with its joiners, a letter with its accents and a typed [MASK] are one
    token. The only special token is [PAD].
    """

    def encode(self, text: str, *, limit: int, pad_to: int | None = None) -> Tokens:
        """The text as at most `limit` tokens; see `model.tokenizers.tokens.Tokenizer`."""
        text, n_cut_characters = clean_text(text)
        spans = split(text)
        if not spans:
            raise no_text()
        words = [text[start:end] for start, end in spans]
        tokens = [
            Token(word, word_id(word), span, number)
            for number, (word, span) in enumerate(zip(words, spans, strict=True))
        ]
        return assemble(
            text,
            tokens,
            limit=limit,
            pad_to=pad_to,
            padding=PAD,
            n_cut_characters=n_cut_characters,
        )


def word_id(word: str) -> int:
    """A stable number for a word, from 1 to 2⁶³ - 1: the toy model derives the word's vector from it. [PAD] is 0."""
    digest = hashlib.blake2b(unicodedata.normalize("NFC", word).encode("utf-8"), digest_size=8).digest()
    return max(1, int.from_bytes(digest, "big") >> 1)


def split(text: str) -> list[tuple[int, int]]:
    """The spans of the tokens in `text`."""
    clusters = list(_clusters(text))
    kinds = [_kind(text[start:end]) for start, end in clusters]
    whole_chinese_words = _parted_by_hand(kinds)
    spans: list[tuple[int, int]] = []
    last = "space"
    for i, ((start, end), kind) in enumerate(zip(clusters, kinds, strict=True)):
        # An apostrophe between two letters belongs to the word: don't.
        if text[start:end] in APOSTROPHES and last == "word" and i + 1 < len(kinds) and kinds[i + 1] == "word":
            kind = "word"
        if kind == last and (kind == "word" or (kind == "chinese" and whole_chinese_words)):
            spans[-1] = (spans[-1][0], end)
        elif kind != "space":
            spans.append((start, end))
        last = kind
    return _join_masks(text, spans)


def _parted_by_hand(kinds: list[str]) -> bool:
    letters = "".join({"chinese": "C", "space": " "}.get(kind, "x") for kind in kinds)
    longest = max((len(run) for run in re.findall("C+", letters)), default=0)
    return longest <= LONGEST_CHINESE_WORD and re.search("C +C", letters) is not None


def _join_masks(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    masks = {match.start(): match.end() for match in re.finditer(re.escape(MASK), text)}
    if not masks:
        return spans
    inside = {i for start, end in masks.items() for i in range(start, end)}
    return sorted([*masks.items(), *(span for span in spans if span[0] not in inside)])


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Characters with what belongs to them: accents, emoji parts joined by U+200D, skin tones, the pair of a flag."""
    start = 0
    while start < len(text):
        end = start + 1
        flag = ord(text[start]) in _REGIONAL
        while end < len(text):
            point = ord(text[end])
            if flag and point in _REGIONAL:
                flag = False
            elif not (
                text[end] == _ZWJ
                or text[end - 1] == _ZWJ
                or unicodedata.category(text[end]) in ("Mn", "Mc", "Me")
                or point in _VARIATION
                or point in _SKIN_TONES
                or point in _TAGS
            ):
                break
            end += 1
        yield start, end
        start = end


def _kind(cluster: str) -> str:
    first = cluster[0]
    if first.isspace() or unicodedata.category(first) == "Cf":
        return "space"  # marks of direction and lone joiners part words as a space does, and are no token
    if is_han(first) or "\u3040" <= first <= "\u30ff":
        return "chinese"
    # Thai and Indic words have marks that are no letters of their own; they never begin a cluster.
    if first.isalnum() or first == "_" or unicodedata.category(first)[0] == "M":
        return "word"
    return "mark"
