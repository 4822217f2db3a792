"""analysis.blocks.reshape: where each number lands, the right way and the wrong way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.blocks.reshape import merge, split, strides, view_without_contiguous


def test_three_tokens_of_width_8_for_two_heads():
    right = split(3, 8, 2)
    assert right.parts.tolist() == [
        [[0, 1, 2, 3], [8, 9, 10, 11], [16, 17, 18, 19]],
        [[4, 5, 6, 7], [12, 13, 14, 15], [20, 21, 22, 23]],
    ]
    assert right.misplaced == 0
    wrong = split(3, 8, 2, "wrong")
    assert wrong.parts.tolist() == [
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]],
        [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]],
    ]
    # 4…7 belong to head 2 and stand in head 1; 12…15, 16…19 and 20…23 stand in head 2, where 16…19 don't belong.
    assert wrong.misplaced == 8


def test_the_reverse_needs_the_transpose_too():
    assert merge(3, 8, 2).whole.tolist() == np.arange(24).reshape(3, 8).tolist()
    assert merge(3, 8, 2, "wrong").whole.tolist()[0] == [0, 1, 2, 3, 8, 9, 10, 11]
    assert merge(3, 8, 2, "wrong").misplaced == 8


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
def test_every_way_keeps_every_number_and_the_right_way_every_place(n, h, d_k):
    for regroup in (split, merge):
        for way in ("right", "wrong"):
            found = regroup(n, h * d_k, h, way)
            assert sorted(found.whole.ravel()) == sorted(found.parts.ravel()) == list(range(n * h * d_k))
        assert regroup(n, h * d_k, h).misplaced == 0
        assert (regroup(n, h * d_k, h, "wrong").misplaced == 0) == (n == 1 or h == 1)


def test_view_after_transpose_needs_contiguous():
    assert "view size is not compatible" in view_without_contiguous(3, 8, 2)
    assert view_without_contiguous(3, 8, 1) == ""
    assert strides(3, 8, 2) == ((4, 8, 1), (12, 4, 1))


@pytest.mark.parametrize(("n", "h"), [(1, 4), (5, 1)])
def test_one_token_or_one_head_leaves_nothing_to_misplace(n, h):
    assert split(n, 8, h, "wrong").misplaced == 0
