"""Answers of "Where a token stands", by hand and by the model that runs."""

import math

import pytest

from analysis.lessons.answers.places import faded, longer, shuffled, turned_together
from analysis.lessons.setup import Setup
from model import HeadworkError
from model.training.lengths import shipped

DOG = Setup("The dog bit the man.", "minilm", "bidirectional")


def test_order_is_lost_without_positions_and_kept_with_them():
    assert shuffled(DOG, positions=False).right == "same"
    found = shuffled(DOG)
    assert found.right == "other" and found.given["copy"] != "the dog bit the man ."
    assert sorted(found.given["copy"].split()) == sorted(["the", "dog", "bit", "the", "man", "."])


def test_a_causal_mask_tells_order():
    assert shuffled(Setup(DOG.text, "minilm", "causal"), positions=False).right == "other"


def test_hands_that_turn_together_keep_their_product():
    found = turned_together(DOG, m=9, n=4, on=20)
    assert found.right == "same" and found.given["product"] == found.said["moved"] != found.said["alone"]


def test_a_key_fades_by_its_slope_and_distance():
    found = faded(DOG, heads=8, head=1, distance=5)
    assert found.right == pytest.approx(100 * math.exp(-2.5)) and found.said["left"] == "8 %"
    with pytest.raises(HeadworkError, match="no head 9"):
        faded(DOG, heads=8, head=9, distance=1)


@pytest.mark.parametrize("task", ["match", "neighbour"])
def test_the_order_is_that_of_the_shipped_runs(task):
    found = longer(DOG, task=task)
    means = {
        way: sum(run.accuracy[-1] for run in shipped() if (run.task, run.way) == (task, way)) / 5 for way in found.right
    }
    assert list(found.right) == sorted(means, key=means.get, reverse=True)
