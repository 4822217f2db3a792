"""The language of Peek: its entropy by counting, and its batches against its grammar."""

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.tasks.peek import CHINESE, ENGLISH, N_PLACES, PEEK, START
from model.tasks.task import NOTHING_ASKED


def sentences(story, full_stop):
    return [
        (subject, verb, thing, full_stop)
        for subject, verbs in story.items()
        for verb, things in verbs.items()
        for thing in things
    ]


def test_the_floor_is_the_entropy_of_the_sentences():
    """By counting: H(next | before) = Σ p(before, next) ln(1 / p(next | before)), which adds up to ln 16 a sentence."""
    every = sentences(ENGLISH, ".")
    entropies = []
    for n in range(4):
        begun, longer = (Counter(words[:k] for words in every) for k in (n, n + 1))
        entropies.append(sum(count / 16 * math.log(begun[words[:n]] / count) for words, count in longer.items()))
    assert PEEK.floor_by_place == pytest.approx(entropies * 3)
    assert sum(entropies) == pytest.approx(math.log(len(every))) and PEEK.floor == pytest.approx(math.log(2))
    assert PEEK.best_accuracy == (1 / 4 + 1 / 2 + 1 / 2 + 1) / 4
    assert PEEK.choices == (4, 2, 2, 1)


def test_both_languages_have_the_same_structure():
    numbers = [
        [[vocabulary.index(word) for word in words] for words in sentences(story, full_stop)]
        for vocabulary, story, full_stop in (
            (PEEK.vocabulary, ENGLISH, "."),
            (PEEK.vocabulary_zh, CHINESE, "。"),
        )
    ]
    assert numbers[0] == numbers[1] == PEEK.sentences.tolist()


@given(st.integers(0, 2**31 - 1))
def test_texts_are_sentences_read_one_place_late_and_padded(seed):
    ids, targets, is_padding = PEEK.batch(torch.Generator().manual_seed(seed), 16)
    every = sentences(ENGLISH, ".")
    for row, answers, padding in zip(ids.tolist(), targets.tolist(), is_padding.tolist(), strict=True):
        n = N_PLACES - sum(padding)
        assert n in (4, 8, 12) and padding == [False] * n + [True] * (N_PLACES - n)
        assert row == [START, *answers[: n - 1], *[0] * (N_PLACES - n)]
        assert answers[n:] == [NOTHING_ASKED] * (N_PLACES - n)
        words = PEEK.words(torch.tensor(answers[:n]))
        assert all(words[i : i + 4] in every for i in range(0, n, 4))


def test_after_a_wrong_word_nothing_is_allowed_until_the_sentence_is_over():
    def words(*names):
        return tuple(PEEK.vocabulary.index(name) for name in names)

    def allowed(*names):
        return {PEEK.vocabulary[i] for i in PEEK.allowed_next(words(*names))}

    assert allowed() == {"cats", "dogs", "cows", "crows"}
    assert allowed("cats") == {"chase", "drink"} and allowed("dogs") == {"chase", "bury"}
    assert allowed("dogs", "chase") == {"cars", "hares"}  # not the cats' mice
    assert allowed("dogs", "chase", "mice") == allowed("milk", "dogs") == set()
    assert allowed("dogs", "chase", "mice", ".") == allowed()
    assert len(set(itertools.chain(ENGLISH))) == 4
