"""analysis.maps.pairs: which cells are between which texts, and how much weight lies there."""

import numpy as np
import pytest

from analysis.maps.pairs import PARTS, between, rows_and_columns, share
from analysis.words.units import by_pieces, by_words, drop_special
from model import load

PAIR = ("Cats purr.", "The dogs barked.")


@pytest.fixture(scope="module")
def trace():
    return load("minilm").trace(PAIR, "padding:16")


def named(labels, places):
    return [labels[i] for i in places]


def test_rows_and_columns_are_the_two_texts_with_their_separators(trace):
    units = by_pieces(trace).units
    first = ["[CLS]", "cats", "pu", "##rr", ".", "[SEP]"]
    second = ["the", "dogs", "barked", ".", "[SEP]"]
    for part, (query, key) in {"aa": (first, first), "ab": (first, second), "ba": (second, first)}.items():
        rows, columns = rows_and_columns(units, trace.tokenized, part)
        assert (named(units.labels, rows), named(units.labels, columns)) == (query, key)


def test_words_and_readings_without_special_tokens_have_parts_too(trace):
    words = drop_special(by_words(trace)).units
    rows, columns = rows_and_columns(words, trace.tokenized, "ba")
    assert named(words.labels, rows) == ["The", "dogs", "barked", "."]
    assert named(words.labels, columns) == ["Cats", "purr", "."]


def test_the_shares_of_a_text_sum_to_one_and_are_the_sums_of_its_cells(trace):
    pieces = by_pieces(trace)
    for text in "ab":
        total = sum(share(pieces, trace.tokenized, text + key) for key in "ab")
        np.testing.assert_allclose(total, np.ones((6, 12)), atol=1e-6)
    by_hand = trace.attention[3, 1, 6:11, :6].sum(axis=-1).mean()
    assert share(pieces, trace.tokenized, "ba")[3, 1] == pytest.approx(by_hand, abs=1e-6)


def test_rows_that_see_nothing_do_not_count():
    causal = load("minilm").trace(PAIR, "causal")
    assert share(by_pieces(causal), causal.tokenized, "ab").max() == 0
    blind = np.zeros((11, 11), bool)
    blind[6, 0] = True
    trace = load("minilm").trace(PAIR, blind)
    assert share(by_pieces(trace), trace.tokenized, "ba") == pytest.approx(np.ones((6, 12)))
    assert np.isnan(share(by_pieces(trace), trace.tokenized, "ab")).all()


def test_the_four_parts_fill_the_map_of_the_real_tokens_once(trace):
    times = np.zeros((16, 16), int)
    for part in PARTS:
        times[np.ix_(*rows_and_columns(by_pieces(trace).units, trace.tokenized, part))] += 1
    assert (times[:11, :11] == 1).all() and times.sum() == 121


def test_the_map_between_two_texts_is_that_part_of_the_whole(trace):
    found = between(by_pieces(trace), trace.tokenized, "ba", layer=3, head=1)
    assert found.queries == ("the", "dogs", "barked", ".", "[SEP]")
    assert found.keys == ("[CLS]", "cats", "pu", "##rr", ".", "[SEP]")
    np.testing.assert_array_equal(found.weights, trace.attention[3, 1, 6:11, :6])
    np.testing.assert_array_equal(found.allowed, trace.allowed[6:11, :6])
