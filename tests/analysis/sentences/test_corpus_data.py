"""The built-in corpus as shipped: every tree a tree, every relation where UD wants it, every pronoun resolvable."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from analysis.sentences.handwritten import NotationError, lines_of, read_tree

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "data" / "corpus"
SHARED = ROOT.parent / "shared" / "data"
RELATIONS = """
root nsubj nsubj:pass obj iobj obl obl:agent obl:unmarked obl:patient csubj ccomp xcomp advcl advmod acl acl:relcl
nmod nmod:poss nmod:tmod amod nummod det det:predet case mark mark:rel mark:adv clf conj cc cc:preconj punct aux
aux:pass cop compound compound:prt compound:ext expl appos discourse discourse:sp
"""
TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ VERB"
NOMINAL = {"NOUN", "PROPN", "PRON", "NUM"}


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


FILES = {name: lines(name) for name in ("grammar_en.jsonl", "hand_en.jsonl", "hand_zh.jsonl")}
TREES = [line for group in FILES.values() for line in group if "heads" in line]
PASSAGES = [line for group in FILES.values() for line in group if "pronoun" in line]
ENGLISH = [line for line in TREES if "-en-" in line["id"]]


def rebuilt(line: dict) -> str:
    return "".join(w + " " * s for w, s in zip(line["words"], line["space_after"], strict=True)).strip()


def arcs(trees: list[dict]):
    for line in trees:
        for index, (head, relation) in enumerate(zip(line["heads"], line["deprels"], strict=True)):
            if head >= 0:
                yield line, index, head, relation


def nominal(line: dict, index: int) -> bool:
    """A noun, or an adjective or adverb that stands for one."""
    return line["upos"][index] in NOMINAL


def predicate(line: dict, index: int) -> bool:
    """A verb, or a word with a copula."""
    has_copula = any(h == index and r == "cop" for h, r in zip(line["heads"], line["deprels"], strict=True))
    chinese_adjective = "-zh-" in line["id"] and line["upos"][index] == "ADJ"  # 房间很小: no copula
    return line["upos"][index] == "VERB" or has_copula or chinese_adjective


def test_sizes():
    sizes = {
        name: (sum("heads" in line for line in group), sum("pronoun" in line for line in group))
        for name, group in FILES.items()
    }
    assert sizes["grammar_en.jsonl"] == (600, 0)
    assert sizes["hand_en.jsonl"][0] >= 150 and sizes["hand_en.jsonl"][1] >= 100
    assert sizes["hand_zh.jsonl"][0] >= 60 and sizes["hand_zh.jsonl"][1] >= 40


def test_every_tree_is_a_tree():
    for line in TREES:
        heads, name = line["heads"], line["id"]
        lengths = {len(line[key]) for key in ("words", "heads", "deprels", "upos", "space_after")}
        assert lengths == {len(heads)}, name
        assert heads.count(-1) == 1 and line["deprels"].count("root") == 1, name
        assert line["deprels"][heads.index(-1)] == "root", name
        assert all(-1 <= head < len(heads) and head != index for index, head in enumerate(heads)), name
        for index in range(len(heads)):
            seen, at = set(), index
            while at != -1:
                assert at not in seen, f"{name}: a cycle"
                seen.add(at)
                at = heads[at]
        assert rebuilt(line) == line["text"], name


def test_ids_are_unique_and_no_sentence_is_written_twice():
    ids = Counter(line["id"] for line in TREES + PASSAGES)
    assert max(ids.values()) == 1, ids.most_common(3)
    texts = Counter(line["text"] for line in TREES)
    assert max(texts.values()) == 1, texts.most_common(3)


@pytest.mark.parametrize(
    ("relation", "heads"),
    [("det", NOMINAL), ("amod", NOMINAL), ("compound", NOMINAL), ("nmod:poss", NOMINAL), ("acl:relcl", NOMINAL),
     ("acl", NOMINAL), ("nmod", NOMINAL), ("nummod", NOMINAL), ("appos", NOMINAL), ("iobj", {"VERB"}),
     ("compound:prt", {"VERB"}), ("xcomp", {"VERB"}), ("ccomp", {"VERB", "ADJ"}), ("aux:pass", {"VERB"}),
     ("obj", {"VERB"}), ("expl", {"VERB"}), ("obl:agent", {"VERB"})],
)  # fmt: skip
def test_the_head_is_of_the_right_kind(relation, heads):
    found = [(line["text"], line["words"][i], line["upos"][h]) for line, i, h, r in arcs(TREES) if r == relation]
    assert found
    assert not [item for item in found if item[2] not in heads]


def test_case_marks_a_nominal_and_mark_a_clause():
    for line, _, head, relation in arcs(TREES):
        if relation == "case":
            assert nominal(line, head), line["text"]
        if relation == "mark":
            assert predicate(line, head), line["text"]


def test_the_copula_depends_on_a_predicate_with_a_subject():
    for line, _, head, relation in arcs(TREES):
        if relation == "cop":
            assert line["upos"][head] in NOMINAL | {"ADJ", "ADV"}, line["text"]
            kinds = {r for h, r in zip(line["heads"], line["deprels"], strict=True) if h == head}
            assert kinds & {"nsubj", "csubj"}, line["text"]


def test_passive_subjects_have_a_passive_auxiliary_or_a_marked_agent():
    for line, _, head, relation in arcs(TREES):
        if relation == "nsubj:pass":
            kinds = {r for h, r in zip(line["heads"], line["deprels"], strict=True) if h == head}
            assert kinds & {"aux:pass", "obl:agent"}, line["text"]


def test_no_word_has_two_subjects_or_objects():
    for line in TREES:
        for relation in ("nsubj", "nsubj:pass", "obj", "iobj", "cop"):
            owners = [h for h, r in zip(line["heads"], line["deprels"], strict=True) if r == relation]
            assert len(owners) == len(set(owners)), line["text"]


def test_function_words_are_leaves_and_conjuncts_follow_their_head():
    leaves = {"det", "case", "mark", "aux", "aux:pass", "cop", "cc", "punct", "compound:prt", "expl", "discourse:sp"}
    for line, index, head, relation in arcs(TREES):
        if relation == "conj":
            assert index > head, line["text"]
        if line["deprels"][head] in leaves:  # a classifier hangs on its demonstrative: 这 ← 本
            assert relation == "clf", (line["text"], line["words"][index])


def test_relations_and_tags_are_universal():
    assert {r for line in TREES for r in line["deprels"]} <= set(RELATIONS.split())
    assert {tag for line in TREES + PASSAGES for tag in line["upos"]} <= set(TAGS.split())
    for line, index, _, relation in arcs(TREES):
        assert (relation == "punct") == (line["upos"][index] == "PUNCT")
        if relation == "det":
            assert line["upos"][index] == "DET"


def test_every_pronoun_can_be_resolved_among_the_mentions_before_it():
    for line in PASSAGES:
        name, candidates, right = line["id"], line["candidates"], set(line["antecedents"])
        assert rebuilt(line) == line["text"], name
        assert line["upos"][line["pronoun"]] == "PRON", name
        assert len(candidates) == len(set(candidates)) >= 2, name
        lengths = {len(line[key]) for key in ("candidate_spans", "candidate_deprels", "candidate_entity")}
        assert lengths == {len(candidates)}, name
        for head, (first, last) in zip(candidates, line["candidate_spans"], strict=True):
            assert first <= head <= last < line["pronoun"], name
        assert right and right < set(candidates), name
        assert {head for head in right if line["upos"][head] != "PRON"} == set(line["antecedents_nominal"]), name
        assert line["cue"] and line["topic"], name


def test_gender_number_and_animacy_cues_fit_the_pronoun():
    many = {"they", "them", "their", "themselves", "他们", "她们", "它们"}
    for line in PASSAGES:
        form = line["words"][line["pronoun"]].lower()
        plural = [line["words"][head] for head in line["antecedents_nominal"]]
        if "-en-" in line["id"] and form in many:
            assert all(noun.endswith("s") or noun in ("geese", "children", "men") for noun in plural), line["text"]
        elif "-en-" in line["id"]:
            assert not any(noun in ("geese", "children", "men") for noun in plural), line["text"]
        if line["cue"] == "gender":
            assert form in {"he", "she", "him", "her", "his", "他", "她"}, line["text"]
        if line["topic"].endswith("pronoun: animacy"):
            pairs = {"it", "它"} & {form} or {"he", "she", "他", "她"} & {form}
            assert pairs, line["text"]


def baselines(passages: list[dict]) -> dict[str, float]:
    """Accuracy of guessing without looking: by chance, the nearest mention, the first one, the nearest subject."""
    hits = Counter()
    for line in passages:
        right = set(line["antecedents"])
        hits["chance"] += len(right) / len(line["candidates"])
        order = sorted(line["candidates"])
        hits["nearest"] += order[-1] in right
        hits["first"] += order[0] in right
        roles = zip(line["candidates"], line["candidate_deprels"], strict=True)
        subject = [head for head, role in roles if role.startswith("nsubj")]
        hits["nearest subject"] += (max(subject) if subject else order[-1]) in right
    return {name: value / len(passages) for name, value in hits.items()}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_simple_guesses_stay_near_chance(language):
    found = baselines([line for line in PASSAGES if f"-{language}-" in line["id"]])
    assert all(abs(found[name] - found["chance"]) <= 0.08 for name in ("nearest", "first")), found
    assert found["nearest subject"] <= found["chance"] + 0.12, found


def test_the_readme_states_the_baselines():
    text = (CORPUS / "README.md").read_text(encoding="utf-8")
    for language in ("en", "zh"):
        found = baselines([line for line in PASSAGES if f"-{language}-" in line["id"]])
        row = " | ".join(f"{100 * found[name]:.1f}" for name in ("chance", "nearest", "first", "nearest subject"))
        assert row in text, row


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_shipped_lines_are_what_the_readable_source_says(language):
    source = (CORPUS / f"hand_{language}.txt").read_text(encoding="utf-8")
    assert lines_of(source, language) == FILES[f"hand_{language}.jsonl"]


def test_chinese_words_need_no_spaces():
    for line in FILES["hand_zh.jsonl"]:
        assert line["text"] == "".join(line["words"]) and " " not in line["text"]


def test_no_sentence_is_one_of_the_reference_corpora():
    if not SHARED.is_dir():
        pytest.skip("../shared/data is absent: nothing to compare with")

    def plain(words):
        return " ".join(word.lower() for word in words if word.isalnum())

    rows = [json.loads(row) for path in sorted(SHARED.glob("*.jsonl")) for row in path.read_text("utf-8").splitlines()]
    theirs = {plain(row.get("words") or re.findall(r"\w+", row["prompt"])) for row in rows}
    assert len(theirs) > 1000
    assert not [line["text"] for line in TREES + PASSAGES if plain(line["words"]) in theirs]


def test_notation_reads_words_heads_and_mentions():
    tree = read_tree("[nsubj=a The/det boys] saw him/obj=b! [acl:relcl who/nsubj left] .")
    assert [node.form for node in tree] == ["The", "boys", "saw", "him", "who", "left", "."]
    heads = [None if node.head is None else node.head.form for node in tree]
    assert heads == ["boys", "saw", None, "saw", "left", "saw", "saw"]
    assert [node.upos for node in tree] == ["DET", "NOUN", "VERB", "PRON", "PRON", "VERB", "PUNCT"]
    assert [node.entity for node in tree] == ["", "a", "", "b", "", "", ""]
    assert tree[3].scored == "" and tree[1].scored is None


@pytest.mark.parametrize(
    "broken", ["[nsubj the/det] sleeps .", "cats sleep dogs .", "[nsubj cats sleep .", "cats/ sleep .", "cats/nsubj ."]
)
def test_broken_notation_is_refused(broken):
    with pytest.raises(NotationError):
        read_tree(broken)


def test_the_readme_counts_are_the_files_counts():
    text = (CORPUS / "README.md").read_text(encoding="utf-8")
    counts = {name: Counter(r for line in group for r in line.get("deprels", ())) for name, group in FILES.items()}
    for relation in {r for line in TREES for r in line["deprels"]} - {"root"}:
        row = next(line for line in text.splitlines() if line.startswith(f"| {relation} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert [int(cells[k]) for k in (1, 3, 4)] == [count[relation] for count in counts.values()], relation
    for name, group in FILES.items():
        arcs_of = [line for line in group if "heads" in line]
        n_words = sum(len(line["words"]) for line in arcs_of)
        assert f"| {name} | {len(arcs_of)} | {n_words} | {len(group) - len(arcs_of)} |" in text, name
