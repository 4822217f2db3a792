"""benchmarks.chinese_words on words whose answer is known by hand."""

import json
from pathlib import Path

import pytest

from benchmarks import chinese_words


def test_a_load_costs_something_and_leaves_nothing():
    cpu, memory, sentence, left = chinese_words.load_cost("rjieba")
    assert 0 < cpu < 5 and 0 < sentence < 1000 and left == 0
    if Path("/proc/self/statm").is_file():
        assert 5 < memory < 100


def test_agreement_by_hand():
    found, gold = chinese_words.spans_of(["小明", "笑了"]), chinese_words.spans_of(["小明", "笑", "了"])
    assert gold == [(0, 2), (2, 3), (3, 4)]
    assert chinese_words.agreement(found, gold) == (1, 1, 2)


def test_stretches_are_chinese_words_side_by_side():
    words = ["他", "说", "，", "Python", "很", "好", "。", "对"]
    assert chinese_words.chinese_stretches(words) == [["他", "说"], ["很", "好"]]


@pytest.mark.parametrize(("borders", "expected"), [([1, 2, 3], True), ([1], False), ([], False)])
def test_spaces_that_part_by_hand(borders, expected):
    assert chinese_words.parted_by_hand(["小明", "把", "苹果", "吃"], borders) is expected


def test_a_treebank_is_counted(tmp_path):
    file = tmp_path / "trees.jsonl"
    file.write_text(json.dumps({"words": ["他", "于", "一九九零年", "来", "。"]}, ensure_ascii=False), encoding="utf-8")
    said = "\n".join(chinese_words.against_treebank(file))
    assert "pronouns that are words, with the rule: 1 of 1" in said
    assert "pronouns that are words, jieba alone: 0 of 1" in said
