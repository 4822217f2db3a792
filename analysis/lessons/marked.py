"""YAML or JSON as a tree in which everything knows its line. No aliases, anchors or tags; JSON is YAML, nearly.

The text is read in one pass through YAML's events, so that nothing nested deeply or repeated by reference is ever
built. Plain scalars mean what they mean in JSON: true, false, null, numbers; "no" and "1:30" are texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from model import HeadworkError
from model.errors import clipped

MOST_BYTES = 256 * 1024
DEEPEST = 12  # levels of maps and lists; a lesson needs 6

Scalar: TypeAlias = "str | int | float | bool | None"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, 40 times as fast, is in every wheel
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]{0,17})(\.[0-9]{0,17})?|\.[0-9]{1,17})([eE][-+]?[0-9]{1,2})?")
_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_ESCAPE = re.compile(r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|.)", re.IGNORECASE | re.DOTALL)
# What no screen shows: control characters, halves of surrogate pairs, and what turns the direction of text around.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class LessonError(HeadworkError):
    """A mistake in a lesson file. Its sentence begins with the file and the line."""

    def __init__(self, template: str, *, file: str, line: int, **values: Any) -> None:
        super().__init__(template, file=file, line=line, **values)
        self.line = line


@dataclass(frozen=True)
class Node:
    """A value and the line that it, or its key, begins in; counted from 1."""

    value: Scalar | list[Node] | dict[str, Node]
    line: int


def read(raw: bytes, file: str) -> Node:
    """The tree of a file's content.

    Args:
        raw: UTF-8.
        file: its name, for errors.

    Raises:
        LessonError: it is too large, not UTF-8, not YAML, nested too deeply, or has aliases, anchors or tags.
    """
    text = _text(raw, file)
    events = _events(text, file)
    root = _node(next(events, None), events, file, 1)
    for event in events:
        raise LessonError(
            "{file}, line {line}: a second document begins here. A file holds one lesson.", file=file, line=_line(event)
        )
    return root


def _text(raw: bytes, file: str) -> str:
    if len(raw) > MOST_BYTES:
        raise LessonError(
            "{file}, line {line}: the file has {size} KB; a lesson has up to {most}. Make two lessons of it.",
            file=file,
            line=1,
            size=len(raw) // 1024,
            most=MOST_BYTES // 1024,
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LessonError(
            "{file}, line {line}: this is not UTF-8. Save the file as UTF-8.",
            file=file,
            line=raw.count(b"\n", 0, error.start) + 1,
        ) from error
    if (unseen := _UNSEEN.search(text.replace("\r\n", "\n"))) is not None:
        raise LessonError(
            "{file}, line {line}: there is a character that can't be seen, {character}. Remove it.",
            file=file,
            line=text.replace("\r\n", "\n").count("\n", 0, unseen.start()) + 1,
            character=f"U+{ord(unseen[0]):04X}",
        )
    return _from_json(text) if text.lstrip().startswith(("{", "[")) else text


def _from_json(text: str) -> str:
    """JSON so that YAML reads it: no tabs between values, no characters in two halves."""
    halves = lambda m: (  # noqa: E731
        m[0] if m[1] is None else (b"".join(int(m[i], 16).to_bytes(2, "big") for i in (1, 2))).decode("utf-16-be")
    )
    return _ESCAPE.sub(halves, text.replace("\t", " "))


def _events(text: str, file: str) -> Iterator[yaml.Event]:
    """The events of one document that carry a value, or end one."""
    parser, depth = _Loader(text), 0
    try:
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentEndEvent):
                continue
            if isinstance(event, yaml.DocumentStartEvent):
                if event.tags or event.version:
                    raise _no_such("%", event, file)
                continue
            if isinstance(event, yaml.AliasEvent):
                raise _no_such("*", event, file)
            if getattr(event, "anchor", None) is not None:
                raise _no_such("&", event, file)
            if getattr(event, "tag", None) is not None:
                raise _no_such("!", event, file)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise LessonError(
                    "{file}, line {line}: lists and maps are nested more than {most} deep. A lesson needs no more.",
                    file=file,
                    line=_line(event),
                    most=DEEPEST,
                )
            yield event
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise LessonError(
            "{file}, line {line}: this can't be read as YAML ({reason}). Check colons, quotes and indentation here.",
            file=file,
            line=1 if mark is None else mark.line + 1,
            reason=clipped(error.problem or error.context or "?", 120),
        ) from error
    except (yaml.YAMLError, ValueError, UnicodeError) as error:  # a character that YAML doesn't take
        if isinstance(error, HeadworkError):
            raise
        at = getattr(error, "position", 0) or 0
        raise LessonError(
            "{file}, line {line}: this can't be read as YAML ({reason}). Check colons, quotes and indentation here.",
            file=file,
            line=text.count("\n", 0, at) + 1,
            reason=clipped(getattr(error, "reason", None) or type(error).__name__, 120),
        ) from error
    finally:
        parser.dispose()


def _no_such(sign: str, event: yaml.Event, file: str) -> LessonError:
    return LessonError(
        "{file}, line {line}: {sign} has a meaning in YAML that lessons don't use. Put the text in quotes, or write "
        "the value out.",
        file=file,
        line=_line(event),
        sign=sign,
    )


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1


def _node(event: yaml.Event | None, events: Iterator[yaml.Event], file: str, line: int) -> Node:
    if event is None:  # an empty file
        return Node(None, line)
    if isinstance(event, yaml.ScalarEvent):
        return Node(_plain(event.value) if event.implicit[0] else event.value, line)
    if isinstance(event, yaml.SequenceStartEvent):
        entries: list[Node] = []
        for each in events:
            if isinstance(each, yaml.SequenceEndEvent):
                break
            entries.append(_node(each, events, file, _line(each)))
        return Node(entries, line)
    assert isinstance(event, yaml.MappingStartEvent)
    fields: dict[str, Node] = {}
    for key in events:
        if isinstance(key, yaml.MappingEndEvent):
            break
        if not isinstance(key, yaml.ScalarEvent):
            raise LessonError(
                "{file}, line {line}: a name before a colon is a word, not a list or a map. Did you forget quotes?",
                file=file,
                line=_line(key),
            )
        if key.value in fields:
            raise LessonError(
                "{file}, line {line}: “{name}” stands here twice. Keep one.",
                file=file,
                line=_line(key),
                name=clipped(key.value),
            )
        fields[key.value] = _node(next(events), events, file, _line(key))
    return Node(fields, line)


def _plain(text: str) -> Scalar:
    """What an unquoted scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
