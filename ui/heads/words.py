"""How relations, baselines and claims are put into words. A claim has its n, its interval and its baseline."""

import re
from typing import Any

from analysis.evidence.records import GENDER, Record, Table
from model.head_id import HeadId
from ui.frame.languages import _
from viz.theme import percent

# relation → dependent (one, many) and head (one, many): what UD's guidelines say, in a word or a clause.
RELATIONS: dict[str, tuple[str, str, str, str]] = {
    "acl": ("clause or participle", "clauses or participles", "noun it describes", "nouns described by a clause"),
    "acl:relcl": ("relative clause", "relative clauses", "noun it describes", "nouns with a relative clause"),
    "advcl": ("adverbial clause", "adverbial clauses", "main verb", "verbs with an adverbial clause"),
    "advmod": ("adverb", "adverbs", "word it modifies", "words with an adverb"),
    "amod": ("adjective", "adjectives", "noun it modifies", "nouns with an adjective"),
    "appos": ("apposition", "appositions", "noun it renames", "nouns with an apposition"),
    "aux": ("auxiliary", "auxiliaries", "main verb", "verbs with an auxiliary"),
    "aux:pass": ("passive auxiliary", "passive auxiliaries", "participle", "participles with a passive auxiliary"),
    "case": ("preposition or case marker", "prepositions and case markers", "noun", "nouns with a preposition"),
    "cc": ("conjunction (and, or)", "conjunctions", "conjunct after it", "conjuncts after a conjunction"),
    "ccomp": ("verb of a that-clause", "verbs of that-clauses", "verb that takes it", "verbs with a that-clause"),
    "clf": ("classifier", "classifiers", "numeral or demonstrative", "words with a classifier"),
    "compound": ("first part of a compound", "first parts of compounds", "noun", "nouns with a compound part"),
    "compound:prt": ("verb particle", "verb particles", "verb", "verbs with a particle"),
    "conj": ("second conjunct", "second conjuncts", "first conjunct", "first conjuncts"),
    "cop": ("copula (be)", "copulas", "predicate", "predicates with a copula"),
    "csubj": ("clause as subject", "clauses as subject", "verb", "verbs with a clause as subject"),
    "dep": ("dependent of unclear kind", "dependents of unclear kind", "governor", "words with an unclear dependent"),
    "det": ("determiner (the, a)", "determiners", "noun", "nouns with a determiner"),
    "discourse": ("discourse word", "discourse words", "verb of the clause", "verbs with a discourse word"),
    "dislocated": ("dislocated phrase", "dislocated phrases", "verb", "verbs with a dislocated phrase"),
    "expl": ("expletive (there, it)", "expletives", "verb", "verbs with an expletive"),
    "fixed": ("later part of a fixed phrase", "later parts of fixed phrases", "first word", "fixed phrases"),
    "flat": ("later part of a name", "later parts of names", "first word", "names of several words"),
    "goeswith": ("split-off part of a word", "split-off parts of words", "first part", "words written apart"),
    "iobj": ("indirect object", "indirect objects", "verb", "verbs with an indirect object"),
    "list": ("item of a list", "items of lists", "first item", "first items of lists"),
    "mark": ("clause marker (that, to)", "clause markers", "verb of its clause", "verbs with a clause marker"),
    "nmod": ("noun modifying a noun", "nouns modifying a noun", "noun it modifies", "nouns with a noun modifier"),
    "nmod:poss": ("possessor", "possessors", "thing possessed", "things possessed"),
    "nsubj": ("subject", "subjects", "verb or predicate", "verbs and predicates with a subject"),
    "nsubj:pass": ("passive subject", "passive subjects", "participle", "participles with a subject"),
    "nummod": ("number", "numbers", "noun it counts", "nouns with a number"),
    "obj": ("object", "objects", "verb", "verbs with an object"),
    "obl": ("noun of an adverbial phrase", "nouns of adverbial phrases", "verb", "verbs with an adverbial phrase"),
    "orphan": ("orphan of an ellipsis", "orphans of an ellipsis", "word that replaces its verb", "promoted words"),
    "parataxis": ("clause set beside", "clauses set beside", "main verb", "verbs with a clause beside"),
    "punct": ("punctuation mark", "punctuation marks", "main word of the phrase", "words with a punctuation mark"),
    "reparandum": ("word taken back", "words taken back", "repair", "repairs"),
    "vocative": ("person addressed", "persons addressed", "verb", "verbs with a person addressed"),
    "xcomp": ("verb without a subject of its own", "verbs without a subject", "verb that takes it", "governing verbs"),
}
COREFERENCE_NAMES = {
    "coref-noun": "pronoun → the noun it stands for",
    "coref": "pronoun → any right mention before it",
    GENDER: "pronoun → the noun of its gender",
}
CUES = {
    "gender": "gender",
    "number": "number",
    "animacy": "person or thing",
    "binding": "reflexive or not",
    "meaning": "only meaning",
}
SHORT = {"coref-noun": "pronoun → noun", "coref": "pronoun → any", GENDER: "pronoun → its gender"}
OFFSETS = {
    "-5": "looking five words back",
    "-4": "looking four words back",
    "-3": "looking three words back",
    "-2": "looking two words back",
    "-1": "looking at the word before",
    "+1": "looking at the next word",
    "+2": "looking two words ahead",
    "+3": "looking three words ahead",
    "+4": "looking four words ahead",
    "+5": "looking five words ahead",
    "nearest": "the nearest mention",
    "first": "the first mention",
    "same word": "the nearest same word",
    "nearest subject": "the nearest subject",
}
CORPORA = {
    "ud": "Real text: EWT + GUM",
    "own": "Headwork's own sentences",
    "gum": "Real text: GUM",
    "gap": "Real text: GAP",
    "gender_en": "Balanced set, English",
    "ud_zh": "Real text: UD Chinese",
    "own_zh": "Headwork's own Chinese sentences",
    "gender_zh": "Balanced set, Chinese",
}
VARIANTS = {
    "trained": "trained, bidirectional",
    "fair": "trained, only earlier words asked",
    "causal": "trained, causal mask",
    "untrained": "control: untrained weights",
    "mask": "control: mask token for every word",
}


