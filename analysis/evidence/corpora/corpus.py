"""Annotated text: sentences with dependency arcs and passages with a pronoun, read from CoNLL-U or JSON lines.

A broken line never stops the rest: it becomes a `Problem` that says the file, the line and what is wrong.
The two formats are described in analysis.evidence.corpora.json_lines and analysis.evidence.corpora.treebank.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.words.chinese import n_chinese
from model.errors import HeadworkError

Span = tuple[int, int]
# Subtypes that are relations of their own; every other subtype is dropped ("nmod:tmod" counts as "nmod").
KEPT_SUBTYPES = frozenset({"nmod:poss", "nsubj:pass", "aux:pass", "compound:prt", "acl:relcl"})
NOT_UTF8 = "\ufffd"  # stands for a line that can't be decoded
CONLLU_ENDINGS = (".conllu", ".conll", ".conllx")
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")


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


@dataclass(frozen=True)
class Source:
    """A file that was read."""

    file: str
    sha256: str
    n_sentences: int
    n_passages: int


@dataclass(frozen=True)
class Corpus:
    """What was read, in the order of the files."""

    sentences: tuple[Sentence, ...] = ()
    passages: tuple[Passage, ...] = ()
    problems: tuple[Problem, ...] = ()
    sources: tuple[Source, ...] = ()

    def __add__(self, other: Corpus) -> Corpus:
        return Corpus(
            self.sentences + other.sentences,
            self.passages + other.passages,
            self.problems + other.problems,
            self.sources + other.sources,
        )


class Broken(ValueError):
    """What is wrong with a line; `offset` counts lines from where the sentence begins."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def relation(deprel: str) -> str:
    """The relation that a UD label counts as: subtypes are dropped but for KEPT_SUBTYPES."""
    return deprel if deprel in KEPT_SUBTYPES else deprel.partition(":")[0]


def read_corpus(paths: Iterable[Path]) -> Corpus:
    """Reads files in either format.

    Raises:
        HeadworkError: a file that can't be opened.
    """
    corpus = Corpus()
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise HeadworkError(
                "{file} can't be read: {reason}.", file=str(path), reason=error.strerror or str(error)
            ) from error
        corpus += read_content(path.name, content)
    return corpus


def read_content(name: str, content: bytes) -> Corpus:
    """Reads one file's content. The name's ending says the format; with another ending, the first character does."""
    from analysis.evidence.corpora.json_lines import read_json_lines
    from analysis.evidence.corpora.treebank import read_conllu

    lines, problems = _decode(name, content)
    ending = Path(name).suffix.lower()
    first = next((line.lstrip()[:1] for line in lines if line.strip()), "")
    is_json = ending in JSON_ENDINGS or (ending not in CONLLU_ENDINGS and first == "{")
    found = read_json_lines(name, lines) if is_json else read_conllu(name, lines)
    sentences = tuple(each for each in found if isinstance(each, Sentence))
    passages = tuple(each for each in found if isinstance(each, Passage))
    problems += [each for each in found if isinstance(each, Problem)]
    source = Source(name, hashlib.sha256(content).hexdigest(), len(sentences), len(passages))
    return Corpus(sentences, passages, tuple(sorted(problems, key=lambda problem: problem.line)), (source,))


def is_chinese(text: str) -> bool:
    """Whether most letters of a text are Chinese characters. Those of Japanese words don't count."""
    return 2 * n_chinese(text) > sum(c.isalpha() for c in text)


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


def check_arcs(heads: Sequence[int], n_words: int) -> None:
    """Refuses arcs that make no tree of `n_words` words.

    Raises:
        Broken: a head outside the sentence, a word that is its own head, no root, or a circle.
    """
    for word, head in enumerate(heads):
        if not -1 <= head < n_words:
            raise Broken(f"the head of word {word + 1} is no word of this sentence", word)
        if head == word:
            raise Broken(f"word {word + 1} is its own head", word)
    if -1 not in heads:
        raise Broken("no word is the root")
    for word in range(n_words):
        seen = 0
        while word != -1:
            word = heads[word]
            seen += 1
            if seen > n_words:
                raise Broken("the arcs run in a circle")


def _decode(name: str, content: bytes) -> tuple[list[str], list[Problem]]:
    """The file's lines; one that is not UTF-8 becomes NOT_UTF8, and a problem."""
    lines, problems = [], []
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            lines.append(raw.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            problems.append(Problem(name, number, f"byte {error.start + 1} is not UTF-8"))
            lines.append(NOT_UTF8)
    return lines, problems
