"""Verbs of the built-in grammar with what surrounds them: auxiliaries, objects, adverbs, places and times."""

from analysis.sentences import grammar_words as lexicon
from analysis.sentences.grammar_phrases import Grammar, Noun, Part, Phrase, attach, word

Verbal = tuple[list[Part], Phrase, list[Part]]  # (what stands before the verb, the verb, what stands after it)


def adverb(form: str) -> Part:
    """An adverb that depends on a verb."""
    return ("advmod", word(form, "ADV"))


def comma(phrase: Phrase) -> Phrase:
    """The phrase with a comma of its own after it."""
    return attach([], phrase, [("punct", word(",", "PUNCT"))])


def marked(mark: str, clause: Phrase) -> Phrase:
    """A clause opened by 'because', 'that', 'to' …; 'when' is an adverb, as in UD's English treebanks."""
    if mark == "when":
        return attach([adverb("when")], clause, [])
    return attach([("mark", word(mark, "PART" if mark == "to" else "SCONJ"))], clause, [])


def being(subject: Noun, past: bool = True) -> str:
    """The form of 'be' that agrees with the subject."""
    if past:
        return "was" if not subject.plural or subject.pronoun == "I" else "were"
    if subject.pronoun == "I":
        return "am"
    return "are" if subject.plural else "is"


def having(subject: Noun) -> str:
    """The form of 'have' that agrees with the subject."""
    return "have" if subject.plural else "has"


class Clauses(Grammar):
    """Clauses over the noun phrases of the grammar."""

    # Verbs with what surrounds them ------------------------------------------------------------------------------

    def verb_group(self, base: str, subject: Noun, tense: str | None = None) -> tuple[list[Part], Phrase]:
        """Auxiliaries, negation and the verb in a form that agrees with the subject."""
        verb = lexicon.verb_forms(base)
        tense = tense or self.pick(("past",) * 5 + ("negated", "modal", "modal", "perfect", "progressive", "habit"))
        if tense == "past":
            return [], word(verb.past, "VERB")
        if tense == "present":
            return [], word(verb.base if subject.plural else verb.present, "VERB")
        if tense == "habit":
            return [adverb(self.pick(lexicon.FREQUENCY))], word(verb.base if subject.plural else verb.present, "VERB")
        if tense == "negated":
            return [("aux", word("did", "AUX")), self.negation()], word(verb.base, "VERB")
        if tense in ("perfect", "pluperfect"):
            have = "had" if tense == "pluperfect" else having(subject)
            return [("aux", word(have, "AUX"))], word(verb.participle, "VERB")
        if tense == "progressive":
            return [("aux", word(being(subject), "AUX"))], word(verb.ing, "VERB")
        modals = ("will", "can", "should", "must", "might")
        if tense == "past modal":
            modals = ("would", "could", "should", "might", "might")
        before: list[Part] = [("aux", word(self.pick(modals), "AUX"))]
        if before[0][1].words[0].form != "can" and self.chance(0.2):
            before.append(("advmod", word("not", "PART")))
        return before, word(verb.base, "VERB")

    def negation(self) -> Part:
        """'not' or the shortened form."""
        return ("advmod", word(self.pick(("not", "n't")), "PART"))

    def around(
        self, frame: lexicon.Frame, before: list[Part], after: list[Part], rich: float = 1.0, *, passive: bool = False
    ) -> tuple[list[Part], list[Part]]:
        """Set an adverb and a prepositional phrase of the frame before or after what is there already."""
        left, right = list(before), list(after)
        negated = any(phrase.words[0].upos == "PART" for _, phrase in before)
        taken = any(relation == "advmod" for relation, _ in before)
        needed = frame.verb in lexicon.NEEDS_PHRASE
        adverbs = [form for form in frame.adverbs if not passive or form in lexicon.WITH_PASSIVE]
        if adverbs and not negated and self.chance(0.36 * rich):
            form = self.pick(adverbs)
            if passive and form in ("often", "regularly", "repeatedly"):
                left.insert(1, adverb(form))
            elif form in lexicon.BEFORE_VERB or (form.endswith("ly") and passive):
                left += [] if taken else [adverb(form)]
            elif form.endswith("ly") and form != "badly" and not before and self.chance(0.4):
                left.append(adverb(form))
            else:
                right.append(adverb(form))
        perfect = any(phrase.words[0].form in ("has", "have") for _, phrase in before)
        phrases = [text for text in frame.phrases if not (perfect and text.startswith(lexicon.TEMPORAL))]
        if phrases and (needed or self.chance(0.55 * rich)):
            right.append(("obl", self.pp(phrases)))
        return left, right

    def frame(self, objects: bool = True) -> lexicon.Frame:
        """A transitive or intransitive frame."""
        frames = lexicon.FRAMES if objects else lexicon.INTRANSITIVES
        return frames[self.rng.randrange(len(frames))]

    def frame_for(self, noun: Noun, objects: bool) -> lexicon.Frame:
        """A frame whose subject may be anyone, or any animal where the noun is one."""
        needed = "anyone" if noun.human else "animal"
        while needed not in (frame := self.frame(objects)).subjects:
            pass
        return frame

    def predicate(
        self, frame: lexicon.Frame, subject: Noun, *, tense: str | None = None, rich: float = 1.0, gap: bool = False
    ) -> Verbal:
        """The verb of a frame with auxiliaries, object (left out for a gap), adverb and prepositional phrase."""
        before, verb = self.verb_group(frame.verb, subject, tense)
        after: list[Part] = []
        if frame.objects and not gap:
            after.append(("obj", self.np(self.thing(frame.objects), owner=subject.pronoun, rich=rich).phrase))
        left, right = self.around(frame, before, after, rich)
        return left, verb, right

    def clause(
        self, *, tense: str | None = None, rich: float = 1.0, objects: bool | None = None, subject: Noun | None = None
    ) -> Phrase:
        """A whole active clause with a subject that suits the verb, or the subject given (a person)."""
        objects = self.chance(0.65) if objects is None else objects
        frame = self.frame(objects)
        while subject is not None and "anyone" not in frame.subjects:
            frame = self.frame(objects)
        subject = subject or self.subject(frame.subjects, rich=rich)
        before, verb, after = self.predicate(frame, subject, tense=tense, rich=rich)
        return attach([("nsubj", subject.phrase), *before], verb, after)

    def opened(self, clause: Phrase, share: float = 0.3) -> Phrase:
        """Sometimes put a time, a place or a sentence adverb in front of a clause."""
        if not self.chance(share):
            return clause
        perfect = any(item.form in ("has", "have") and item.head == clause.head for item in clause.words)
        if perfect or self.chance(0.4):
            return attach([("advmod", comma(word(self.pick(lexicon.SENTENCE_ADVERBS), "ADV")))], clause, [])
        return attach([("obl", comma(self.pp(lexicon.TIMES)))], clause, [])

    def infinitive(self, subject: Noun, frame: lexicon.Frame, rich: float = 0.7) -> Phrase:
        """'to repair the old engine'."""
        _, _, after = self.predicate(frame, subject, tense="past", rich=rich)
        after = [part for part in after if part[0] != "advmod"]
        return marked("to", attach([], word(frame.verb, "VERB"), after))
