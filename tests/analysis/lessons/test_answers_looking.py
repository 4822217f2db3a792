"""Where heads look: by hand, and the figures that the lessons' texts were written for."""

import numpy as np
import pytest

from analysis.lessons.answers.looking import best_pair, heads_there, most_attended, race, row_sum, weight, winner
from analysis.lessons.answers.recorded import beats_baseline, recorded
from analysis.lessons.lesson import Given, Words
from analysis.lessons.setup import Setup, setup_of
from model import HeadworkError
from tests import models
from tests.analysis.lessons.made_setups import made_setup, setup

TEACHER = "The teacher praised the students because they worked hard."
CLASS = "老师表扬了学生，他们学习很努力。"
FIGURE_3 = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting process more difficult ."
)
FIGURE_4 = (
    "The Law will never be perfect , but its application should be just - this is what we are missing , in my opinion ."
)
# Two heads over "a b c": the first looks from b at c, the second at a.
TWO = made_setup("a b c", [[[[0.2, 0.3, 0.5], [0.1, 0.2, 0.7], [0.4, 0.4, 0.2]],
                            [[0.6, 0.2, 0.2], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]]]])  # fmt: skip


def test_a_row_by_hand():
    found = most_attended(TWO, layer=1, head=1, query="b")
    assert (found.right, found.labels) == (2, ("a", "b", "c"))
    assert found.given == {"head": "1-1", "query": "b"}
    assert found.said == {"key": "c", "weight": "0.70", "second": "b", "second_weight": "0.20", "special": "0 %"}
    assert weight(TWO, layer=1, head=2, query="b", key="a").right == pytest.approx(0.5)
    assert row_sum(TWO, layer=1, head=2, query="c").right == pytest.approx(1.0)


def test_a_race_by_hand():
    found = race(TWO, query="b", key="c")
    assert found.right == (1, 2)
    assert (found.said["head"], found.said["weight"]) == ("1-1", "0.70")
    assert (found.said["second"], found.said["second_weight"]) == ("1-2", "0.20")
    assert winner(TWO, query="b", key="a").right == "1-2"
    assert heads_there(TWO, query="b", key="a").right == 1
    assert heads_there(TWO, query="a", key="c").right == 1  # the second head's tie goes to the word before


def test_the_best_pair_is_of_two_different_words():
    found = best_pair(TWO, layer=1, head=2)
    assert found.right == (2, 1)  # .60; the .60 from a to itself doesn't count


def test_a_word_that_the_sentence_lacks_and_a_head_that_the_model_lacks_are_named():
    with pytest.raises(HeadworkError, match=r"“she”.*no word of"):
        most_attended(TWO, layer=1, head=1, query="she")
    with pytest.raises(HeadworkError, match=r"no head 2-1.*1 layers of 2 heads"):
        most_attended(TWO, layer=2, head=1, query="b")
    with pytest.raises(HeadworkError, match="may not look"):
        race(setup(TEACHER, "minilm", mask="causal"), query="they", key="hard")


@pytest.mark.parametrize(
    ("model", "text", "query", "key", "head", "share"),
    [
        ("minilm", TEACHER, "they", "students", "4-2", 0.92),
        ("minilm", FIGURE_4, "its", "Law", "4-2", 0.80),
        ("minilm", FIGURE_4, "its", "application", "3-2", 0.89),
        ("minilm", FIGURE_3, "making", "difficult", "6-10", 0.48),
        ("minilm", FIGURE_3, "making", "difficult", "3-2", 0.46),
        ("e5-small-4bit", FIGURE_4.replace(" ,", ",").replace(" .", "."), "its", "Law", "9-9", 0.62),
        ("e5-small-4bit", FIGURE_4.replace(" ,", ",").replace(" .", "."), "its", "Law", "8-1", 0.47),
        ("e5-small-4bit", FIGURE_3, "making", "difficult", "7-11", 0.65),
        ("e5-small-4bit", CLASS, "他们", "学生", "9-9", 0.34),
    ],
)
def test_the_weights_of_the_papers_relations(model, text, query, key, head, share):
    layer, number = map(int, head.split("-"))
    found = weight(setup(text, model), layer=layer, head=number, query=query, key=key)
    assert found.right == pytest.approx(share, abs=0.012)


