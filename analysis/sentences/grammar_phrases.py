"""Phrases that know their head, and the noun phrases of the built-in grammar."""

import random
from dataclasses import dataclass, replace

from analysis.sentences import grammar_words as lexicon


@dataclass(frozen=True)
class Word:
    """A word with the position of its head inside the phrase (−1: it is the head)."""

    form: str
    upos: str
    head: int = -1
    deprel: str = "root"


@dataclass(frozen=True)
class Phrase:
    """Words in order, and which of them is the head."""

    words: tuple[Word, ...]
    head: int = 0


Part = tuple[str, Phrase]  # (relation to the head, phrase)


def word(form: str, upos: str) -> Phrase:
    """A phrase of one word."""
    return Phrase((Word(form, upos),))


def attach(before: list[Part], head: Phrase, after: list[Part]) -> Phrase:
    """Put phrases before and after `head`; the head of each depends on the head of `head` by the relation named."""
    pieces: list[tuple[str | None, Phrase]] = [*before, (None, head), *after]
    start = sum(len(phrase.words) for _, phrase in before)
    top = start + head.head
    words: list[Word] = []
    for relation, phrase in pieces:
        shift = len(words)
        for index, item in enumerate(phrase.words):
            if index != phrase.head:
                words.append(replace(item, head=item.head + shift))
            elif relation is None:
                words.append(item)
            else:
                words.append(replace(item, head=top, deprel=relation))
    return Phrase(tuple(words), top)


@dataclass(frozen=True)
class Noun:
    """A noun phrase with what agreement needs: number, and the pronoun that would stand for it."""

    phrase: Phrase
    plural: bool
    pronoun: str  # he, she, it, they
    human: bool


def pp(text: str) -> Phrase:
    """'in the blue coat' as a phrase: preposition, determiner, adjectives, noun."""
    case, *middle, noun = text.split()
    before: list[Part] = [("case", word(case, "ADP"))]
    for form in middle:
        if form in ("a", "the", "any", "both"):
            before.append(("det", word(form, "DET")))
        elif form in ("two", "three"):
            before.append(("nummod", word(form, "NUM")))
        else:
            before.append(("amod", word(form, "ADJ")))
    return attach(before, word(noun, "PROPN" if noun[0].isupper() else "NOUN"), [])


def pluralize(noun: str) -> str:
    """The plural of a noun of the lexicon."""
    return lexicon.IRREGULAR_PLURALS.get(noun, noun + "s")


