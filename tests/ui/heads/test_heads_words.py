"""What Heads at work says follows from the numbers beside it: each sentence at the bound where it begins."""

from types import SimpleNamespace

import numpy as np
import pytest

from ui.heads.labour import busiest
from ui.heads.own import on_words

HEADS = [(0, 0), (0, 1)]


def table(task, *beats):
    return SimpleNamespace(task=task, beats=np.array([beats]))


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            [table("obj", True, False), table("det", True, False), table("amod", False, True)],
            "One head serves several: 1-1 beats the baseline on 2 of 3 (obj, det).",
        ),
        (
            [table("obj", True, False), table("det", False, True)],
            "No head here beats the baseline on more than one of 2 relations.",
        ),
        ([table("obj", False, False)], "No head here beats the baseline on more than one of 1 relations."),
    ],
)
def test_a_head_serves_several_relations_only_from_two_on(tables, said):
    assert busiest(tables, HEADS) == said


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (0.9951, "All of its weight here lies on words."),
        (0.9949, "0.99 of its weight here lies on words, the rest on special tokens."),
    ],
)
def test_a_rest_on_special_tokens_is_told_only_where_two_decimals_show_one(weight, said):
    assert on_words(weight) == said