def test_the_winner_of_the_first_race_is_4_2_and_not_many_heads_point_there():
    assert race(setup(TEACHER, "minilm"), query="they", key="students").said["head"] == "4-2"
    assert heads_there(setup(TEACHER, "minilm"), query="they", key="students").right == 11
    assert race(setup(CLASS, "e5-small-4bit"), query="他们", key="学生").said["head"] == "9-9"


def test_a_record_says_accuracy_interval_and_baseline():
    found = recorded(setup(TEACHER, "minilm"), corpus="gum", task="coref-noun", layer=4, head=2)
    assert found.right == pytest.approx(81.4)
    assert (found.given["n"], found.said["accuracy"], found.said["baseline"]) == ("247", "81 %", "53 %")
    assert float(found.said["low"]) < found.right < float(found.said["high"])


@pytest.mark.parametrize(
    ("model", "corpus", "task", "direction", "head", "right"),
    [
        ("minilm", "gum", "coref-noun", "", (4, 2), "yes"),
        ("e5-small-4bit", "own_zh", "coref-noun", "", (9, 9), "open"),
        ("minilm", "ud", "xcomp", "head>dep", (4, 2), "open"),
        ("e5-small-4bit", "ud_zh", "xcomp", "head>dep", (11, 4), "no"),
    ],
)
def test_whether_a_head_beats_the_baseline_is_read_off_the_interval_of_the_gain(
    model, corpus, task, direction, head, right
):
    asked = Setup("x", model)
    found = beats_baseline(asked, corpus=corpus, task=task, direction=direction, layer=head[0], head=head[1])
    assert found.right == right


def test_the_baseline_that_the_self_test_names_is_the_records():
    found = recorded(Setup("x", "minilm"), corpus="ud", task="det", direction="dep>head", layer=3, head=9)
    assert (found.said["accuracy"], found.said["baseline"]) == ("80 %", "60 %")


def test_without_the_chinese_model_a_step_is_asked_in_english(monkeypatch):
    given = Given(Words(TEACHER, CLASS), Words("minilm", "e5-small-4bit"))
    monkeypatch.setattr("analysis.lessons.setup.e5_path", lambda: None)
    stands_in = setup_of(given, "zh")
    assert (stands_in.language, stands_in.model_id, stands_in.text) == ("en", "minilm", TEACHER)
    assert stands_in.is_stand_in and not setup_of(given, "en").is_stand_in
    records = setup_of(Given(model=given.model), "zh")  # whose head is the one of the steps before
    assert (records.language, records.model_id, records.text) == ("en", "minilm", "")


def test_an_own_sentence_is_asked_of_the_same_model(monkeypatch):
    asked = setup(TEACHER, "minilm").with_text("  The nurse woke the children because they slept. ")
    assert most_attended(asked, layer=4, head=2, query="they").said["key"] == "children"
    for text in ("", " \n"):
        with pytest.raises(HeadworkError, match="no sentence yet"):
            asked.with_text(text)
    with pytest.raises(HeadworkError, match="601 characters"):
        asked.with_text("x" * 601)


def test_words_leave_special_tokens_out_without_rescaling():
    asked = setup(TEACHER, "minilm")
    assert not asked.words.is_special.any()
    assert asked.words.attention.sum(axis=-1).max() < 1 + 1e-6 and asked.words.attention.sum(axis=-1).min() < 0.5
    trace = models.load("minilm").trace(TEACHER)
    assert np.allclose(asked.words.attention, trace.attention[..., 1:-1, 1:-1])
