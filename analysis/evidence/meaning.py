"""Sentences in which nothing but the meaning tells whom a pronoun means: what matching genders is not.

Two sentences differ in one word, and the right noun changes with it: "The animal did not cross the street because it
was too tired / too wide" (the first pair of each language is after Uszkoreit 2017, the second after Levesque et al.
2012, the others are ours). "It" fits both nouns. A head that understood would move its arrow; one whose arrow stays is
right in one of the two, as it would be by going by place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.evidence.corpora.annotated import Passage, Place, lay_out
from analysis.evidence.corpora.corpus import Corpus
from analysis.evidence.scoring import Run, score
from analysis.sentences.handwritten import CLOSING
from model.tracing import AttentionModel

FILE = "meaning"


@dataclass(frozen=True)
class Twins:
    """Words parted by spaces with {x} for the one that differs; the first noun is right with `first`, the second with
    `second`. Nouns and pronoun are given by their position.
    """

    words: str
    first: str
    second: str
    nouns: tuple[int, int]
    pronoun: int


TWINS: dict[str, tuple[Twins, ...]] = {
    "en": (
        Twins("The animal did not cross the street because it was too {x} .", "tired", "wide", (1, 6), 8),
        Twins("The trophy did not fit into the suitcase because it was too {x} .", "big", "small", (1, 7), 9),
        Twins("The stone broke the window because it was so {x} .", "hard", "thin", (1, 4), 6),
        Twins("The piano did not go through the door because it was too {x} .", "wide", "narrow", (1, 7), 9),
        Twins("She poured the bottle into the glass until it was {x} .", "empty", "full", (3, 6), 8),
        Twins("The dog could not catch the cat because it was too {x} .", "slow", "fast", (1, 6), 8),
        Twins("The truck overtook the bus because it was going {x} .", "faster", "slower", (1, 4), 6),
        Twins("The rope did not hold the boat because it was too {x} .", "weak", "heavy", (1, 6), 8),
    ),
    "zh": (
        Twins("那 只 动物 没有 穿过 街道 ， 它 太 {x} 了 。", "累", "宽", (2, 5), 7),
        Twins("奖杯 放 不 进 箱子 ， 它 太 {x} 了 。", "大", "小", (0, 4), 6),
        Twins("石头 打破 了 窗户 ， 它 太 {x} 了 。", "硬", "薄", (0, 3), 5),
        Twins("钢琴 搬 不 进 大门 ， 它 太 {x} 了 。", "宽", "窄", (0, 4), 6),
        Twins("水 从 瓶子 倒进 杯子 ， 直到 它 {x} 了 。", "空", "满", (2, 4), 7),
        Twins("小狗 追 不 上 小猫 ， 它 太 {x} 了 。", "慢", "快", (0, 4), 6),
        Twins("卡车 超过 了 汽车 ， 它 开 得 更 {x} 。", "快", "慢", (0, 3), 5),
        Twins("绳子 拉 不 住 小船 ， 它 太 {x} 了 。", "细", "重", (0, 4), 6),
    ),
}


@dataclass(frozen=True, eq=False)
class Moves:
    """What heads do when only the meaning changes.

    Attributes:
        n: pairs of sentences in which nouns and pronoun have pieces of their own.
        moved: (L, h), in how many the arrow goes to another noun.
        right: (L, h), in how many both arrows are right.
    """

    n: int
    moved: NDArray[np.int64]
    right: NDArray[np.int64]


def passages(language: str) -> Corpus:
    """The sentences of a language, the two of a pair after each other."""
    return Corpus(passages=tuple(_passages(language)))


def _passages(language: str) -> Iterator[Passage]:
    for number, twins in enumerate(TWINS[language]):
        for right, changed in enumerate((twins.first, twins.second)):
            words = tuple(twins.words.format(x=changed).split())
            spaces = [language == "en" and following not in CLOSING for following in [*words[1:], "."]]
            text, spans = lay_out(words, spaces)
            yield Passage(
                id=f"{FILE}-{language}-{number + 1}-{'ab'[right]}",
                text=text,
                words=words,
                spans=spans,
                pronoun=twins.pronoun,
                candidates=twins.nouns,
                antecedents=(twins.nouns[right],),
                candidate_ends=twins.nouns,
                doc=str(number),
                place=Place(f"{FILE}-{language}", 2 * number + right + 1),
            )


def measure_moves(model: AttentionModel, language: str) -> Moves:
    """What a model's heads do on these sentences."""
    return moves(score(model, passages(language)))


def moves(run: Run) -> Moves:
    """What each head did, of a run over `passages`."""
    starts = np.searchsorted(run.choices.passage, np.arange(len(run.passages)))
    picks = run.choices.picks["all"][starts].astype(np.int64)  # (P, L, h), 0 = the first noun
    clear = ~run.choices.unclear.reshape(-1, 2).any(axis=1)  # (pairs,)
    first, second = picks[::2][clear], picks[1::2][clear]
    return Moves(
        n=int(clear.sum()),
        moved=(first != second).sum(axis=0),
        right=((first == 0) & (second == 1)).sum(axis=0),
    )
