"""Chinese words: the person's own spaces where they part the text, else jieba's.

jieba is the segmenter that most Chinese tools know; here it is its Rust build, rjieba: the same dictionary and words,
loaded in 0.1 s CPU and 34 MB (benchmarks/chinese_words.py). The Python original takes 0.6 s and 72 MB, and reads a
cache file back from the shared temporary folder with marshal, whoever put it there. rjieba writes no file and opens no
connection. It is loaded when there is Chinese.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from dataclasses import dataclass
from typing import Any

from model import HeadworkError
from model.tokenizers.tokenizer_json import HAN_BLOCKS, is_han

PACKAGE = "rjieba"
INSTALL = "pip install rjieba==0.2.2"
JIEBA, SPACES = "jieba", "spaces"
# The share of a stretch's borders that a person's spaces make for the stretch to be parted by hand. On 200 sentences of
# UD_Chinese-GSDSimp (dev) 98 % of 424 stretches with a space at each border reach it, and 1 of 315 with one space.
PARTED_BY_HAND = 0.75
PRONOUN_LETTERS = "我你您妳他她它牠祂咱"
PRONOUNS = frozenset(PRONOUN_LETTERS) | {one + many for one in PRONOUN_LETTERS for many in "们們"}
_HAN = "[" + "".join(f"{chr(block.start)}-{chr(block.stop - 1)}" for block in HAN_BLOCKS) + "]"
_SELECTOR = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"  # chooses the shape of the character before it
_CHARACTER = f"(?:{_HAN}{_SELECTOR}?)"
_STRETCH = re.compile(f"{_CHARACTER}+(?:[^\\S\\n\\r]+{_CHARACTER}+)*")  # Chinese with spaces in it, on one line
_HIRAGANA = re.compile("[\u3041-\u309f]")  # stands beside Han in Japanese only
_JAPANESE_LETTER = re.compile("[\u3005\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff]")
_PRONOUN_INSIDE = re.compile(f"([{PRONOUN_LETTERS}][们們]?)")


class NoSegmenter(HeadworkError):
    """rjieba is not installed."""


@dataclass(frozen=True)
class Parting:
    """The Chinese words of a text.

    Attributes:
        words: (start, end) of each, in order. What is not Chinese is in none.
        by: who parted them, of "jieba" and "spaces"; both where spaces part some words and jieba the rest.
    """

    words: tuple[tuple[int, int], ...] = ()
    by: tuple[str, ...] = ()


def has_chinese(text: str) -> bool:
    """Whether there is something for `part` to part. Loads nothing."""
    return any(True for _stretch in _stretches(text))


def n_chinese(text: str) -> int:
    """How many characters of a text are Chinese. Loads nothing."""
    return sum(is_han(c) for stretch in _stretches(text) for c in stretch[0])


def is_ready() -> bool:
    """Whether jieba has been loaded, so that `part` answers at once."""
    return PACKAGE in sys.modules


def load() -> Any:
    """The segmenter. Python imports it once, whatever threads ask for it; its dictionary is shared and never changed.

    Raises:
        NoSegmenter: rjieba is not installed.
    """
    try:
        return importlib.import_module(PACKAGE)
    except ImportError as error:
        raise NoSegmenter(
            "Chinese words need a segmenter that isn't installed. Add it with: {command} — or separate the words "
            "with spaces and choose “Split at spaces”.",
            command=INSTALL,
        ) from error


def version() -> str:
    """Of rjieba; "" where it is not installed."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return ""


def part(text: str) -> Parting:
    """Parts a text's Chinese into words.

    A space between two Chinese characters is always a border. Where spaces make `PARTED_BY_HAND` of all borders or
    more, they are the only ones: the person has parted the words. Elsewhere jieba parts what lies between them. Kana
    and Hangul are not Chinese, nor are characters beside hiragana.

    Raises:
        NoSegmenter: rjieba is not installed.
    """
    words: list[tuple[int, int]] = []
    by: dict[str, None] = {}
    for stretch in _stretches(text):
        chunks = [(stretch.start() + m.start(), stretch.start() + m.end()) for m in re.finditer(r"\S+", stretch[0])]
        cut = [_cut(text, chunk) for chunk in chunks]
        n_spaces, n_others = len(chunks) - 1, sum(len(each) - 1 for each in cut)
        if n_spaces:
            by[SPACES] = None
        if n_spaces and n_spaces >= PARTED_BY_HAND * (n_spaces + n_others):
            words += chunks
        else:
            by[JIEBA] = None
            words += [word for each in cut for word in each]
    return Parting(tuple(words), tuple(sorted(by)))


def is_chinese(text: str) -> bool:
    """Whether most letters of a text are Chinese characters. Those of Japanese words don't count."""
    return 2 * n_chinese(text) > sum(c.isalpha() for c in text)


def is_pronoun(word: str) -> bool:
    """Whether a Chinese word is a personal pronoun, in simplified or traditional characters."""
    return word in PRONOUNS


def _stretches(text: str) -> list[re.Match[str]]:
    """The Chinese of a text, each stretch with the spaces inside it. Japanese is left out."""
    return [match for match in _STRETCH.finditer(text) if not _is_japanese(text, *match.span())]


def _is_japanese(text: str, start: int, end: int) -> bool:
    """Whether the letters around a stretch, up to the next mark or space, hold hiragana."""
    while start > 0 and _JAPANESE_LETTER.match(text[start - 1]):
        start -= 1
    while end < len(text) and _JAPANESE_LETTER.match(text[end]):
        end += 1
    return _HIRAGANA.search(text, start, end) is not None


def _cut(text: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """The segmenter's words in one stretch without spaces, by their characters in the text."""
    segmenter = load()
    starts = [match.start() for match in re.finditer(_CHARACTER, text[slice(*span)])]
    edges = [span[0] + start for start in starts] + [span[1]]
    words, at = [], 0
    for word in segmenter.cut("".join(text[edge] for edge in edges[:-1])):
        for piece in _apart(word, segmenter):
            words.append((edges[at], edges[at + len(piece)]))
            at += len(piece)
    return words


def _apart(word: str, segmenter: Any) -> list[str]:
    """The word, or its parts where jieba took a pronoun for part of a name: "他病" is in no dictionary.

    On the same 200 sentences all 26 personal pronouns are words of their own with this rule, 24 without it.
    """
    if len(word) < 2 or segmenter.has_word(word):
        return [word]
    return [piece for piece in _PRONOUN_INSIDE.split(word) if piece]
