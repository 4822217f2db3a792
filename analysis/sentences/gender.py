"""A balanced set of sentences with two people, one of each gender, and a pronoun that only gender tells whom it means.

Every pair of nouns stands in every template in both orders and with both pronouns, so four sentences belong together:

    爸爸在花园里遇见了妈妈，他手里拿着一本书。    妈妈在花园里遇见了爸爸，他手里拿着一本书。
    爸爸在花园里遇见了妈妈，她手里拿着一本书。    妈妈在花园里遇见了爸爸，她手里拿着一本书。

A head that goes by place (the first noun, the nearest, the subject) is right in two of the four, and so is one that
goes by the noun alone. The templates leave open who is meant: nothing but the pronoun's gender decides.
Templates come in two parts, so that a head chosen on one can be scored on the other. Rarer pairs are in the set, but no
head is chosen on them (data/corpus/README.md says why). Every noun is one word, known by its position.

`python -m analysis.sentences.gender --language zh --out data/corpus/gender_zh.jsonl` writes the set.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from analysis.sentences.handwritten import CLOSING, as_json_lines
from model.command_line import EXIT_OK, command
from model.files import write_whole

Gender = Literal["m", "f"]
GENDERS: tuple[Gender, ...] = ("m", "f")


@dataclass(frozen=True)
class Pair:
    """Two nouns, a man's and a woman's, with what stands before each: "the", "my" or nothing."""

    man: str
    woman: str
    before: str = ""
    rarer: bool = False

    @property
    def name(self) -> str:
        """Both nouns: king/queen."""
        return f"{self.man}/{self.woman}"

    def noun(self, gender: Gender) -> list[str]:
        """The words of one of them; the noun is the last."""
        return [*self.before.split(), self.man if gender == "m" else self.woman]


@dataclass(frozen=True)
class Template:
    """Words parted by spaces; {A} and {B} are the people in their order, {he} or {him} is the pronoun."""

    name: str
    part: int  # 1 or 2
    words: str


@dataclass(frozen=True)
class Language:
    """What the set is made of in one language, and the forms of each pronoun for a man and a woman."""

    code: str
    spaced: bool
    pairs: tuple[Pair, ...]
    templates: tuple[Template, ...]
    pronouns: dict[str, dict[Gender, str]]


CHINESE = Language(
    "zh",
    spaced=False,
    pairs=(
        Pair("爸爸", "妈妈"),
        Pair("爷爷", "奶奶"),
        Pair("哥哥", "姐姐"),
        Pair("弟弟", "妹妹"),
        Pair("叔叔", "阿姨"),
        Pair("舅舅", "姑姑"),
        Pair("国王", "王后"),
        Pair("王子", "公主"),
        Pair("丈夫", "妻子"),
        Pair("男孩", "女孩"),
        Pair("小明", "小红"),
        Pair("小刚", "小丽"),
        Pair("外公", "外婆", rarer=True),
        Pair("新郎", "新娘", rarer=True),
        Pair("志强", "美玲", rarer=True),
        Pair("王先生", "李小姐", rarer=True),
    ),
    templates=(
        Template("garden", 1, "{A} 在 花园 里 遇见 了 {B} ， {he} 手里 拿 着 一 本 书 。"),
        Template("letter", 1, "{A} 把 信 交给 {B} 以后 ， {he} 转身 走 了 。"),
        Template("hospital", 1, "{A} 陪 {B} 去 了 医院 ， 回来 以后 {he} 一直 没有 说话 。"),
        Template("beside", 1, "{A} 坐 在 {B} 旁边 ， {he} 看起来 有点 累 。"),
        Template("ask", 2, "{A} 写信 问 {B} ， {he} 是不是 做 错 了 什么 。"),
        Template("quarrel", 2, "{A} 跟 {B} 吵 了 一 架 ， 第二天 {he} 病倒 了 。"),
        Template("gate", 2, "{A} 和 {B} 走到 门口 的 时候 ， 有人 叫住 了 {him} 。"),
        Template("suitcase", 2, "{A} 帮 {B} 提 箱子 的 时候 ， {he} 摔 了 一 跤 。"),
        # 因为他 is one piece of some vocabularies: there, 他 has no row of its own.
        Template("because", 2, "{A} 给 {B} 写 了 一 封 信 ， 因为 {he} 心里 很 难过 。"),
    ),
    pronouns={"he": {"m": "他", "f": "她"}, "him": {"m": "他", "f": "她"}},
)
ENGLISH = Language(
    "en",
    spaced=True,
    pairs=(
        Pair("king", "queen", "the"),
        Pair("prince", "princess", "the"),
        Pair("boy", "girl", "the"),
        Pair("man", "woman", "the"),
        Pair("actor", "actress", "the"),
        Pair("father", "mother", "my"),
        Pair("brother", "sister", "my"),
        Pair("uncle", "aunt", "my"),
        Pair("grandfather", "grandmother", "my"),
        Pair("John", "Mary"),
        Pair("David", "Sarah"),
        Pair("Robert", "Emily"),
        Pair("duke", "duchess", "the", rarer=True),
        Pair("groom", "bride", "the", rarer=True),
        Pair("monk", "nun", "the", rarer=True),
        Pair("nephew", "niece", "my", rarer=True),
    ),
    templates=(
        Template("garden", 1, "{A} met {B} in the garden , and {he} was carrying a book ."),
        Template("letter", 1, "after {A} had handed {B} the letter , {he} turned and walked away ."),
        Template("hospital", 1, "{A} went with {B} to the hospital , and on the way home {he} said nothing ."),
        Template("beside", 1, "{A} sat down beside {B} , and {he} looked a little tired ."),
        Template("ask", 2, "{A} wrote to ask {B} whether {he} had done something wrong ."),
        Template("quarrel", 2, "{A} quarrelled with {B} , and the next day {he} fell ill ."),
        Template("gate", 2, "{A} and {B} had reached the gate when somebody called {him} back ."),
        Template("suitcase", 2, "{A} was helping {B} with the suitcases when {he} slipped and fell ."),
        Template("because", 2, "{A} wrote {B} a letter because {he} felt lonely ."),
    ),
    pronouns={"he": {"m": "he", "f": "she"}, "him": {"m": "him", "f": "her"}},
)
LANGUAGES = {each.code: each for each in (CHINESE, ENGLISH)}


def sentences(language: Language) -> list[dict[str, Any]]:
    """All lines of the set: pair by pair, template by template, both orders, both pronouns."""
    return list(_lines(language))


def _other(gender: Gender) -> Gender:
    return "f" if gender == "m" else "m"


def _lines(language: Language) -> Iterator[dict[str, Any]]:
    for number, pair in enumerate(language.pairs, start=1):
        for template in language.templates:
            for first in GENDERS:
                for meant in GENDERS:
                    id_ = f"gender-{language.code}-{template.name}-{number:02d}-{first}{_other(first)}-{meant}"
                    yield {"id": id_, **_line(language, pair, template, first, meant)}


def _line(language: Language, pair: Pair, template: Template, first: Gender, meant: Gender) -> dict[str, Any]:
    """One sentence. Positions are counted while the words are laid down, never searched for."""
    second = _other(first)
    words: list[str] = []
    spans: dict[Gender, tuple[int, int]] = {}
    pronoun = -1
    for slot in template.words.split():
        if slot in ("{A}", "{B}"):
            gender = first if slot == "{A}" else second
            noun = pair.noun(gender)
            spans[gender] = (len(words), len(words) + len(noun) - 1)
            words += noun
        elif slot.startswith("{"):
            pronoun = len(words)
            words.append(language.pronouns[slot.strip("{}")][meant])
        else:
            words.append(slot)
    if language.spaced:
        words[0] = words[0][0].upper() + words[0][1:]
    space_after = [int(language.spaced and following not in CLOSING) for following in [*words[1:], "."]]
    order = [spans[first], spans[second]]
    return {
        "doc": pair.name,
        "text": "".join(word + " " * space for word, space in zip(words, space_after, strict=True)).strip(),
        "words": words,
        "space_after": space_after,
        "pronoun": pronoun,
        "candidates": [last for _, last in order],
        "candidate_spans": [list(span) for span in order],
        "antecedents": [spans[meant][1]],
        "pair": pair.name,
        "template": template.name,
        "part": template.part,
        "order": GENDERS.index(first),
        "rarer": int(pair.rarer),
        "cue": "gender",
        "source": "Headwork",
        "license": "MIT",
    }


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the set of one language. Returns the exit code."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m analysis.sentences.gender", description=about)
    parser.add_argument("--language", choices=sorted(LANGUAGES), required=True)
    parser.add_argument("--out", type=Path, required=True, help="the JSON-lines file to write")
    options = parser.parse_args(arguments)
    lines = sentences(LANGUAGES[options.language])
    write_whole(options.out, as_json_lines(lines))
    print(f"{len(lines)} sentences written to {options.out}")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
