"""Linear biases: the paper's slopes, BLOOM's bias, and what they do to attention."""

import math

import pytest
import torch
from transformers.models.bloom import modeling_bloom

from model import HeadworkError, Mask
from model.alibi import alibi_bias, alibi_slopes
from model.attention import AttentionSteps, MultiHeadAttention, scaled_dot_product_attention
from model.cache import KeyValueCache
from model.transformer import Transformer, TransformerConfig


def test_eight_heads_have_the_slopes_of_the_paper():
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]


def test_heads_that_are_no_power_of_two_take_every_other_slope_of_twice_as_many():
    expected = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    assert alibi_slopes(6).tolist() == expected


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 9, 12, 16])
def test_the_bias_is_blooms_up_to_what_is_added_to_a_whole_row(n_heads, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(modeling_bloom.torch, "float32", torch.float64)  # it makes its slopes in float32
        theirs = modeling_bloom.build_alibi_tensor(torch.ones(1, 7), n_heads, torch.float64)
    theirs = theirs.reshape(n_heads, 1, 7) - alibi_slopes(n_heads)[:, None, None] * torch.arange(7)[:, None]
    ours = alibi_bias(n_heads, torch.arange(7))
    torch.testing.assert_close(ours.tril(), theirs.tril(), rtol=0, atol=1e-12)


def test_no_heads_have_no_slopes():
    with pytest.raises(HeadworkError, match="a slope for each head"):
        alibi_slopes(0)


def test_without_content_a_row_is_the_softmax_of_the_slope_times_the_distance():
    zeros = torch.zeros(1, 2, 3, 4, dtype=torch.float64)
    _, maps = scaled_dot_product_attention(zeros, zeros, zeros, bias=alibi_bias(2, torch.arange(3)))
    weights = [math.exp(-(2.0**-4) * d) for d in (2, 1, 0)]
    torch.testing.assert_close(maps[0, 0, 2], torch.tensor(weights, dtype=torch.float64) / sum(weights))


def test_the_steps_show_what_was_added():
    torch.manual_seed(0)
    x, steps, bias = torch.randn(1, 4, 8), AttentionSteps(), alibi_bias(2, torch.arange(4)).float()
    MultiHeadAttention(8, 2)(x, bias=bias, steps=steps)
    torch.testing.assert_close(steps.biased_scores, steps.scores + bias)
    torch.testing.assert_close(steps.masked_scores, steps.biased_scores)


def small(**more) -> Transformer:
    torch.manual_seed(0)
    config = TransformerConfig(11, 8, 2, 2, 16, positions="alibi", embedding_norm=False, **more)
    return Transformer(config).eval()


def test_a_model_reads_more_tokens_than_it_was_made_for():
    ids = torch.arange(9)[None] % 11
    assert small(max_tokens=4)(ids).attention.shape[-1] == 9


@torch.inference_mode()
def test_token_by_token_gives_the_rows_of_the_whole_sentence():
    model, ids = small(output="tied"), torch.tensor([[1, 5, 2, 7, 3]])
    whole = model(ids, Mask.causal().allowed(5))
    cache = KeyValueCache(2)
    for place in range(5):
        row = model(ids[:, place : place + 1], cache=cache)
    torch.testing.assert_close(row.hidden[:, -1], whole.hidden[:, -1])
    torch.testing.assert_close(row.attention[..., -1, :], whole.attention[..., -1, :])
