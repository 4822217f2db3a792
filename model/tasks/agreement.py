"""Pronoun and verb: a toy grammar in which one word must look two ways at once, in English and in Chinese.

The word is a verb with its object pronoun ("greets-him", 夸他). Its verb agrees in number with its subject, its pronoun
in gender and number with another noun, and it must say who each of them is. Three nouns stand before it: one in a
sentence of its own, and the subject and a companion in either order. The subject and the companion differ in number,
and of the three exactly one agrees with the pronoun, so that neither place nor form alone gives the answers away.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from model.tasks.task import NO_KEY, NOTHING_ASKED, Batch, Defaults, Relation, Size, Task

MASCULINE, FEMININE = 0, 1
SINGULAR, PLURAL = 0, 1
SUBJECT, COMPANION, OTHER = range(3)
Forms = tuple[tuple[str, str], tuple[str, str]]  # [gender][number]
Kind = tuple[int, int]  # gender and number of a noun
ROLES = ("S", "C", "O", "did", "V", "f1", "f2")  # subject, companion, other noun, what it did, the verb, two fillers


class Casting(NamedTuple):
    """What the nouns of a sentence are, and whom the pronoun means."""

    nouns: tuple[Kind, ...]  # of SUBJECT, COMPANION and OTHER
    meant: int  # COMPANION or OTHER


@dataclass(frozen=True)
class Grammar:
    """The words of one language.

    Attributes:
        stems: what is answered: the noun without gender and number, since pronoun and verb tell those anyway.
        nouns: the forms of each stem.
        pronouns: the forms of the object pronoun.
        verbs: (singular, plural) of each verb.
        join: what stands between verb and pronoun.
        did: what the other noun did.
        fillers: words that may stand in any gap.
        patterns: sentences; a letter or word of ROLES stands for itself, "~" for a gap that a filler may fill.
    """

    stems: tuple[str, ...]
    nouns: tuple[Forms, ...]
    pronouns: Forms
    verbs: tuple[tuple[str, str], ...]
    join: str
    did: tuple[str, ...]
    fillers: tuple[str, ...]
    patterns: tuple[str, ...]

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word once: nouns, verbs with pronouns, the rest."""
        nouns = [form for forms in self.nouns for of_gender in forms for form in of_gender]
        verbs = [verb + self.join + pronoun for of_verb in self.verbs for verb in of_verb for pronoun in self._pronouns]
        fixed = [word for layout in self.layouts for word in layout if word not in ROLES]
        return tuple(dict.fromkeys([*nouns, *verbs, *self.did, *self.fillers, *fixed]))

    @cached_property
    def _pronouns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(form for of_gender in self.pronouns for form in of_gender))

    @cached_property
    def layouts(self) -> tuple[tuple[str, ...], ...]:
        """Every pattern with the two fillers in every pair of its gaps; all have the same length."""
        made = []
        for pattern in self.patterns:
            words = pattern.split()
            gaps = [i for i, word in enumerate(words) if word == "~"]
            for first, second in itertools.combinations_with_replacement(gaps, 2):
                slots = {first: ["f1"], second: ["f2"]} if first != second else {first: ["f1", "f2"]}
                layout = [slots.get(i, []) if word == "~" else [word] for i, word in enumerate(words)]
                made.append(tuple(itertools.chain.from_iterable(layout)))
        return tuple(made)

    @property
    def n_tokens(self) -> int:
        """N."""
        return len(self.layouts[0])

    @cached_property
    def castings(self) -> tuple[Casting, ...]:
        """Every choice of kinds that makes clear whom verb and pronoun mean; first those that mean the companion."""
        kinds = list(itertools.product((MASCULINE, FEMININE), (SINGULAR, PLURAL)))
        return tuple(
            casting
            for meant in (COMPANION, OTHER)
            for nouns in itertools.product(kinds, repeat=3)
            if self._is_clear(casting := Casting(nouns, meant))
        )

    def _is_clear(self, casting: Casting) -> bool:
        pronoun = self._pronoun(casting)
        agree = [i for i, (gender, number) in enumerate(casting.nouns) if self.pronouns[gender][number] == pronoun]
        return agree == [casting.meant] and casting.nouns[SUBJECT][1] != casting.nouns[COMPANION][1]

    def _pronoun(self, casting: Casting) -> str:
        gender, number = casting.nouns[casting.meant]
        return self.pronouns[gender][number]

    def batch(self, generator: torch.Generator, size: int) -> Batch:
        """Sentences: layout, casting, three different stems, verb, fillers and what the other noun did are drawn."""

        def draw(most: int) -> Tensor:
            return torch.randint(most, (size,), generator=generator)  # (B,)

        def draw_different(n: int, most: int) -> Tensor:
            return torch.rand(size, most, generator=generator).argsort(dim=-1)[:, :n]  # (B, n)

        n_companion = sum(casting.meant == COMPANION for casting in self.castings)
        companion, other = draw(n_companion), n_companion + draw(len(self.castings) - n_companion)
        casting = torch.where(draw(2) == 0, companion, other)  # (B,): either is meant as often as the other
        stems = draw_different(3, len(self.stems))  # (B, 3)
        fillers = draw_different(2, len(self.fillers))
        tables = self._tables
        nouns = tables.nouns[stems, tables.kinds[casting]]  # (B, 3)
        verb = tables.verbs[draw(len(self.verbs)), tables.number[casting], tables.pronoun[casting]]  # (B,)
        did = tables.did[draw(len(self.did))]
        cast = torch.cat([nouns, did[:, None], verb[:, None], tables.fillers[fillers]], dim=-1)  # (B, ROLES)

        layout = draw(len(self.layouts))
        slots = tables.slots[layout]  # (B, N): a word, or −1 − role
        ids = torch.where(slots < 0, cast.gather(1, (-1 - slots).clamp(min=0)), slots)  # (B, N)
        who = torch.stack([tables.meant[casting], torch.full((size,), SUBJECT)], dim=-1)  # (B, R): pronoun, verb
        keys = tables.places[layout].gather(1, who)  # (B, R)
        at_verb = (torch.arange(self.n_tokens) == tables.places[layout, ROLES.index("V")][:, None])[..., None]
        led_to = torch.where(at_verb, keys[:, None], NO_KEY)  # (B, N, R)
        targets = torch.where(at_verb, stems.gather(1, who)[:, None], NOTHING_ASKED)
        return Batch(ids, targets, led_to)

    @cached_property
    def _tables(self) -> _Tables:
        number = {word: i for i, word in enumerate(self.vocabulary)}
        kinds = [[2 * gender + number for gender, number in casting.nouns] for casting in self.castings]
        return _Tables(
            nouns=torch.tensor([[number[form] for g in noun for form in g] for noun in self.nouns]),
            verbs=torch.tensor(
                [[[number[v + self.join + p] for p in self._pronouns] for v in verb] for verb in self.verbs]
            ),
            did=torch.tensor([number[word] for word in self.did]),
            fillers=torch.tensor([number[word] for word in self.fillers]),
            kinds=torch.tensor(kinds),
            number=torch.tensor([casting.nouns[SUBJECT][1] for casting in self.castings]),
            pronoun=torch.tensor([self._pronouns.index(self._pronoun(casting)) for casting in self.castings]),
            meant=torch.tensor([casting.meant for casting in self.castings]),
            slots=torch.tensor(
                [
                    [-1 - ROLES.index(word) if word in ROLES else number[word] for word in layout]
                    for layout in self.layouts
                ]
            ),
            places=torch.tensor([[layout.index(role) for role in ROLES] for layout in self.layouts]),
        )


