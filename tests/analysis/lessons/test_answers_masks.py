"""Masks before and after the softmax with scores of 0, where every row can be worked out by hand."""

from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.lessons import kept
from analysis.lessons.answers import masks
from tests.analysis.lessons.made_setups import setup

TEXT = "a b c"
HEAD = {"layer": 1, "head": 1}


@pytest.fixture
def equal_scores(monkeypatch):
    """Every score is 0: without a mask each of three keys gets a third."""
    scores = np.zeros((4, 3, 3), dtype=np.float32)
    monkeypatch.setattr(masks, "layer_scores", lambda *_: SimpleNamespace(scores=scores))
    monkeypatch.setattr(kept, "_results", OrderedDict())


@pytest.mark.parametrize(("query", "left"), [("a", 1 / 3), ("b", 2 / 3), ("c", 1)])
def test_a_row_keeps_its_visible_share_in_the_wrong_order_and_everything_in_the_right_one(equal_scores, query, left):
    causal = setup(TEXT, mask="causal")
    wrong = masks.row_sum_in_order(causal, **HEAD, query=query, order="after")
    assert wrong.right == pytest.approx(left, abs=1e-6)
    assert wrong.said["hidden"] == f"{1 - left:.2f}"
    assert masks.row_sum_in_order(causal, **HEAD, query=query).right == 1


def test_the_first_row_keeps_least_and_the_last_keeps_all(equal_scores):
    causal = setup(TEXT, mask="causal")
    least = masks.least_row_sum(causal, **HEAD)
    assert (least.right, least.said["wrong"], least.said["n_seen"]) == (0, "0.33", "1")
    assert masks.last_row_sum(causal, **HEAD).right == 1


def test_a_hidden_score_of_0_gets_as_much_as_a_visible_one(equal_scores):
    found = masks.zero_for_infinity(setup(TEXT, mask="causal"), **HEAD, query="a")
    assert found.right == pytest.approx(2 / 3)
    assert found.given["n_hidden"] == "2"


def test_rescaled_rows_are_those_of_the_right_order():
    assert masks.rescaled(setup("The cat sat.", "minilm", "causal"), **HEAD).right == "same"


@pytest.mark.parametrize(
    ("mask", "hidden"),
    [
        ("causal", {(0, 1), (0, 2), (1, 2)}),
        ("prefix:2", {(0, 2), (1, 2)}),
        ("window:1", {(0, 2), (2, 0)}),
        ("padding:4", {(0, 3), (1, 3), (2, 3), (3, 3)}),  # the column of [PAD], its own row too
    ],
)
def test_the_cells_that_a_mask_allows(mask, hidden):
    found = masks.allowed_cells(setup(TEXT, mask=mask))
    n = len(found.labels)
    assert found.right == {(row, column) for row in range(n) for column in range(n)} - hidden
    assert found.said["n"] == str(n * n - len(hidden))


def test_information_walks_one_token_a_layer_through_a_window_of_1():
    assert masks.layers_to_reach(setup("a b c d", mask="window:1"), most=12).right == 3
    assert masks.layers_to_reach(setup("a b c d", mask="causal"), most=12).right == 1


@pytest.mark.parametrize(("mask", "right"), [("bidirectional", "all"), ("causal", "none")])
def test_who_before_the_last_word_knows_of_its_change(mask, right):
    found = masks.peek(setup(TEXT, mask=mask), into="d")
    assert found.right == right
    assert (found.given["word"], found.given["n_before"]) == ("c", "2")
