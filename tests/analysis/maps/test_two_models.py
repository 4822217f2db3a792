"""Two models on one sentence: the same words in both, and where they look."""

import numpy as np
import pytest

from analysis.maps.two_models import common_words, directions, word_map
from model import HeadworkError
from tests.models import load, tiny_decoder

TEXT = "The photographers slept well."


@pytest.fixture(scope="module")
def pair():
    """An encoder and a decoder that parts words into bytes."""
    return load("minilm").trace(TEXT), tiny_decoder().trace(TEXT)


def words_of(spans):
    return [TEXT[slice(*span)] for span in spans]


def test_both_models_have_the_same_words_though_their_tokens_differ(pair):
    encoder, decoder = pair
    words = common_words(encoder, decoder)
    assert words_of(words) == ["The", "photographers", "slept", "well", "."]
    assert encoder.n_tokens != decoder.n_tokens
    for trace in pair:
        of = word_map(trace, words, 1, 2)
        assert of.attention.shape == (1, 1, 5, 5) and [label.casefold() for label in of.labels] == [
            word.casefold() for word in words_of(words)
        ]


def test_a_words_row_is_the_mean_over_its_tokens_and_the_sum_over_the_keys(pair):
    _encoder, decoder = pair
    words = common_words(*pair)
    found = word_map(decoder, words, 1, 2).attention[0, 0]
    pieces = [[i for i, (a, b) in enumerate(decoder.tokenized.spans) if start <= a < b <= end] for start, end in words]
    taken = {piece for word in pieces for piece in word}
    for word in pieces:
        if word[0] and word[0] - 1 not in taken:  # a space goes with the word behind it
            word.insert(0, word[0] - 1)
    expected = [[decoder.attention[1, 2][np.ix_(q, k)].sum(1).mean() for k in pieces] for q in pieces]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_decoder_never_looks_ahead_and_an_encoder_does(pair):
    encoder, decoder = pair
    words = common_words(encoder, decoder)
    ahead, causal = directions(encoder, words), directions(decoder, words)
    assert causal.after.tolist() == [0] * 5 and causal.seen.tolist() == [1, 2, 3, 4, 5]
    assert (ahead.after[:-1] > 0).all() and ahead.after[-1] == 0 and ahead.seen.tolist() == [5] * 5
    for found in (ahead, causal):
        np.testing.assert_allclose(found.before + found.itself + found.after + found.elsewhere, 1, atol=1e-6)


def test_directions_are_means_over_all_heads(pair):
    encoder, _decoder = pair
    words = common_words(*pair)
    every = [word_map(encoder, words, *head).attention[0, 0] for head in np.ndindex(*encoder.attention.shape[:2])]
    mean = np.mean(every, axis=0)
    np.testing.assert_allclose(directions(encoder, words).after, np.triu(mean, 1).sum(1), atol=1e-6)


def test_other_texts_are_refused(pair):
    with pytest.raises(HeadworkError, match="different texts"):
        common_words(pair[0], load("minilm").trace("Another text."))
