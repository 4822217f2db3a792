"""Reads the hand-written sentences (data/corpus/hand_*.txt) and writes them as JSON lines.

One sentence a line, one bracket a phrase; trees and word positions follow from the brackets, so none is typed:

    == gender-01 | gender
    Anna/nsubj=a phoned Peter/obj=b [advcl before/mark {she|he}/nsubj={a|b}! left [obj the/det office]] .

- `word/relation` depends on the head of the bracket around it; `[relation … head …]` is a phrase with one bare word,
  its head. The bare word outside all brackets is the root. `relation>word` names a head elsewhere in the sentence.
- `=a` makes the word or phrase a mention of entity a; `!` marks the pronoun to resolve, `!number` with its own cue.
- `{x|y}` makes two sentences of one, "…a" with x and "…b" with y. `word:ADJ` states a part of speech that the default
  misses.
- `~` glues a word to the next one; closing marks and 's are glued without it.

`python -m analysis.sentences.handwritten data/corpus/hand_en.txt --out data/corpus/hand_en.jsonl`
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model.command_line import EXIT_INPUT, EXIT_OK, command, fail
from model.files import check_writable, write_whole

CLOSING = {",", ".", "?", "!", ";", ":", "'s", "n't", "'", "，", "。", "？", "！", "、"}
PUNCTUATION = {",", ".", "?", "!", ";", ":", "，", "。", "？", "！", "、"}
BY_RELATION = {
    "det": "DET", "amod": "ADJ", "case": "ADP", "cc": "CCONJ", "cc:preconj": "CCONJ", "mark": "SCONJ", "aux": "AUX",
    "aux:pass": "AUX", "cop": "AUX", "advmod": "ADV", "nummod": "NUM", "compound:prt": "ADP", "expl": "PRON",
    "discourse": "INTJ", "clf": "NOUN", "mark:rel": "SCONJ", "discourse:sp": "PART", "det:predet": "DET",
    "mark:adv": "SCONJ", "compound:ext": "PART",
}  # fmt: skip
CLAUSES = {"root", "advcl", "ccomp", "xcomp", "acl", "acl:relcl", "csubj", "parataxis"}
_PRONOUNS = """
i me you he him she her it we us they them who whom whose that which what nobody everybody nothing everything there
my your his its our their myself himself herself itself themselves
我 你 他 她 它 我们 你们 他们 她们 它们 自己 谁 什么 大家 这 那
"""
PRONOUNS = set(_PRONOUNS.split())
PARTICLES = {"'s", "'", "n't", "not", "的"}


class NotationError(ValueError):
    """A line that can't be read, with what is wrong."""


@dataclass(eq=False)
class Node:
    """A word of the tree being read; equal only to itself."""

    form: str
    deprel: str
    upos: str = ""
    entity: str = ""
    scored: str | None = None  # the pronoun's own cue ("" for the block's), None if it isn't scored
    glued: bool = False
    elsewhere: str = ""  # the form of a head outside the bracket
    head: "Node | None" = None
    children: list["Node"] = field(default_factory=list)
    first: int = -1  # the bracket's words, inclusive; the word itself for a leaf
    last: int = -1


_MENTION = r"(?:=(?P<entity>\w))?(?P<mark>!\w*)?"
_LABEL = re.compile(r"(?P<relation>[a-z]+(?::[a-z]+)?)(?P<upos>:[A-Z]+)?(?:>(?P<elsewhere>\S+?))?" + _MENTION)
_HEAD = re.compile(r"(?P<form>.+?)(?P<upos>:[A-Z]+)?" + _MENTION)


def _node(form: str, label: re.Match[str], relation: str) -> Node:
    groups = label.groupdict()
    mark = groups["mark"]
    glued = form.endswith("~")
    return Node(
        form.removesuffix("~"), relation, (groups["upos"] or "").lstrip(":"), groups["entity"] or "",
        None if mark is None else mark[1:], glued, groups.get("elsewhere") or "",
    )  # fmt: skip


def read_tree(line: str) -> list[Node]:
    """The words of one sentence in order, linked to their heads."""
    words: list[Node] = []
    stack: list[dict[str, Any]] = [{"label": None, "head": None, "leaves": [], "first": 0}]
    for token in line.replace("[", " [").replace("]", " ] ").split():
        if token.startswith("["):
            label = _LABEL.fullmatch(token[1:])
            if not label:
                raise NotationError(f"{token!r} is no relation: {line}")
            stack.append({"label": label, "head": None, "leaves": [], "first": len(words)})
        elif token == "]":
            _close(stack, words, line)
        elif token in PUNCTUATION:
            node = Node(token, "punct", "PUNCT")
            stack[-1]["leaves"].append(node)
            _place(node, words)
        elif "/" in token:
            form, rest = token.split("/", 1)
            form, _, upos = form.partition(":")
            label = _LABEL.fullmatch(rest)
            if not label:
                raise NotationError(f"{token!r} names no relation: {line}")
            node = _node(form, label, label["relation"])
            node.upos = upos or node.upos
            stack[-1]["leaves"].append(node)
            _place(node, words)
        else:
            label = _HEAD.fullmatch(token)
            if label is None or stack[-1]["head"] is not None:
                raise NotationError(f"{token!r} is a second head: {line}")
            node = _node(label["form"], label, "root")
            stack[-1]["head"] = node
            _place(node, words)
    if len(stack) != 1 or stack[0]["head"] is None:
        raise NotationError(f"a bracket is open or the root is missing: {line}")
    _adopt(stack[0])
    for node in words:
        if node.elsewhere:
            others = [other for other in words if other.form == node.elsewhere]
            if len(others) != 1:
                raise NotationError(f"{node.elsewhere!r} must occur once: {line}")
            if node.head is not None:
                node.head.children.remove(node)
            node.head = others[0]
    for index, node in enumerate(words):
        node.upos = node.upos or _part_of_speech(node, index)
    return words


