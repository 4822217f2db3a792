"""What decoders are made of, each by its formula: norms, rotary positions, parallel blocks, windows, biases, cache."""

import dataclasses
import math

import pytest
import torch
from torch.nn import functional as F

from model import HeadworkError, MultiHeadAttention, RMSNorm, Transformer, TransformerBlock, TransformerConfig
from model.attention import AttentionSteps
from model.blocks import BlockSteps
from model.cache import KeyValueCache
from model.norms import NormSteps, make_norm
from model.positions import Embeddings
from tests.models import LLAMA_LIKE


def decoder(**choices):
    torch.manual_seed(0)
    return Transformer(dataclasses.replace(LLAMA_LIKE, **choices)).double().eval()


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()


IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])


def test_rms_norm_of_one_token_by_hand():
    norm = RMSNorm(4, eps=0.0)
    with torch.no_grad():
        norm.gamma.copy_(torch.tensor([1.0, 2.0, 1.0, 1.0]))
    x = torch.tensor([[[1.0, 3.0, 1.0, 5.0]]])  # mean of squares 36 / 4
    assert norm(x)[0, 0].tolist() == pytest.approx([1 / 3, 2.0, 1 / 3, 5 / 3], abs=1e-6)


def test_rms_norm_keeps_the_direction_and_takes_no_mean_away():
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    steps = NormSteps()
    made = RMSNorm(8, eps=0.0).double()(x, steps=steps)
    torch.testing.assert_close(F.cosine_similarity(made, x, dim=-1), torch.ones(2, 3, dtype=torch.float64))
    torch.testing.assert_close(made.pow(2).mean(-1), torch.ones(2, 3, dtype=torch.float64))
    assert steps.mean is None
    torch.testing.assert_close(steps.scale * steps.normalised, x)


def test_an_unknown_norm_is_refused():
    with pytest.raises(HeadworkError, match="not batch"):
        make_norm("batch", 4, 1e-5)


def test_queries_and_keys_are_normed_head_by_head_before_they_are_turned():
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 4, num_key_heads=2, qk_norm_eps=1e-6).double().eval()
    with torch.no_grad():
        layer.q_norm.gamma.copy_(torch.tensor([1.0, 2.0, 3.0]))
    steps = AttentionSteps()
    layer(torch.randn(1, 5, 12, dtype=torch.float64), steps=steps)
    raw = steps.projected_queries
    expected = raw / (raw.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * layer.q_norm.gamma
    torch.testing.assert_close(steps.normed_queries, expected)
    torch.testing.assert_close(steps.queries, expected)  # no rotation here
    assert steps.normed_keys.shape == (1, 2, 5, 3) and steps.keys.shape == (1, 4, 5, 3)


def test_a_parallel_block_adds_both_branches_of_one_input():
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, norm="pre", parallel=True).double().eval()
    x = torch.randn(1, 4, 8, dtype=torch.float64)
    steps = BlockSteps()
    made, _ = block(x, causal(4), steps=steps)
    attended, _ = block.attention(block.attention_norm(x), causal(4))
    torch.testing.assert_close(made, x + attended + block.ffn(block.ffn_norm(x)))
    torch.testing.assert_close(steps.ffn_input, block.ffn_norm(x))
    torch.testing.assert_close(steps.attention_sum, x + attended)


def test_a_parallel_block_is_pre_ln():
    with pytest.raises(HeadworkError, match="norm must be pre, not post"):
        TransformerBlock(8, 2, 16, norm="post", parallel=True)


@pytest.mark.parametrize(
    ("place", "expected"), [("all", "qkvo"), ("qkv", "qkv"), ("none", ""), (None, "")], ids=["all", "qkv", "none", "as"]
)
def test_biases_are_where_the_config_says(place, expected):
    [block, *_] = decoder(attention_bias=place).blocks
    assert [name for name in "qkvo" if getattr(block.attention, f"W_{name}").bias is not None] == list(expected)
    assert block.ffn.W_1.bias is None


@pytest.mark.parametrize("n_queries", [8, 3])
def test_a_window_reaches_so_many_tokens_back_itself_counted(n_queries):
    masks = decoder(windows=(0, 3, 1)).layer_masks(causal(8)[-n_queries:], n_queries, 8)
    for mask, window in zip(masks, (8, 3, 1), strict=True):
        for row, allowed in enumerate(mask.tolist()):
            query = 8 - n_queries + row
            assert allowed == [query - window < key <= query for key in range(8)]


def test_windows_that_are_longer_than_the_text_change_nothing():
    mask = causal(8)
    assert all(of_layer is mask for of_layer in decoder(windows=(8, 9, 0)).layer_masks(mask, 8))


