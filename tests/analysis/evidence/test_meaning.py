"""Sentences in which only the meaning decides: that they are what they say, and that no head follows it."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.evidence.meaning import TWINS, measure_moves, moves, passages
from analysis.evidence.scoring import score
from tests.models import load


@pytest.mark.parametrize("language", TWINS)
def test_two_sentences_differ_in_one_word_and_in_who_is_meant(language):
    found = passages(language).passages
    assert len(found) == 2 * len(TWINS[language]) == 16
    for one, other in zip(found[::2], found[1::2], strict=True):
        differs = [i for i, (a, b) in enumerate(zip(one.words, other.words, strict=True)) if a != b]
        assert len(differs) == 1 and differs[0] > one.pronoun
        assert one.candidates == other.candidates and one.pronoun == other.pronoun
        assert (one.antecedents[0], other.antecedents[0]) == one.candidates
        assert one.words[one.pronoun] in ("it", "它") and max(one.candidates) < one.pronoun
        assert [one.text[slice(*one.spans[i])] for i in one.candidates] == [one.words[i] for i in one.candidates]
        assert one.doc == other.doc
    assert (" " in found[0].text) == (language == "en")


def test_moves_are_counted_right_only_where_both_arrows_are():
    corpus = passages("en")
    run = score(load("toy"), corpus)
    n = len(corpus.passages)
    starts = np.searchsorted(run.choices.passage, np.arange(n))
    picks = np.zeros_like(run.choices.picks["all"])
    picks[starts[1::2], 0, 0] = 1  # follows the meaning each time
    picks[starts[::2], 0, 1] = 1  # moves the wrong way
    picks[starts[1:4:2], 0, 2] = 1  # twice
    unclear = np.zeros(n, dtype=bool)
    unclear[3] = True
    choices = replace(run.choices, picks={"all": picks, "noun": picks}, unclear=unclear)
    found = moves(replace(run, choices=choices))
    assert found.n == 7  # one pair has a shared piece
    assert found.moved[0].tolist() == [7, 7, 1, 0] and found.right[0].tolist() == [7, 0, 1, 0]


def test_no_head_of_the_built_in_model_follows_the_meaning(minilm):
    found = measure_moves(minilm, "en")
    assert found.n == 8
    assert found.moved[1, 3] == 0 and found.right.max() <= 3  # 2-4, which matches genders, never moves
    assert found.right.mean() < 0.5