def _place(node: Node, words: list[Node]) -> None:
    node.first = node.last = len(words)
    words.append(node)


def _adopt(bracket: dict[str, Any]) -> None:
    for leaf in bracket["leaves"]:
        leaf.head = bracket["head"]
        bracket["head"].children.append(leaf)


def _close(stack: list[dict[str, Any]], words: list[Node], line: str) -> None:
    bracket = stack.pop()
    node: Node | None = bracket["head"]
    if node is None or not stack:
        raise NotationError(f"a bracket has no head or isn't open: {line}")
    _adopt(bracket)
    label = bracket["label"]
    outer = _node(node.form, label, label["relation"])
    node.deprel, node.elsewhere = outer.deprel, outer.elsewhere
    node.upos = node.upos or outer.upos
    if outer.entity and node.entity:
        raise NotationError(f"two mentions share the head {node.form!r}: {line}")
    node.entity = node.entity or outer.entity
    if node.scored is None:
        node.scored = outer.scored
    node.first, node.last = bracket["first"], len(words) - 1
    stack[-1]["leaves"].append(node)


def _part_of_speech(node: Node, index: int) -> str:
    """The part of speech that the relation, the children or the form make likely; the source overrides it."""
    form, relation = node.form, node.deprel
    inside = {child.deprel for child in node.children}
    if relation == "mark":
        return "PART" if form == "to" else "SCONJ"
    if form in PARTICLES and relation in ("case", "advmod"):
        return "PART"
    if relation in BY_RELATION:
        return BY_RELATION[relation]
    if form.lower() in PRONOUNS:
        return "PRON"
    clause = relation in CLAUSES or (relation == "conj" and node.head is not None and not _is_nominal(node.head))
    if clause and not inside & {"det", "nmod", "nummod", "case"}:
        return "ADJ" if "cop" in inside or (relation == "conj" and _is_adjective(node.head)) else "VERB"
    if form[0].isupper() and not (index == 0 and inside & {"amod", "det"}):
        return "PROPN"
    return "NOUN"


def _is_adjective(node: Node | None) -> bool:
    return node is not None and (node.upos == "ADJ" or "cop" in {child.deprel for child in node.children})


def _is_nominal(node: Node) -> bool:
    nominal = ("nsubj", "obj", "iobj", "obl", "nmod", "appos")
    return node.upos in ("NOUN", "PROPN") or node.deprel.split(":")[0] in nominal


