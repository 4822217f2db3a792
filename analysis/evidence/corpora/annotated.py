"""What annotated text is made of, whatever it was read from: sentences with arcs, passages with a pronoun, problems."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.words.spans import Span

# Subtypes that are relations of their own; every other subtype is dropped ("nmod:tmod" counts as "nmod").
KEPT_SUBTYPES = frozenset({"nmod:poss", "nsubj:pass", "aux:pass", "compound:prt", "acl:relcl"})
NOT_UTF8 = "\ufffd"  # stands for a line that can't be decoded
MOST_WORDS = 1000  # of a sentence or passage: no model here reads more than 512 tokens


@dataclass(frozen=True)
class Problem:
    """One sentence or line that could not be used."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


@dataclass(frozen=True)
class Place:
    """Where an example was read: file and its first line, counted from 1."""

    file: str
    line: int


@dataclass(frozen=True)
class Sentence:
    """A sentence and its dependency arcs.

    Attributes:
        text: rebuilt from the words.
        spans: each word's characters in `text`. Words of one contracted token ("du" = de + le) share its span.
        heads: index of each word's head; -1 = root.
        deprels: relations, with subtype, as annotated.
        doc: the document it comes from, where known.
    """

    id: str
    text: str
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    doc: str | None = None
    upos: tuple[str, ...] | None = None
    place: Place = Place("", 0)


@dataclass(frozen=True)
class Cell:
    """Where a passage stands in a balanced set (analysis.sentences.gender).

    Attributes:
        pair: the two nouns, "king/queen".
        template: name of the sentence that they were put into.
        part: 1 or 2; a head is chosen on templates of one part and scored on the other.
        order: 0 = the pair's first noun comes first, 1 = its second.
        rarer: a pair that no head is chosen on.
    """

    pair: str
    template: str
    part: int
    order: int
    rarer: bool = False


@dataclass(frozen=True)
class Passage:
    """A passage with one pronoun to be resolved.

    Attributes:
        candidates: head word of each mention that may be meant.
        antecedents: the right ones among `candidates`.
        candidate_ends: last word of each candidate.
        candidate_deprels: relation of each candidate's head word, where known.
        cell: its place in a balanced set, where it is of one.
    """

    id: str
    text: str
    words: tuple[str, ...]
    spans: tuple[Span, ...]
    pronoun: int
    candidates: tuple[int, ...]
    antecedents: tuple[int, ...]
    candidate_ends: tuple[int, ...]
    candidate_deprels: tuple[str, ...] | None = None
    upos: tuple[str, ...] | None = None
    doc: str | None = None
    place: Place = Place("", 0)
    cell: Cell | None = None

    @property
    def nouns(self) -> tuple[int, ...] | None:
        """Which of `candidates` (by position) are no pronouns; None when the parts of speech are not known."""
        if self.upos is None:
            return None
        return tuple(i for i, word in enumerate(self.candidates) if self.upos[word] != "PRON")


class Broken(ValueError):
    """What is wrong with a line; `offset` counts lines from where the sentence begins."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def relation(deprel: str) -> str:
    """The relation that a UD label counts as: subtypes are dropped but for KEPT_SUBTYPES."""
    return deprel if deprel in KEPT_SUBTYPES else deprel.partition(":")[0]


def lay_out(words: Sequence[str], space_after: Sequence[bool]) -> tuple[str, tuple[Span, ...]]:
    """The text that words make, and each word's characters in it."""
    text, spans = "", []
    for word, space in zip(words, space_after, strict=True):
        spans.append((len(text), len(text) + len(word)))
        text += word + (" " if space else "")
    return text.rstrip(" "), tuple(spans)


def check_word(word: object, number: int) -> str:
    """A word that a tokenizer can be given.

    Raises:
        Broken: no text, nothing but space, or characters that no text holds.
    """
    if not isinstance(word, str) or not word.strip():
        raise Broken(f"word {number} is empty")
    if word != word.strip() or any(unicodedata.category(c) in ("Cc", "Cs") for c in word):
        raise Broken(f"word {number} holds control characters or begins or ends with a space")
    return word


def check_length(n_words: int) -> None:
    """Refuses more than MOST_WORDS words.

    Raises:
        Broken: there are more.
    """
    if n_words > MOST_WORDS:
        raise Broken(f"it has {n_words} words, and at most {MOST_WORDS} are read: is an empty line missing?")


def check_arcs(heads: Sequence[int]) -> None:
    """Refuses arcs that make no tree. Each word is passed once.

    Raises:
        Broken: a head outside the sentence, a word that is its own head, no root, or a circle.
    """
    for word, head in enumerate(heads):
        if not -1 <= head < len(heads):
            raise Broken(f"the head of word {word + 1} is no word of this sentence", word)
        if head == word:
            raise Broken(f"word {word + 1} is its own head", word)
    if -1 not in heads:
        raise Broken("no word is the root")
    walk_of = [-1] * len(heads)  # the first walk towards the root that came by each word
    for walk in range(len(heads)):
        word = walk
        while word != -1 and walk_of[word] == -1:
            walk_of[word] = walk
            word = heads[word]
        if word != -1 and walk_of[word] == walk:
            raise Broken("the arcs run in a circle")
