"""What a decoder expected: small, equal to the logits, and made further without being made anew."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from analysis.words.next_tokens import MOST, next_tokens
from analysis.words.units import word_units
from model import Mask
from model.generation import Generation
from model.prediction import Prediction
from tests.models import LLAMA_LIKE, tiny_decoder

TEXT = "The cat sat."


@pytest.fixture(scope="module")
def decoder():
    return tiny_decoder()


def expected(decoder, trace, before=None):
    return next_tokens(decoder.prediction(trace), before)


def test_candidates_and_surprise_are_those_of_the_logits(decoder):
    trace = decoder.trace(TEXT)
    found = expected(decoder, trace)
    log_p = torch.tensor(trace.logits).log_softmax(-1).numpy()  # (N, V)
    for position, row in enumerate(found.candidates):
        best = np.argsort(-log_p[position])[:MOST]
        assert [token.id for token in row] == best.tolist()
        assert [token.probability for token in row] == pytest.approx(np.exp(log_p[position, best]).tolist(), rel=1e-4)
    ids = trace.tokenized.ids
    assert math.isnan(found.surprise[0])
    assert found.surprise[1:] == pytest.approx(-log_p[np.arange(len(ids) - 1), ids[1:]], rel=1e-4)
    assert found.largest == pytest.approx(math.log(LLAMA_LIKE.vocab_size))


def test_what_came_is_found_among_the_candidates_or_below_them(decoder):
    found = expected(decoder, decoder.trace(TEXT))
    ranks = []
    for position in range(len(found.ids) - 1):
        probability, rank = found.came(position)
        assert probability == pytest.approx(math.exp(-found.surprise[position + 1]))
        ranks.append(rank)
        if rank is not None:
            assert found.candidates[position][rank - 1].id == found.ids[position + 1]
            assert found.candidates[position][rank - 1].probability == pytest.approx(probability, rel=1e-4)
    assert None in ranks and any(ranks)  # both cases were seen
    assert found.came(len(found.ids) - 1) is None  # nothing comes after the last


def test_a_words_surprise_is_the_sum_over_its_tokens(decoder):
    trace = decoder.trace(TEXT)
    found, units = expected(decoder, trace), word_units(trace.tokenized)
    by_word = found.of_units(units)
    assert units.labels[1] == "cat" and len(units.pieces[1]) > 1
    assert by_word[1] == pytest.approx(found.surprise[list(units.pieces[1])].sum())
    assert np.isnan(by_word[0])  # its first token is the text's first


def test_a_grown_text_is_read_on_not_anew(decoder, monkeypatch):
    made = Generation(decoder, TEXT)
    before = expected(decoder, made.trace())
    made.step()
    made.step()
    whole = expected(decoder, made.trace())
    asked = []
    logits = Prediction._logits
    monkeypatch.setattr(Prediction, "_logits", lambda self, at: asked.append(at) or logits(self, at))
    grown = expected(decoder, made.trace(), before)
    n = len(made.tokens)
    assert asked == [slice(n - 3, n)]  # the two that are new, and the one that predicts the first of them
    assert grown.candidates == whole.candidates and grown.ids == whole.ids
    assert np.array_equal(grown.surprise, whole.surprise, equal_nan=True)


def test_another_text_is_not_read_on(decoder):
    before = expected(decoder, decoder.trace("A dog."))
    trace = decoder.trace(TEXT)
    assert expected(decoder, trace, before).candidates == expected(decoder, trace).candidates


def test_padding_has_no_surprise(decoder):
    trace = decoder.trace(TEXT, Mask.causal())
    found = next_tokens(replace(decoder.prediction(trace), n_padding=2))
    assert np.isnan(found.surprise[-2:]).all() and found.came(trace.n_tokens - 3) is None
