"""Who reads what in cross-attention, in the shipped translators of the invented languages; their alignment by hand."""

import pytest

from analysis.lessons.answers.crossing import (
    aligned_share,
    cross_cells,
    first_row_sees,
    moved_by_source,
    source_keys_made,
    true_link,
)
from analysis.lessons.setup import Setup
from model import HeadworkError

SENTENCES = {"translate-en": "small old dogs hate red cats", "translate-zh": "小 老 狗 讨厌 红 猫"}
TARGETS = {"translate-en": "dogo olda smala kato reda ne lovi", "translate-zh": "犬 耆 幼 狸 赤 不 爱"}


@pytest.fixture(params=SENTENCES)
def asked(request):
    return {"task": request.param, "source": SENTENCES[request.param]}


def test_another_source_moves_keys_and_leaves_queries(asked):
    other = {"translate-en": "small old dogs hate red birds", "translate-zh": "小 老 狗 讨厌 红 鸟"}[asked["task"]]
    found = moved_by_source(Setup(), **asked, other=other)
    assert found.right == "keys"
    assert found.given["target"] == TARGETS[asked["task"]]


def test_a_map_has_a_row_for_the_start_and_each_written_word_and_a_column_for_each_source_word(asked):
    found = cross_cells(Setup(), **asked)
    assert found.right == (1 + 7) * 6  # the translation has seven words
    assert found.shown.weights.shape == (8, 6)
    assert found.shown.weights.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def test_the_first_row_sees_all_of_the_source_and_of_the_target_only_itself(asked):
    found = first_row_sees(Setup(), **asked)
    assert (found.right, found.said) == ("all", {"n_seen": "6", "n_own": "1"})


def test_the_one_head_of_the_shipped_network_finds_the_true_source_words_and_the_same_place_does_not(asked):
    found = aligned_share(Setup(), task=asked["task"])
    assert found.right > 99
    assert float(found.given["baseline"].split()[0]) < 30
    assert int(found.given["n"]) > 5 * int(found.given["sentences"])  # nouns, verb and some adjectives each
    shown = found.shown
    assert [int(shown.weights[row].argmax()) for row, _ in shown.links] == [key for _, key in shown.links]


@pytest.mark.parametrize(
    ("task", "word", "key"),
    [
        ("translate-en", "ne", "hate"),
        ("translate-en", "smala", "small"),
        ("translate-en", "kato", "cats"),
        ("translate-zh", "不", "讨厌"),
    ],
)
def test_a_target_word_comes_from_the_source_word_that_the_dictionary_says(task, word, key):
    found = true_link(Setup(), task=task, source=SENTENCES[task], word=word)
    assert found.labels[found.right] == key == found.said["key"]


def test_the_cache_makes_each_source_key_once(asked):
    found = source_keys_made(Setup(), **asked)
    assert (found.right, found.said["without"]) == (6, "48")


def test_words_and_tasks_that_are_not_there_are_named():
    with pytest.raises(HeadworkError, match="translate-fr"):
        cross_cells(Setup(), task="translate-fr", source="small dogs")
    with pytest.raises(HeadworkError, match="lupo"):
        true_link(Setup(), task="translate-en", source=SENTENCES["translate-en"], word="lupo")
