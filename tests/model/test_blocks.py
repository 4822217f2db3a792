"""model.blocks and model.positions: formulas written out again, and what is position-wise and what is not."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from model import FeedForward, HeadworkError, LayerNorm, TransformerBlock, sinusoidal_positions
from model.blocks import BlockSteps, FeedForwardSteps
from model.positions import Embeddings, HashedEmbedding


def test_layer_norm_of_one_token_by_hand():
    norm = LayerNorm(4, eps=0.0)
    with torch.no_grad():
        norm.gamma.copy_(torch.tensor([1.0, 1.0, 2.0, 1.0]))
        norm.beta.copy_(torch.tensor([0.0, 0.0, 0.0, 5.0]))
    # mean 3, biased variance 5: (1 − 3)/√5, 0, …
    x = torch.tensor([[[1.0, 3.0, 1.0, 7.0]]])
    s = math.sqrt(6.0)  # deviations −2, 0, −2, 4: squares 24 / 4
    assert norm(x)[0, 0].tolist() == pytest.approx([-2 / s, 0, -4 / s, 4 / s + 5], abs=1e-6)


@given(st.integers(1, 4), st.integers(1, 6), st.integers(2, 16), st.integers(0, 1000))
def test_layer_norm_looks_at_one_token_only(batch, n, d_model, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, n, d_model, generator=generator)
    norm = LayerNorm(d_model)
    together = norm(x)
    apart = torch.stack([torch.stack([norm(token) for token in sentence]) for sentence in x])
    torch.testing.assert_close(together, apart)
    torch.testing.assert_close(together.mean(-1), torch.zeros(batch, n), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("relu", lambda x: x.clamp(min=0)),
        ("gelu", lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))),
        ("gelu_tanh", lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    ],
)
def test_the_feed_forward_formula(activation, formula):
    torch.manual_seed(0)
    ffn = FeedForward(6, 10, activation)
    x = torch.randn(2, 3, 6)
    expected = formula(x @ ffn.W_1.weight.T + ffn.W_1.bias) @ ffn.W_2.weight.T + ffn.W_2.bias
    torch.testing.assert_close(ffn(x), expected)


def test_swiglu_has_a_third_matrix_and_no_bias_when_asked():
    torch.manual_seed(0)
    ffn = FeedForward(6, 10, "swiglu", bias=False)
    assert sum(p.numel() for p in ffn.parameters()) == 3 * 6 * 10
    x = torch.randn(2, 3, 6)
    gate = x @ ffn.W_gate.weight.T
    expected = (gate * torch.sigmoid(gate) * (x @ ffn.W_1.weight.T)) @ ffn.W_2.weight.T
    torch.testing.assert_close(ffn(x), expected)


def test_the_feed_forward_network_works_within_one_position():
    torch.manual_seed(0)
    ffn = FeedForward(6, 10, "gelu")
    x = torch.randn(1, 5, 6)
    changed = x.clone()
    changed[0, 2] += 1.0
    difference = (ffn(changed) - ffn(x)).abs().sum(-1)[0]
    assert difference[2] > 0
    assert difference[[0, 1, 3, 4]].eq(0).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_order_of_norm_sublayer_and_residual(norm):
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, dropout=0.0, norm=norm, activation="gelu")
    with torch.no_grad():  # distinct norms, so that swapping them is seen
        block.attention_norm.gamma.uniform_(0.5, 2)
        block.ffn_norm.gamma.uniform_(0.5, 2)
    x = torch.randn(1, 4, 8)
    if norm == "post":
        middle = block.attention_norm(x + block.attention(x)[0])
        expected = block.ffn_norm(middle + block.ffn(middle))
    else:
        middle = x + block.attention(block.attention_norm(x))[0]
        expected = middle + block.ffn(block.ffn_norm(middle))
    torch.testing.assert_close(block(x)[0], expected)


@pytest.mark.parametrize(
    ("norm", "d_ff", "formula", "parts"),
    [
        ("none", 0, lambda b, x: x + b.attention(x)[0], {"attention"}),
        ("pre", 0, lambda b, x: x + b.attention(b.attention_norm(x))[0], {"attention", "attention_norm"}),
        ("post", 0, lambda b, x: b.attention_norm(x + b.attention(x)[0]), {"attention", "attention_norm"}),
        ("none", 16, lambda b, x: (m := x + b.attention(x)[0]) + b.ffn(m), {"attention", "ffn"}),
    ],
)
def test_a_block_may_have_no_feed_forward_network_and_no_normalisation(norm, d_ff, formula, parts):
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, d_ff, dropout=0.0, norm=norm)
    assert {name.partition(".")[0] for name in block.state_dict()} == parts  # nothing is there that doesn't act
    if norm != "none":
        with torch.no_grad():
            block.attention_norm.gamma.uniform_(0.5, 2)
    x = torch.randn(1, 4, 8)
    steps = BlockSteps()
    output, attention = block(x, steps=steps)
    torch.testing.assert_close(output, formula(block, x))
    assert steps.output.equal(output) and steps.attention_sum.equal(x + steps.attention.output)
    assert (steps.ffn_input is None) == (steps.ffn_sum is None) == (d_ff == 0)
    with torch.no_grad():  # as without gradients, where the map is written in place
        kept = torch.empty_like(attention)
        torch.testing.assert_close(block(x, out=kept)[0], output)
        torch.testing.assert_close(kept, attention)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_equals_torchs_encoder_layer(norm, activation):
    torch.manual_seed(0)
    ours = TransformerBlock(12, 3, 20, norm=norm, activation=activation).eval()
    theirs = torch.nn.TransformerEncoderLayer(
        12, 3, 20, activation=activation, batch_first=True, norm_first=norm == "pre"
    ).eval()
    with torch.no_grad():
        a = ours.attention
        theirs.self_attn.in_proj_weight.copy_(torch.cat([a.W_q.weight, a.W_k.weight, a.W_v.weight]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([a.W_q.bias, a.W_k.bias, a.W_v.bias]))
        theirs.self_attn.out_proj.load_state_dict(a.W_o.state_dict())
        theirs.linear1.load_state_dict(ours.ffn.W_1.state_dict())
        theirs.linear2.load_state_dict(ours.ffn.W_2.state_dict())
        for our_norm, their_norm in ((ours.attention_norm, theirs.norm1), (ours.ffn_norm, theirs.norm2)):
            our_norm.gamma.uniform_(0.5, 2)
            our_norm.beta.uniform_(-1, 1)
            their_norm.weight.copy_(our_norm.gamma)
            their_norm.bias.copy_(our_norm.beta)
    x = torch.randn(2, 5, 12)
    allowed = torch.ones(5, 5, dtype=torch.bool).tril()
    torch.testing.assert_close(ours(x, allowed)[0], theirs(x, src_mask=~allowed))


def test_dropout_acts_in_training_and_is_inert_in_eval():
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, dropout=0.5)
    x = torch.randn(1, 4, 8)
    block.train()
    first, attention = block(x)
    assert not first.equal(block(x)[0])
    torch.testing.assert_close(attention.sum(-1), torch.ones(1, 2, 4))  # the map itself is never dropped out
    steps = BlockSteps()
    block(x, steps=steps)
    for total, before, sublayer in (
        (steps.attention_sum, steps.input, steps.attention.output),
        (steps.ffn_sum, steps.middle, steps.ffn.output),
    ):
        added = total - before  # each entry of the sublayer's output is either dropped or doubled
        is_dropped, is_doubled = added.abs() < 1e-6, (added - 2 * sublayer).abs() < 1e-5
        assert (is_dropped | is_doubled).all()
        assert is_dropped.any() and is_doubled.any()
    block.eval()
    assert block(x)[0].equal(block(x)[0])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_recorded_steps_of_a_block_are_those_of_the_forward(norm):
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, norm=norm, activation="swiglu").eval()
    x = torch.randn(1, 4, 8)
    steps = BlockSteps()
    with torch.no_grad():
        output, attention = block(x, steps=steps)
    assert steps.output.equal(output)
    assert steps.input.equal(x)
    assert steps.attention.attention.equal(attention)
    assert steps.attention_sum.equal(steps.input + steps.attention.output)
    assert steps.ffn_sum.equal(steps.middle + steps.ffn.output)
    assert steps.ffn.activation.equal(F.silu(steps.ffn.gate) * steps.ffn.pre_activation)
    if norm == "pre":
        assert steps.attention_input.equal(block.attention_norm(x))
        assert steps.middle.equal(steps.attention_sum)
    else:
        assert steps.attention_input.equal(x)
        assert steps.middle.equal(block.attention_norm(steps.attention_sum))


def test_a_gradient_step_lowers_the_loss():
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, 16, dropout=0.0)
    x, target = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    optimiser = torch.optim.SGD(block.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        loss = F.mse_loss(block(x)[0], target)
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: FeedForward(4, 8, "tanh"),
        lambda: FeedForward(4, 0),
        lambda: TransformerBlock(8, 2, 16, norm="middle"),
        lambda: TransformerBlock(8, 3, 16),
        lambda: Embeddings(HashedEmbedding(4, 0), 4, 8, positions="somewhere"),
    ],
)
def test_impossible_choices_are_refused(make):
    with pytest.raises(HeadworkError):
        make()


def test_sinusoids_by_hand():
    table = sinusoidal_positions(3, 4)
    assert table[0].tolist() == [0, 1, 0, 1]
    assert table[2].tolist() == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])
    assert sinusoidal_positions(3, 5).shape == (3, 5)


def test_a_hashed_embedding_gives_a_word_the_same_vector_everywhere():
    embedding = HashedEmbedding(16, seed=3)
    x = embedding(torch.tensor([[5, 2**62, 5], [7, 5, 2**62]]))
    assert x.shape == (2, 3, 16)
    assert x[0, 0].equal(x[0, 2])
    assert x[0, 0].equal(x[1, 1])
    assert not x[0, 0].equal(x[0, 1])
    assert not HashedEmbedding(16, seed=4)(torch.tensor([[5]]))[0, 0].equal(x[0, 0])
    assert not embedding(torch.tensor([[5 + 2**32]]))[0, 0].equal(x[0, 0])  # all 64 bits count


def test_embeddings_add_token_position_and_type_then_normalise():
    token = torch.nn.Embedding(10, 6)
    embeddings = Embeddings(token, 6, 9, n_token_types=2, position_offset=2, norm_eps=1e-5, dropout=0.5)
    embeddings.eval()
    ids, types = torch.tensor([[1, 2, 3]]), torch.tensor([[0, 1, 1]])
    expected = token.weight[ids[0]] + embeddings.position[2:5] + embeddings.token_type[types[0]]
    torch.testing.assert_close(embeddings(ids, types)[0], embeddings.norm(expected))
    torch.testing.assert_close(embeddings(ids), embeddings(ids, torch.zeros_like(ids)))
    embeddings.train()
    assert (embeddings(ids) == 0).any()  # dropout acts in training
    with pytest.raises(HeadworkError, match="8 tokens, but this model has positions for 7"):
        embeddings(torch.zeros(1, 8, dtype=torch.long))


def test_steps_of_a_feed_forward_network():
    ffn = FeedForward(4, 6, "relu")
    steps = FeedForwardSteps()
    x = torch.randn(1, 2, 4)
    output = ffn(x, steps=steps)
    assert steps.activation.equal(F.relu(steps.pre_activation))
    assert steps.output.equal(output)
    assert steps.gate is None


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_recorded_layer_norm_changes_nothing_and_keeps_mean_and_scale(norm):
    torch.manual_seed(3)
    block = TransformerBlock(8, 2, 16, norm=norm).eval()
    with torch.no_grad():
        block.attention_norm.gamma.uniform_(0.5, 2.0)
        block.attention_norm.beta.uniform_(-1.0, 1.0)
    x = torch.randn(2, 5, 8)
    steps = BlockSteps()
    with torch.no_grad():
        plain, _ = block(x)
        output, _ = block(x, steps=steps)
    assert output.equal(plain)
    for kept, layer in ((steps.attention_norm, block.attention_norm), (steps.ffn_norm, block.ffn_norm)):
        assert kept.output.equal(layer(kept.input))
        assert kept.mean.shape == kept.scale.shape == (2, 5, 1)
        torch.testing.assert_close(kept.mean, kept.input.mean(-1, keepdim=True))
        torch.testing.assert_close(kept.scale, (kept.input.var(-1, keepdim=True, correction=0) + layer.eps).sqrt())
        torch.testing.assert_close(kept.normalised * layer.gamma + layer.beta, kept.output)
    assert steps.attention_norm.input.equal(steps.input if norm == "pre" else steps.attention_sum)