MOST_HEADS = 3  # that are named as chosen
LONGEST_NAME = 24  # characters of a model's name beside a figure; what it says in brackets goes


def task_name(task: str, direction: str) -> str:
    """A task in one clause, with UD's name: "obj: object → verb"."""
    if task in COREFERENCE_NAMES:
        return _(COREFERENCE_NAMES[task])
    return f"{task}: {clause(task, direction)}"


def short_name(task: str) -> str:
    """A task for an axis or a narrow column."""
    return _(SHORT[task]) if task in SHORT else task


def clause(relation: str, direction: str) -> str:
    """Who looks at whom: "object → verb"."""
    if relation not in RELATIONS:
        return _("dependent → governor") if direction == "dep>head" else _("governor → dependent")
    dependent, _many, head, _heads = RELATIONS[relation]
    if direction == "dep>head":
        return f"{_(dependent)} → {_(head)}"
    return f"{_(head)} → {_(dependent)}"


def things(table: Table) -> str:
    """What was asked, in the plural: objects."""
    if table.task in COREFERENCE_NAMES:
        return _("pronouns")
    if table.task not in RELATIONS:
        return _("arcs")
    _one, dependents, _head, heads = RELATIONS[table.task]
    return _(dependents) if table.direction == "dep>head" else _(heads)


def baseline_label(name: str) -> str:
    """A baseline in words: "looking two words back"."""
    return _(OFFSETS.get(name, name))


def bounds(low: float, high: float) -> str:
    """An interval of shares: [71, 78]."""
    return f"[{100 * low:.0f}, {100 * high:.0f}]".replace("-", "−")


def points(gain: float) -> str:
    """A gain in percentage points, with its sign."""
    return f"{round(100 * gain):+d}".replace("-", "−")