def blocks(text: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """(topic, id, cue, lines) of every item of a source file, alternatives written out as two items."""
    topic, name, cue, lines = "", "", "", list[str]()
    items: list[tuple[str, str, str, list[str]]] = []
    for line in [*text.splitlines(), "== end"]:
        if line.startswith("=="):
            if lines:
                items.append((topic, name, cue, lines))
            name, _, cue = (part.strip() for part in line[2:].partition("|"))
            lines = []
        elif line.startswith("## "):
            items += [(topic, name, cue, lines)] if lines else []
            topic, lines = line[3:].strip(), []
        elif line.strip() and not line.startswith("#"):
            lines.append(line.strip())
    for topic, name, cue, lines in items:
        choices = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")
        if choices.search("".join(lines)):
            for letter, group in (("a", r"\1"), ("b", r"\2")):
                yield topic, name + letter, cue, [choices.sub(group, line) for line in lines]
        else:
            yield topic, name, cue, lines


def lines_of(text: str, language: str) -> list[dict[str, Any]]:
    """All JSON lines of a source file: one for each sentence's arcs, one for each pronoun to resolve."""
    arcs: list[dict[str, Any]] = []
    pronouns: list[dict[str, Any]] = []
    seen: set[str] = set()
    for topic, name, cue, lines in blocks(text):
        if not name:
            raise NotationError(f"a sentence needs a line such as '== name | cue' above it: {lines[0]}")
        doc = f"hand-{language}-" + (name[:-1] if name[-1].isalpha() else name)
        common = {"topic": topic, "cue": cue or "structure", "source": "Headwork", "license": "MIT"}
        trees = [read_tree(line) for line in lines]
        for number, tree in enumerate(trees, 1):
            spaces = _spaces(tree, language)
            written = _text(tree, spaces)
            if written in seen:
                continue
            seen.add(written)
            suffix = f".{number}" if len(trees) > 1 else ""
            arcs.append(
                {
                    "id": f"hand-{language}-{name}{suffix}", "doc": doc, "text": written,
                    "words": [node.form for node in tree],
                    "heads": [-1 if node.head is None else _index(tree, node.head) for node in tree],
                    "deprels": [node.deprel for node in tree], "upos": [node.upos for node in tree],
                    "space_after": spaces, **common,
                }
            )  # fmt: skip
        pronouns += _pronouns(f"hand-{language}-{name}", doc, trees, common, language)
    return arcs + pronouns


def _index(tree: list[Node], node: Node) -> int:
    return next(index for index, other in enumerate(tree) if other is node)


def _spaces(tree: list[Node], language: str) -> list[int]:
    if language == "zh":
        return [0] * len(tree)
    return [int(not node.glued and following not in CLOSING) for node, following in
            zip(tree, [*(node.form for node in tree[1:]), "x"], strict=True)]  # fmt: skip


def _text(tree: list[Node], spaces: list[int]) -> str:
    return "".join(node.form + " " * space for node, space in zip(tree, spaces, strict=True)).strip()


def _span(node: Node, tree: list[Node]) -> tuple[int, int]:
    """The words of a mention: its bracket without the preposition, conjunction, comma or 's around it."""
    outside = {_index(tree, child) for child in node.children if child.deprel in ("case", "punct", "cc", "mark")}
    first, last = node.first, node.last
    parts = [child.first for child in node.children if child.deprel == "conj" and child.entity]
    last = min([last, *(part - 1 for part in parts)])  # "a violin [and eleven flutes]": two mentions
    while first in outside:
        first += 1
    while last in outside:
        last -= 1
    return first, last


def _pronouns(
    name: str, doc: str, trees: list[list[Node]], common: dict[str, str], language: str
) -> list[dict[str, Any]]:  # fmt: skip
    """A line for every pronoun marked `!`: the mentions that end before it, and which of them are right."""
    flat = [node for tree in trees for node in tree]
    spaces = [space for tree in trees for space in _spaces(tree, language)]
    mentions: list[tuple[int, int, int, Node]] = []  # head word, span, node
    start = 0
    for tree in trees:
        for index, node in enumerate(tree):
            if node.entity:
                first, last = _span(node, tree)
                mentions.append((start + index, start + first, start + last, node))
        start += len(tree)
    scored = [mention for mention in mentions if mention[3].scored is not None]
    lines = []
    for number, (position, _, _, pronoun) in enumerate(scored, 1):
        before = [mention for mention in mentions if mention[2] < position]
        right = [mention for mention in before if mention[3].entity == pronoun.entity]
        if len(before) < 2 or not right or len(right) == len(before):
            raise NotationError(f"{name}: {pronoun.form!r} needs a right and a wrong mention before it")
        lines.append(
            {
                "id": name + (f".p{number}" if len(scored) > 1 else ".p"), "doc": doc,
                "text": "".join(n.form + " " * s for n, s in zip(flat, spaces, strict=True)).strip(),
                "words": [node.form for node in flat], "upos": [node.upos for node in flat], "space_after": spaces,
                "pronoun": position, "candidates": [mention[0] for mention in before],
                "candidate_spans": [[mention[1], mention[2]] for mention in before],
                "antecedents": [mention[0] for mention in right],
                "antecedents_nominal": [mention[0] for mention in right if mention[3].upos != "PRON"],
                "candidate_deprels": [mention[3].deprel for mention in before],
                "candidate_entity": [mention[3].entity for mention in before],
                **common, "cue": pronoun.scored or common["cue"],
            }
        )  # fmt: skip
    return lines


def as_json_lines(lines: Iterable[dict[str, Any]]) -> str:
    """One object a line."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Converts a source file. Returns the exit code."""
    about = "Write hand-written sentences as JSON lines."
    parser = argparse.ArgumentParser(prog="python -m analysis.sentences.handwritten", description=about)
    parser.add_argument("source", type=Path, help="data/corpus/hand_en.txt")
    parser.add_argument("--out", type=Path, required=True, help="the JSON-lines file to write")
    options = parser.parse_args(arguments)
    check_writable(options.out)
    try:
        lines = lines_of(options.source.read_text(encoding="utf-8"), options.source.stem.split("_")[-1])
    except OSError as error:
        return fail(f"{options.source} can't be read: {error.strerror or error}.", EXIT_INPUT)
    except ValueError as error:  # not UTF-8, or not the notation
        return fail(f"{options.source}: {error}.", EXIT_INPUT)
    write_whole(options.out, as_json_lines(lines))
    n_arcs = sum("heads" in line for line in lines)
    print(f"{n_arcs} sentences with arcs, {len(lines) - n_arcs} pronouns to resolve")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
