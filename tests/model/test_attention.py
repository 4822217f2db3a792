"""model.attention: the formula by hand, against torch's own layer, and the promises of its docstrings."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from model import HeadworkError, MultiHeadAttention, attention_entropy, scaled_dot_product_attention
from model.attention import AttentionSteps


def test_two_tokens_worked_out_by_hand():
    # d_k = 4, so √d_k = 2. Scores of row 0: 2/2 = 1 and 0; of row 1: 0 and 4/2 = 2.
    q = torch.tensor([[[[2.0, 0, 0, 0], [0, 4.0, 0, 0]]]])
    k = torch.tensor([[[[1.0, 0, 0, 0], [0, 1.0, 0, 0]]]])
    v = torch.tensor([[[[1.0, 0, 0, 0], [0, 10.0, 0, 0]]]])
    mixed, attention = scaled_dot_product_attention(q, k, v)
    e = math.e
    first, second = e / (e + 1), e**2 / (e**2 + 1)
    assert attention[0, 0].tolist() == [
        pytest.approx([first, 1 - first], abs=1e-7),
        pytest.approx([1 - second, second], abs=1e-7),
    ]
    assert mixed[0, 0].tolist() == [
        pytest.approx([first, 10 * (1 - first), 0, 0], abs=1e-6),
        pytest.approx([1 - second, 10 * second, 0, 0], abs=1e-6),
    ]


def test_the_courses_shapes_for_three_tokens_d_model_8_two_heads():
    torch.manual_seed(42)
    x = torch.randn(1, 3, 8)  # 猫 吃 鱼
    layer = MultiHeadAttention(8, 2)
    out, attention = layer(x)
    assert x.shape == (1, 3, 8)
    assert out.shape == (1, 3, 8)
    assert attention.shape == (1, 2, 3, 3)
    torch.testing.assert_close(attention.sum(-1), torch.ones(1, 2, 3))


def test_eight_heads_of_64_out_of_512():
    layer = MultiHeadAttention(d_model=512, num_heads=8)
    assert layer.d_k == 64
    assert layer.split_heads(torch.zeros(2, 5, 512)).shape == (2, 8, 5, 64)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_torchs_multihead_attention(bias, masked, dtype):
    torch.manual_seed(0)
    ours = MultiHeadAttention(24, 3, bias=bias).to(dtype)
    theirs = nn.MultiheadAttention(24, 3, bias=bias, batch_first=True, dtype=dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([ours.W_q.bias, ours.W_k.bias, ours.W_v.bias]))
            theirs.out_proj.bias.copy_(ours.W_o.bias)
    x = torch.randn(2, 7, 24, dtype=dtype)
    allowed = torch.ones(7, 7, dtype=torch.bool).tril() if masked else None
    out, attention = ours(x, allowed)
    # nn.MultiheadAttention's boolean attn_mask has the other polarity: True = blocked.
    expected_out, expected = theirs(
        x, x, x, attn_mask=None if allowed is None else ~allowed, average_attn_weights=False
    )
    bound = 1e-6 if dtype == torch.float32 else 1e-14
    assert (attention - expected).abs().max() <= bound
    assert (out - expected_out).abs().max() <= bound


def like_torchs(ours, dtype=torch.float64):
    """nn.MultiheadAttention with the weights of a layer whose heads share nothing."""
    theirs = nn.MultiheadAttention(ours.d_model, ours.num_heads, batch_first=True, dtype=dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.W_q.bias, ours.W_k.bias, ours.W_v.bias]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        theirs.out_proj.bias.copy_(ours.W_o.bias)
    return theirs


@pytest.mark.parametrize(("n_queries", "n_keys"), [(7, 4), (3, 9), (1, 5), (5, 1), (6, 6)])
@pytest.mark.parametrize("masked", [True, False])
def test_keys_of_another_sequence_equal_torchs(n_queries, n_keys, masked):
    torch.manual_seed(0)
    ours = MultiHeadAttention(24, 3).double()
    x, context = torch.randn(2, n_queries, 24).double(), torch.randn(2, n_keys, 24).double()
    allowed = torch.rand(n_queries, n_keys) < 0.6
    allowed[:, 0] = True  # torch's own makes NaN of a row that may attend to nothing
    out, attention = ours(x, allowed if masked else None, context=context)
    expected_out, expected = like_torchs(ours)(
        x, context, context, attn_mask=~allowed if masked else None, average_attn_weights=False
    )
    assert attention.shape == (2, 3, n_queries, n_keys)
    assert (attention - expected).abs().max() <= 1e-14
    assert (out - expected_out).abs().max() <= 1e-14


@pytest.mark.parametrize("num_key_heads", [1, 2, 4])
@pytest.mark.parametrize("d_k", [None, 5])
def test_grouped_queries_equal_heads_whose_keys_and_values_were_repeated_by_hand(num_key_heads, d_k):
    torch.manual_seed(0)
    grouped = MultiHeadAttention(24, 4, num_key_heads=num_key_heads, d_k=d_k).double()
    width = d_k or 6
    assert grouped.W_q.weight.shape == (4 * width, 24) and grouped.W_o.weight.shape == (24, 4 * width)
    assert grouped.W_k.weight.shape == grouped.W_v.weight.shape == (num_key_heads * width, 24)
    full = MultiHeadAttention(24, 4, d_k=d_k).double()
    key_head = [head * num_key_heads // 4 for head in range(4)]  # that serves query head 0, 1, 2, 3
    rows = torch.cat([torch.arange(width) + of * width for of in key_head])
    with torch.no_grad():
        for name in ("W_q", "W_o"):
            getattr(full, name).load_state_dict(getattr(grouped, name).state_dict())
        for name in ("W_k", "W_v"):
            shared, own = getattr(grouped, name), getattr(full, name)
            own.weight.copy_(shared.weight[rows])
            own.bias.copy_(shared.bias[rows])
    x, context = torch.randn(2, 7, 24).double(), torch.randn(2, 5, 24).double()
    steps = AttentionSteps()
    for keys in (None, context):
        out, attention = grouped(x, context=keys, steps=steps)
        expected_out, expected = full(x, context=keys)
        assert (attention - expected).abs().max() <= 1e-14
        assert (out - expected_out).abs().max() <= 1e-14
        torch.testing.assert_close(steps.products, steps.queries @ steps.keys.transpose(-2, -1))


def test_heads_of_their_own_width_follow_the_formula():
    torch.manual_seed(0)
    layer = MultiHeadAttention(10, 4, d_k=3).double()  # 10 / 4 is not whole, and needn't be
    x = torch.randn(1, 6, 10).double()
    out, attention = layer(x)
    for head in range(4):
        columns = slice(3 * head, 3 * head + 3)
        q, k = layer.W_q(x)[0, :, columns], layer.W_k(x)[0, :, columns]
        torch.testing.assert_close(attention[0, head], torch.softmax(q @ k.T / math.sqrt(3), -1))
    assert out.shape == (1, 6, 10)


def test_head_counts_that_do_not_fit_are_refused_with_both_numbers():
    with pytest.raises(HeadworkError, match="6 query heads can't share 4 key heads"):
        MultiHeadAttention(12, 6, num_key_heads=4)
    with pytest.raises(HeadworkError, match="at least 1"):
        MultiHeadAttention(12, 6, num_key_heads=-1)
    with pytest.raises(HeadworkError, match="at least 1"):
        MultiHeadAttention(12, 6, d_k=-3)


def test_no_bias_means_no_bias_anywhere():
    assert [name for name, _ in MultiHeadAttention(8, 2, bias=False).named_parameters()] == [
        "W_q.weight",
        "W_k.weight",
        "W_v.weight",
        "W_o.weight",
    ]


def test_splitting_deals_out_columns_and_merging_takes_them_back():
    layer = MultiHeadAttention(8, 2)
    x = torch.arange(24.0).view(1, 3, 8)
    heads = layer.split_heads(x)
    assert heads[0, 0].tolist() == x[0, :, :4].tolist()
    assert heads[0, 1].tolist() == x[0, :, 4:].tolist()
    assert layer.merge_heads(heads).equal(x)


def test_masked_cells_are_exactly_zero_and_the_rest_sums_to_one():
    torch.manual_seed(1)
    q, k, v = torch.randn(3, 2, 4, 6, 5)
    allowed = torch.ones(6, 6, dtype=torch.bool).tril()
    _, attention = scaled_dot_product_attention(q, k, v, allowed)
    assert attention[..., ~allowed].eq(0).all()
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, 4, 6))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64, torch.uint8])
def test_a_mask_that_is_not_boolean_is_refused_by_its_name(kind):
    x = torch.randn(1, 3, 8)
    with pytest.raises(HeadworkError, match=f"holds {str(kind).removeprefix('torch.')}, .*True = may attend"):
        MultiHeadAttention(8, 2)(x, torch.ones(3, 3).tril().to(kind))


@pytest.mark.parametrize("into_buffer", [True, False])
def test_a_row_that_may_attend_to_nothing_is_zero_and_so_is_its_output(into_buffer):
    q, k, v = torch.randn(3, 1, 2, 4, 3)
    allowed = torch.ones(4, 4, dtype=torch.bool)
    allowed[2] = False
    with torch.no_grad():
        out = torch.empty(1, 2, 4, 4) if into_buffer else None
        mixed, attention = scaled_dot_product_attention(q, k, v, allowed, out=out)
    assert attention[:, :, 2].eq(0).all()
    assert mixed[:, :, 2].eq(0).all()
    torch.testing.assert_close(attention[:, :, [0, 1, 3]].sum(-1), torch.ones(1, 2, 3))
    if into_buffer:
        assert out.data_ptr() == attention.data_ptr()


def test_gradients_stay_finite_through_an_empty_row():
    layer = MultiHeadAttention(6, 2)
    x = torch.randn(1, 3, 6, requires_grad=True)
    allowed = torch.tensor([[True, False, False], [False, False, False], [True, True, True]])
    out, _ = layer(x, allowed)
    out.square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_gradients_equal_those_of_the_written_out_formula():
    torch.manual_seed(2)
    q, k, v = (torch.randn(1, 2, 4, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    allowed = torch.ones(4, 4, dtype=torch.bool).tril()
    weights = torch.randn(1, 2, 4, 3, dtype=torch.float64)
    (scaled_dot_product_attention(q, k, v, allowed)[0] * weights).sum().backward()
    ours = [t.grad.clone() for t in (q, k, v)]
    for t in (q, k, v):
        t.grad = None
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / 3**0.5
    written = torch.softmax(scores.masked_fill(~allowed, -math.inf), -1) @ v
    (written * weights).sum().backward()
    for a, t in zip(ours, (q, k, v), strict=True):
        torch.testing.assert_close(a, t.grad, rtol=1e-12, atol=1e-12)


def test_all_heads_off_leaves_only_the_bias_of_w_o():
    layer = MultiHeadAttention(12, 3)
    out, _ = layer(torch.randn(2, 5, 12), head_mask=torch.zeros(3))
    torch.testing.assert_close(out, layer.W_o.bias.expand(2, 5, 12), rtol=0, atol=0)


def test_switching_one_head_off_removes_its_slice_of_w_o_and_nothing_else():
    torch.manual_seed(3)
    layer = MultiHeadAttention(12, 3)
    x = torch.randn(1, 4, 12)
    steps = AttentionSteps()
    full, map_full = layer(x, steps=steps)
    without, map_without = layer(x, head_mask=torch.tensor([1.0, 0.0, 1.0]))
    share = steps.head_outputs[:, 1] @ layer.W_o.weight[:, 4:8].T  # head 2's own share of the output
    torch.testing.assert_close(full - without, share)
    assert map_full.equal(map_without)
    half, _ = layer(x, head_mask=torch.tensor([1.0, 0.5, 1.0]))
    torch.testing.assert_close(full - half, share / 2)


def test_the_recorded_steps_follow_from_each_other():
    torch.manual_seed(4)
    layer = MultiHeadAttention(8, 2)
    allowed = torch.ones(5, 5, dtype=torch.bool).tril()
    steps = AttentionSteps()
    x = torch.randn(1, 5, 8)
    out, attention = layer(x, allowed, steps=steps)
    torch.testing.assert_close(steps.products, steps.queries @ steps.keys.transpose(-2, -1))
    torch.testing.assert_close(steps.scores, steps.products / 2)
    assert steps.masked_scores[..., ~allowed].eq(-math.inf).all()
    assert steps.masked_scores[..., allowed].equal(steps.scores[..., allowed])
    assert steps.attention.equal(attention)
    torch.testing.assert_close(steps.head_outputs, steps.attention @ steps.values)
    torch.testing.assert_close(layer.W_o(steps.concatenated), steps.output)
    assert steps.output.equal(out)
    plain_out, plain = layer(x, allowed)
    assert plain.equal(attention)
    assert plain_out.equal(out)


@pytest.mark.parametrize(("d_model", "num_heads", "hint"), [(10, 4, "8 / 12"), (3, 4, "4")])
def test_a_d_model_that_is_not_divisible_is_refused_with_both_numbers_and_a_remedy(d_model, num_heads, hint):
    with pytest.raises(ValueError, match=rf"d_model {d_model} .* {num_heads} heads.*Try {hint}"):
        MultiHeadAttention(d_model, num_heads)


@pytest.mark.parametrize(("d_model", "num_heads"), [(0, 1), (8, 0), (-8, 2), (8, -2)])
def test_sizes_below_one_are_refused(d_model, num_heads):
    with pytest.raises(HeadworkError, match="at least 1"):
        MultiHeadAttention(d_model, num_heads)


def test_entropy_of_known_rows():
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0], [0, 0, 0, 0]])
    assert attention_entropy(rows).tolist() == pytest.approx([0, math.log(4), math.log(2), 0])


@given(
    n=st.integers(1, 9),
    heads=st.integers(1, 4),
    d_k=st.integers(1, 5),
    seed=st.integers(0, 2**31),
    density=st.floats(0, 1),
)
def test_any_mask_gives_rows_that_sum_to_one_or_are_empty(n, heads, d_k, seed, density):
    generator = torch.Generator().manual_seed(seed)
    q, k, v = torch.randn(3, 1, heads, n, d_k, generator=generator) * 3
    allowed = torch.rand(n, n, generator=generator) < density
    mixed, attention = scaled_dot_product_attention(q, k, v, allowed)
    assert mixed.isfinite().all()
    assert attention[..., ~allowed].eq(0).all()
    expected = allowed.any(-1).float().expand(1, heads, n)
    torch.testing.assert_close(attention.sum(-1), expected, rtol=0, atol=1e-6)
