"""Reads questions from text or a file, one a line, and says which lines are none.

A line is JSON ({"prompt": …, "right": …, "wrong": …}; the answers with the space before them), or plain text,
prompt | right | wrong, where a space is put before each answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from analysis.effects.questions import Problem, Question, checked
from model.errors import HeadworkError, first_line

MOST_QUESTIONS = 256  # each head is switched off on each of them: 256 of 14 tokens take SmolLM2 a quarter of an hour
MOST_BYTES = 20_000_000
MOST_LINE = 20_000  # characters; far more than a model reads here
SEPARATOR = "|"
_FIELDS = ("prompt", "right", "wrong", "cue", "other")


@dataclass(frozen=True)
class Questions:
    """What a text or a file asks.

    Attributes:
        questions: at most `MOST_QUESTIONS`.
        problems: lines that are no question.
        n_left_out: questions beyond the bound.
        lines: the line of each question, from 1.
    """

    questions: tuple[Question, ...]
    problems: tuple[Problem, ...] = ()
    n_left_out: int = 0
    lines: tuple[int, ...] = ()


def read_questions(path: Path, most: int = MOST_QUESTIONS) -> Questions:
    """The questions of a file, UTF-8. Broken lines become problems; the rest is taken.

    Raises:
        HeadworkError: the file can't be read, or holds no question.
    """
    try:
        with path.open("rb") as stream:
            found = parse_questions((_decoded(line) for line in _lines(path, stream)), most)
    except OSError as error:
        raise HeadworkError("{file} can't be read: {reason}.", file=path.name, reason=first_line(error)) from error
    if not found.questions and found.problems:
        raise HeadworkError(
            "{file} holds no question. {first} A line is prompt | right | wrong, or the same as JSON.",
            file=path.name,
            first=str(found.problems[0])[:300],
        )
    if not found.questions:
        raise HeadworkError("{file} holds no question: it is empty.", file=path.name)
    return found


def parse_questions(lines: str | Iterable[str], most: int = MOST_QUESTIONS) -> Questions:
    """The questions of a text, one a line; empty lines don't count. Beyond `most` they are counted, not kept."""
    questions: list[Question] = []
    problems: list[Problem] = []
    numbers: list[int] = []
    n_left_out = 0
    for number, line in enumerate(lines.splitlines() if isinstance(lines, str) else lines, 1):
        if not line.strip():
            continue
        if len(questions) == most:
            n_left_out += 1
            continue
        try:
            questions.append(_parsed(line))
            numbers.append(number)
        except HeadworkError as error:
            if len(problems) < most:
                problems.append(Problem(number, error))
    return Questions(tuple(questions), tuple(problems), n_left_out, tuple(numbers))


def _lines(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Lines; one that is far too long to be a question is cut, and then refused.

    Raises:
        HeadworkError: the file has no end in sight.
    """
    n_bytes, goes_on = 0, False
    while line := stream.readline(4 * MOST_LINE + 1):
        n_bytes += len(line)
        if n_bytes > MOST_BYTES:
            raise HeadworkError(
                "{file} has more than {most} MB. Keep the questions that you want to ask.",
                file=path.name,
                most=MOST_BYTES // 10**6,
            )
        if not goes_on:
            yield line
        goes_on = not line.endswith(b"\n")


def _decoded(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace")


def _parsed(line: str) -> Question:
    if len(line) > MOST_LINE:
        raise HeadworkError("It has more than {most} characters. Shorten the prompt.", most=MOST_LINE)
    if line.lstrip().startswith("{"):
        return _from_json(line)
    parts = line.rstrip("\r\n").split(SEPARATOR)
    if len(parts) != 3:
        raise HeadworkError(
            "It has {n} of three parts: write prompt | right | wrong, or the same as JSON.", n=len(parts)
        )
    prompt, right, wrong = parts[0].strip(), parts[1].strip(), parts[2].strip()
    return checked(Question(prompt, f" {right}" if right else "", f" {wrong}" if wrong else ""))


def _from_json(line: str) -> Question:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise HeadworkError("It is no JSON: {reason}.", reason=first_line(error)) from error
    values = {name: content.get(name, "") for name in _FIELDS}
    if not all(isinstance(value, str) for value in values.values()):
        raise HeadworkError("prompt, right and wrong are texts in quotes.")
    return checked(Question(**{name: _whole(value) for name, value in values.items()}))


def _whole(text: str) -> str:
    """Half of a surrogate pair becomes U+FFFD: JSON can write it, but no file, hash or page takes it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