class Grammar:
    """Writes sentences; every choice comes from one seeded generator."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.used: set[str] = set()  # nouns of the sentence at hand: none is named twice

    # Choices ---------------------------------------------------------------------------------------------------

    def pick(self, options: tuple[str, ...] | list[str]) -> str:
        """One of the options."""
        return options[self.rng.randrange(len(options))]

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self.rng.random() < share

    def fresh(self, options: tuple[str, ...]) -> str:
        """One of the options that the sentence hasn't named yet."""
        left = [option for option in options if option not in self.used] or list(options)
        noun = self.pick(left)
        self.used.add(noun)
        return noun

    def pp(self, options: tuple[str, ...] | list[str]) -> Phrase:
        """One of the prepositional phrases, now and then with an adjective more."""
        text = self.pick(options)
        parts = text.split()
        if len(parts) == 3 and parts[1] in ("a", "the") and parts[2] in lexicon.DESCRIBABLE and self.chance(0.4):
            return pp(f"{parts[0]} {parts[1]} {self.pick(('old', 'little', 'big', 'new'))} {parts[2]}")
        return pp(text)

    # Noun phrases ----------------------------------------------------------------------------------------------

    def noun_class(self, noun: str) -> str:
        """The class whose adjectives and phrases the noun takes."""
        if any(noun in group for group in lexicon.PERSONS.values()):
            return "person"
        if noun in lexicon.ANIMALS:
            return "animal"
        return next((key for key, group in lexicon.THINGS.items() if noun in group), "") or lexicon.EXTRA_NOUNS[noun]

    def person(self, groups: tuple[str, ...] = ("anyone",)) -> str:
        """A noun for one of the subject groups of a frame."""
        group = self.pick(groups)
        if group == "anyone":
            group = self.pick(tuple(lexicon.PERSONS))
        if group == "animal":
            return self.fresh(lexicon.ANIMALS)
        return self.fresh(lexicon.PERSONS[group]) if group in lexicon.PERSONS else self.fresh((group,))

    def stranger(self, groups: tuple[str, ...] = ("anyone",)) -> str:
        """As `person`, but nobody's aunt: a noun that a restrictive clause can single out."""
        while (noun := self.person(groups)) in lexicon.PERSONS["family"] and groups != ("family",):
            pass
        return noun

    def thing(self, objects: tuple[str, ...]) -> str:
        """A noun for one of the objects of a frame."""
        key = self.pick(objects)
        if key == "person":
            return self.person()
        return self.fresh(lexicon.THINGS[key]) if key in lexicon.THINGS else self.fresh((key,))

    def np(
        self, noun: str, *, owner: str | None = None, rich: float = 1.0, plural: bool | None = None,
        definite: bool | None = None, phrases: bool = True,
    ) -> Noun:  # fmt: skip
        """A noun phrase around `noun`; `rich` scales how much is put around it, `owner` is a pronoun for 'her book'.

        `phrases=False` keeps prepositional phrases away, where they would stand between a noun and its clause.
        """
        kind = self.noun_class(noun)
        family = noun in lexicon.PERSONS["family"]
        plural = not family and (self.chance(0.24) if plural is None else plural)
        definite = self.chance(0.74) if definite is None else definite
        before = self.determiner(noun, kind, plural, owner, definite, rich)
        if self.chance(0.42 * rich) and not family:
            before.append(("amod", self.adjective(kind, young=noun in lexicon.PERSONS["child"])))
        if noun in lexicon.COMPOUNDS and self.chance(0.45):
            before.append(("compound", word(self.pick(lexicon.COMPOUNDS[noun]), "NOUN")))
        after: list[Part] = []
        worn = ("with ", "in the blue")  # several people don't share one coat or one beard
        fitting = [text for text in lexicon.NOUN_PHRASES[kind] if not (plural and text.startswith(worn))]
        if phrases and definite and not family and before[0][0] == "det" and self.chance(0.26 * rich):
            after.append(("nmod", self.complement(kind, fitting)))
        head = word(pluralize(noun) if plural else noun, "NOUN")
        single = (lexicon.GENDER.get(noun) or self.pick(("he", "she"))) if kind == "person" else "it"
        return Noun(attach(before, head, after), plural, "they" if plural else single, kind == "person")

    def complement(self, kind: str, phrases: list[str]) -> Phrase:
        """What belongs to a noun: a phrase of its class, or the person it is for or of ('for Maria', 'of a sailor')."""
        roll = self.rng.random()
        if kind in ("paper", "work", "clothes", "small", "container", "food") and roll < 0.35:
            case: list[Part] = [("case", word("for", "ADP"))]
            return attach(case, word(self.fresh(lexicon.NAMES["she"] + lexicon.NAMES["he"]), "PROPN"), [])
        if kind in ("paper", "work", "clothes", "small", "machine", "vehicle", "animal") and roll < 0.7:
            owner = self.np(self.person(("farm", "health", "sea", "craft", "art")), rich=0.8, phrases=False)
            return attach([("case", word("of", "ADP"))], owner.phrase, [])
        return self.pp(phrases)

    def adjective(self, kind: str, *, young: bool) -> Phrase:
        """An adjective of the class, now and then with a degree adverb or a second adjective."""
        adjectives = [a for a in lexicon.ADJECTIVES[kind] if not (young and a in ("old", "young", "famous"))]
        form = self.pick(adjectives)
        adjective = word(form, "ADJ")
        gradable = [a for a in adjectives if a not in lexicon.UNGRADABLE and a != form]
        roll = self.rng.random()
        if form in lexicon.UNGRADABLE or roll > 0.2:
            return adjective
        if roll < 0.12:
            return attach([("advmod", word(self.pick(("very", "rather", "quite")), "ADV"))], adjective, [])
        other = self.pick(gradable)
        if {form, other} in ({"old", "young"}, {"long", "short"}, {"hot", "cold"}, {"old", "new"}):
            return adjective
        return attach([], adjective, [("conj", attach([("cc", word("and", "CCONJ"))], word(other, "ADJ"), []))])

    def determiner(
        self, noun: str, kind: str, plural: bool, owner: str | None, definite: bool, rich: float
    ) -> list[Part]:  # fmt: skip
        """Article, demonstrative, number or owner."""
        roll = self.rng.random()
        own = {"he": "his", "she": "her", "it": "its", "they": "their", "I": "my", "we": "our"}
        family = noun in lexicon.PERSONS["family"]
        if family and roll < 0.6:
            return [("nmod:poss", word(self.pick(("my", "our", "their", "his", "her")), "PRON"))]
        if owner is not None and kind not in ("person", "animal", "place", "part") and roll < 0.3:
            return [("nmod:poss", word(own[owner], "PRON"))]
        if family or (roll > 0.9 and rich > 0.5 and (kind != "person" or noun in lexicon.POSSESSED)):
            name = word(self.fresh(lexicon.NAMES["she"] + lexicon.NAMES["he"]), "PROPN")
            if self.chance(0.4):
                name = attach([("det", word("the", "DET"))], word(self.person(("farm", "health", "sea")), "NOUN"), [])
            return [("nmod:poss", attach([], name, [("case", word("'s", "PART"))]))]
        if plural:
            if definite and self.chance(0.1):
                return [("det:predet", word("all", "DET")), ("det", word("the", "DET"))]
            if definite:
                return [("det", word(self.pick(("the", "the", "the", "the", "these", "those")), "DET"))]
            if self.chance(0.55):
                return [("nummod", word(self.pick(("two", "two", "three", "four")), "NUM"))]
            return [("det", word(self.pick(("some", "some", "several")), "DET"))] if self.chance(0.8) else []
        if definite:
            return [("det", word(self.pick(("the",) * 9 + ("this", "that")), "DET"))]
        return [("det", word(self.pick(("a",) * 10 + ("every", "another")), "DET"))]

    def subject(self, groups: tuple[str, ...], *, rich: float = 1.0, pronouns: float = 0.16) -> Noun:
        """A subject: a noun phrase, a name, a pronoun or two coordinated nouns."""
        roll = self.rng.random()
        animal = groups == ("animal",) or not any(g in lexicon.PERSONS or g == "anyone" for g in groups)
        if roll < pronouns and not animal:
            form = self.pick(("he", "she", "they", "we", "I"))
            return Noun(word(form, "PRON"), form in ("they", "we", "I"), form, True)
        if roll < pronouns + 0.1 and not animal:
            pronoun = self.pick(("she", "he"))
            return Noun(word(self.fresh(lexicon.NAMES[pronoun]), "PROPN"), False, pronoun, True)
        both = roll > 0.91
        noun = self.np(self.person(groups), rich=rich, definite=True if both else None)
        if both:
            other = self.np(self.person(groups), rich=0.3, plural=noun.plural, definite=True)
            second = attach([("cc", word("and", "CCONJ"))], other.phrase, [])
            return Noun(attach([], noun.phrase, [("conj", second)]), True, "they", noun.human)
        return noun
