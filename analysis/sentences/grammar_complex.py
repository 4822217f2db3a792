"""Sentences of the built-in grammar that hold more than one clause."""

from analysis.sentences import grammar_words as lexicon
from analysis.sentences.grammar_clauses import Clauses, being, comma, marked
from analysis.sentences.grammar_phrases import Noun, Part, Phrase, attach, word


class ComplexSentences(Clauses):
    """Complement, adverbial, relative and participle clauses, and coordination."""

    def complement_clause(self) -> Phrase:
        """The clerk knew that the contract was lost."""
        subject = self.subject(("anyone",), rich=0.7)
        base = self.pick(lexicon.SAY)
        before, verb = self.verb_group(base, subject, self.pick(("past", "past", "past", "negated")))
        clause = self.clause(tense=self.pick(("past", "past modal")), rich=0.7)
        if base == "explain" or before or self.chance(0.75):
            clause = marked("that", clause)
        return attach([("nsubj", subject.phrase), *before], verb, [("ccomp", clause)])

    def adverbial(self) -> Phrase:
        """When the guests arrived, the cook was washing the pots; he stayed because he was tired."""
        mark = self.pick(("when", "because", "while", "after", "before", "if", "although", "until"))
        frame = self.frame(self.chance(0.6))
        subject = self.subject(frame.subjects, rich=0.7, pronouns=0.1)
        tense = {"if": "modal", "until": "past"}.get(mark, "past")
        before, verb, after = self.predicate(frame, subject, tense=tense, rich=0.7)
        plural = subject.plural
        stand_in = Noun(word(subject.pronoun, "PRON"), plural, subject.pronoun, subject.human)
        if mark in ("because", "although") and (subject.human or subject.pronoun == "they"):
            be = [("cop", word(being(stand_in), "AUX"))]
            degree: list[Part] = [("advmod", word(self.pick(lexicon.DEGREE), "ADV"))] if self.chance(0.5) else []
            side = attach([("nsubj", stand_in.phrase), *be, *degree], word(self.pick(lexicon.REASONS), "ADJ"), [])
        elif subject.human and mark in ("while", "after", "before", "if") and self.chance(0.5):
            side = self.clause(subject=stand_in, rich=0.6, tense="present" if mark == "if" else "past")
        else:
            side = self.clause(rich=0.6, tense={"if": "present", "while": "progressive"}.get(mark, "past"))
        side = marked(mark, side)
        vague = ("a", "every", "another", "some", "two", "three", "four", "several")
        if subject.phrase.words[0].form not in vague and self.chance(0.5):
            return attach([("advcl", comma(side)), ("nsubj", subject.phrase), *before], verb, after)
        return attach([("nsubj", subject.phrase), *before], verb, [*after, ("advcl", side)])

    def relative_clause(self, noun: Noun, frame: lexicon.Frame, *, subject_gap: bool) -> Noun:
        """The noun with a relative clause: 'the man who sold the car', 'the car that he sold', 'the car he sold'."""
        tense = self.pick(("past", "past", "pluperfect"))
        if subject_gap:
            pronoun = self.pick(("who", "who", "that")) if noun.human else self.pick(("which", "that", "that"))
            before, verb, after = self.predicate(frame, noun, tense=tense, rich=0.5)
            clause = attach([("nsubj", word(pronoun, "PRON")), *before], verb, after)
        else:
            inner = self.subject(frame.subjects, rich=0.3, pronouns=0.35)
            before, verb, rest = self.predicate(frame, inner, tense=tense, rich=0.5, gap=True)
            opener: list[Part] = [("obj", word("that" if noun.human else self.pick(("that", "which")), "PRON"))]
            if self.chance(0.3):
                opener = []
            clause = attach([*opener, ("nsubj", inner.phrase), *before], verb, rest)
        return Noun(attach([], noun.phrase, [("acl:relcl", clause)]), noun.plural, noun.pronoun, noun.human)

    def relative(self) -> Phrase:
        """The man who sold the car laughed; the girl found the key that her aunt had lost."""
        on_subject, subject_gap = self.chance(0.5), self.chance(0.5)
        frame = self.frame()
        if on_subject:
            while not subject_gap and "person" not in frame.objects:
                frame = self.frame()
            groups = frame.subjects if subject_gap else ("anyone",)
            noun = self.np(self.stranger(groups), rich=0.5, definite=True, phrases=False)
            second = self.frame_for(noun, self.chance(0.6))
            subject = self.relative_clause(noun, frame, subject_gap=subject_gap)
            tense = self.pick(("past", "past", "modal"))
            before, verb, after = self.predicate(second, subject, tense=tense, rich=0.6)
            return attach([("nsubj", subject.phrase), *before], verb, after)
        if subject_gap:
            while "person" not in frame.objects:
                frame = self.frame()
            second = self.frame()
            noun = self.np(self.stranger(second.subjects), rich=0.5, definite=True, phrases=False)
            relative = self.relative_clause(noun, second, subject_gap=True)
        else:
            key = self.pick(frame.objects)
            fitting = [f for f in lexicon.FRAMES if key in f.objects and f.verb != frame.verb]
            while not fitting:  # nobody else does anything to a riddle
                frame = self.frame()
                key = self.pick(frame.objects)
                fitting = [f for f in lexicon.FRAMES if key in f.objects and f.verb != frame.verb]
            second = fitting[self.rng.randrange(len(fitting))]
            name = self.stranger() if key == "person" else self.thing((key,))
            noun = self.np(name, rich=0.5, definite=True, phrases=False)
            relative = self.relative_clause(noun, second, subject_gap=False)
        subject = self.subject(frame.subjects, rich=0.4)
        before, verb = self.verb_group(frame.verb, subject)
        return attach([("nsubj", subject.phrase), *before], verb, [("obj", relative.phrase)])

    def participle(self) -> Phrase:
        """The letter written by the clerk is long; the boy carrying the box fell."""
        frame = self.frame()
        forms = lexicon.verb_forms(frame.verb)
        if self.chance(0.5):
            key = self.pick(frame.objects)
            name = self.stranger() if key == "person" else self.thing((key,))
            noun = self.np(name, rich=0.3, definite=True, phrases=False)
            agent = attach([("case", word("by", "ADP"))], self.np(self.person(frame.subjects), rich=0.4).phrase, [])
            clause = attach([], word(forms.participle, "VERB"), [("obl:agent", agent)])
            kind = self.noun_class(name)
            adjectives = lexicon.FEELINGS if kind in ("person", "animal") else lexicon.ADJECTIVES[kind]
            described = {item.form for item in noun.phrase.words} | set(lexicon.UNGRADABLE)
            form = self.pick([a for a in adjectives if a not in described])
            after: list[Part] = []
            before: list[Part] = [("cop", word(being(noun), "AUX"))]
            if self.chance(0.5):
                before.append(("advmod", word(self.pick(lexicon.DEGREE), "ADV")))
            verb = word(form, "ADJ")
        else:
            noun = self.np(self.stranger(frame.subjects), rich=0.4, definite=True, phrases=False)
            left, _, inside = self.predicate(frame, noun, tense="past", rich=0.8)
            clause = attach(left, word(forms.ing, "VERB"), inside)
            second = self.frame_for(noun, False)
            before, verb, after = self.predicate(second, noun, tense="past", rich=0.9)
        whole = attach([], noun.phrase, [("acl", clause)])
        return attach([("nsubj", whole), *before], verb, after)

    def coordination(self) -> Phrase:
        """The boy opened the box and closed it; she sang, but he slept; they bought a hat and two scarves."""
        roll = self.rng.random()
        conjunction = ("cc", word(self.pick(("and", "and", "but")), "CCONJ"))
        if roll < 0.4:
            first, second = self.frame(), self.frame(self.chance(0.6))
            while second.verb == first.verb or "anyone" not in (*first.subjects, *second.subjects):
                second = self.frame(self.chance(0.6))
            shared = second.subjects if "anyone" in first.subjects else first.subjects
            subject = self.subject(shared, rich=0.7)
            before, verb, after = self.predicate(first, subject, tense="past", rich=0.5)
            left, other, right = self.predicate(second, subject, tense=self.pick(("past", "negated")), rich=0.6)
            tail = attach([conjunction, *left], other, right)
            return attach([("nsubj", subject.phrase), *before], verb, [*after, ("conj", tail)])
        if roll < 0.65:
            opening = attach([("punct", word(",", "PUNCT")), conjunction], self.clause(rich=0.6, tense="past"), [])
            return attach([], self.clause(rich=0.6, tense="past"), [("conj", opening)])
        frame = self.frame()
        while not any(key in lexicon.THINGS for key in frame.objects):
            frame = self.frame()
        subject = self.subject(frame.subjects, rich=0.6)
        before, verb = self.verb_group(frame.verb, subject)
        key = self.pick([key for key in frame.objects if key in lexicon.THINGS])
        first_noun, second_noun = (self.np(self.thing((key,)), rich=0.5) for _ in range(2))
        link: Part = ("cc", word(self.pick(("and", "and", "or")), "CCONJ"))
        both = attach([], first_noun.phrase, [("conj", attach([link], second_noun.phrase, []))])
        after = [("obj", both)]
        left, right = self.around(frame, before, after, 0.7)
        return self.opened(attach([("nsubj", subject.phrase), *left], verb, right), 0.2)
