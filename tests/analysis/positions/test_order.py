"""Order lost and kept: what a shuffled copy shows with positions off and on."""

import numpy as np
import pytest
import torch

from analysis.positions.layers import layers
from analysis.positions.order import broken, compare, shuffled_order
from model import HeadworkError, Mask, Transformer, TransformerConfig
from tests.models import load, tiny_decoder

TEXT = "The dog chased the black cat."
BOTH, CAUSAL = Mask.bidirectional(), Mask.causal()


def shuffled(model, mask=BOTH, **more):
    tokens = model.tokens(TEXT)
    return compare(model, tokens, shuffled_order(tokens, 1), mask, **more)


@pytest.mark.parametrize("model_id", ["minilm", "e5-small-4bit", "toy:d_model=16,heads=2,layers=2,seed=0"])
def test_without_positions_a_shuffled_copy_has_the_same_outputs_and_maps_in_its_order(model_id):
    found = shuffled(load(model_id), placed=False)
    assert found.is_order_lost and found.largest < 1e-12 and found.map_apart < 1e-12
    order = np.array(found.order)
    np.testing.assert_allclose(found.copy_maps, found.maps[:, order[:, None], order[None, :]], atol=1e-7)


def test_with_positions_they_differ():
    found = shuffled(load("minilm"), placed=True)
    assert not found.is_order_lost and found.largest > 0.1 * found.scale


def test_rotary_positions_switched_off_lose_order_too():
    assert shuffled(tiny_decoder(), placed=False).is_order_lost
    assert not shuffled(tiny_decoder(), placed=True).is_order_lost


def test_a_causal_mask_tells_order_by_itself():
    assert not shuffled(load("minilm"), CAUSAL, placed=False).is_order_lost


def test_special_tokens_stay_and_the_order_is_another():
    tokens = load("minilm").tokens(TEXT)
    for seed in range(20):
        order = shuffled_order(tokens, seed)
        assert order[0] == 0 and order[-1] == len(tokens) - 1 and sorted(order) == list(range(len(tokens)))
        assert [tokens.ids[i] for i in order] != list(tokens.ids)


@pytest.mark.parametrize("text", ["cat", "cat cat cat", "a"])
def test_one_word_has_no_order(text):
    with pytest.raises(HeadworkError, match="two different words"):
        shuffled_order(load("minilm").tokens(text), 1)


def test_an_order_that_names_a_token_twice_is_refused():
    model = load("minilm")
    tokens = model.tokens("a b")
    with pytest.raises(HeadworkError, match="doesn't fit"):
        compare(model, tokens, (0, 1, 1, 3), BOTH)


@pytest.mark.parametrize("exactly", [True, False])
def test_a_run_layer_by_layer_is_the_models_own(exactly):
    torch.manual_seed(0)
    plain = Transformer(TransformerConfig(20, 16, 2, 2, 32, dropout=0.0, norm="pre", final_norm=True)).eval()
    ids, mask = torch.tensor([[1, 2, 3]]), CAUSAL.allowed(3)
    outputs, maps = zip(*layers(plain, ids, mask, None, exactly=exactly), strict=True)
    assert maps[0].dtype == (torch.float64 if exactly else torch.float32)
    expected = (plain.double() if exactly else plain)(ids, mask)
    torch.testing.assert_close(outputs[-1], expected.hidden, atol=1e-6, rtol=0)  # the embeddings are of float32
    torch.testing.assert_close(torch.stack(maps), expected.attention, atol=1e-6, rtol=0)


def test_512_tokens_are_compared():
    model = load("minilm")
    tokens = model.tokens("a b c d e f g h " * 80)
    found = compare(model, tokens, shuffled_order(tokens, 1), BOTH, placed=False)
    assert len(tokens) == 512 and found.maps.shape == (12, 512, 512) and found.is_order_lost


def test_what_breaks_is_the_weight_that_moves():
    model = load("minilm")
    found = broken(model, model.tokens(TEXT), BOTH)
    assert found.moved.shape == (6, 12) and found.expected is None
    assert found.moved[0, 2] > 0.8  # head 1-3 looks at the word before: nothing but place
    assert found.moved.min() >= 0 and found.moved.max() <= 1


def test_padding_changes_nothing_of_what_breaks():
    model = tiny_decoder()
    masks = [Mask.of("causal"), Mask.of("causal+padding:12")]
    plain, padded = (broken(model, model.tokens("abcdef", mask), mask) for mask in masks)
    np.testing.assert_allclose(padded.moved, plain.moved, atol=1e-6)
    for (label, share), (expected, expected_share) in zip(padded.expected, plain.expected, strict=True):
        assert label == expected and share == pytest.approx(expected_share, abs=1e-5)


def test_a_decoder_is_less_sure_of_the_next_token_without_positions():
    model = load("smollm2-135m")
    (on, p_on), (_off, p_off) = broken(model, model.tokens("The capital of France is"), CAUSAL).expected
    assert on == "▁Paris" and p_on == pytest.approx(0.773, abs=0.01) and p_off < 0.5 * p_on
