"""What the mask lab says follows from the numbers beside it: each sentence at the bound where it begins."""

import numpy as np
import pytest

from ui.masks.picture import most_and_least
from ui.masks.steps import verdict


@pytest.mark.parametrize(
    ("moved", "said"),
    [
        ([0.302, 0.298, 0.304], "30% in every head of the layer."),  # what differs is under a per cent
        ([0.302, 0.294, 0.304], "most in head 2-3 (30%), least in 2-2 (29%)."),
        ([0.0, 0.0], "0% in every head of the layer."),
        ([0.5], "50% in every head of the layer."),
    ],
)
def test_a_most_and_a_least_are_named_only_where_they_can_be_told_apart(moved, said):
    assert most_and_least(np.array(moved), layer=1) == said


RIGHT = np.array([[1.0, 0.0], [0.5, 0.5]])
CAUSAL = np.array([[True, False], [True, True]])


@pytest.mark.parametrize(
    ("sums", "allowed", "begins"),
    [
        ([1.0, 1.0], np.ones((2, 2), dtype=bool), "This mask hides nothing, so both orders"),
        ([1.0, 1.0], CAUSAL, "The hidden keys would have had no weight here"),
        ([1 - 1e-7, 1.0], CAUSAL, "The hidden keys would have had no weight here"),
        ([1 - 2e-6, 1.0], CAUSAL, "Right: rows sum to 1.00. Wrong: 1 of 2 rows"),
    ],
)
def test_a_mask_that_hides_is_never_said_to_hide_nothing(sums, allowed, begins):
    assert verdict(RIGHT, np.array(sums), allowed, ("a", "b"), query=0).startswith(begins)
