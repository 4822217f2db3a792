"""One row of a head by hand, and what a weighted mean makes of it."""

import pytest

from analysis.lessons.answers.averaging import favourites_of_layer, heaviest_key, mixture, mixtures_alike, room_left
from analysis.lessons.setup import Setup
from model import HeadworkError
from tests.analysis.lessons.made_setups import made_setup, setup

FLAT = [1 / 3, 1 / 3, 1 / 3]


def row_of_b(*heads: list[float]) -> Setup:
    """One layer; the row of "b" is what a head gives it."""
    return made_setup("a b c", [[[FLAT, row, FLAT] for row in heads]])


def test_the_heaviest_key_and_the_next_are_read_off_the_row_of_the_query():
    found = heaviest_key(row_of_b([0.2, 0.5, 0.3]), layer=1, head=1, query="b")
    assert found.right == 1
    assert found.said == {"key": "b", "weight": "0.50", "second": "c", "second_weight": "0.30"}
    assert found.given == {"head": "1-1", "query": "b"}
    assert found.labels == ("a", "b", "c")


def test_room_left_is_what_the_other_keys_have_together():
    found = room_left(row_of_b([0.1, 0.2, 0.7]), layer=1, head=1, query="b")
    assert found.right == pytest.approx(0.3)
    assert (found.given["key"], found.given["weight"]) == ("c", "0.70")
    assert (found.said["rest"], found.said["sum"]) == ("0.30", "1.00")


def test_special_tokens_count_so_that_a_real_row_sums_to_1():
    found = room_left(setup("The cat sat.", "minilm"), layer=2, head=4, query="cat")
    assert found.said["sum"] == "1.00"
    assert "[CLS]" in found.labels


def test_heads_with_one_favourite_count_once():
    found = favourites_of_layer(row_of_b([0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]), layer=1, query="b")
    assert found.right == 2
    assert found.said["tokens"] == "a 2×, c 1×"


def test_a_mixture_is_the_sum_of_weight_times_value():
    found = mixture(Setup(), weights=[0.25, 0.75], values=[8, 4])
    assert found.right == 5  # 2 + 3
    assert found.said == {"sum": "0.25 · 8 + 0.75 · 4", "mixed": "5"}
    assert [bar.value for bar in found.shown.bars] == [2, 3, 5]


@pytest.mark.parametrize(("weights", "right"), [([0.5, 0.5], "same"), ([0.75, 0.25], "other")])
def test_swapped_values_can_be_told_apart_only_by_unequal_weights(weights, right):
    assert mixtures_alike(Setup(), weights=weights, values=[8, 2], swapped=[2, 8]).right == right


def test_a_head_that_is_not_there_is_named():
    with pytest.raises(HeadworkError, match="1-4"):
        room_left(row_of_b(FLAT), layer=1, head=4, query="b")
