"""CoNLL-U (universaldependencies.org/format.html), parsed by the `conllu` library.

Words are the syntactic words: the lines with a whole number. A multi-word token ("3-4") gives the text and the space
after it; its words get their part of its characters where their forms spell it ("don't" = do + n't), and otherwise all
of them ("du" = de + le). Empty nodes ("8.1") are dropped: they stand for no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import conllu
from conllu.exceptions import ParseException

from analysis.evidence.corpora.annotated import (
    NOT_UTF8,
    Broken,
    Place,
    Problem,
    Sentence,
    check_arcs,
    check_length,
    check_word,
)
from analysis.words.spans import Span

_COLUMN_END = re.compile(r"\t| {2,}")  # as the library parts columns
_NEEDED_COLUMNS = 8  # up to the relation; what follows is rarely used, and some files leave it out


@dataclass(frozen=True)
class _Surface:
    """A stretch of text without a space inside, and the words that it holds."""

    form: str
    first: int
    last: int
    space_after: bool


def read_conllu(name: str, lines: Sequence[str]) -> list[Sentence | Problem]:
    """Sentences and problems of one file, in order. A document begins with "# newdoc"."""
    found: list[Sentence | Problem] = []
    doc: str | None = None
    for first_line, block in _blocks(lines):
        for number, line in enumerate(block, start=first_line):
            key, _, value = (part.strip() for part in line.removeprefix("#").partition("="))
            if line.startswith("#") and key.split()[:1] == ["newdoc"]:
                doc = value or f"line {number}"
        try:
            sentence = _sentence(block, Place(name, first_line), doc)
        except Broken as error:
            found.append(Problem(name, first_line + error.offset, error.reason))
            continue
        if sentence is not None:
            found.append(sentence)
    return found


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _sentence(block: list[str], place: Place, doc: str | None) -> Sentence | None:
    if NOT_UTF8 in block:
        return None  # a line that is not UTF-8 was reported when it was read
    parsed, line_of = _parse(block)
    if not line_of:
        return None  # comments only
    rows = [token for token in parsed if isinstance(token["id"], int)]
    offsets = [line_of[i] for i, token in enumerate(parsed) if isinstance(token["id"], int)]
    if not rows:
        raise Broken("there are no words")
    words, heads, deprels = [], [], []
    for i, (token, offset) in enumerate(zip(rows, offsets, strict=True), start=1):
        if token["id"] != i:
            raise Broken(f"word {i} has the number {token['id']}", offset)
        try:
            words.append(check_word(token["form"], i))
        except Broken as error:
            raise Broken(error.reason, offset) from error
        head, deprel = token.get("head"), token.get("deprel")
        if not isinstance(head, int) or not deprel or deprel == "_":
            raise Broken(f"word {i} has no head or no relation", offset)
        heads.append(head - 1)
        deprels.append(str(deprel))
    try:
        check_arcs(heads)
    except Broken as error:
        raise Broken(error.reason, offsets[error.offset]) from error
    text, spans = _spans(words, _surfaces(parsed, line_of, words))
    return Sentence(
        id=parsed.metadata.get("sent_id") or f"{place.file}:{place.line}",
        text=text,
        words=tuple(words),
        spans=spans,
        heads=tuple(heads),
        deprels=tuple(deprels),
        doc=doc,
        upos=tuple(str(token.get("upos") or "_") for token in rows),
        place=place,
    )


def _parse(block: list[str]) -> tuple[conllu.TokenList, list[int]]:
    """The block as the library reads it, and the line of each token, counted from the block's first."""
    line_of = [i for i, line in enumerate(block) if not line.lstrip().startswith("#")]
    check_length(len(line_of))
    for offset in line_of:  # before the library, which takes ten times as long to refuse a line
        n_columns = len(_COLUMN_END.split(block[offset].strip()))
        if n_columns < _NEEDED_COLUMNS:
            raise Broken(f"a word needs ten columns parted by tabs; this line has {n_columns}", offset)
    try:
        parsed = conllu.parse_token_and_metadata("\n".join(block))
    except (ParseException, ValueError) as whole:  # ValueError: int() reads 4,300 digits
        for offset in line_of:  # the library doesn't say which line
            try:
                conllu.parse_token_and_metadata(block[offset])
            except ParseException as error:
                raise Broken(str(error).rstrip("."), offset) from error
            except ValueError as error:
                raise Broken("a number has too many digits", offset) from error
        raise Broken(str(whole).rstrip(".")) from whole
    for token, offset in zip(parsed, line_of, strict=True):
        if token.get("id") is None:
            raise Broken("a word needs a number in its first column", offset)
    return parsed, line_of


def _surfaces(parsed: conllu.TokenList, line_of: list[int], words: list[str]) -> list[_Surface]:
    """The sentence's text in stretches: multi-word tokens, and the words outside them."""
    surfaces: list[_Surface] = []
    covered = 0  # words so far
    for token, offset in zip(parsed, line_of, strict=True):
        number = token["id"]
        space = (token.get("misc") or {}).get("SpaceAfter") != "No"
        if isinstance(number, int):
            if number > covered:
                surfaces.append(_Surface(token["form"], number - 1, number - 1, space))
                covered = number
        elif number[1] == "-":
            first, _, last = number
            if first != covered + 1 or last > len(words):
                raise Broken(f"the multi-word token {first}-{last} doesn't fit the words around it", offset)
            try:
                form = check_word(token["form"], first)
            except Broken as error:
                raise Broken(error.reason, offset) from error
            surfaces.append(_Surface(form, first - 1, last - 1, space))
            covered = last
    return surfaces


def _spans(words: list[str], surfaces: list[_Surface]) -> tuple[str, tuple[Span, ...]]:
    text, spans = "", []
    for surface in surfaces:
        start, inside = len(text), words[surface.first : surface.last + 1]
        text += surface.form
        if "".join(inside).lower() == surface.form.lower():
            for word in inside:
                spans.append((start, start + len(word)))
                start += len(word)
        else:
            spans.extend([(start, len(text))] * len(inside))
        text += " " if surface.space_after else ""
    return text.rstrip(" "), tuple(spans)
