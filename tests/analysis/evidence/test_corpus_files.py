"""CoNLL-U and JSON lines: what is read, and what is said of what can't be."""

import json
import sys

import pytest

from analysis.evidence.corpora import corpus as readers
from analysis.evidence.corpora.annotated import MOST_WORDS, Broken, check_arcs, relation
from analysis.evidence.corpora.corpus import read_content, read_corpus
from analysis.words.chinese import is_chinese
from model import HeadworkError


def row(id_, form, head, deprel, misc="_", upos="NOUN"):
    return "\t".join([str(id_), form, "_", upos, "_", "_", str(head), deprel, "_", misc])


def conllu(*blocks):
    return "\n\n".join("\n".join(block) for block in blocks).encode() + b"\n\n"


GOOD = [row(1, "Dogs", 2, "nsubj"), row(2, "bark", 0, "root", "SpaceAfter=No"), row(3, ".", 2, "punct")]


def only(content, name="a.conllu"):
    corpus = read_content(name, content)
    assert not corpus.problems
    return corpus.sentences[0]


def test_text_is_rebuilt_from_space_after_and_heads_count_from_zero():
    sentence = only(conllu(["# sent_id = s1", *GOOD]))
    assert sentence.text == "Dogs bark."
    assert sentence.spans == ((0, 4), (5, 9), (9, 10))
    assert sentence.heads == (1, -1, 1)
    assert (sentence.id, sentence.deprels, sentence.upos) == ("s1", ("nsubj", "root", "punct"), ("NOUN",) * 3)


def test_a_multi_word_token_that_its_words_spell_is_dealt_out_by_characters():
    block = [
        row(1, "I", 4, "nsubj"),
        row("2-3", "don't", "_", "_"),
        row(2, "do", 4, "aux"),
        row(3, "n't", 4, "advmod"),
        row(4, "know", 0, "root"),
    ]
    sentence = only(conllu(block))
    assert sentence.text == "I don't know"
    assert [sentence.text[a:b] for a, b in sentence.spans] == ["I", "do", "n't", "know"]


def test_words_of_a_contraction_that_they_do_not_spell_share_its_characters():
    block = [
        row("1-2", "du", "_", "_"),
        row(1, "de", 3, "case"),
        row(2, "le", 3, "det"),
        row(3, "pain", 0, "root", "SpaceAfter=No"),
        row(4, "!", 3, "punct"),
    ]
    sentence = only(conllu(block))
    assert sentence.text == "du pain!"
    assert sentence.spans == ((0, 2), (0, 2), (3, 7), (7, 8))
    assert sentence.words == ("de", "le", "pain", "!")


def test_empty_nodes_are_dropped():
    block = [
        row(1, "Ann", 2, "nsubj"),
        row(2, "sings", 0, "root"),
        row("2.1", "songs", "_", "_"),
        row(3, "x", 2, "obj"),
    ]
    sentence = only(conllu(block))
    assert sentence.words == ("Ann", "sings", "x") and sentence.heads == (1, -1, 1)


def test_documents_begin_with_newdoc():
    corpus = read_content("a.conllu", conllu(GOOD, ["# newdoc id = d1", *GOOD], GOOD, ["# newdoc", *GOOD]))
    docs = [sentence.doc for sentence in corpus.sentences]
    assert docs[:3] == [None, "d1", "d1"] and docs[3] not in (None, "d1")


def test_subtypes_are_dropped_but_for_five():
    assert [
        relation(r) for r in ("nmod:tmod", "nmod:poss", "nsubj:pass", "nsubj:outer", "obl:npmod", "compound:prt")
    ] == ["nmod", "nmod:poss", "nsubj:pass", "nsubj", "obl", "compound:prt"]


