"""Tables and turns, worked out by hand and against transformers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from analysis.positions.biased import biased
from analysis.positions.offsets import by_offset, offsets
from analysis.positions.rotary import turned
from analysis.positions.tables import (
    hands,
    learned_table,
    products_by_offset,
    shift_error,
    similarity,
    sinusoids,
)
from model import HeadworkError, Mask
from model.rotary import RotaryScaling, rotary_frequencies, rotate
from tests.models import LLAMA_LIKE, load, tiny_decoder


def test_the_sinusoidal_table_is_the_papers_formula():
    table = sinusoids(50, 8)
    for place, i in ((0, 0), (7, 1), (49, 3)):
        angle = place / 10_000 ** (2 * i / 8)
        assert table[place, 2 * i] == pytest.approx(math.sin(angle), abs=1e-12)
        assert table[place, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-12)


def test_products_depend_on_the_offset_alone():
    table, products = sinusoids(40, 16), products_by_offset(16, 10)
    for p in (0, 3, 29):
        np.testing.assert_allclose([table[p] @ table[p + k] for k in range(11)], products, atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 7, 64])
def test_a_turn_by_k_leads_from_one_place_to_the_other(k):
    assert shift_error(64, 128, k) < 1e-12


def test_rotary_turns_equal_those_of_transformers():
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 2, 5, 8, dtype=torch.float64)
    angles = torch.arange(5, dtype=torch.float64)[:, None] * rotary_frequencies(8).double()
    angles = torch.cat([angles, angles], dim=-1)[None]
    theirs = apply_rotary_pos_emb(q, k, angles.cos(), angles.sin())
    ours = (rotate(x, (angles[0].cos(), angles[0].sin())) for x in (q, k))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=0)


def test_a_product_of_turned_vectors_depends_on_the_distance():
    query, key = np.random.default_rng(0).normal(size=(2, 8))
    first, later = hands(query, key, 5, 3), hands(query, key, 25, 23)
    assert first.product == pytest.approx(later.product, abs=1e-5)  # angles are float32, as models are trained
    assert first.product != pytest.approx(hands(query, key, 5, 4).product, abs=1e-3)
    assert hands(query, key, 0, 0).product == pytest.approx(query @ key, abs=1e-12)


@pytest.mark.parametrize("width", [3, 0, 10])
def test_columns_that_make_no_pairs_are_refused(width):
    with pytest.raises(HeadworkError, match="in pairs"):
        hands(np.ones(8), np.ones(8), 0, 0, width=width)


@pytest.mark.parametrize("scaling", [None, RotaryScaling("linear", 4.0)])
def test_a_decoders_own_query_and_key_give_the_score_of_the_model(scaling):
    model = tiny_decoder(replace(LLAMA_LIKE, rotary_scaling=scaling))
    found = turned(model, "abcdef", 1, 3)
    _, _, output = model.run("abcdef")
    score = float(output.blocks[1].attention.products[0, 3, found.m, found.n])
    assert found.at(found.m, found.n).product == pytest.approx(score, abs=1e-5)
    assert 0 < found.n < found.m


@pytest.mark.parametrize(("text", "places"), [("a", (0, 0)), ("ab", (1, 0)), ("abc", (2, 1))])
def test_the_key_stands_before_the_query_and_first_only_where_there_is_no_other(text, places):
    found = turned(tiny_decoder(), text, 0, 0)
    assert (found.m, found.n) == places


def test_learned_positions_of_the_model_and_their_cosines():
    table = learned_table(load("minilm"))
    assert table.shape == (512, 384)
    alike = similarity(table)
    assert alike[3, 3] == pytest.approx(1) and alike[10, 11] > 0.8 > alike[10, 200]
    assert learned_table(tiny_decoder()) is None
    assert similarity(np.zeros((2, 3))).tolist() == [[0, 0], [0, 0]]


def test_mean_weight_by_offset_by_hand():
    maps = np.array([[[[0.1, 0.9, 0.0], [0.2, 0.3, 0.5], [0.6, 0.0, 0.4]]]], dtype=np.float32)
    found = by_offset(maps, np.array([True, True, True]), 2)
    np.testing.assert_allclose(found[0, 0], [0.6, 0.1, 0.8 / 3, 0.7, 0.0], atol=1e-7)
    found = by_offset(maps, np.array([False, True, True]), 2)
    np.testing.assert_allclose(found[0, 0], [np.nan, 0.0, 0.35, 0.5, np.nan], atol=1e-7)


def test_a_head_of_the_previous_word_needs_no_words():
    model = load("minilm")
    found = offsets(model, model.tokens("The very tall man in the blue coat read the newspaper."), Mask.bidirectional())
    previous = found.offsets.tolist().index(-1)
    assert found.words[0, 2, previous] > 0.95 and found.places[0, 2, previous] > 0.95
    assert found.apart()[0, 2] < 0.1 < found.apart()[3, 1] and found.repeated == "[MASK]"


def test_an_offset_needs_two_words():
    model = load("minilm")
    with pytest.raises(HeadworkError, match="two words"):
        offsets(model, model.tokens("cat"), Mask.bidirectional())


def test_the_bias_multiplies_weights_by_its_power_of_e():
    found = biased(load("minilm"), "A big dog chased the black cat.", 0, 0, 8)
    expected = found.content * np.exp(found.bias)
    np.testing.assert_allclose(found.both, expected / expected.sum(axis=-1, keepdims=True), atol=1e-5)
    assert found.bias[0, 4] == -2.0
