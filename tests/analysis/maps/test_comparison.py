"""A beside B: differences, distances, alignment, and what can't be compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.maps.comparison import all_row_distances, compare, total_variation
from analysis.words.units import by_pieces, by_words
from model import HeadworkError
from tests.analysis.made import tokens_of, trace_of
from tests.models import load


def test_by_hand():
    tokens = tokens_of("a", "b")
    a = by_pieces(trace_of([[1, 0], [0.5, 0.5]], tokens))
    b = by_pieces(trace_of([[0, 1], [0.75, 0.25]], tokens))
    result = compare(a, b, (0, 0), (0, 0))
    np.testing.assert_allclose(result.difference, [[-1, 1], [0.25, -0.25]])
    np.testing.assert_allclose(result.row_distance, [1, 0.25])
    assert result.largest == 1
    assert result.same.all()
    assert all_row_distances(a, b)[0, 0] == pytest.approx(0.625)


def test_a_minimal_pair_aligns_token_by_token(minilm):
    text = "The animal did not cross the street because it was too {}."
    a, b = (by_pieces(minilm.trace(text.format(word))) for word in ("tired", "wide"))
    result = compare(a, b, (3, 1), (3, 1))
    assert [(x, y) for x, y, same in zip(result.labels_a, result.labels_b, result.same, strict=True) if not same] == [
        ("tired", "wide")
    ]
    it, animal = result.labels_a.index("it"), result.labels_a.index("animal")
    assert result.difference[it, animal] < -0.2  # notes: .69 for tired, .32 for wide
    assert all_row_distances(a, b).shape == (6, 12)


def test_a_padded_sentence_stands_beside_itself(minilm):
    a, b = (by_words(minilm.trace("He sang.", mask)) for mask in ("bidirectional", "padding:12"))
    assert len(compare(a, b, (0, 0), (0, 0)).labels_b) == 5
    assert all_row_distances(a, b).max() < 1e-4


def test_bidirectional_beside_causal(minilm):
    a, b = (by_pieces(minilm.trace("He sang.", mask)) for mask in ("bidirectional", "causal"))
    result = compare(a, b, (0, 4), (0, 4))
    assert (result.difference[~result.allowed_b] <= 0).all()
    assert not result.allowed_b.all()
    assert result.allowed_a.all()


def test_a_row_without_keys_has_no_distance():
    tokens = tokens_of("a", "b")
    a = by_pieces(trace_of([[0, 0], [1, 0]], tokens, [[0, 0], [1, 1]]))
    b = by_pieces(trace_of([[1, 0], [1, 0]], tokens))
    np.testing.assert_array_equal(compare(a, b, (0, 0), (0, 0)).row_distance, [np.nan, 0])


def test_other_lengths_and_models_are_told_with_both_numbers(minilm):
    a, b = minilm.trace("One two three."), minilm.trace("One two three four.")
    with pytest.raises(HeadworkError, match=r"A has 6 tokens and B has 7.*word by word"):
        compare(by_pieces(a), by_pieces(b), (0, 0), (0, 0))
    with pytest.raises(HeadworkError, match="A has 6 words and B has 7"):
        compare(by_words(a), by_words(b), (0, 0), (0, 0))
    toy = load("toy:d_model=8,heads=2,layers=1").trace("a b c d e f")
    assert compare(by_pieces(a), by_pieces(toy), (5, 11), (0, 1)).difference.shape == (6, 6)
    with pytest.raises(HeadworkError, match="6 layers of 12 heads and B 1 of 2"):
        all_row_distances(by_pieces(a), by_pieces(toy))


@given(st.integers(0, 99))
def test_total_variation_is_a_distance(seed):
    a, b, c = np.random.default_rng(seed).dirichlet(np.full(4, 0.3), size=(3, 5, 4))
    ab = total_variation(a, b)
    assert ((ab >= 0) & (ab <= 1 + 1e-12)).all()
    np.testing.assert_allclose(ab, total_variation(b, a))
    np.testing.assert_allclose(ab, np.maximum(a - b, 0).sum(-1), atol=1e-12)  # the other common definition
    assert (ab <= total_variation(a, c) + total_variation(c, b) + 1e-12).all()
    assert (total_variation(a, a) == 0).all()
    with pytest.raises(HeadworkError, match="4 tokens can't be compared with one of 3"):
        total_variation(a, a[..., :3, :3])
