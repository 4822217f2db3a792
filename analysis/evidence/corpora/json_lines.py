"""JSON lines: one object a line, a sentence with its arcs or a passage with a pronoun.

Both kinds have `words` and may have `space_after` (0 or 1 a word; all 1 when missing), `id`, `doc` and `upos`; indices
count words from 0. The other fields tell the kinds apart, and a line may be both:
    dependencies  `heads` (-1 = root) and `deprels`
    coreference   `pronoun`, `candidates` (head word of each mention that may be meant), `antecedents` (the right ones);
                  may have `candidate_spans` ([first, last], inclusive) and `candidate_deprels`; in a balanced set
                  of two candidates also `pair`, `template`, `part` (1 or 2), `order` (0 or 1) and `rarer` (0 or 1)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from analysis.evidence.corpora.annotated import (
    NOT_UTF8,
    Broken,
    Cell,
    Passage,
    Place,
    Problem,
    Sentence,
    check_arcs,
    check_length,
    check_word,
    lay_out,
)


def read_json_lines(name: str, lines: Sequence[str]) -> list[Sentence | Passage | Problem]:
    """Sentences, passages and problems of one file, in order."""
    found: list[Sentence | Passage | Problem] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line == NOT_UTF8:
            continue
        try:
            found.extend(_from_object(_object(line), Place(name, number)))
        except Broken as error:
            found.append(Problem(name, number, error.reason))
    return found


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
        if "\\ud" in line.lower():  # the half of a pair, which no file and no browser takes
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Broken("it holds half of a surrogate pair (\\ud800 to \\udfff)") from error
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
    check_length(len(words))
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
        check_arcs(heads)
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
        "antecedents": tuple(dict.fromkeys(antecedents)),  # each once, however often a line repeats it
        "candidate_ends": tuple(ends),
        "candidate_deprels": deprels,
        "cell": _cell(fields, len(candidates), len(antecedents)) if "pair" in fields else None,
    }


def _cell(fields: dict[str, Any], n_candidates: int, n_right: int) -> Cell:
    if (n_candidates, n_right) != (2, 1):
        raise Broken("in a balanced set a passage has two candidates and one antecedent")
    numbers = {"part": fields.get("part"), "order": fields.get("order"), "rarer": fields.get("rarer", 0)}
    for name, value in numbers.items():
        allowed = (1, 2) if name == "part" else (0, 1)
        if not _is_int(value) or value not in allowed:
            raise Broken(f"{name} must be {allowed[0]} or {allowed[1]}")
    if not all(isinstance(fields.get(name), str) and fields[name] for name in ("pair", "template")):
        raise Broken("pair and template must be names")
    return Cell(fields["pair"], fields["template"], numbers["part"], numbers["order"], bool(numbers["rarer"]))


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
