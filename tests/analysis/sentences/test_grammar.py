"""The generated corpus: trees, agreement, articles, and relations that no fixed offset explains."""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from analysis.sentences.grammar import sentences, starts_with_vowel
from analysis.sentences.grammar_phrases import attach, pp, word
from analysis.sentences.grammar_words import verb_forms

CORPUS = Path(__file__).resolve().parents[3] / "data" / "corpus"
SHIPPED = CORPUS / "grammar_en.jsonl"

# The largest share of a relation's arcs that one fixed offset (−5…5) may explain. English itself sets some of these
# high: a compound's modifier stands right before its noun, and the best offset reaches 91 % in UD's corpora too.
OFFSET_BOUNDS = {
    "nsubj": 0.45, "obj": 0.50, "obl": 0.40, "case": 0.60, "det": 0.68, "nmod:poss": 0.60, "conj": 0.55, "aux": 0.60,
    "cop": 0.50, "nsubj:pass": 0.45, "acl:relcl": 0.55, "advcl": 0.40, "iobj": 0.60, "ccomp": 0.50, "mark": 0.65,
    "obl:agent": 0.55, "xcomp": 0.75, "advmod": 0.75, "aux:pass": 0.70, "nmod": 0.75,
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus() -> list[dict]:
    return sentences(0, 600)


def test_attach_keeps_every_head_right_whatever_is_put_around_it():
    noun = attach([("det", word("the", "DET"))], word("bridge", "NOUN"), [("nmod", pp("of the old town"))])
    clause = attach([("obl", noun)], word("slept", "VERB"), [("nsubj", word("cats", "NOUN"))])
    assert [item.form for item in clause.words] == ["the", "bridge", "of", "the", "old", "town", "slept", "cats"]
    assert [item.head for item in clause.words] == [1, 6, 5, 5, 5, 1, -1, 6]
    assert [item.deprel for item in clause.words] == ["det", "obl", "case", "det", "amod", "nmod", "root", "nsubj"]


@pytest.mark.parametrize(
    ("base", "forms"),
    [
        ("carry", "carry carries carried carried carrying"),
        ("play", "play plays played played playing"),
        ("bake", "bake bakes baked baked baking"),
        ("catch", "catch catches caught caught catching"),
        ("wash", "wash washes washed washed washing"),
        ("drop", "drop drops dropped dropped dropping"),
    ],
)
def test_verb_forms(base, forms):
    assert " ".join(verb_forms(base)) == forms


@pytest.mark.parametrize("form", ["apple", "old", "unusual", "ugly", "hour", "honest", "umbrella", "island", "onion"])
def test_takes_an(form):
    assert starts_with_vowel(form)


@pytest.mark.parametrize("form", ["bridge", "useful", "uniform", "university", "one", "house", "yellow", "wedding"])
def test_takes_a(form):
    assert not starts_with_vowel(form)


def test_600_different_sentences(corpus):
    assert len(corpus) == 600
    assert len({line["text"] for line in corpus}) == 600
    assert len({line["id"] for line in corpus}) == 600


def test_the_same_seed_gives_the_same_sentences_and_another_seed_others(corpus):
    assert sentences(0, 60) == corpus[:60]
    others = {line["text"] for line in sentences(1, 60)}
    assert len(others & {line["text"] for line in corpus}) <= 3


def test_the_command_writes_the_shipped_file_byte_for_byte(tmp_path):
    out = tmp_path / "again.jsonl"
    command = [sys.executable, "-m", "analysis.sentences.grammar", "--seed", "0", "--n", "600", "--out", str(out)]
    subprocess.run(command, check=True, cwd=CORPUS.parents[1], capture_output=True)
    assert out.read_bytes() == SHIPPED.read_bytes()


def test_at_least_20_relations_with_30_arcs_each(corpus):
    counts = Counter(relation for line in corpus for relation in line["deprels"])
    often = {relation for relation, count in counts.items() if count >= 30} - {"root", "punct"}
    assert len(often) >= 20, counts
    wanted = "det nsubj obj amod case nmod nmod:poss obl aux aux:pass nsubj:pass advmod cop conj cc mark advcl xcomp"
    assert set(wanted.split()) | {"acl:relcl", "compound", "iobj", "ccomp", "compound:prt", "nummod"} <= often


@pytest.mark.parametrize("relation", OFFSET_BOUNDS)
def test_no_fixed_offset_explains_the_relation(corpus, relation):
    offsets = Counter(
        head - index
        for line in corpus
        for index, (head, name) in enumerate(zip(line["heads"], line["deprels"], strict=True))
        if name == relation
    )
    best = max(offsets[offset] for offset in range(-5, 6)) / offsets.total()
    assert best <= OFFSET_BOUNDS[relation], f"{relation}: {best:.2f} of {offsets.total()} arcs at one offset"
    assert len(offsets) >= {"aux:pass": 2, "nmod": 3}.get(relation, 4)


def test_subjects_and_objects_stand_on_both_sides_of_their_verbs(corpus):
    sides = defaultdict(set)
    for line in corpus:
        for index, (head, relation) in enumerate(zip(line["heads"], line["deprels"], strict=True)):
            sides[relation].add(head > index)
    assert all(sides[relation] == {True, False} for relation in ("nsubj", "obj", "obl", "advcl", "advmod"))


def test_clause_types_and_lengths_vary(corpus):
    assert len(Counter(line["topic"] for line in corpus)) >= 15
    lengths = [len(line["words"]) for line in corpus]
    assert min(lengths) <= 5 and max(lengths) >= 22 and len(set(lengths)) >= 15


def is_plural(form: str) -> bool:
    return (form.endswith("s") and not form.endswith("ss")) or form in ("children", "thieves", "fish")


def subjects(line: dict):
    """(subject's index, verb's index, the subject counts as plural) of clauses with a noun or personal pronoun."""
    words, heads, deprels, upos = line["words"], line["heads"], line["deprels"], line["upos"]
    for index, relation in enumerate(deprels):
        if relation not in ("nsubj", "nsubj:pass"):
            continue
        plural = any(heads[k] == index and deprels[k] == "conj" for k in range(len(words)))
        form = words[index].lower()
        if upos[index] == "PRON":
            plural = form in ("they", "we", "i", "you")
            if form in ("who", "that", "which", "what"):
                continue
        elif upos[index] == "NOUN":
            plural |= is_plural(form)
            if form == "fish":
                continue
        yield index, heads[index], plural


def test_subjects_and_verbs_agree(corpus):
    checked = 0
    for line in corpus:
        words, heads, deprels = line["words"], line["heads"], line["deprels"]
        for subject, verb, plural in subjects(line):
            helpers = [words[k].lower() for k, head in enumerate(heads)
                       if head == verb and deprels[k] in ("aux", "aux:pass", "cop")]  # fmt: skip
            finite = helpers[0] if helpers else words[verb].lower()
            i_or_he = words[subject].lower() == "i"
            singular_only = {"was", "is", "has"} if not i_or_he else {"is", "has"}
            plural_only = {"were", "are", "have"} if not i_or_he else {"were", "are"}
            assert finite not in (singular_only if plural else plural_only), line["text"]
            if not helpers and re.fullmatch(r"\w+[^s]s", finite):
                assert not plural, line["text"]
            checked += 1
    assert checked > 600


def test_articles_and_numerals_agree_with_their_nouns(corpus):
    singular = {"a", "an", "every", "another", "this", "that"}
    plural = {"these", "those", "several", "two", "three", "four"}
    for line in corpus:
        for index, (form, head, relation) in enumerate(zip(line["words"], line["heads"], line["deprels"], strict=True)):
            if relation not in ("det", "nummod"):
                continue
            noun = line["words"][head]
            if form.lower() in singular:
                assert not is_plural(noun) or noun == "fish", line["text"]
            if form.lower() in plural:
                assert is_plural(noun), line["text"]
            if form.lower() in ("a", "an"):
                assert (form.lower() == "an") == starts_with_vowel(line["words"][index + 1]), line["text"]


def test_lines_carry_the_fields_of_the_corpus_format():
    lines = [json.loads(line) for line in SHIPPED.read_text(encoding="utf-8").splitlines()]
    fields = "id doc text words heads deprels upos space_after topic source license"
    assert {" ".join(line) for line in lines} == {fields}
    assert all(line["license"] == "MIT" and line["source"] == "Headwork grammar, seed 0" for line in lines)
