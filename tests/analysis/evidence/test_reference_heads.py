"""The built-in model on UD EWT, UD GUM and GAP: the figures of an independent measurement, reached by this scorer.

They were measured with transformers' own BertModel. Per-head accuracies within 0.5 points, n exactly, intervals within
1.5 points: two bootstraps differ by that much. One run of each corpus serves all tests.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.evidence.coreference import score_coreference
from analysis.evidence.corpora.corpus import read_corpus
from analysis.evidence.dependencies import score_dependencies
from analysis.evidence.gender import score_gender
from analysis.evidence.meaning import measure_moves
from analysis.evidence.records import OWN_FOLDER as OWN
from analysis.evidence.scoring import Conditions, score
from model import HeadworkError
from tests.models import load

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
TREEBANKS = ("ud_en_ewt_dev_500.jsonl", "ud_en_gum_dev_400.jsonl")


def corpus(*names):
    files = [DATA / name for name in names]
    if not all(file.is_file() for file in files):
        pytest.skip("the corpora in ../shared/data aren't here")
    found = read_corpus(files)
    assert not found.problems
    return found


@pytest.fixture(scope="session")
def trained(minilm):
    run = score(minilm, corpus(*TREEBANKS))
    assert len(run.sentences) == 869 and not run.skipped
    return score_dependencies(run)


@pytest.fixture(scope="session")
def antecedents(minilm):
    gum, gap = (score_coreference(score(minilm, corpus(f"coref_{name}.jsonl"))) for name in ("gum_dev", "gap_300"))
    return {"gum": gum[0], "gum noun": gum[1], "gap": gap[0]}


@pytest.fixture(scope="session")
def random_weights(minilm):
    return score_dependencies(score(minilm, corpus(*TREEBANKS), Conditions(control="untrained")))


def head(name):
    layer, number = name.split("-")
    return int(layer) - 1, int(number) - 1


@pytest.mark.parametrize(
    ("relation", "direction", "n", "name", "accuracy", "offset", "baseline"),
    [
        ("obj", "dep>head", 596, "3-1", 75.0, -2, 37.6),
        ("det", "dep>head", 983, "3-9", 80.1, +1, 60.3),
        ("nsubj", "dep>head", 1120, "3-9", 54.3, +1, 36.9),
        ("case", "dep>head", 1021, "3-9", 69.1, +1, 39.6),
        ("case", "head>dep", 1014, "3-1", 63.6, -1, 39.8),
        ("nsubj:pass", "dep>head", 99, "3-4", 64.6, +2, 43.4),
        ("advmod", "dep>head", 719, "3-2", 55.5, +1, 45.8),
        ("amod", "dep>head", 632, "3-9", 82.1, +1, 79.3),
    ],
)
def test_heads_on_relations(trained, relation, direction, n, name, accuracy, offset, baseline):
    score = trained.of(relation, direction)
    assert score.n == n
    assert 100 * score.accuracy[head(name)] == pytest.approx(accuracy, abs=0.5)
    assert score.best_offset == offset
    assert 100 * score.offset_accuracy == pytest.approx(baseline, abs=0.1)


@pytest.mark.parametrize(("relation", "n"), [("cop", 401), ("aux", 330), ("nmod:poss", 193), ("conj", 389)])
def test_counts_of_relations(trained, relation, n):
    assert trained.of(relation, "dep>head").n == n


@pytest.mark.parametrize(
    ("relation", "name", "bounds", "gain", "gain_bounds"),
    [
        ("obj", "3-1", (71.4, 78.4), 37.4, (32.6, 42.3)),
        ("det", "3-9", (77.5, 82.6), 19.7, (16.6, 22.9)),
        ("nsubj", "3-9", (51.4, 57.2), 17.4, (14.6, 20.1)),
    ],
)
def test_held_out_gains_where_both_halves_choose_one_head(trained, relation, name, bounds, gain, gain_bounds):
    found = trained.of(relation, "dep>head").held_out
    assert found.heads == (head(name), head(name))
    np.testing.assert_allclose(100 * np.array(found.interval), bounds, atol=1.5)
    assert 100 * found.gain == pytest.approx(gain, abs=0.5)
    np.testing.assert_allclose(100 * np.array(found.gain_interval), gain_bounds, atol=1.5)


def test_most_of_a_specialists_arrows_are_something_else(trained):
    assert 100 * trained.of("obj", "dep>head").arrow_share[head("3-1")] == pytest.approx(3.7, abs=0.1)
    assert 100 * trained.no_arc_share[head("3-1")] == pytest.approx(66, abs=0.5)


def test_heads_for_cases_can_not_be_told_apart(trained):
    assert set(trained.of("case", "dep>head").intervals.ties) >= {head("3-9"), head("2-5")}


@pytest.mark.parametrize(
    ("which", "n", "name", "accuracy", "bounds", "baselines"),
    [
        (
            "gum",
            369,
            "3-5",
            81.8,
            (75.4, 87.4),
            {"nearest": 27.4, "first": 39.8, "same word": 52.3, "nearest subject": 50.1},
        ),
        ("gum noun", 247, "4-2", 81.4, (73.6, 88.0), {"nearest": 24.7, "first": 40.9, "nearest subject": 53.4}),
        ("gap", 300, "4-2", 73.0, (67.7, 78.0), {"nearest": 56.3, "first": 48.0}),
    ],
)
def test_heads_on_antecedents(antecedents, which, n, name, accuracy, bounds, baselines):
    score = antecedents[which]
    assert score.n == n
    assert 100 * score.accuracy[head(name)] == pytest.approx(accuracy, abs=0.5)
    assert head(name) in score.held_out.heads
    np.testing.assert_allclose(100 * score.intervals.accuracy[(slice(None), *head(name))], bounds, atol=1.5)
    for baseline, value in baselines.items():
        assert 100 * score.baselines[baseline] == pytest.approx(value, abs=0.1), baseline
    assert set(score.baselines) >= set(baselines)


def test_chance_of_antecedents(antecedents):
    assert [round(100 * antecedents[which].chance, 1) for which in ("gum", "gum noun", "gap")] == [31.4, 28.2, 50.0]


def test_a_head_finds_the_antecedent_from_the_pronoun_and_hardly_from_other_words(antecedents):
    """The measurement asked one other word, this scorer asks all: 31.8, 41.5 and 56.8 there."""
    for which, name, value in (("gum", "3-5", 31.8), ("gum noun", "4-2", 41.5), ("gap", "4-2", 56.8)):
        assert 100 * antecedents[which].query_control[head(name)] == pytest.approx(value, abs=2)


def test_random_weights_beat_position_nowhere(random_weights):
    sure = [each for each in random_weights.relations if each.held_out and each.held_out.gain_interval]
    assert len(sure) > 50
    assert [each.relation for each in sure if each.held_out.gain_interval[0] > 0.05] == []
    assert random_weights.of("obj", "dep>head").held_out.accuracy < 0.1


# Gender, on the project's own balanced sets. The figures to reach are from another set of ten pairs of nouns (eight
# templates); this one has twelve, and is divided in every way instead of once.
@pytest.fixture(scope="session")
def e5():
    try:
        return load("e5-small-4bit")
    except HeadworkError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def gender(minilm, e5):
    def scored(model, name):
        (found,) = score_gender(score(model, read_corpus([OWN / f"gender_{name}.jsonl"])))
        return found

    return {"zh": scored(e5, "zh"), "en": scored(e5, "en"), "minilm": scored(minilm, "en")}


@pytest.mark.parametrize(
    ("which", "name", "other_nouns", "new_templates"),
    [("zh", "8-1", 100, 97.5), ("en", "8-1", 100, 99.4), ("minilm", "2-4", 100, 100)],
)
def test_heads_on_gender(gender, which, name, other_nouns, new_templates):
    found = gender[which].chosen
    assert found.heads[0][0] == head(name)
    assert 100 * found.other_nouns.accuracy == pytest.approx(other_nouns, abs=5)
    assert 100 * found.new_templates.accuracy == pytest.approx(new_templates, abs=5)


def test_gender_is_matched_by_few_heads_and_not_by_all_together(gender):
    for which, head_ in (("zh", "8-1"), ("en", "8-1"), ("minilm", "2-4")):
        found = gender[which]
        assert found.mean_of_heads == pytest.approx(0.5, abs=0.03)
        assert found.mean_map < 0.6
        assert found.query_control[head(head_)] == pytest.approx(0.5, abs=0.05)
        assert min(found.follows_noun[head(head_)], found.follows_pronoun[head(head_)]) > 0.9
    assert gender["zh"].chosen.heads == gender["en"].chosen.heads == ((head("8-1"), 1.0),)


def test_the_false_friend_follows_the_nouns_and_not_the_pronoun(gender):
    """12-5 seems to link 她 and 小红; it does so from 他 as well."""
    found, friend = gender["zh"], head("12-5")
    assert found.accuracy[friend] == pytest.approx(0.5, abs=0.06) and found.follows_pronoun[friend] < 0.2


def test_a_pronoun_in_one_piece_with_the_word_before_it_is_left_out_with_its_cell(gender):
    assert (gender["zh"].n, gender["zh"].n_unclear) == (384, 64)  # 因为他, in the template "because"
    assert (gender["en"].n, gender["en"].n_unclear) == (432, 0)


@pytest.mark.parametrize("control", ["untrained", "mask"])
def test_controls_get_half_of_gender(e5, control):
    corpus = read_corpus([OWN / "gender_zh.jsonl"])
    few = replace(corpus, passages=tuple(p for p in corpus.passages if not p.cell.rarer and p.cell.part == 1))
    (found,) = score_gender(score(e5, few, Conditions(control=control)), draws=2)
    assert found.accuracy.max() < 0.66 and found.mean_of_heads == pytest.approx(0.5, abs=0.02)
    if control == "mask":
        assert (found.accuracy == 0.5).all()  # only places are left


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_head_that_matches_genders_does_not_follow_meaning(e5, language):
    found = measure_moves(e5, language)
    assert found.n == 8 and found.right[head("8-1")] == 0 and found.moved[head("8-1")] <= 1
    assert found.right.max() <= 2  # of all 144 heads


def test_chinese_arcs_are_scored_on_text_as_it_is_written(e5):
    run = score(e5, corpus("ud_zh_gsdsimp_dev_200.jsonl"))
    found = score_dependencies(run)
    assert run.writing == "written" and len(run.sentences) == 200 and not run.skipped
    assert (found.n_arcs, found.n_unclear) == (3264, 809)  # a quarter: 去了 and the like are one piece
    assert found.n_incomplete == 41  # of 2250 questions from head to dependent
    obj = found.of("obj", "dep>head")
    assert obj.n == 190 and obj.held_out.heads == (head("8-5"), head("8-5"))
    assert obj.held_out.gain_interval[0] > 0.2
    nsubj = found.of("nsubj", "dep>head").held_out
    assert nsubj.gain_interval[0] < 0 < nsubj.gain_interval[1]  # no head for subjects: that is an answer