@pytest.mark.parametrize(
    ("bad", "line", "reason"),
    [
        ([row(1, "a", 9, "root")], 5, "no word of this sentence"),
        ([row(1, "a", 1, "dep")], 5, "its own head"),
        ([row(1, "a", 2, "dep"), row(2, "b", 1, "dep")], 5, "root"),
        ([row(1, "a", 2, "dep"), row(2, "b", 1, "dep"), row(3, "c", 0, "root")], 5, "circle"),
        (["# text = x", row(1, "a", 0, "root"), row(3, "b", 1, "dep")], 7, "word 2 has the number 3"),
        ([row(1, "a", "x", "root")], 5, "'x'"),
        ([row(1, "a", "_", "root")], 5, "no head"),
        ([row(1, "a", 0, "root"), "2\tb"], 6, "ten columns"),
        ([row(1, "a", 0, "root"), "no tabs here"], 6, "tabs"),
        ([row("1-4", "ab", "_", "_"), row(1, "a", 0, "root")], 5, "1-4"),
        ([row(1, "\x07", 0, "root")], 5, "control"),
    ],
)
def test_a_broken_sentence_is_named_by_its_line_and_the_others_are_read(bad, line, reason):
    corpus = read_content("b.conllu", conllu(GOOD, bad, GOOD))
    assert len(corpus.sentences) == 2
    (problem,) = corpus.problems
    assert (problem.file, problem.line) == ("b.conllu", line)
    assert reason in problem.reason


def test_a_line_that_is_no_utf8_costs_its_sentence_only():
    corpus = read_content("b.conllu", conllu(GOOD, GOOD, GOOD).replace(b"bark", b"b\xffrk", 1))
    assert len(corpus.sentences) == 2
    assert [(p.line, p.reason) for p in corpus.problems] == [(2, "byte 4 is not UTF-8")]


def arcs(**changes):
    line = {"words": ["Dogs", "bark", "."], "heads": [1, -1, 1], "deprels": ["nsubj", "root", "punct"]}
    return {key: value for key, value in (line | changes).items() if value is not ...}


def passage(**changes):
    line = {"words": ["Ann", "saw", "Bob", ";", "he", "left"], "pronoun": 4, "candidates": [0, 2], "antecedents": [2]}
    return {key: value for key, value in (line | changes).items() if value is not ...}


def json_lines(*lines):
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def test_an_antecedent_that_a_line_repeats_counts_once():
    """Each is compared with each candidate: a line of 1 MB can repeat one half a million times."""
    (found,) = read_content("c.jsonl", json_lines(passage(antecedents=[2, 0, 2] * 1000))).passages
    assert found.antecedents == (2, 0)


def test_kinds_are_told_apart_by_their_fields_and_a_line_may_be_both():
    corpus = read_content(
        "c.jsonl",
        json_lines(
            arcs(doc="d"),
            passage(upos=None),
            "",
            arcs() | passage(words=["a"] * 3, pronoun=2, candidates=[0, 1], antecedents=[1]),
        ),
    )
    assert not corpus.problems
    assert len(corpus.sentences) == 2 and len(corpus.passages) == 2
    assert corpus.sentences[0].text == "Dogs bark ." and corpus.sentences[0].doc == "d"
    assert corpus.passages[0].candidate_ends == (0, 2)
    assert corpus.passages[0].nouns is None


