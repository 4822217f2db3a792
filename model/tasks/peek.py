"""Peek: short sentences whose next word can be foretold only so well, and how well is known: one bit a word.

A sentence has four words: who, what they do, to what, and a full stop. Any of four may begin; two verbs go with each of
them, and two objects with each of the two together: 2 + 1 + 1 + 0 bits, and all choices are equally likely. A text has
one to three sentences, so that a batch has to be padded. Letters: B texts, N places, V words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from model.tasks.task import NOTHING_ASKED

START = 0  # number of the mark that a text begins with
SLOTS = ("subject", "verb", "object", "full stop")
MOST_SENTENCES = 3
N_PLACES = len(SLOTS) * MOST_SENTENCES  # N: what is read is START and all words but the last

# subject: verb: two objects. The same in both languages, word by word.
ENGLISH = {
    "cats": {"chase": ("mice", "birds"), "drink": ("milk", "water")},
    "dogs": {"chase": ("cars", "hares"), "bury": ("bones", "balls")},
    "cows": {"eat": ("grass", "hay"), "drink": ("water", "rain")},
    "crows": {"eat": ("worms", "seeds"), "build": ("nests", "homes")},
}
CHINESE = {
    "猫": {"追": ("老鼠", "鸟"), "喝": ("牛奶", "水")},
    "狗": {"追": ("汽车", "野兔"), "埋": ("骨头", "球")},
    "牛": {"吃": ("青草", "干草"), "喝": ("水", "雨水")},
    "乌鸦": {"吃": ("虫子", "种子"), "搭": ("鸟窝", "家")},
}
Story = dict[str, dict[str, tuple[str, str]]]


class Texts(NamedTuple):
    """Texts and what comes next in them.

    Attributes:
        ids: (B, N), what is read: START, then the words but the last; 0 where the text has ended.
        targets: (B, N), the word after each place; NOTHING_ASKED where the text has ended.
        is_padding: (B, N), True beyond the end of the text.
    """

    ids: Tensor
    targets: Tensor
    is_padding: Tensor


@dataclass(frozen=True)
class Peek:
    """The language and what can be known of its next word."""

    id: str
    title: str
    about: str
    note: str
    story: Story
    words_zh: Story
    full_stops: tuple[str, str] = (".", "。")

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """V words: the mark of the start, the full stop, then subjects, verbs and objects, each once."""
        return self._vocabulary(self.story, self.full_stops[0])

    @cached_property
    def vocabulary_zh(self) -> tuple[str, ...]:
        """The same words in Chinese, in the same places."""
        return self._vocabulary(self.words_zh, self.full_stops[1])

    @staticmethod
    def _vocabulary(story: Story, full_stop: str) -> tuple[str, ...]:
        verbs = (verb for of_subject in story.values() for verb in of_subject)
        objects = (word for of_subject in story.values() for pair in of_subject.values() for word in pair)
        return tuple(dict.fromkeys(("<s>", full_stop, *story, *verbs, *objects)))

    @cached_property
    def sentences(self) -> Tensor:
        """Every sentence as numbers of words: (16, 4), all equally likely."""
        number = {word: i for i, word in enumerate(self.vocabulary)}
        return torch.tensor(
            [
                [number[word] for word in (subject, verb, thing, self.full_stops[0])]
                for subject, verbs in self.story.items()
                for verb, pair in verbs.items()
                for thing in pair
            ]
        )

    def batch(self, generator: torch.Generator, size: int, *, n_sentences: int | None = None) -> Texts:
        """`size` texts of one to three sentences each, or of `n_sentences`; padded to N. `generator` is moved on."""
        drawn = torch.randint(len(self.sentences), (size, MOST_SENTENCES), generator=generator)
        words = self.sentences[drawn].flatten(1)  # (B, N)
        lengths = torch.randint(1, MOST_SENTENCES + 1, (size, 1), generator=generator)
        if n_sentences is not None:
            lengths.fill_(n_sentences)
        is_padding = torch.arange(N_PLACES) >= len(SLOTS) * lengths  # (B, N)
        ids = torch.cat([torch.full((size, 1), START), words[:, :-1]], dim=-1)
        return Texts(ids.masked_fill(is_padding, 0), words.masked_fill(is_padding, NOTHING_ASKED), is_padding)

    def allowed_next(self, words: tuple[int, ...]) -> frozenset[int]:
        """The words that the grammar allows after those written so far, all equally likely; none after a wrong one.

        Only the sentence in hand counts: a mistake before the last full stop's place is forgiven.
        """
        return self._next.get(words[len(words) - len(words) % len(SLOTS) :], frozenset())

    @cached_property
    def _next(self) -> dict[tuple[int, ...], frozenset[int]]:
        """By the words of a sentence so far."""
        found: dict[tuple[int, ...], set[int]] = {}
        for row in self.sentences.tolist():
            for n, word in enumerate(row):
                found.setdefault(tuple(row[:n]), set()).add(word)
        return {begun: frozenset(words) for begun, words in found.items()}

    @cached_property
    def choices(self) -> tuple[int, ...]:
        """How many words are allowed after 0, 1, 2 and 3 words of a sentence: 4, 2, 2 and 1, whatever those were."""
        first = tuple(self.sentences[0].tolist())
        return tuple(len(self.allowed_next(first[:n])) for n in range(len(SLOTS)))

    @property
    def floor_by_place(self) -> tuple[float, ...]:
        """The entropy of the next word given all before it, in nats, at each of the N places: ln 4, ln 2, ln 2, 0, …

        Who reads the past alone can't have a lower loss on average.
        """
        return tuple(math.log(count) for count in self.choices) * MOST_SENTENCES

    @property
    def floor(self) -> float:
        """Its mean in nats a word, the same for texts of any number of sentences: ln 2, one bit."""
        return sum(map(math.log, self.choices)) / len(SLOTS)

    @property
    def best_accuracy(self) -> float:
        """The share of next words that can be guessed from the past alone: the mean of 1/4, 1/2, 1/2 and 1."""
        return sum(1 / count for count in self.choices) / len(SLOTS)

    @property
    def chance(self) -> float:
        """The share of words that the grammar allows when all are drawn alike, each after those drawn before it."""
        begun, shares = 1.0, []
        for count in self.choices:
            begun *= count / len(self.vocabulary)  # a word is right only after right ones
            shares.append(begun)
        return sum(shares) / len(SLOTS)

    def words(self, ids: Tensor, *, chinese: bool = False) -> tuple[str, ...]:
        """The words of one text, from ids (N,)."""
        vocabulary = self.vocabulary_zh if chinese else self.vocabulary
        return tuple(vocabulary[number] for number in ids.tolist())

    @property
    def sample(self) -> str:
        """One text as it is read, with its start mark."""
        return " ".join(self.words(self.batch(torch.Generator().manual_seed(0), 1, n_sentences=MOST_SENTENCES).ids[0]))


PEEK = Peek(
    id="peek",
    title="Peek",
    about="Foretell the next word of a text. One network reads from left to right; another may also see the words to "
    "come, and so each next word stands in plain sight, one place to the right.",
    note="How well the next word can be foretold is known here, because the language was made that way: the choices "
    "are worth one bit a word (0.693 nats). A lower loss has been read off, not foretold.",
    story=ENGLISH,
    words_zh=CHINESE,
)
