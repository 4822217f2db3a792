"""The arithmetic of masks: each claim of the mask lab as a property, and small cases worked out by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analysis.maps.masking import (
    additive,
    cone,
    cut_and_rescale,
    empty_rows,
    hides_only,
    largest,
    layers_needed,
    masked_softmax,
    reach,
    split_difference,
    weight_hidden,
    weight_moved,
    zero_after_softmax,
)
from model import HeadworkError, Mask, scaled_dot_product_attention

ROUNDING = 1e-12  # float64 throughout


@st.composite
def cases(draw, most=9):
    """Scores (h, N, N) and two masks (N, N), some with rows that see nothing."""
    n, heads = draw(st.integers(1, most)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.normal(0, draw(st.sampled_from([0.1, 1.0, 8.0])), (heads, n, n))
    first = rng.random((n, n)) < draw(st.sampled_from([0.3, 0.8, 1.0]))
    second = rng.random((n, n)) < draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    return scores, first, second


def test_two_keys_worked_out_by_hand():
    # exp(0) = 1 and exp(ln 3) = 3: weights 1/4 and 3/4; hide the second key and the first has it all.
    scores, allowed = np.array([[0.0, math.log(3)], [0.0, math.log(3)]]), np.array([[True, False], [True, True]])
    np.testing.assert_allclose(masked_softmax(scores, allowed), [[1, 0], [0.25, 0.75]], atol=ROUNDING)
    np.testing.assert_allclose(zero_after_softmax(scores, allowed), [[0.25, 0], [0.25, 0.75]], atol=ROUNDING)
    np.testing.assert_allclose(
        cut_and_rescale(np.array([[0.25, 0.75], [0.25, 0.75]]), allowed), [[1, 0], [0.25, 0.75]], atol=ROUNDING
    )
    assert additive(allowed).tolist() == [[0.0, -math.inf], [0.0, 0.0]]
    np.testing.assert_allclose(weight_hidden(np.array([[0.25, 0.75], [0.25, 0.75]]), allowed), [0.75, 0])


@given(cases())
def test_softmax_of_s_plus_m_is_what_the_model_computes(case):
    scores, allowed, _ = case
    n = scores.shape[-1]
    identity = torch.eye(n, dtype=torch.float64).expand(1, len(scores), n, n)
    q = torch.tensor(scores)[None] * math.sqrt(n)  # q kᵀ / √d_k = scores, with k the identity and d_k = N
    _, attention = scaled_dot_product_attention(q, identity, identity, torch.tensor(allowed))
    np.testing.assert_allclose(masked_softmax(scores, allowed), attention[0].numpy(), atol=ROUNDING)


@given(cases())
def test_a_narrower_mask_on_the_same_scores_is_the_wide_map_cut_and_rescaled(case):
    scores, wide, other = case
    narrow = wide & other
    assert hides_only(narrow, wide)
    np.testing.assert_allclose(
        cut_and_rescale(masked_softmax(scores, wide), narrow), masked_softmax(scores, narrow), atol=1e-9
    )


@given(cases(), st.integers(0, 2**32 - 1))
def test_the_two_parts_add_up_to_the_whole_difference(case, seed):
    scores, first_mask, second_mask = case
    other_scores = scores + np.random.default_rng(seed).normal(size=scores.shape)
    first, second = masked_softmax(scores, first_mask), masked_softmax(other_scores, second_mask)
    split = split_difference(first, second, scores, second_mask)
    np.testing.assert_allclose(split.by_mask + split.by_input, second - first, atol=ROUNDING)
    assert split.max_error <= ROUNDING
    same_input = split_difference(first, masked_softmax(scores, second_mask), scores, second_mask)
    assert largest(same_input.by_input) <= ROUNDING  # nothing is left when the input is the same


@given(cases())
def test_right_rows_sum_to_1_and_wrong_rows_to_what_was_not_hidden(case):
    scores, _, allowed = case
    right, wrong = masked_softmax(scores, allowed), zero_after_softmax(scores, allowed)
    seeing = allowed.any(axis=-1)
    np.testing.assert_allclose(right.sum(-1)[:, seeing], 1, atol=ROUNDING)
    hidden = weight_hidden(masked_softmax(scores, np.ones_like(allowed)), allowed)
    np.testing.assert_allclose(wrong.sum(-1), 1 - hidden, atol=ROUNDING)
    assert (wrong.sum(-1)[hidden > 1e-9] < 1).all()
    for values in (right, wrong):
        assert not values[:, ~allowed].any()


@pytest.mark.parametrize("n", [2, 7, 64])
def test_wrong_causal_rows_sum_to_less_than_1_wherever_future_weight_existed(n):
    scores = np.random.default_rng(n).normal(size=(2, n, n))
    sums = zero_after_softmax(scores, Mask.causal().allowed(n).numpy()).sum(-1)
    assert (sums[:, :-1] < 1).all()  # every row but the last has a future
    np.testing.assert_allclose(sums[:, -1], 1, atol=ROUNDING)


@given(cases())
def test_rows_that_see_nothing_are_0_and_are_flagged(case):
    scores, _, allowed = case
    empty = empty_rows(allowed)
    assert empty == [row for row, cells in enumerate(allowed.tolist()) if not any(cells)]
    for values in (
        masked_softmax(scores, allowed),
        zero_after_softmax(scores, allowed),
        cut_and_rescale(masked_softmax(scores, np.ones_like(allowed)), allowed),
    ):
        assert not np.isnan(values).any() and not values[:, empty].any()


def test_half_the_moved_weight_is_counted_once():
    moved = weight_moved(np.array([[0.5, -0.5], [0.0, 0.0]]))
    assert moved == pytest.approx(0.25)  # one of two rows moved half of its weight


@given(st.integers(1, 9), st.integers(0, 4), st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_layers_needed_equals_walking_along_every_path(n, n_layers, seed, density):
    allowed = np.random.default_rng(seed).random((n, n)) < density
    needed = layers_needed(allowed, n_layers)
    known = [{i} for i in range(n)]  # the embedding knows itself
    for layer in range(n_layers + 1):
        for query in range(n):
            assert {key for key in range(n) if 0 <= needed[query, key] <= layer} == known[query]
            assert np.array_equal(cone(allowed, query, layer)[0], np.isin(np.arange(n), list(known[query])))
        known = [known[i].union(*(known[j] for j in range(n) if allowed[i, j])) for i in range(n)]


@pytest.mark.parametrize(("window", "n_layers"), [(1, 1), (2, 3), (3, 4), (0, 5)])
def test_a_window_of_w_reaches_w_times_k_tokens_after_k_layers(window, n_layers):
    needed = layers_needed(Mask.window(window).allowed(40).numpy(), n_layers)
    assert reach(needed) == (window * n_layers, window * n_layers)
    query, key = np.indices((40, 40))
    np.testing.assert_array_equal(needed >= 0, np.abs(query - key) <= window * n_layers)


def test_causal_never_learns_of_the_future_however_deep():
    needed = layers_needed(Mask.causal().allowed(20).numpy(), 12)
    np.testing.assert_array_equal(needed >= 0, np.tril(np.ones((20, 20), dtype=bool)))
    assert reach(needed) == (19, 0)


@pytest.mark.parametrize("n", [1, 2, 512])
def test_every_length_works(n):
    allowed = Mask.causal().allowed(n).numpy()
    needed = layers_needed(allowed, 3)
    assert needed.shape == (n, n) and cone(allowed, n - 1, 3).shape == (4, n)
    scores = np.zeros((n, n))
    np.testing.assert_allclose(masked_softmax(scores, allowed)[0], np.eye(n)[0])


def test_a_negative_number_of_layers_is_refused():
    with pytest.raises(HeadworkError):
        layers_needed(np.ones((2, 2), dtype=bool), -1)