def test_windows_act_without_any_other_mask():
    output = decoder(windows=(2, 0, 0))(IDS)
    assert (output.attention[0, 0, :, 7, :6] == 0).all() and (output.attention[1, 0, :, 7] > 0).all()


@pytest.mark.parametrize("choices", [{}, {"positions": "learned"}, {"windows": (3, 0, 2)}, {"qk_norm": True}])
@torch.inference_mode()
def test_a_cache_gives_the_rows_of_a_full_run(choices):
    transformer = decoder(**choices)
    whole = transformer(IDS, causal(8))
    cache = KeyValueCache(3)
    for start, end in ((0, 4), (4, 5), (5, 8)):
        part = transformer(IDS[:, start:end], causal(8)[start:end, :end], cache=cache)
        torch.testing.assert_close(part.attention, whole.attention[:, :, :, start:end, :end], atol=1e-12, rtol=0)
        torch.testing.assert_close(part.hidden, whole.hidden[:, start:end], atol=1e-10, rtol=0)
        assert cache.n_tokens == end
    cache.cut(5)
    again = transformer(IDS[:, 5:], causal(8)[5:], cache=cache)
    torch.testing.assert_close(again.hidden, whole.hidden[:, 5:], atol=1e-10, rtol=0)


@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal"])
@torch.inference_mode()
def test_left_padding_changes_nothing_when_positions_count_from_the_text(positions):
    transformer = decoder(positions=positions)
    whole = transformer(IDS, causal(8))
    padded = torch.cat((torch.zeros(1, 3, dtype=torch.long), IDS), dim=1)
    mask = causal(11) & ~(torch.arange(11) < 3)
    positions_of = (torch.arange(11) - 3).clamp(min=0)[None]
    output = transformer(padded, mask, positions=positions_of)
    torch.testing.assert_close(output.attention[..., 3:, 3:], whole.attention, atol=1e-12, rtol=0)
    torch.testing.assert_close(output.hidden[:, 3:], whole.hidden, atol=1e-10, rtol=0)


@torch.inference_mode()
def test_rotary_maps_know_the_distance_and_not_the_place():
    transformer = decoder()
    here, further = (transformer(IDS, causal(8), positions=torch.arange(8) + start) for start in (0, 17))
    torch.testing.assert_close(here.attention, further.attention, atol=1e-5, rtol=0)
    backwards = transformer(IDS, causal(8), positions=torch.arange(8).flip(0))
    assert float((backwards.attention - here.attention).abs().max()) > 1e-3


def test_a_text_beyond_the_table_is_refused_in_a_cache_too():
    transformer = decoder(max_tokens=8)
    cache = KeyValueCache(3)
    transformer(IDS, causal(8), cache=cache)
    with pytest.raises(HeadworkError, match="9 tokens, but this model has positions for 8"):
        transformer(IDS[:, :1], cache=cache)
    with pytest.raises(HeadworkError, match="positions for 4"):
        Embeddings(torch.nn.Embedding(9, 4), 4, 4)(torch.tensor([[1]]), positions=torch.tensor([4]))


def test_logits_of_a_tied_and_of_an_own_matrix():
    for output in ("tied", "own"):
        transformer = decoder(output=output)
        hidden = transformer(IDS).hidden
        weight = transformer.embeddings.token.weight if output == "tied" else transformer.output.weight
        torch.testing.assert_close(transformer.logits(hidden), hidden @ weight.T)
        assert ("output.weight" in transformer.state_dict()) == (output == "own")
    with pytest.raises(HeadworkError, match="no output matrix"):
        decoder(output="none").logits(hidden)


@torch.inference_mode()
def test_numbers_that_grow_beyond_the_floating_point_are_refused_wherever_they_are_computed():
    transformer = Transformer(LLAMA_LIKE).eval()
    with torch.no_grad():
        transformer.blocks[1].ffn.W_2.weight.fill_(math.inf)
    with pytest.raises(HeadworkError, match="grow beyond float32"):
        transformer(IDS)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"rotary_width": 3}, "3 of 8 columns"),
        ({"rotary_width": 10}, "10 of 8 columns"),
        ({"rotary_base": 0.5}, "rotary_base is 0.5"),
        ({"rotary_base": "large"}, "rotary_base is 'large'"),
        ({"output": "shared"}, "no output matrix 'shared'. Use one of none, tied, own"),
        ({"output": "tied", "vocab_size": 0}, "vocab_size is 0"),
        ({"windows": (1, 2)}, "for each of 3 layers"),
        ({"windows": (1, 2, -3)}, "for each of 3 layers"),
    ],
)
def test_choices_that_make_no_model_are_refused(choices, sentence):
    with pytest.raises(HeadworkError, match=sentence):
        TransformerConfig(**dataclasses.asdict(LLAMA_LIKE) | choices)
