"""The balanced sets as written and as shipped: every cell whole, every span where its word is, no guess above half."""

import json
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from analysis.evidence.coreference import BASELINES
from analysis.evidence.corpora.corpus import Corpus, read_content, read_corpus
from analysis.sentences.gender import CHINESE, ENGLISH, GENDERS, LANGUAGES, Language, Pair, Template, main, sentences

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "data" / "corpus"
BOTH = pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
TINY = Language(
    "en",
    spaced=True,
    pairs=(Pair("man", "woman", "the"),),
    templates=(Template("t", 1, "{A} saw {B} , and the manager called {him} ."),),
    pronouns={"him": {"m": "him", "f": "her"}},
)


@BOTH
def test_the_shipped_file_is_what_the_module_writes(language, tmp_path, capsys):
    file = f"gender_{language.code}.jsonl"
    main(["--language", language.code, "--out", str(tmp_path / file)])
    assert (tmp_path / file).read_bytes() == (CORPUS / file).read_bytes()
    assert "576 sentences" in capsys.readouterr().out


@BOTH
def test_each_pair_stands_in_each_template_in_both_orders_with_both_pronouns(language):
    lines = sentences(language)
    cells = Counter((line["pair"], line["template"], line["order"], line["words"][line["pronoun"]]) for line in lines)
    assert set(cells.values()) == {1}
    assert len(language.pairs) >= 10 and min(Counter(t.part for t in language.templates).values()) >= 4
    assert len(lines) == 4 * len(language.pairs) * len(language.templates)
    assert len({line["id"] for line in lines}) == len({line["text"] for line in lines}) == len(lines)
    assert sum(not pair.rarer for pair in language.pairs) == 12


@BOTH
def test_every_span_holds_its_noun_and_nothing_else(language):
    by_name = {pair.name: pair for pair in language.pairs}
    for line in sentences(language):
        pair, words = by_name[line["pair"]], line["words"]
        nouns = {words[last] for last in line["candidates"]}
        assert nouns == {pair.man, pair.woman}, line["text"]
        for (first, last), word in zip(line["candidate_spans"], line["candidates"], strict=True):
            assert last == word < line["pronoun"] and " ".join(words[first:last]).lower() == pair.before
        man = words[line["pronoun"]] in ("he", "him", "他")
        assert words[line["antecedents"][0]] == (pair.man if man else pair.woman)
        assert words.count(pair.man) == words.count(pair.woman) == 1


def test_a_noun_inside_another_word_is_not_taken_for_it():
    line = next(line for line in sentences(TINY) if line["order"] == 1 and line["text"].endswith("him."))
    assert line["text"] == "The woman saw the man, and the manager called him."
    corpus = read_content("t.jsonl", json.dumps(line).encode())
    (passage,) = corpus.passages
    spans = [passage.spans[word] for word in (*passage.candidates, passage.pronoun)]
    assert [passage.text[slice(*span)] for span in spans] == ["woman", "man", "him"]
    assert spans[1][0] == line["text"].index(" man,") + 1 > line["text"].index("man")


@BOTH
def test_the_file_reads_back_with_its_cells_and_no_guess_by_place_beats_a_coin(language):
    corpus = read_corpus([CORPUS / f"gender_{language.code}.jsonl"])
    assert not corpus.problems and len(corpus.passages) == 576
    for name in ("nearest", "first", "same word"):
        hits: Counter[tuple[str, str]] = Counter()
        for passage in corpus.passages:
            guess = BASELINES[name](passage, range(2))
            hits[passage.cell.pair, passage.cell.template] += passage.candidates[guess] in passage.antecedents
        assert set(hits.values()) == {2}, name  # of the four sentences of every cell


@BOTH
def test_going_by_one_noun_of_the_pair_gets_half_of_each_cell(language):
    corpus: Corpus = read_corpus([CORPUS / f"gender_{language.code}.jsonl"])
    for which in range(2):
        hits: Counter[tuple[str, str]] = Counter()
        for passage in corpus.passages:
            noun = passage.cell.pair.split("/")[which]
            hits[passage.cell.pair, passage.cell.template] += passage.words[passage.antecedents[0]] == noun
        assert set(hits.values()) == {2}


def test_chinese_is_written_without_spaces_and_english_with_capitals_and_stops():
    for line in sentences(CHINESE):
        assert line["text"] == "".join(line["words"]) and line["text"].endswith("。")
    for line in sentences(ENGLISH):
        assert line["text"][0].isupper() and line["text"].endswith(".") and " ." not in line["text"]
        assert " ," not in line["text"] and "  " not in line["text"]


def test_ids_name_template_pair_order_and_pronoun():
    ids = [line["id"] for line in sentences(ENGLISH)][:4]
    orders = product(GENDERS, GENDERS)
    assert ids == [f"gender-en-garden-01-{first}{'f' if first == 'm' else 'm'}-{meant}" for first, meant in orders]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"part": 3}, "part must be 1 or 2"),
        ({"part": True}, "part must be 1 or 2"),
        ({"order": "x"}, "order must be 0 or 1"),
        ({"rarer": 2}, "rarer must be 0 or 1"),
        ({"pair": ""}, "pair and template must be names"),
        ({"template": 4}, "pair and template must be names"),
        ({"candidates": [1], "candidate_spans": [[0, 1]], "antecedents": [1]}, "two candidates and one antecedent"),
    ],
)
def test_a_broken_cell_is_a_broken_line(change, said):
    line = sentences(TINY)[0] | change
    (problem,) = read_content("t.jsonl", json.dumps(line).encode()).problems
    assert said in problem.reason
