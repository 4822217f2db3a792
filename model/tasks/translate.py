"""Translate: pairs of small invented languages in which the true alignment of every word is known by construction.

A source sentence is subject, verb, object. The target says it in another order: adjectives follow their noun, mirrored;
the verb comes last; and a verb that denies another becomes two words. `small old dogs love red cats` is
`dogo olda smala kato reda lovi`, and with `hate` it ends in `ne lovi`. The Chinese pair has the same structure, so
that a seed gives the same numbers in both.
Letters: B sentences, N_k source words at most, N_q rows of the target at most; a row is where a target word is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from model.errors import HeadworkError
from model.tasks.task import NO_KEY, NOTHING_ASKED

NOUN, ADJECTIVE, VERB, SPLIT = range(4)
CLASSES = ("noun", "adjective", "verb", "split verb")  # of target words; a split verb is both of its words
START, END = 0, 1  # numbers in the target's vocabulary
MARKS = ("<s>", "</s>")
MOST_ADJECTIVES = 2  # before a noun
MOST_SOURCE = 2 * (MOST_ADJECTIVES + 1) + 1  # N_k: two nouns with their adjectives, and the verb
MOST_TARGET = MOST_SOURCE + 2  # N_q: a verb may become two words, and the end is written too
HELD_OUT_OF = 10  # one sentence in ten is never trained on


class Pairs(NamedTuple):
    """Sentences with their translations. Places beyond a sentence's end hold 0, or NOTHING_ASKED and NO_KEY.

    Attributes:
        source: (B, N_k), numbers in the source vocabulary.
        is_source: (B, N_k), True = a word, False = beyond the end: no row may look there.
        target: (B, N_q), what the decoder reads: START, then the translation.
        answers: (B, N_q), what it must write in that row: the translation, then END.
        links: (B, N_q), the source word that the answer translates: the sure links, one for each target word.
        classes: (B, N_q), the answer's place in CLASSES.
    """

    source: Tensor
    is_source: Tensor
    target: Tensor
    answers: Tensor
    links: Tensor
    classes: Tensor


@dataclass(frozen=True)
class Translation:
    """A pair of languages with its dictionary.

    Attributes:
        id: its name on the command line and in links.
        about: one sentence: what the network must do.
        note: what the task shows and what it doesn't.
        nouns: source word to target word; likewise adjectives.
        verbs: source word to one target word, or to two.
    """

    id: str
    title: str
    about: str
    note: str
    nouns: dict[str, str]
    adjectives: dict[str, str]
    verbs: dict[str, tuple[str, ...]]

    @cached_property
    def source_vocabulary(self) -> tuple[str, ...]:
        """Nouns, adjectives, verbs."""
        return (*self.nouns, *self.adjectives, *self.verbs)

    @cached_property
    def target_vocabulary(self) -> tuple[str, ...]:
        """The marks of start and end, then every word once."""
        verbs = (word for words in self.verbs.values() for word in words)
        return tuple(dict.fromkeys((*MARKS, *self.nouns.values(), *self.adjectives.values(), *verbs)))

    @property
    def n_sentences(self) -> int:
        """How many sentences there are: two different adjectives at most before each noun."""
        n = len(self.adjectives)
        return (len(self.nouns) * (1 + n + n * (n - 1))) ** 2 * len(self.verbs)

    def batch(self, generator: torch.Generator, size: int, *, held_out: bool = False) -> Pairs:
        """`size` sentences: of those that may be trained on, or of those that never are. `generator` is moved on."""
        kept: list[Tensor] = []
        while sum(map(len, kept)) < size:
            drawn = self._draw(generator, (HELD_OUT_OF + 4) * size if held_out else 2 * size)
            kept.append(drawn[_is_held_out(drawn) == held_out])
        return self._pairs(torch.cat(kept)[:size])

    def of(self, source: str) -> Pairs:
        """One sentence that a person typed, with its true translation (B = 1).

        Raises:
            HeadworkError: words of another language, or in an order that is no sentence.
        """
        return self._pairs(self._parsed(source.split())[None])

    def translate(self, source: str) -> str:
        """The true translation of a sentence. Raises as `of`."""
        answers = self.of(source).answers[0]
        return " ".join(self.target_words(answers[answers > END]))

    def source_words(self, ids: Tensor) -> tuple[str, ...]:
        """The words of ids (N,)."""
        return tuple(self.source_vocabulary[number] for number in ids.tolist())

    def target_words(self, ids: Tensor) -> tuple[str, ...]:
        """The words of ids (N,), marks included."""
        return tuple(self.target_vocabulary[number] for number in ids.tolist())

    @property
    def sample(self) -> str:
        """One source sentence, always the same: it has every word class, and was never trained on."""
        pairs = self.batch(torch.Generator().manual_seed(0), 256, held_out=True)
        has_all = torch.stack([(pairs.classes == kind).any(dim=-1) for kind in (NOUN, ADJECTIVE, SPLIT)]).all(dim=0)
        first = int((has_all & (pairs.is_source.sum(dim=-1) == MOST_SOURCE - 1)).int().argmax())
        return " ".join(self.source_words(pairs.source[first][pairs.is_source[first]]))

    # A sentence as numbers: (adjectives, their two numbers, noun) of the subject, of the object, and the verb.

    def _draw(self, generator: torch.Generator, size: int) -> Tensor:
        """(size, 9): for each noun how many adjectives, the first, the second, the noun; then the verb."""

        def phrase() -> list[Tensor]:
            n = torch.randint(MOST_ADJECTIVES + 1, (size,), generator=generator)
            first = torch.randint(len(self.adjectives), (size,), generator=generator)
            other = torch.randint(1, len(self.adjectives), (size,), generator=generator)
            second = (first + other) % len(self.adjectives)  # never the first again
            noun = torch.randint(len(self.nouns), (size,), generator=generator)
            return [n, first * (n > 0), second * (n > 1), noun]

        verb = torch.randint(len(self.verbs), (size,), generator=generator)
        return torch.stack([*phrase(), *phrase(), verb], dim=-1)

    def _pairs(self, drawn: Tensor) -> Pairs:
        n_subject, s1, s2, s, n_object, o1, o2, o, verb = drawn.unbind(dim=-1)
        tables = self._tables
        always = torch.ones_like(verb, dtype=torch.bool)
        has = [n_subject > 0, n_subject > 1, always, always, n_object > 0, n_object > 1, always]
        adjectives = len(self.nouns)
        verbs = adjectives + len(self.adjectives)
        slots = torch.stack([adjectives + s1, adjectives + s2, s, verbs + verb, adjectives + o1, adjectives + o2, o], 1)
        has_source = torch.stack(has, dim=-1)  # (B, 7): A A N V A A N
        places = has_source.cumsum(dim=-1) - 1  # (B, 7): where a slot's word stands
        source, is_source = _compact(slots, has_source, 0), _compact(has_source, has_source, False)

        is_split = tables.verbs[verb, 1] >= 0
        order = torch.tensor([2, 1, 0, 6, 5, 4, 3, 3])  # N A A, N A A, V V: the slot that each target word translates
        has_target = torch.cat([has_source[:, order[:-1]], is_split[:, None]], dim=-1)  # (B, 8)
        words = torch.cat([tables.words[slots[:, order[:6]]], tables.verbs[verb]], dim=-1)
        classes = torch.tensor([NOUN, ADJECTIVE, ADJECTIVE, NOUN, ADJECTIVE, ADJECTIVE, VERB, VERB]).repeat(
            len(verb), 1
        )
        classes[:, 6:] = torch.where(is_split, SPLIT, VERB)[:, None]

        def row(values: Tensor, last: int, beyond: int) -> Tensor:
            """Target words in their rows, one row more for the end."""
            ended = torch.cat([values, torch.full((len(verb), 1), last)], dim=-1)
            return _compact(ended, torch.cat([has_target, always[:, None]], dim=-1), beyond)

        answers = row(words, END, NOTHING_ASKED)
        started = torch.cat([torch.full((len(verb), 1), START), answers[:, :-1]], dim=-1)
        target = started.clamp(min=0).masked_fill(answers == NOTHING_ASKED, 0)
        links = row(places[:, order], NO_KEY, NO_KEY)
        return Pairs(source, is_source, target, answers, links, row(classes, -1, -1))

    def _parsed(self, words: Sequence[str]) -> Tensor:
        """A typed sentence as `_draw` has it: (9,)."""
        unknown = [word for word in words if word not in self.source_vocabulary]
        if unknown:
            raise HeadworkError(
                "The source language has no word {words}. It has: {vocabulary}.",
                words=", ".join(word[:40] for word in dict.fromkeys(unknown[:3])),
                vocabulary=" ".join(self.source_vocabulary),
            )
        verbs = [i for i, word in enumerate(words) if word in self.verbs]
        phrases = [words[: verbs[0]], words[verbs[0] + 1 :]] if len(verbs) == 1 else []
        adjectives, nouns = list(self.adjectives), list(self.nouns)
        found: list[int] = []
        for *before, noun in filter(None, phrases):
            if noun in self.nouns and len(before) <= MOST_ADJECTIVES and set(before) <= self.adjectives.keys():
                numbers = [adjectives.index(word) for word in before]
                found += [len(before), *numbers, *[0] * (MOST_ADJECTIVES - len(before)), nouns.index(noun)]
        if len(found) != 8:
            raise HeadworkError(
                "This is no sentence of the source language: up to two adjectives and a noun, a verb, and again up to "
                "two adjectives and a noun. Such as: {sample}",
                sample=self.sample,
            )
        return torch.tensor([*found, list(self.verbs).index(words[verbs[0]])])

    @cached_property
    def _tables(self) -> _Tables:
        number = {word: i for i, word in enumerate(self.target_vocabulary)}
        words = [*self.nouns.values(), *self.adjectives.values()]
        verbs = [[number[word] for word in of_verb] for of_verb in self.verbs.values()]
        return _Tables(
            words=torch.tensor([number[word] for word in words]),
            verbs=torch.tensor([of_verb if len(of_verb) == 2 else [*of_verb, -1] for of_verb in verbs]),
        )


class _Tables(NamedTuple):
    """The dictionary as numbers of target words."""

    words: Tensor  # of nouns and adjectives, by source word
    verbs: Tensor  # (verbs, 2): −1 where there is no second word


def _compact(values: Tensor, present: Tensor, beyond: int | bool) -> Tensor:
    """The present values of each row side by side, in their order; `beyond` after them. Both (B, n)."""
    order = (~present).to(torch.int8).argsort(dim=-1, stable=True)
    return values.gather(1, order).masked_fill(~present.gather(1, order), beyond)


def _is_held_out(drawn: Tensor) -> Tensor:
    """Whether a sentence (…, 9) is one of the tenth that is never trained on: by its own words, whoever draws it."""
    code = torch.zeros_like(drawn[..., 0])
    for part in drawn.unbind(dim=-1):
        code = (code * 31 + part) & 0xFFFFFFFF
    mixed = (code * 2_654_435_761) & 0xFFFFFFFF  # Knuth's multiplicative hashing: neighbours are torn apart
    return (mixed >> 16) % HELD_OUT_OF == 0


_ABOUT = (
    "Translate whole sentences between two small invented languages, word after word: adjectives follow their noun, "
    "the verb comes last, and some verbs become two words."
)
_NOTE = (
    "Which source word each target word comes from is known, because the languages were made that way. The network is "
    "never told: it sees sentences and their translations only, as numbers, so that likeness of words doesn't help. "
    "Attention where the aligned word stands shows where a head looks, not all that it uses."
)


def _words(pairs: str) -> dict[str, str]:
    """Such as "dogs/dogo cats/kato"."""
    return {source: target for source, _, target in (pair.partition("/") for pair in pairs.split())}


def _verbs(pairs: str) -> dict[str, tuple[str, ...]]:
    """Likewise, with "+" between two target words."""
    return {source: tuple(target.split("+")) for source, target in _words(pairs).items()}


TRANSLATE_ENGLISH = Translation(
    id="translate-en",
    title="Translate (English)",
    about=_ABOUT,
    note=_NOTE,
    nouns=_words(
        "dogs/dogo cats/kato birds/birdo horses/horso wolves/volfo bears/bero kings/kingo queens/kvino friends/frendo "
        "children/kildo"
    ),
    adjectives=_words(
        "small/smala big/biga old/olda young/yunga red/reda quick/kvika wise/vaiza loud/lauda happy/hapa brave/brava"
    ),
    verbs=_verbs(
        "love/lovi hate/ne+lovi remember/memori forget/ne+memori trust/trusti doubt/ne+trusti see/sii "
        "overlook/ne+sii help/helpi follow/folovi call/kali chase/chesi"
    ),
)
TRANSLATE_CHINESE = Translation(
    id="translate-zh",
    title="Translate (Chinese)",
    about=_ABOUT,
    note=_NOTE,
    nouns=_words("狗/犬 猫/狸 鸟/禽 马/驹 狼/豺 熊/罴 国王/君 王后/妃 朋友/友 孩子/童"),
    adjectives=_words("小/幼 大/巨 老/耆 年轻/少 红/赤 快/疾 聪明/慧 吵闹/喧 快乐/欢 勇敢/勇"),
    verbs=_verbs(
        "喜欢/爱 讨厌/不+爱 记得/忆 忘记/不+忆 相信/信 怀疑/不+信 看见/见 忽略/不+见 帮助/助 跟随/随 呼唤/呼 追赶/逐"
    ),
)
TRANSLATIONS: dict[str, Translation] = {task.id: task for task in (TRANSLATE_ENGLISH, TRANSLATE_CHINESE)}
