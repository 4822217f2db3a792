"""Relative position biases: T5's ranges of distances, by hand and against transformers."""

import pytest
import torch
from transformers.models.t5.modeling_t5 import T5Attention

from model import HeadworkError
from model.relative import RelativeBias, relative_buckets


def test_near_distances_have_a_range_each_and_far_ones_share():
    # 8 ranges, both ways: 4 for each side, of which 2 are of one distance; 2 … 15 shared, all from 16 on in the last.
    distance = torch.tensor([-99, -16, -5, -2, -1, 0, 1, 2, 6, 99])
    assert relative_buckets(distance, 8, 16, past_only=False).tolist() == [3, 3, 2, 2, 1, 0, 5, 6, 7, 7]
    assert relative_buckets(torch.tensor([3, 0, -3, -4, -99]), 8, 16, past_only=True).tolist() == [0, 0, 3, 4, 7]


@pytest.mark.parametrize("past_only", [False, True])
@pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 128), (8, 20), (12, 40)])
def test_ranges_are_those_of_transformers(past_only, n_buckets, farthest):
    distance = torch.arange(-600, 601)
    theirs = T5Attention._relative_position_bucket(distance, not past_only, n_buckets, farthest)
    assert torch.equal(relative_buckets(distance, n_buckets, farthest, past_only=past_only), theirs)


def test_the_bias_is_the_tables_entry_of_the_distance():
    bias = RelativeBias(2, 8, 16)
    found = bias(torch.arange(3), torch.arange(4))
    assert found.shape == (2, 3, 4)
    assert found[1, 2, 0] == bias.table[2, 1]  # the key is 2 before: range 2
    assert found[0, 0, 1] == bias.table[5, 0]  # the key is 1 after: range 4 + 1


@pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 8), (2, 128)])
def test_ranges_that_reach_nowhere_are_refused(n_buckets, farthest):
    with pytest.raises(HeadworkError, match="ranges of distances"):
        RelativeBias(2, n_buckets, farthest)