def test_nouns_are_candidates_that_are_no_pronouns():
    upos = ["PRON", "VERB", "PROPN", "PUNCT", "PRON", "VERB"]
    (found,) = read_content("c.jsonl", json_lines(passage(upos=upos))).passages
    assert found.nouns == (1,)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"words": [', "not JSON at character 12"),
        ("[1]", "object"),
        ({"words": ["a"]}, "neither heads"),
        (arcs(words=...), "words is missing"),
        (arcs(words=[]), "no words"),
        (arcs(words=["a", " ", "c"]), "word 2 is empty"),
        (arcs(words=["a", 3, "c"]), "word 2"),
        (arcs(heads=[1, -1]), "heads has 2 entries, but 3"),
        (arcs(heads=[1, -1, True]), "whole numbers"),
        (arcs(heads=[1, -1, 3]), "head of word 3"),
        (arcs(heads=[-2, -1, 1]), "head of word 1"),
        (arcs(heads=[1, 0, 1]), "root"),
        (arcs(deprels=...), "deprels is missing"),
        (arcs(deprels="abc"), "must be a list"),
        (arcs(space_after=[1, 2, 1]), "0 or 1"),
        (passage(pronoun=6), "pronoun"),
        (passage(pronoun=...), "pronoun"),
        (passage(candidates=[0, 0]), "different"),
        (passage(candidates=[0, 4]), "own candidates"),
        (passage(antecedents=[1]), "antecedents"),
        (passage(antecedents=[]), "antecedents"),
        (passage(candidate_spans=[[0, 0]]), "2 are needed"),
        (passage(candidate_spans=[[0, 0], [3, 2]]), "pairs"),
        (passage(candidate_deprels=["nsubj"]), "2 are needed"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_read(line, reason):
    corpus = read_content("d.jsonl", json_lines(arcs(), passage(), line, arcs()))
    assert (len(corpus.sentences), len(corpus.passages)) == (2, 1)
    (problem,) = corpus.problems
    assert problem.line == 3 and reason in problem.reason, problem
    assert str(problem).startswith("d.jsonl, line 3: ")


def test_the_format_follows_the_ending_or_else_the_content():
    assert len(read_content("x.txt", json_lines(arcs())).sentences) == 1
    assert len(read_content("x.txt", conllu(GOOD)).sentences) == 1
    assert len(read_content("x.jsonl", b"oops\n" + json_lines(arcs())).sentences) == 1
    assert len(read_content("x.conllu", b"\xef\xbb\xbf" + conllu(GOOD).replace(b"\n", b"\r\n")).sentences) == 1


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(HeadworkError, match=r"nothing\.jsonl"):
        read_corpus([tmp_path / "nothing.jsonl"])


def test_files_are_read_in_order_with_their_hashes(tmp_path):
    (tmp_path / "a.conllu").write_bytes(conllu(GOOD))
    (tmp_path / "b.jsonl").write_bytes(json_lines(arcs(), passage()))
    corpus = read_corpus([tmp_path / "b.jsonl", tmp_path / "a.conllu"])
    assert [(s.file, s.n_sentences, s.n_passages) for s in corpus.sources] == [("b.jsonl", 1, 1), ("a.conllu", 1, 0)]
    assert corpus.sentences[1].place.file == "a.conllu" and len(corpus.sources[0].sha256) == 64


CHINESE = """# text = 他去了，没回来。
1\t他\t_\tPRON\t_\t_\t2\tnsubj\t_\tSpaceAfter=No
2\t去\t_\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t了\t_\tAUX\t_\t_\t2\taux\t_\tSpaceAfter=No
4\t，\t_\tPUNCT\t_\t_\t2\tpunct\t_\tSpaceAfter=No
5\t没\t_\tADV\t_\t_\t6\tadvmod\t_\tSpaceAfter=No
6\t回来\t_\tVERB\t_\t_\t2\tconj\t_\tSpaceAfter=No
7\t。\t_\tPUNCT\t_\t_\t2\tpunct\t_\tSpaceAfter=No
"""


def test_chinese_words_stand_without_spaces_each_with_its_characters():
    (sentence,) = read_content("zh.conllu", CHINESE.encode()).sentences
    assert sentence.text == "他去了，没回来。"
    assert [sentence.text[slice(*span)] for span in sentence.spans] == list(sentence.words)


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("他去了。", True),
        ("Tom 去了学校。", True),
        ("Tom met 小红 at school.", False),
        ("東京都庁へ行った", False),  # Japanese, though most letters are Han
        ("แมวกินปลา", False),
        ("", False),
        ("…", False),
    ],
)
def test_which_text_is_chinese(text, chinese):
    assert is_chinese(text) is chinese


class Counted(list):
    """A list that counts how often an entry is looked up."""

    n = 0

    def __getitem__(self, index):
        self.n += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("size", [1_000, 4_000])
def test_the_check_of_a_tree_passes_each_word_once(size):
    chain, star = Counted([*range(1, size), -1]), Counted([-1, *[0] * (size - 1)])
    check_arcs(chain)
    check_arcs(star)
    assert chain.n <= size and star.n <= size
    circle = Counted([-1, *range(2, size), 1])
    with pytest.raises(Broken, match="circle"):
        check_arcs(circle)
    assert circle.n <= size


