"""Pieces to words: worked by hand, and what must hold of any maps, masks and spans."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.words.spans import space_spans
from analysis.words.units import by_pieces, by_words, drop_padding, drop_special, is_punctuation, others, word_units
from model import HeadworkError
from tests.analysis.made import random_maps, tokens_of, trace_of
from tests.models import load

SPLIT = tokens_of("[CLS]", "play", "##ing", "cat", "[SEP]")


def test_to_a_word_is_the_sum_and_from_a_word_the_mean():
    maps = [
        [0.2, 0.1, 0.3, 0.4, 0.0],
        [0.0, 0.2, 0.2, 0.4, 0.2],
        [0.4, 0.0, 0.1, 0.5, 0.0],
        [0.1, 0.3, 0.3, 0.2, 0.1],
        [0.2, 0.2, 0.2, 0.2, 0.2],
    ]
    words = by_words(trace_of(maps, SPLIT))
    assert words.labels == ("[CLS]", "playing", "cat", "[SEP]")
    assert words.units.pieces == ((0,), (1, 2), (3,), (4,))
    assert words.units.kinds == ("start", "word", "word", "separator")
    expected = [
        [0.2, 0.4, 0.4, 0.0],
        [0.2, 0.25, 0.45, 0.1],  # mean of (0, .4, .4, .2) and (.4, .1, .5, 0)
        [0.1, 0.6, 0.2, 0.1],
        [0.2, 0.4, 0.2, 0.2],
    ]
    np.testing.assert_allclose(words.attention[0, 0], expected, atol=1e-7)
    np.testing.assert_allclose(drop_special(words).attention[0, 0], [[0.25, 0.45], [0.6, 0.2]], atol=1e-7)
    np.testing.assert_allclose(others(drop_special(words).attention)[0, 0], [[0, 1], [1, 0]], atol=1e-7)


def test_a_word_cell_is_masked_only_where_no_pair_of_pieces_is_allowed():
    causal = np.tril(np.ones((5, 5), bool))
    maps = random_maps(np.random.default_rng(0), (1, 1), causal)
    words = by_words(trace_of(maps, SPLIT, causal))
    assert (words.allowed == np.tril(np.ones((4, 4), bool))).all()  # "##ing" sees "play", so "playing" sees itself
    only_first_piece = causal.copy()
    only_first_piece[3, 2] = False  # "cat" sees "play", not "##ing"
    assert by_words(trace_of(maps, SPLIT, only_first_piece)).allowed[2, 1]
    only_first_piece[3, 1] = False
    assert not by_words(trace_of(maps, SPLIT, only_first_piece)).allowed[2, 1]


def test_a_piece_that_sees_nothing_leaves_its_words_row_whole():
    allowed = np.ones((5, 5), bool)
    allowed[1] = False  # "play" sees nothing, "##ing" does
    maps = random_maps(np.random.default_rng(1), (2, 3), allowed)
    words = by_words(trace_of(maps, SPLIT, allowed))
    np.testing.assert_allclose(words.attention.sum(-1), 1, atol=1e-6)
    allowed[2] = False  # now the whole word sees nothing
    words = by_words(trace_of(random_maps(np.random.default_rng(1), (2, 3), allowed), SPLIT, allowed))
    assert not words.attention[:, :, 1].any()
    assert not words.allowed[1].any()


def test_given_spans_take_the_pieces_that_overlap_them_most():
    tokens = tokens_of("[CLS]", "do", "##nt", "go", ".", "[SEP]")  # "dont go ."
    units = word_units(tokens, [(0, 3), (3, 4), (5, 7)])  # "don", "t", "go"; the full stop is in none
    assert units.labels == ("[CLS]", "don", "go", ".", "[SEP]")
    assert units.word_ids == (None, 0, 2, None, None)  # "##nt" is a tie and goes to the earlier; "t" has no piece left
    assert units.unit_of_word() == {0: 1, 2: 2}
    assert units.kinds[3] == "punctuation"
    assert sorted(i for pieces in units.pieces for i in pieces) == list(range(6))


def test_chinese_words_by_the_persons_own_spaces():
    trace = load("toy:d_model=8,heads=2,layers=1").trace("床前明月光 疑是 地上霜")  # one word too long: characters
    assert trace.n_tokens == 10
    words = by_words(trace, "spaces")
    assert words.labels == ("床前明月光", "疑是", "地上霜")
    np.testing.assert_allclose(words.attention.sum(-1), 1, atol=1e-6)
    assert space_spans(" 小猫  吃\n鱼 ") == [(1, 3), (5, 6), (7, 8)]


def test_spaces_keep_punctuation_with_its_word_and_special_tokens_apart(minilm):
    words = by_words(minilm.trace("It's fine. [SEP] Done"), "spaces")
    assert words.labels == ("[CLS]", "It's", "fine.", "[SEP]", "Done", "[SEP]")
    assert words.units.kinds == ("start", "word", "word", "separator", "word", "separator")


def test_padding_stays_apart_and_can_be_dropped(minilm):
    plain, padded = minilm.trace("He sang."), minilm.trace("He sang.", "padding:9")
    assert by_words(padded).units.kinds[-4:] == ("padding",) * 4
    dropped = drop_padding(by_words(padded))
    assert dropped.is_complete  # no weight lay on padding
    np.testing.assert_allclose(dropped.attention, by_words(plain).attention, atol=1e-5)


def test_cut_text_and_words_beyond_it(minilm):
    text = "word " * 600
    trace = minilm.trace(text)
    assert trace.tokenized.n_cut
    units = by_words(trace, space_spans(text)).units
    assert len(units) == 512
    assert len(units.unit_of_word()) == 510


def test_a_trace_by_pieces_is_not_copied():
    trace = trace_of(np.full((5, 5), 0.2), SPLIT)
    assert by_pieces(trace).attention is trace.attention


def test_wrong_requests():
    with pytest.raises(HeadworkError, match="not from lines"):
        word_units(SPLIT, "lines")
    with pytest.raises(HeadworkError, match="character 3 to 1"):
        word_units(SPLIT, [(3, 1)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [(".", True), ("...", True), ("。", True), ("¿", True), ("$", False), ("a.", False), ("", False)],
)
def test_punctuation(text, expected):
    assert is_punctuation(text) is expected


@st.composite
def traces(draw):
    """Words of one to three pieces between [CLS] and [SEP], padding, any mask, random rows."""
    pieces = ["[CLS]"]
    for i, length in enumerate(draw(st.lists(st.integers(1, 3), max_size=5))):
        pieces += [f"w{i}", *["##x"] * (length - 1)]
    pieces += ["[SEP]", *["[PAD]"] * draw(st.integers(0, 2))]
    n_tokens = len(pieces)
    cells = draw(st.lists(st.booleans(), min_size=n_tokens**2, max_size=n_tokens**2))
    allowed = np.array(cells).reshape(n_tokens, n_tokens)
    if draw(st.booleans()):
        allowed |= True
    maps = random_maps(np.random.default_rng(draw(st.integers(0, 99))), (2, 2), allowed)
    return trace_of(maps, tokens_of(*pieces), allowed)


@given(traces())
def test_any_trace_by_words(trace):
    words = by_words(trace)
    sees = words.allowed.any(-1)
    np.testing.assert_allclose(words.attention.sum(-1), np.broadcast_to(sees, words.attention.shape[:-1]), atol=1e-5)
    assert (words.attention[:, :, ~words.allowed] == 0).all()
    # The independent formula: membership matrices.
    member = np.array([[i in pieces for i in range(trace.n_tokens)] for pieces in words.units.pieces], dtype=float)
    seeing = member * trace.allowed.any(-1)
    mean = seeing / np.maximum(seeing.sum(-1, keepdims=True), 1)
    np.testing.assert_allclose(words.attention, mean @ trace.attention @ member.T, atol=1e-6)


@given(traces())
def test_what_dropping_special_tokens_removes_is_what_lay_on_them(trace):
    words = by_words(trace)
    content = drop_special(words)
    special = words.is_special
    on_special = words.attention[:, :, ~special][..., special].sum(-1)
    sees = words.allowed[~special].any(-1)
    np.testing.assert_allclose(
        content.attention.sum(-1) + on_special, np.broadcast_to(sees, on_special.shape), atol=1e-5
    )
    rest = others(content.attention)
    assert np.isfinite(rest).all()
    sums = rest.sum(-1)
    assert ((np.abs(sums - 1) < 1e-5) | (sums == 0)).all()