@dataclass(frozen=True)
class _Tables:
    """The grammar as tensors of word numbers. K layouts, C castings."""

    nouns: Tensor  # (stems, 4), by 2 · gender + number
    verbs: Tensor  # (verbs, 2, pronouns)
    did: Tensor
    fillers: Tensor
    kinds: Tensor  # (C, 3), 2 · gender + number of subject, companion, other noun
    number: Tensor  # (C,), of the subject
    pronoun: Tensor  # (C,)
    meant: Tensor  # (C,), COMPANION or OTHER
    slots: Tensor  # (K, N)
    places: Tensor  # (K, ROLES)


def _english(*pairs: str) -> tuple[Forms, ...]:
    nouns = [tuple(pair.split("/")) for pair in pairs]
    return tuple(((m, _plural(m)), (f, _plural(f))) for m, f in nouns)


def _plural(noun: str) -> str:
    return noun + ("es" if noun.endswith(("s", "o")) else "s")


_PAIRS = (
    *("actor/actress", "prince/princess", "waiter/waitress", "duke/duchess"),
    *("host/hostess", "hero/heroine", "steward/stewardess", "heir/heiress"),
)
ENGLISH = Grammar(
    stems=_PAIRS,
    nouns=_english(*_PAIRS),
    pronouns=(("him", "them"), ("her", "them")),
    verbs=(("greets", "greet"), ("helps", "help"), ("sees", "see"), ("trusts", "trust")),
    join="-",
    did=("slept", "laughed", "left", "spoke", "waited", "arrived"),
    fillers=("today", "often", "again", "later", "now", "then"),
    patterns=(
        "~ the O did . ~ the S beside the C ~ V ~",
        "~ the O did . ~ beside the C the S ~ V ~",
    ),
)
_PROFESSIONS = ("老师", "医生", "司机", "演员", "记者", "律师", "警察", "店员")
CHINESE = Grammar(
    stems=_PROFESSIONS,
    nouns=tuple((("男" + who, f"男{who}们"), ("女" + who, f"女{who}们")) for who in _PROFESSIONS),
    pronouns=(("他", "他们"), ("她", "她们")),
    verbs=(("夸", "都夸"), ("等", "都等"), ("帮", "都帮"), ("问", "都问")),
    join="",
    did=("来了", "笑了", "走了", "睡了", "哭了", "病了"),
    fillers=("早上", "当时", "后来", "忽然", "果然", "居然"),
    patterns=(
        "~ O did 。 ~ S 当着 C 的面 ~ V",
        "~ O did 。 ~ 当着 C 的面 S ~ V",
    ),
)
_RELATIONS = (Relation("pronoun", "whom the pronoun means"), Relation("verb", "the verb's subject"))
_NOTE = (
    "Verb and pronoun are one word, so that one position has to look two ways at once. As two words they would not "
    "compete: each row of a map has weights of its own. The grammar is a toy: a real sentence gives more hints, and a "
    "real head rarely does one thing only."
)


def _task(id_: str, title: str, grammar: Grammar, about: str) -> Task:
    return Task(
        id=id_,
        title=title,
        about=about,
        note=_NOTE,
        n_tokens=grammar.n_tokens,
        vocabulary=grammar.vocabulary,
        answers=grammar.stems,
        relations=_RELATIONS,
        chance=1 / len(grammar.stems),
        defaults=Defaults(compare=(Size(1), Size(2))),
        make=grammar.batch,
        hidden_is_chance=False,
    )


AGREEMENT_ENGLISH = _task(
    "agreement-en",
    "Pronoun and verb (English)",
    ENGLISH,
    "A word such as greets-him must name the noun that its pronoun means (it agrees in gender and number), and the "
    "subject of its verb (it agrees in number).",
)
AGREEMENT_CHINESE = _task(
    "agreement-zh",
    "Pronoun and verb (Chinese)",
    CHINESE,
    "A word such as 都夸他 must name the noun that its pronoun means (it agrees in gender and number), and the "
    "subject of its verb (都 stands only after a subject of several).",
)