def column_names(table: Table) -> tuple[str, str]:
    """What stands above a table of heads: of how many things, and above which baseline."""
    right = _("of {n} {things}").format(n=table.n, things=things(table))
    return right, _("points above {baseline}").format(baseline=percent(table.baseline))


def scored(table: Table, head: tuple[int, int]) -> tuple[str, str]:
    """One head under `column_names`: "75 % [71, 79]" and "+37 [32, 42]", the gain in percentage points."""
    accuracy, gain = percent(float(table.accuracy[head])), points(float(table.gain[head]))
    if table.low is not None and table.high is not None:
        accuracy += " " + bounds(float(table.low[head]), float(table.high[head]))
    if table.gain_low is not None and table.gain_high is not None:
        gain += " " + bounds(float(table.gain_low[head]), float(table.gain_high[head]))
    return accuracy, gain


def head_claim(table: Table, head: tuple[int, int]) -> str:
    """One head in one sentence: "3-1: 75 % [71, 78] of 596 objects; looking two words back gets 38 %"."""
    sentence = _("{head}: {accuracy} of {n} {things}; {name} gets {baseline}")
    return sentence.format(
        head=str(HeadId(*head)),
        accuracy=scored(table, head)[0],
        n=table.n,
        things=things(table),
        name=baseline_label(table.baseline_name),
        baseline=percent(table.baseline),
    )


def held_out_claim(table: Table) -> str:
    """The best head, chosen on one half and scored on the other; what to think of it."""
    found = table.held_out
    if found is None or found["gain_interval"] is None:
        return _("Only {n} {things}: intervals and a best head need at least {fewest}.").format(
            n=table.n, things=things(table), fewest=30
        )
    low, high = found["gain_interval"]
    values = {
        "heads": chosen_heads(found),
        "n": table.n,
        "things": things(table),
        "accuracy": f"{percent(found['accuracy'])} {bounds(*found['interval'])}",
        "name": " / ".join(dict.fromkeys(baseline_label(name) for name in found["baselines"])),
        "baseline": percent(found["baseline"]),
        "gain": f"{points(found['gain'])} {bounds(low, high)}",
    }
    if low > 0:
        sentence = _("Head {heads} gets {accuracy} of {n} {things}; {name} gets {baseline}: {gain} points better.")
    else:
        sentence = _(
            "No head is clearly better than the baseline here: {heads} gets {accuracy} of {n} {things}, {name} "
            "{baseline} ({gain} points)."
        )
    return sentence.format(**values)


def chosen_heads(found: dict[str, Any]) -> str:
    """The heads of a held-out result, each once: "3-9 / 2-5". Of many, as random weights give, the first few."""
    names = list(dict.fromkeys(found["heads"]))
    return " / ".join(names[:MOST_HEADS]) + (" / …" if len(names) > MOST_HEADS else "")


def run_name(record: Record) -> str:
    """Under what a record was measured: weights and mask."""
    about = record.provenance
    variant = str(about.get("variant", "trained"))
    return _(VARIANTS["causal" if variant == "trained" and about["mask"] == "causal" else variant])


def origin(record: Record) -> str:
    """Model, corpus, n and date of a record: stands beside every number."""
    about = record.provenance
    n_sentences, n_passages = about["n_sentences"], about["n_passages"]
    counted = [
        _("{n} sentences").format(n=n_sentences) if n_sentences else "",
        _("{n} passages with a pronoun").format(n=n_passages) if n_passages else "",
    ]
    label, variant = str(about["model"]["label"]).partition(", untrained")[0], about.get("variant", "trained")
    name = _(label)
    if len(name) > LONGEST_NAME:
        name = re.split(r" \(|（", name)[0]
    parts = [name, corpus_name(record), _(", ").join(each for each in counted if each)]
    if variant != "trained" or about["mask"] != "bidirectional":
        parts.insert(1, run_name(record))
    if about.get("date"):
        parts.append(_("measured {date}").format(date=about["date"]))
    return " · ".join(parts)


def corpus_name(record: Record) -> str:
    """What a record was measured on."""
    about = record.provenance
    name = str(about.get("corpus", ""))
    return _(CORPORA[name]) if name in CORPORA else name