def lines_run(function, *arguments):
    """How many lines of Python a call runs."""
    n = 0

    def count(frame, event, argument):
        nonlocal n
        n += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return n


def chain(n):
    return conllu([row(i, "a", i + 1 if i < n else 0, "dep") for i in range(1, n + 1)])


def one_contraction(n):
    block = [row(f"1-{n}", "du", "_", "_"), *(row(i, "a", 0 if i == 1 else 1, "dep") for i in range(1, n + 1))]
    return conllu(block)


def broken_at_the_end(n):
    return conllu([*(row(i, "a", i - 1, "dep") for i in range(1, n)), row(n, "a", "x", "dep")])


def many_sentences(n):
    return conllu(*[[*GOOD[:2]]] * (n // 2))


def not_utf8(n):
    return b"\xff\n" * n


def one_passage(n):
    words, others = ["a"] * n, list(range(1, n))
    return json.dumps({"words": words, "pronoun": 0, "candidates": others, "antecedents": others[:1]}).encode()


def a_circle(n):
    heads = [-1, *range(2, n), 1]
    return json.dumps({"words": ["a"] * n, "heads": heads, "deprels": ["dep"] * n}).encode()


@pytest.mark.parametrize(
    "make", [chain, one_contraction, broken_at_the_end, many_sentences, not_utf8, one_passage, a_circle]
)
def test_a_file_twice_as_long_takes_twice_the_steps(make):
    name = "a.jsonl" if make in (one_passage, a_circle) else "a.conllu"
    short, long = (lines_run(read_content, name, make(n)) for n in (200, 800))
    assert long <= 4.4 * short


@pytest.mark.parametrize("line", ["a\n\n", "a\tb\n\n"])
def test_a_line_of_too_few_columns_costs_few_steps(line):
    """1 MB holds 300,000 of them."""
    assert lines_run(read_content, "a.conllu", line.encode() * 200) <= 60 * 200


@pytest.mark.parametrize("name", ["id", "doc", "deprels", "words"])
def test_half_of_a_surrogate_pair_is_a_broken_line(name):
    whole = {"words": ["a", "😀"], "heads": [1, -1], "deprels": ["det", "root"], "id": "x", "doc": "y"}
    broken = whole | {name: ["\ud800", "b"] if isinstance(whole[name], list) else "\udfff"}
    corpus = read_content("a.jsonl", "\n".join(map(json.dumps, (whole, broken, whole))).encode())
    assert [(problem.line, "surrogate" in problem.reason) for problem in corpus.problems] == [(2, True)]
    assert len(corpus.sentences) == 2


@pytest.mark.parametrize("size, n_problems", [(MOST_WORDS, 0), (MOST_WORDS + 1, 1)])
def test_a_sentence_longer_than_any_model_reads_is_said_and_left_out(size, n_problems):
    heads = [-1, *[0] * (size - 1)]
    line = json.dumps({"words": ["a"] * size, "heads": heads, "deprels": ["dep"] * size}).encode()
    for name, content in (("a.conllu", chain(size)), ("a.jsonl", line)):
        corpus = read_content(name, content + b"\n")
        assert (len(corpus.problems), len(corpus.sentences)) == (n_problems, 1 - n_problems)
        assert all(f"{size} words" in str(problem) and str(MOST_WORDS) in str(problem) for problem in corpus.problems)


def test_a_file_with_too_many_lines_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(readers, "MOST_LINES", 5)
    with pytest.raises(HeadworkError, match=r"a\.conllu has 6 lines, and at most 5"):
        read_content("a.conllu", b"\n" * 6)


def test_a_number_of_thousands_of_digits_is_a_broken_line():
    corpus = read_content("a.conllu", conllu(GOOD[:1], [row(1, "a", "9" * 5000, "dep")], GOOD))
    assert [problem.line for problem in corpus.problems] == [1, 3]
    assert "digits" in corpus.problems[1].reason and len(corpus.sentences) == 1
