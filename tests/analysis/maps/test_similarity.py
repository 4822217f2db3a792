"""Jensen-Shannon divergence between heads: scipy, cases by hand, and the time it takes."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import distance

from analysis.maps.similarity import head_similarity, jensen_shannon
from analysis.words.units import by_pieces
from tests.analysis.made import random_maps, tokens_of, trace_of


def test_by_hand():
    same, other, half = [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]
    rows = np.array([[same, same], [other, other], [same, other], [half, half]])
    quarter = 0.75 * np.log2(4 / 3) + 0.25 * 2 - 0.5  # H(3/4, 1/4) − (0 + 1) / 2
    expected = [[0, 1, 0.5, quarter], [1, 0, 0.5, quarter], [0.5, 0.5, 0, quarter], [quarter, quarter, quarter, 0]]
    np.testing.assert_allclose(jensen_shannon(rows), expected, atol=1e-6)


@given(st.integers(0, 99), st.integers(1, 6), st.integers(1, 9))
def test_any_rows_agree_with_scipy(seed, n_rows, n_keys):
    rows = np.random.default_rng(seed).dirichlet(np.full(n_keys, 0.3), size=(4, n_rows))
    bits = jensen_shannon(rows)
    expected = [[np.mean(distance.jensenshannon(p, q, base=2, axis=-1) ** 2) for q in rows] for p in rows]
    np.testing.assert_allclose(bits, np.nan_to_num(expected), atol=2e-6)
    assert (bits == bits.T).all()
    assert (np.diag(bits) == 0).all()
    assert ((bits >= 0) & (bits <= 1)).all()


def test_special_queries_are_left_out_and_special_keys_stay_in():
    tokens = tokens_of("[CLS]", "a", "b", "[SEP]")
    rng = np.random.default_rng(0)
    maps = random_maps(rng, (1, 2), np.ones((4, 4)))
    maps[0, 1, 1:3] = maps[0, 0, 1:3]  # the two heads differ in special queries only
    assert head_similarity(by_pieces(trace_of(maps, tokens))).bits.max() == 0
    maps[0, 0, 1] = [1, 0, 0, 0]
    maps[0, 1, 1] = [0, 0, 0, 1]
    similarity = head_similarity(by_pieces(trace_of(maps, tokens)))
    assert similarity.bits[0, 1] == pytest.approx(0.5)  # of two rows, one differs fully
    assert (similarity.n_rows, similarity.n_rows_in_all) == (2, 2)


def test_nearest_and_farthest():
    maps = np.zeros((2, 2, 3, 3), np.float32)
    for head, weight in enumerate((0.0, 0.1, 0.5, 1.0)):
        maps[divmod(head, 2)] = [weight, 1 - weight, 0]
    similarity = head_similarity(by_pieces(trace_of(maps, tokens_of("a", "b", "c"))))
    assert [(layer, head) for layer, head, _ in similarity.nearest(0, 0)] == [(0, 1), (1, 0), (1, 1)]
    assert similarity.farthest(0, 0, 1) == [(1, 1, pytest.approx(1))]
    assert similarity.nearest(1, 1, 1)[0][:2] == (1, 0)


def test_nothing_to_compare():
    similarity = head_similarity(by_pieces(trace_of(np.full((1, 2, 2, 2), 0.5), tokens_of("[CLS]", "[SEP]"))))
    assert np.isnan(similarity.bits).all()
    assert similarity.nearest(0, 0) == []


def test_long_texts_are_compared_on_evenly_spaced_rows():
    maps = random_maps(np.random.default_rng(3), (1, 3), np.ones((100, 100)))
    units = by_pieces(trace_of(maps, tokens_of(*["w"] * 100)))
    some, every = head_similarity(units), head_similarity(units, most_rows=None)
    assert (some.n_rows, some.n_rows_in_all, every.n_rows) == (64, 100, 100)
    np.testing.assert_allclose(some.bits, every.bits, atol=0.05)


@pytest.mark.parametrize(("n_heads", "n_tokens", "seconds"), [(72, 32, 0.2), (144, 64, 1.0)])
def test_it_is_quick(n_heads, n_tokens, seconds):
    rows = np.random.default_rng(0).dirichlet(np.full(n_tokens, 0.1), size=(n_heads, n_tokens))
    times = []
    for _ in range(3):
        start = time.perf_counter()
        jensen_shannon(rows)
        times.append(time.perf_counter() - start)
    assert min(times) < seconds  # measured: 0.007 and 0.09 s on one thread
