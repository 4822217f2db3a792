"""The sentence types of the built-in grammar: each method writes one sentence without its closing mark."""

from collections.abc import Callable

from analysis.sentences import grammar_words as lexicon
from analysis.sentences.grammar_clauses import adverb, being, comma, having
from analysis.sentences.grammar_complex import ComplexSentences
from analysis.sentences.grammar_phrases import Noun, Part, Phrase, attach, word


class Sentences(ComplexSentences):
    """Sentences of many types over the clauses of the grammar."""

    def kinds(self) -> list[tuple[str, Callable[[], Phrase]]]:
        """Clause types by name, in the order in which they take turns."""
        once = [
            ("intransitive", self.intransitive), ("passive", self.passive), ("adverbial clause", self.adverbial),
            ("copula", self.copula), ("indirect object", self.ditransitive), ("open complement", self.open_complement),
            ("relative clause", self.relative), ("complement clause", self.complement_clause),
            ("question", self.question), ("passive", self.passive), ("particle verb", self.particle),
            ("coordination", self.coordination), ("participle", self.participle), ("existential", self.existential),
            ("relative clause", self.relative), ("inversion", self.inversion), ("purpose", self.purpose),
            ("indirect object", self.ditransitive), ("copula", self.copula),
        ]  # fmt: skip
        return [("transitive", self.transitive), *once, ("imperative", self.imperative), *once]

    def transitive(self) -> Phrase:
        """The mechanic repaired the old engine in the workshop."""
        return self.opened(self.clause(objects=True))

    def intransitive(self) -> Phrase:
        """Two nurses were waiting patiently at the station."""
        return self.opened(self.clause(objects=False), 0.2)

    def passive(self) -> Phrase:
        """The old engine was repaired in the workshop by the mechanic."""
        frame = self.frame()
        subject = self.np(self.thing(frame.objects), definite=self.chance(0.85))
        be = self.pick(("was", "was", "was", "was", "has been", "will be", "is being", "should be"))
        aux: list[Part]
        participle = word(lexicon.verb_forms(frame.verb).participle, "VERB")
        if be == "was":
            aux = [("aux:pass", word(being(subject), "AUX"))]
            if self.chance(0.2):
                aux.append(self.negation() if self.chance(0.6) else adverb("never"))
        else:
            first, second = be.split()
            first = {"has": having(subject), "is": being(subject, past=False)}.get(first, first)
            aux = [("aux", word(first, "AUX")), ("aux:pass", word(second, "AUX"))]
        agent = self.subject(frame.subjects, rich=0.7, pronouns=0)
        after: list[Part] = []
        if self.chance(0.5):
            after.append(("obl:agent", attach([("case", word("by", "ADP"))], agent.phrase, [])))
        aux, extra = self.around(frame, aux, [], 1.3, passive=True)
        after = [*extra, *after] if self.chance(0.5) else [*after, *extra]
        return self.opened(attach([("nsubj:pass", subject.phrase), *aux], participle, after), 0.15)

    def copula(self) -> Phrase:
        """The road was rather long; his aunt is an excellent singer; the key is under the carpet."""
        roll = self.rng.random()
        if roll < 0.4:
            key = self.pick(("person", "person", "furniture", "paper", "food", "work"))
            subject = self.subject(("anyone",)) if key == "person" else self.np(self.thing((key,)))
            adjectives = lexicon.FEELINGS if subject.human else lexicon.ADJECTIVES[key]
            form = self.pick([a for a in adjectives if a not in {item.form for item in subject.phrase.words}
                              and a not in lexicon.UNGRADABLE])  # fmt: skip
            degree = self.pick((*lexicon.DEGREE, "", "", ""))
            before: list[Part] = [("advmod", word(degree, "ADV"))] if degree else []
            after: list[Part] = [("obl", self.pp(lexicon.TIMES))] if subject.human and self.chance(0.4) else []
            predicate = attach(before, word(form, "ADJ"), after)
        elif roll < 0.7:
            subject = Noun(self.np(self.person(), plural=False).phrase, False, "she", True)
            key = self.pick(tuple(lexicon.ROLES))
            if key == "member":
                group = self.pp(lexicon.ROLES[key])
                predicate = attach([("det", word("a", "DET"))], word(key, "NOUN"), [("nmod", group)])
            else:
                noun = word(self.pick(lexicon.ROLES[key]), "NOUN")
                predicate = attach([("det", word("a", "DET")), ("amod", word(key, "ADJ"))], noun, [])
        else:
            key = self.pick(("small", "container", "machine", "person", "animal"))
            subject = (
                self.subject(("anyone",))
                if key == "person"
                else self.np(
                    self.fresh(lexicon.ANIMALS) if key == "animal" else self.thing((key,)), rich=0.5, definite=True
                )
            )
            predicate = self.pp(lexicon.PLACES)
        be: list[Part] = [("cop", word(being(subject, past=self.chance(0.6)), "AUX"))]
        if self.chance(0.25):
            be.append(adverb(self.pick(("probably", "still", "certainly", "not"))))
            if be[-1][1].words[0].form == "not":
                be[-1] = ("advmod", word("not", "PART"))
        elif self.chance(0.2):
            be = [("aux", word(self.pick(("will", "must", "may")), "AUX")), ("cop", word("be", "AUX"))]
        return attach([("nsubj", subject.phrase), *be], predicate, [])

    def ditransitive(self) -> Phrase:
        """The teacher showed the pupils an old map; the teacher showed an old map to the pupils."""
        base = self.pick(tuple(lexicon.DITRANSITIVE))
        subject = self.subject(("anyone",))
        before, verb = self.verb_group(base, subject)
        thing = self.np(self.fresh(lexicon.DITRANSITIVE[base]), owner=subject.pronoun, rich=0.8).phrase
        cases = (("him", "he"), ("her", "she"), ("them", "they"), ("us", "we"), ("me", "I"))
        speaker = subject.pronoun in ("we", "I")
        pronouns = [form for form, own in cases if own != subject.pronoun and not (speaker and own in ("we", "I"))]
        receiver = self.np(self.person(), rich=0.5).phrase if self.chance(0.65) else word(self.pick(pronouns), "PRON")
        if self.chance(0.7):
            after: list[Part] = [("iobj", receiver), ("obj", thing)]
        else:
            after = [("obj", thing), ("obl", attach([("case", word("to", "ADP"))], receiver, []))]
        return self.opened(attach([("nsubj", subject.phrase), *before], verb, after), 0.12)

    def open_complement(self) -> Phrase:
        """The girl wanted to open the box; the nurse asked the boy to close the door; the pilot felt tired."""
        roll = self.rng.random()
        frame = self.frame(self.chance(0.75))
        if roll < 0.45:
            subject = self.subject(frame.subjects)
            before, verb = self.verb_group(self.pick(lexicon.WANT), subject)
            after: list[Part] = [("xcomp", self.infinitive(subject, frame))]
        elif roll < 0.85:
            while "animal" in frame.subjects or frame.verb in ("steal", "bite"):
                frame = self.frame()
            subject = self.subject(("law", "family", "school", "office", "health"))
            before, verb = self.verb_group(self.pick(lexicon.ASK), subject)
            other = self.np(self.person(frame.subjects), rich=0.6)
            after = [("obj", other.phrase), ("xcomp", self.infinitive(other, frame))]
        else:
            subject = self.subject(("anyone",))
            before, verb = self.verb_group(self.pick(("feel", "seem", "look")), subject, self.pick(("past", "habit")))
            degree = ("advmod", word(self.pick(lexicon.DEGREE), "ADV"))
            feeling = attach([degree], word(self.pick(lexicon.FEELINGS), "ADJ"), [])
            after = [("xcomp", feeling), ("obl", self.pp(lexicon.TIMES))]
        return self.opened(attach([("nsubj", subject.phrase), *before], verb, after), 0.12)

    def question(self) -> Phrase:
        """Did the nurse open the door? What did the nurse open? Who opened the door?"""
        frame = self.frame()
        subject = self.subject(frame.subjects, rich=0.6, pronouns=0)
        verb = lexicon.verb_forms(frame.verb)
        roll = self.rng.random()
        did: Part = ("aux", word(self.pick(("did", "did", "did", "will")), "AUX"))
        _, _, after = self.predicate(frame, subject, tense="past", rich=0.7)
        if roll < 0.35:
            return attach([did, ("nsubj", subject.phrase)], word(verb.base, "VERB"), after)
        if roll < 0.5:
            return attach([("nsubj", word("who", "PRON"))], word(verb.past, "VERB"), after)
        if roll < 0.7:
            wh = adverb(self.pick(("where", "when", "why")))
            kept = [part for part in after if part[0] == "obj"]
            return attach([wh, did, ("nsubj", subject.phrase)], word(verb.base, "VERB"), kept)
        rest = [part for part in after if part[0] == "obl"]
        noun = self.thing(frame.objects)
        which = word("who" if self.noun_class(noun) == "person" else "what", "PRON")
        if self.chance(0.5):
            which = attach([("det", word("which", "DET"))], word(noun, "NOUN"), [])
        return attach([("obj", which), did, ("nsubj", subject.phrase)], word(verb.base, "VERB"), rest)

    def particle(self) -> Phrase:
        """The girl picked up the coin; the girl picked the coin up."""
        base, particle = self.pick(tuple(lexicon.PARTICLES)).split()
        subject = self.subject(("anyone",))
        before, verb = self.verb_group(base, subject)
        noun = self.np(self.fresh(lexicon.PARTICLES[f"{base} {particle}"]), owner=subject.pronoun, rich=0.6)
        part: Part = ("compound:prt", word(particle, "ADP"))
        after = [part, ("obj", noun.phrase)] if self.chance(0.55) else [("obj", noun.phrase), part]
        return self.opened(attach([("nsubj", subject.phrase), *before], verb, after), 0.15)

    def existential(self) -> Phrase:
        """There was a small key on the shelf."""
        key = self.pick(("small", "container", "clothes", "paper", "animal", "person"))
        if key in ("person", "animal"):
            noun = self.stranger(("anyone",) if key == "person" else ("animal",))
        else:
            noun = self.thing((key,))
        subject = self.np(noun, definite=False, rich=0.5)
        if subject.phrase.words[0].form == "every":
            subject = self.np(noun, definite=False, rich=0.5, plural=True)
        be: list[Part] = [("expl", word("there", "PRON"))]
        verb = word(being(subject, past=self.chance(0.75)), "VERB")
        if self.chance(0.2):
            be, verb = [*be, ("aux", word(self.pick(("may", "must", "will")), "AUX"))], word("be", "VERB")
        return attach(be, verb, [("nsubj", subject.phrase), ("obl", self.pp(lexicon.PLACES))])

    def inversion(self) -> Phrase:
        """Behind the church stood two young horses."""
        groups = (self.pick(("animal", "anyone", "child")),)
        subject = self.np(self.stranger(groups), definite=False, phrases=False)
        while subject.phrase.words[0].form in ("every", "no"):
            subject = self.np(self.person(("animal",)), definite=False)
        verb = word(self.pick(("stood", "sat", "waited", "slept")), "VERB")
        place = self.pp([p for p in lexicon.PLACES if p != "under the bridge"])
        after: list[Part] = [("nsubj", subject.phrase)]
        if subject.human and self.chance(0.6):
            frame = self.frame()
            while "anyone" not in frame.subjects:
                frame = self.frame()
            after[0] = ("nsubj", self.relative_clause(subject, frame, subject_gap=True).phrase)
        return attach([("obl", place)], verb, after)

    def purpose(self) -> Phrase:
        """To open the box, the girl borrowed a knife; he went to the market to buy apples."""
        frame = self.frame()
        while "animal" in frame.subjects or frame.verb in ("break", "lose", "drop", "forget", "bite"):
            frame = self.frame()
        subject = self.subject(frame.subjects)
        before, verb = self.verb_group(self.pick(("travel", "return", "hurry", "wait", "stay")), subject,
                                       self.pick(("past", "past", "past", "perfect")))  # fmt: skip
        place: Part = ("obl", self.pp(lexicon.PLACES))
        if verb.words[0].form.startswith(("travel", "return", "hurr")):
            place = ("obl", self.pp(("to the village", "to the harbour", "into the old market", "to the city")))
        goal = self.infinitive(subject, frame, 0.8)
        if self.chance(0.3):
            return attach([("advcl", comma(goal)), ("nsubj", subject.phrase), *before], verb, [place])
        return attach([("nsubj", subject.phrase), *before], verb, [place, ("advcl", goal)])

    def imperative(self) -> Phrase:
        """Please open the window before the party."""
        frame = self.frame()
        unlikely = ("lose", "throw", "thank", "break", "steal", "bite", "drop", "chase", "find", "hide")
        while frame.verb in unlikely or "animal" in frame.subjects:
            frame = self.frame()
        you = Noun(word("you", "PRON"), True, "they", True)
        _, _, after = self.predicate(frame, you, tense="past", rich=0.9, gap=True)
        after.insert(0, ("obj", self.np(self.thing(frame.objects), definite=True).phrase))
        before: list[Part] = [("discourse", word("please", "INTJ"))] if self.chance(0.5) else []
        if self.chance(0.3):
            before += [("aux", word("do", "AUX")), self.negation()]
        elif self.chance(0.3):
            before.append(adverb("always"))
        return attach(before, word(frame.verb, "VERB"), after)
