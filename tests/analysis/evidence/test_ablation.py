"""Switching heads off: what remains, what doesn't change, and that one forward at a time gives the same."""

import dataclasses

import numpy as np
import pytest
import torch

from analysis.evidence.ablation import switch_off_each
from tests.models import LLAMA_LIKE, load, tiny_decoder

TEXT = "The teacher praised the students because they worked hard."


@pytest.fixture(scope="module", params=["minilm", "toy:d_model=32,heads=4,layers=2,seed=0"])
def model(request):
    return load(request.param)


def test_all_heads_off_leaves_the_bias_of_w_o(model):
    head_mask = np.ones((model.n_layers, model.n_heads), np.float32)
    head_mask[0] = 0
    _tokens, _allowed, output = model.run(TEXT, record="steps", head_mask=head_mask)
    bias = getattr(model.transformer.blocks[0].attention.W_o, "bias", None)
    attended = output.blocks[0].attention.output[0]
    expected = torch.zeros_like(attended) if bias is None else bias.expand_as(attended)
    torch.testing.assert_close(attended, expected, rtol=0, atol=1e-6)


def test_layers_below_the_head_are_unchanged(model):
    head_mask = np.ones((model.n_layers, model.n_heads), np.float32)
    head_mask[1, 0] = 0
    whole = model.run(TEXT, record="hidden")[2].hidden_states
    without = model.run(TEXT, record="hidden", head_mask=head_mask)[2].hidden_states
    for layer in (0, 1):
        torch.testing.assert_close(without[layer], whole[layer], rtol=0, atol=0)
    assert not torch.equal(without[2], whole[2])


@pytest.mark.parametrize("mask", ["bidirectional", "causal"])
def test_each_change_is_what_a_forward_with_that_head_off_gives(model, mask):
    found = switch_off_each(model, TEXT, mask)
    whole = model.run(TEXT, mask)[2].hidden[0]
    for layer, head in [(0, 0), (1, 3), (model.n_layers - 1, model.n_heads - 1)]:
        head_mask = np.ones((model.n_layers, model.n_heads), np.float32)
        head_mask[layer, head] = 0
        without = model.run(TEXT, mask, head_mask=head_mask)[2].hidden[0]
        expected = (without - whole).norm(dim=-1) / whole.norm(dim=-1)
        np.testing.assert_allclose(found.change[layer, head], expected.numpy(), atol=2e-6)


@pytest.mark.parametrize("windows", [(), (0, 5, 9)])
def test_rotary_positions_and_windows_of_layers_are_kept(windows):
    """Where a layer above the head would forget them, its own change would be told too."""
    decoder = tiny_decoder(dataclasses.replace(LLAMA_LIKE, windows=windows))
    found = switch_off_each(decoder, TEXT, "causal")
    whole = decoder.run(TEXT, "causal")[2].hidden[0]
    head_mask = np.ones((3, 6), np.float32)
    head_mask[0, 2] = 0
    without = decoder.run(TEXT, "causal", head_mask=head_mask)[2].hidden[0]
    expected = (without - whole).norm(dim=-1) / whole.norm(dim=-1)
    np.testing.assert_allclose(found.change[0, 2], expected.numpy(), atol=1e-5)


def test_under_a_causal_mask_the_first_token_hears_of_no_other(model):
    """It sees only itself, so its change doesn't depend on the words after it."""
    one, other = switch_off_each(model, TEXT, "causal"), switch_off_each(model, "The dog barked.", "causal")
    np.testing.assert_allclose(one.change[:, :, 0], other.change[:, :, 0], atol=1e-5)


def test_word_and_sentence_are_means_over_pieces(model):
    found = switch_off_each(model, TEXT)
    np.testing.assert_allclose(found.of_pieces((2, 3)), found.change[:, :, 2:4].mean(axis=-1))
    content = ~np.array(found.tokens.is_special)
    np.testing.assert_allclose(found.of_sentence(), found.change[:, :, content].mean(axis=-1), rtol=1e-6)
    assert found.change.shape == (model.n_layers, model.n_heads, len(found.tokens.ids)) and (found.change >= 0).all()
