"""Attention rollout: the order of multiplication by hand, rows, masks and refusals."""

import numpy as np
import pytest
from hypothesis import given

from analysis.maps.rollout import rollout
from model import HeadworkError
from tests.analysis.words.test_units import traces


def test_two_layers_and_three_tokens_by_hand():
    """Layer 1: token 1 reads token 0. Layer 2: token 2 reads token 1, so it gets what token 1 read, and not before."""
    first = [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    second = [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    result = rollout(np.array([[first], [second]]))
    # A_1 = [[1, 0, 0], [½, ½, 0], [0, 0, 1]], A_2 = [[1, 0, 0], [0, 1, 0], [0, ½, ½]]
    np.testing.assert_allclose(result[0], [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    np.testing.assert_allclose(result[1], [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    wrong_order = result[0] @ np.array([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
    assert wrong_order[2].tolist() == [0, 0.5, 0.5]  # the other order loses the path 2 → 1 → 0


def test_heads_are_averaged():
    heads = np.array([[[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]]])
    np.testing.assert_allclose(rollout(heads)[0], [[0.75, 0.25], [0.25, 0.75]])


def test_up_to_a_layer():
    maps = np.random.default_rng(0).dirichlet(np.ones(4), size=(3, 2, 4))
    np.testing.assert_array_equal(rollout(maps, layers=2), rollout(maps)[:2])
    for layers in (0, 4):
        with pytest.raises(HeadworkError, match=f"1 to 3 layers, not {layers}"):
            rollout(maps, layers=layers)


def test_an_empty_row_passes_on_itself():
    maps = np.array([[[[0.0, 0.0], [0.5, 0.5]]]])
    np.testing.assert_allclose(rollout(maps)[0], [[1, 0], [0.25, 0.75]])


@given(traces())
def test_rows_sum_to_one_and_masked_paths_stay_closed(trace):
    result = rollout(trace.attention)
    np.testing.assert_allclose(result.sum(-1), 1, atol=1e-6)
    reach = trace.allowed | np.eye(trace.n_tokens, dtype=bool)
    assert (result[0][~reach] == 0).all()
    assert (result[1][~(reach @ reach)] == 0).all()


def test_a_causal_model_stays_causal(minilm):
    result = rollout(minilm.trace("One two three four.", "causal").attention)
    assert np.abs(np.triu(result[-1], 1)).max() == 0
