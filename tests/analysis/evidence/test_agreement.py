"""Pronouns that agree with a noun: weights by hand, what a head's answers are called, and words without a token."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.evidence.agreement import Question, ask, own_tokens
from model import HeadworkError
from model.catalogue import E5
from model.weights.e5 import e5_path
from tests.models import load

TOY = load("toy")
WRITTEN, SWAPPED = "Tom saw Mary : she liked him", "Mary saw Tom : she liked him"
SHE, HIM = Question("she", "Mary", "Tom"), Question("him", "Tom", "Mary")


def pair(written: dict, swapped: dict, mask: str = "bidirectional"):
    """Both traces of a toy with one head, whose weights are given as {(query, key): weight}."""
    made = []
    for text, weights in ((WRITTEN, written), (SWAPPED, swapped)):
        trace = TOY.trace(text, mask)
        attention = np.zeros_like(trace.attention)
        for (query, key), weight in weights.items():
            attention[0, 0, trace.tokens.index(query), trace.tokens.index(key)] = weight
        made.append(replace(trace, attention=attention))
    return made


RIGHT = {("she", "Mary"): 0.5, ("she", "Tom"): 0.25, ("him", "Tom"): 0.5, ("him", "Mary"): 0.125}
MARY = {("she", "Mary"): 0.5, ("him", "Mary"): 0.5}
FIRST = {("she", "Tom"): 0.5, ("him", "Tom"): 0.5}


@pytest.mark.parametrize(
    ("written", "swapped", "n_right", "verdict"),
    [
        (RIGHT, RIGHT, 4, "all"),
        (MARY, MARY, 2, "one noun"),
        (RIGHT, {("she", "Tom"): 0.5, ("him", "Mary"): 0.5}, 2, "one place"),
        (RIGHT, MARY, 3, "some"),
        ({("she", "Tom"): 0.5, ("him", "Mary"): 0.5}, {("she", "Tom"): 0.5, ("him", "Mary"): 0.5}, 0, "some"),
        (FIRST, {("she", "Mary"): 0.5, ("him", "Mary"): 0.5}, 2, "some"),  # the first noun, whichever it is
        ({}, {}, 0, "some"),  # equal weights are no hit
    ],
)
def test_a_head_is_called_what_its_four_answers_are(written, swapped, n_right, verdict):
    answers = ask(*pair(written, swapped), [SHE, HIM])
    assert answers.n_right()[0, 0] == n_right and answers.verdict((0, 0)) == verdict


def test_weights_are_those_of_the_maps():
    answers = ask(*pair(RIGHT, MARY), [SHE, HIM])
    assert answers.weights.shape == (2, 4, 2, 2, 2) and answers.n_asked == 4
    np.testing.assert_array_equal(answers.weights[0, 0], [[[0.5, 0.25], [0.5, 0.125]], [[0.5, 0], [0, 0.5]]])
    assert answers.expected_by_chance() == 8 / 16


def test_a_noun_that_the_mask_hides_is_no_answer():
    written, swapped = pair(RIGHT, RIGHT, "window:3")  # "she" sees three words back, and not the first
    answers = ask(written, swapped, [SHE, HIM])
    assert np.isnan(answers.weights[0, 0, 0, 0]).tolist() == [False, True]
    assert answers.verdict((0, 0)) == "hidden"


def test_a_word_of_several_tokens_is_their_sum_as_key_and_their_mean_as_query():
    minilm = load("minilm")
    written = minilm.trace("Zbigniew saw Mary because she knew him.")
    swapped = minilm.trace("Mary saw Zbigniew because she knew him.")
    question = Question("she", "Mary", "Zbigniew")
    rows, columns = own_tokens(written, "she"), own_tokens(written, "Zbigniew")
    assert len(columns) > 1
    answers = ask(written, swapped, [question])
    expected = written.attention[:, :, rows[0]][..., list(columns)].sum(axis=-1)
    np.testing.assert_allclose(answers.weights[:, :, 0, 0, 1], expected, rtol=1e-6)
    back = ask(written, swapped, [Question("Zbigniew", "she", "Mary")])
    expected = written.attention[:, :, list(columns)][..., rows[0]].mean(axis=-1)
    np.testing.assert_allclose(back.weights[:, :, 0, 0, 0], expected, rtol=1e-6)


def test_a_word_inside_another_is_not_that_word():
    trace = TOY.trace("The woman saw the man")
    assert [trace.tokens[i] for i in own_tokens(trace, "man")] == ["man"]
    with pytest.raises(HeadworkError, match="“wom” is not in"):
        own_tokens(trace, "wom")


def test_a_word_that_the_model_cannot_read_is_told():
    trace = load("minilm").trace("小明看见了小红，因为她帮过他。")
    with pytest.raises(HeadworkError, match="can't read “红”, so its heads can't be asked"):
        own_tokens(trace, "红")


@pytest.mark.skipif(e5_path() is None, reason="the package of multilingual-e5-small, 4-bit, is not installed")
def test_a_word_without_a_token_of_its_own_is_told():
    trace = load(E5).trace("小红把苹果递给了小明，因为他帮过她。")
    with pytest.raises(HeadworkError, match="“他” has no token of its own here: it is a part of “因为他”"):
        own_tokens(trace, "他")
    assert [trace.tokens[i] for i in own_tokens(trace, "她")] == ["她"]
