"""Reference figures of the built-in model on 869 English sentences (UD EWT and GUM dev), reached within 0.01.

Means over the rows of a sentence, then over sentences. Every fourth sentence: the figures on the whole differ by less
than 0.005, and a test should take seconds.
"""

import numpy as np
import pytest

from analysis.maps.metrics import head_metrics
from analysis.maps.readings import read, special_share, value_norms
from analysis.maps.similarity import head_similarity
from analysis.words.units import by_pieces

EVERY = 4
WITHIN = 0.01
NAMES = ("previous_mass", "next_mass", "previous_is_top", "next_is_top", "start_mass", "separator_mass", "special_mass")


@pytest.fixture(scope="module")
def figures(minilm, dependency_sentences):
    """name → mean over sentences (L, h), and (L·h, L·h) for "bits"."""
    collected = {}
    for sentence in dependency_sentences[::EVERY]:
        trace = minilm.trace(sentence["text"])
        units = by_pieces(trace)
        found = head_metrics(units, (*NAMES, "normalised_entropy", "confidence"))
        found["bits"] = head_similarity(units).bits
        norm = read(trace, norms=value_norms(minilm, sentence["text"]))
        found["special_norm"] = special_share(norm.trace)
        for name, values in found.items():
            collected.setdefault(name, []).append(values)
    return {name: np.nanmean(values, axis=0) for name, values in collected.items()}


def test_previous_and_next_word_heads(figures):
    assert figures["previous_mass"][0, 2] == pytest.approx(1.00, abs=WITHIN)  # 1-3
    assert figures["next_mass"][1, 8] == pytest.approx(0.69, abs=WITHIN)  # 2-9
    assert figures["previous_is_top"][0, 2] > 0.9
    assert figures["next_is_top"][1, 8] > 0.9
    assert np.argwhere(figures["previous_mass"] > 0.5).tolist() == [[0, 2]]
    assert np.argwhere(figures["next_mass"] > 0.5).tolist() == [[1, 8]]


def test_where_weight_rests_by_layer(figures):
    np.testing.assert_allclose(figures["start_mass"].mean(-1), [0.19, 0.51, 0.54, 0.47, 0.53, 0.42], atol=WITHIN)
    separator = figures["separator_mass"].mean(-1)
    assert 0.005 < separator.min() < separator.max() < 0.075  # notes: .01 to .07
    np.testing.assert_allclose(figures["special_mass"].mean(-1), [0.26, 0.53, 0.56, 0.50, 0.56, 0.45], atol=WITHIN)


def test_by_norm_special_tokens_count_for_little(figures):
    np.testing.assert_allclose(figures["special_norm"].mean(-1), [0.10, 0.15, 0.14, 0.10, 0.12, 0.12], atol=WITHIN)


def test_sinks_and_broad_heads(figures):
    assert (figures["special_mass"] > 0.6).sum() == 14
    assert (figures["normalised_entropy"][0] > 0.8).sum() == 9
    assert figures["confidence"][2, 0] == pytest.approx(0.26, abs=WITHIN)  # 3-1


def test_heads_of_one_layer_are_a_little_closer(figures):
    same = np.kron(np.eye(6, dtype=bool), np.ones((12, 12), bool))
    pairs = ~np.eye(72, dtype=bool)
    assert figures["bits"][same & pairs].mean() == pytest.approx(0.26, abs=WITHIN)
    assert figures["bits"][~same].mean() == pytest.approx(0.31, abs=WITHIN)
