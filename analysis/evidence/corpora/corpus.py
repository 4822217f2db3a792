"""Annotated text read from files: CoNLL-U or JSON lines, each opened by its ending.

A broken line never stops the rest: it becomes a `Problem` that says the file, the line and what is wrong.
The two formats are described in analysis.evidence.corpora.json_lines and analysis.evidence.corpora.treebank.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from analysis.evidence.corpora.annotated import NOT_UTF8, Passage, Problem, Sentence
from analysis.evidence.corpora.json_lines import read_json_lines
from analysis.evidence.corpora.treebank import read_conllu
from model.errors import HeadworkError

CONLLU_ENDINGS = (".conllu", ".conll", ".conllx")
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
MOST_LINES = 2_000_000  # of a file: about 100 MB of CoNLL-U


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


def read_corpus(paths: Iterable[Path]) -> Corpus:
    """What files in either format hold.

    Raises:
        HeadworkError: a file that can't be opened, or has more than MOST_LINES lines.
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
    """What one file's content holds. The name's ending says the format; with another ending, the first character does.

    Raises:
        HeadworkError: more than MOST_LINES lines.
    """
    if (n_lines := content.count(b"\n")) > MOST_LINES:
        raise HeadworkError(
            "{file} has {n_lines} lines, and at most {most} are read. Split it at an empty line.",
            file=name,
            n_lines=n_lines,
            most=MOST_LINES,
        )
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
