"""Annotated text: sentences with dependency arcs and passages with a pronoun, read from CoNLL-U or JSON lines.

A broken line never stops the rest: it becomes a `Problem` that says the file, the line and what is wrong.

JSON lines, one object a line. Both kinds have `words` and may have `space_after` (0 or 1 a word; all 1 when missing),
`id`, `doc` and `upos`; indices count words from 0. The other fields tell them apart, and a line may be both:
    dependencies  `heads` (-1 = root) and `deprels`
    coreference   `pronoun`, `candidates` (head word of each mention that may be meant), `antecedents` (the right ones);
                  may have `candidate_spans` ([first, last], inclusive) and `candidate_deprels`
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.errors import HeadworkError

Span = tuple[int, int]
# Subtypes that are relations of their own; every other subtype is dropped ("nmod:tmod" counts as "nmod").
KEPT_SUBTYPES = frozenset({"nmod:poss", "nsubj:pass", "aux:pass", "compound:prt", "acl:relcl"})
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
class Passage:
    """A passage with one pronoun to be resolved.

    Attributes:
        candidates: head word of each mention that may be meant.
        antecedents: the right ones among `candidates`.
        candidate_ends: last word of each candidate.
        candidate_deprels: relation of each candidate's head word, where known.
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
    from analysis.treebank import read_conllu

    lines, problems = _decode(name, content)
    ending = Path(name).suffix.lower()
    first = next((line.lstrip()[:1] for line in lines if line.strip()), "")
    is_json = ending in JSON_ENDINGS or (ending not in CONLLU_ENDINGS and first == "{")
    found = _read_json_lines(name, lines) if is_json else read_conllu(name, lines)
    sentences = tuple(each for each in found if isinstance(each, Sentence))
    passages = tuple(each for each in found if isinstance(each, Passage))
    problems += [each for each in found if isinstance(each, Problem)]
    source = Source(name, hashlib.sha256(content).hexdigest(), len(sentences), len(passages))
    return Corpus(sentences, passages, tuple(sorted(problems, key=lambda problem: problem.line)), (source,))


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
    """The file's lines; one that is not UTF-8 becomes U+FFFD throughout, which no format takes, and a problem."""
    lines, problems = [], []
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            lines.append(raw.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            problems.append(Problem(name, number, f"byte {error.start + 1} is not UTF-8"))
            lines.append("\ufffd")
    return lines, problems


def _read_json_lines(name: str, lines: Sequence[str]) -> list[Sentence | Passage | Problem]:
    found: list[Sentence | Passage | Problem] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line == "\ufffd":
            continue
        try:
            found.extend(_from_object(_object(line), Place(name, number)))
        except Broken as error:
            found.append(Problem(name, number, error.reason))
    return found


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        raise Broken(f"this is not JSON{where}") from error
    if not isinstance(value, dict):
        raise Broken("a line must be an object in braces")
    return value


def _from_object(fields: dict[str, Any], place: Place) -> Iterator[Sentence | Passage]:
    is_passage = "pronoun" in fields or "candidates" in fields
    is_sentence = "heads" in fields or "deprels" in fields
    if not is_passage and not is_sentence:
        raise Broken("there are neither heads and deprels nor a pronoun and candidates")
    words = _list(fields, "words")
    if not words:
        raise Broken("there are no words")
    words = [check_word(word, number) for number, word in enumerate(words, start=1)]
    n_words = len(words)
    spaces = [True] * n_words
    if "space_after" in fields:
        spaces = _list(fields, "space_after", n_words, lambda x: x in (0, 1), "0 or 1")
    text, spans = lay_out(words, spaces)
    upos = _strings(fields, "upos", n_words) if fields.get("upos") is not None else None
    id_ = str(fields.get("id") or f"{place.file}:{place.line}")
    doc = str(fields["doc"]) if fields.get("doc") is not None else None
    common: dict[str, Any] = {
        "id": id_, "text": text, "words": tuple(words), "spans": spans, "upos": upos, "doc": doc, "place": place
    }  # fmt: skip
    if is_sentence:
        heads = _list(fields, "heads", n_words, _is_int, "whole numbers")
        check_arcs(heads, n_words)
        yield Sentence(**common, heads=tuple(heads), deprels=_strings(fields, "deprels", n_words))
    if is_passage:
        yield Passage(**common, **_coreference(fields, n_words))


def _coreference(fields: dict[str, Any], n_words: int) -> dict[str, Any]:
    def is_word(value: Any) -> bool:
        return _is_int(value) and 0 <= value < n_words

    what = f"word indices from 0 to {n_words - 1}"
    pronoun = fields.get("pronoun")
    if not is_word(pronoun):
        raise Broken("pronoun must be the index of a word")
    candidates = _list(fields, "candidates", None, is_word, what)
    antecedents = _list(fields, "antecedents", None, is_word, what)
    if not candidates or len(set(candidates)) < len(candidates):
        raise Broken("candidates must be one or more different words")
    if pronoun in candidates:
        raise Broken("the pronoun is among its own candidates")
    if not antecedents or not set(antecedents) <= set(candidates):
        raise Broken("antecedents must be one or more of the candidates")
    ends = list(candidates)
    if fields.get("candidate_spans") is not None:
        spans = _list(
            fields,
            "candidate_spans",
            len(candidates),
            lambda x: isinstance(x, list) and len(x) == 2 and all(map(is_word, x)) and x[0] <= x[1],
            "pairs of words",
        )
        ends = [last for _, last in spans]
    deprels = None
    if fields.get("candidate_deprels") is not None:
        deprels = _strings(fields, "candidate_deprels", len(candidates))
    return {
        "pronoun": pronoun,
        "candidates": tuple(candidates),
        "antecedents": tuple(antecedents),
        "candidate_ends": tuple(ends),
        "candidate_deprels": deprels,
    }


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list(
    fields: dict[str, Any],
    name: str,
    length: int | None = None,
    fits: Callable[[Any], bool] | None = None,
    what: str = "",
) -> list[Any]:
    if name not in fields:
        raise Broken(f"{name} is missing")
    value = fields[name]
    if not isinstance(value, list):
        raise Broken(f"{name} must be a list")
    if length is not None and len(value) != length:
        raise Broken(f"{name} has {len(value)} entries, but {length} are needed")
    if fits is not None and not all(fits(each) for each in value):
        raise Broken(f"{name} must hold {what}")
    return value


def _strings(fields: dict[str, Any], name: str, length: int) -> tuple[str, ...]:
    return tuple(_list(fields, name, length, lambda x: isinstance(x, str) and bool(x), "words"))
