"""Writes the sets of questions that ship: `python -m analysis.effects.make_sets`. Own sentences, 64 a set.

What isn't asked about is balanced: every name or noun is right as often as wrong, first as often as second, and both
orders, both numbers and both genders stand in the same sentences. Within a set there are few lengths, so that prompts
run together. Every answer is one token of SmolLM2's vocabulary (and GPT-2's), which tests/analysis/effects checks.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from analysis.effects.questions import Question
from analysis.effects.sets import FOLDER
from model.command_line import EXIT_OK, command
from model.files import check_writable, write_whole

NAME_PAIRS = (("Mary", "John"), ("Kate", "Mark"), ("Anna", "Paul"), ("Emma", "Tom"))
HANDED_OVER = (
    "When {a} and {b} left the museum, {giver} handed the map to",
    "While {a} and {b} waited at the station, {giver} gave a sandwich to",
    "After {a} and {b} had finished the game, {giver} showed the score to",
    "Because {a} and {b} were tired, {giver} brought a chair to",
)
# A noun that the verb agrees with, and one that only stands before the verb: singular, plural.
AGREEING = (
    (("key", "keys"), "to", ("cabinet", "cabinets")),
    (("picture", "pictures"), "on", ("wall", "walls")),
    (("letter", "letters"), "from", ("friend", "friends")),
    (("road", "roads"), "near", ("river", "rivers")),
    (("story", "stories"), "about", ("king", "kings")),
    (("window", "windows"), "of", ("house", "houses")),
    (("book", "books"), "by", ("teacher", "teachers")),
    (("door", "doors"), "to", ("room", "rooms")),
    (("cup", "cups"), "beside", ("box", "boxes")),
    (("horse", "horses"), "behind", ("farmer", "farmers")),
    (("song", "songs"), "about", ("ship", "ships")),
    (("bridge", "bridges"), "over", ("lake", "lakes")),
    (("tower", "towers"), "in", ("city", "cities")),
    (("student", "students"), "with", ("painter", "painters")),
    (("child", "children"), "of", ("teacher", "teachers")),
    (("garden", "gardens"), "around", ("village", "villages")),
)
VERBS = ((" is", " are"), (" was", " were"))
# fmt: off
WORDS = (
    "tree", "clock", "river", "table", "stone", "horse", "paper", "bread", "window", "music", "winter",
    "letter", "bridge", "button", "orange", "lion", "apple", "fish", "bird", "rose", "milk", "salt", "glass",
    "chair", "door", "wheel", "boat", "rain", "sand", "leaf", "cloud", "coin",
)
# fmt: on
CAPITALS = (
    (("France", "Paris"), ("Italy", "Rome")),
    (("Germany", "Berlin"), ("Spain", "Madrid")),
    (("England", "London"), ("Austria", "Vienna")),
    (("Greece", "Athens"), ("Ireland", "Dublin")),
    (("Japan", "Tokyo"), ("China", "Beijing")),
    (("Egypt", "Cairo"), ("Poland", "Warsaw")),
    (("Russia", "Moscow"), ("Sweden", "Stockholm")),
    (("Portugal", "Lisbon"), ("Cuba", "Havana")),
)
OF_A_COUNTRY = (
    "The capital of {country} is",
    "The capital city of {country} is called",
    "The government of {country} has its seat in the capital,",
    "She moved to {country} and lived in the capital,",
)
GENDER_PAIRS = (
    ("John", "Mary"),
    ("Mark", "Kate"),
    ("Paul", "Anna"),
    ("Tom", "Emma"),
    ("David", "Lucy"),
    ("Peter", "Sarah"),
    ("James", "Alice"),
    ("Robert", "Laura"),
)
OF_A_PERSON = (
    "Yesterday {name} went home early because",
    "The letter made {name} smile, and then",
    "Everybody knows that {name} will come if",
    "When the music began, {name} said that",
)
ANSWERS_LATER = (3, 4, 5, 6)  # words of the second round before the answer


def indirect_object() -> list[Question]:
    """Who gets it: the one of two people who isn't the giver."""
    return [
        Question(sentence.format(a=a, b=b, giver=giver), f" {a if giver == b else b}", f" {giver}")
        for sentence in HANDED_OVER
        for pair in NAME_PAIRS
        for a, b in (pair, pair[::-1])
        for giver in (a, b)
    ]


def agreement() -> list[Question]:
    """The verb's number: that of the first noun, although one of the other number stands before the verb."""
    made = []
    for right_noun, preposition, noun in AGREEING:
        for verbs in VERBS:
            for plural in (0, 1):
                start, end = f"The {right_noun[plural]}", f" {preposition} the {noun[1 - plural]}"
                other = f"The {right_noun[1 - plural]}{end}"
                made.append(
                    Question(start + end, verbs[plural], verbs[1 - plural], cue=right_noun[plural], other=other)
                )
    return made


def induction(seed: int = 0) -> list[Question]:
    """What came next the first time: eight random words, and the first of them again."""
    draw = random.Random(seed)
    made = []
    for later in ANSWERS_LATER:
        for _ in range(16):
            words = draw.sample(WORDS, 8)
            wrong = words[draw.choice([i for i in range(1, 8) if i != later])]
            prompt = " ".join([*words, *words[:later]])
            made.append(Question(prompt, f" {words[later]}", f" {wrong}"))
    return made


def capitals() -> list[Question]:
    """Which city: each country beside another, whose capital is the wrong answer."""
    return [
        Question(
            sentence.format(country=mine), f" {right}", f" {wrong}", cue=mine, other=sentence.format(country=others)
        )
        for sentence in OF_A_COUNTRY
        for pair in CAPITALS
        for (mine, right), (others, wrong) in (pair, pair[::-1])
    ]


def gender() -> list[Question]:
    """He or she: what the name suggests."""
    return [
        Question(sentence.format(name=name), right, wrong, cue=name, other=sentence.format(name=other))
        for sentence in OF_A_PERSON
        for he, she in GENDER_PAIRS
        for name, other, right, wrong in ((he, she, " he", " she"), (she, he, " she", " he"))
    ]


MAKERS: dict[str, Callable[[], Sequence[Question]]] = {
    "indirect_object": indirect_object,
    "agreement": agreement,
    "induction": induction,
    "capitals": capitals,
    "gender": gender,
}


def as_lines(questions: Sequence[Question]) -> str:
    """A question a line, fields without content left out."""
    return "".join(
        json.dumps({name: value for name, value in asdict(each).items() if value}, ensure_ascii=False) + "\n"
        for each in questions
    )


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m analysis.effects.make_sets", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="a folder that is there (default: %(default)s)")
    options = parser.parse_args(arguments)
    check_writable(options.out / "indirect_object.jsonl")
    for name, make in MAKERS.items():
        write_whole(options.out / f"{name}.jsonl", as_lines(make()))
    return EXIT_OK


if __name__ == "__main__":
    raise SystemExit(main())
