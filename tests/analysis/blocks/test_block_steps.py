"""analysis.blocks.block_steps: residuals, layer normalisation, FFN and layers, as the modules recorded them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analysis.blocks.block_steps import (
    boxes,
    curve,
    drift,
    movement,
    neurons,
    normalisation,
    one_against_many,
    residual,
    same_number,
    skips,
)
from analysis.blocks.record import record_forward
from analysis.blocks.worked_examples import LABELS, Sizes, sentence_example, worked_example
from model import TransformerBlock


def recorded(sizes=Sizes(), *, causal=False, layer=0, head=0):  # noqa: B008
    x, blocks = worked_example(sizes)
    allowed = torch.ones(3, 3, dtype=torch.bool)
    return record_forward(blocks, x, allowed.tril() if causal else allowed, LABELS, layer=layer, head=head)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_boxes_hand_on_to_each_other_and_end_with_the_blocks_output(norm):
    record = recorded(Sizes(norm=norm))
    found = {box.key: box for box in boxes(record)}
    with torch.no_grad():
        output, _ = record.block(record.steps.input)
    last = boxes(record)[-1]
    assert last.key == ("ffn_sum" if norm == "pre" else "ffn_norm")
    assert np.array_equal(last.after, output[0].numpy())
    assert np.array_equal(record.hidden_states[1], output[0].numpy())
    np.testing.assert_allclose(
        found["attention_sum"].after, found["input"].after + found["attention"].after, rtol=1e-6, atol=1e-6
    )
    assert np.array_equal(found["attention_sum"].before, found["attention"].after)


@pytest.mark.parametrize(
    ("norm", "d_ff", "keys", "carried"),
    [
        ("none", 0, "input attention attention_sum", "input>attention_sum"),
        ("pre", 0, "input attention_norm attention attention_sum", "input>attention_sum"),
        ("post", 0, "input attention attention_sum attention_norm", "input>attention_sum"),
        ("none", 16, "input attention attention_sum ffn ffn_sum", "input>attention_sum attention_sum>ffn_sum"),
        (
            "pre",
            16,
            "input attention_norm attention attention_sum ffn_norm ffn ffn_sum",
            "input>attention_sum attention_sum>ffn_sum",
        ),
        (
            "post",
            16,
            "input attention attention_sum attention_norm ffn ffn_sum ffn_norm",
            "input>attention_sum attention_norm>ffn_sum",
        ),
    ],
)
def test_the_boxes_are_those_that_the_block_has(norm, d_ff, keys, carried):
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, d_ff, norm=norm).eval()
    everything = torch.ones(3, 3, dtype=torch.bool)
    record = record_forward([block], torch.randn(1, 3, 8), everything, LABELS, layer=0, head=0)
    found = {box.key: box for box in boxes(record)}
    assert " ".join(found) == keys
    assert " ".join(f"{start}>{end}" for start, end in skips(record)) == carried
    for start, end in skips(record):  # what is carried past and what the sublayer adds make the sum
        np.testing.assert_allclose(found[end].after, found[start].after + found[end].before, rtol=1e-5, atol=1e-6)
    assert np.array_equal(boxes(record)[-1].after, record.hidden_states[1])
    moved = movement(record, 1)
    assert (moved.ffn is None) == (d_ff == 0) and moved.attention.min() > 0
    if moved.ffn is not None:
        assert moved.ffn[[0, 2]].max() == 0 < moved.ffn[1]


def test_norms_around_the_residual_obey_the_triangle_inequality():
    record = recorded()
    for sublayer in ("attention", "ffn"):
        found = residual(record, sublayer)
        assert (found.total <= found.carried + found.added + 1e-5).all()
        assert (found.total >= abs(found.carried - found.added) - 1e-5).all()
    expected = np.linalg.norm(record.steps.attention_sum[0].numpy(), axis=-1)
    np.testing.assert_allclose(residual(record, "attention").total, expected, rtol=1e-6)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_layer_norm_of_one_token_is_over_its_features(norm):
    record = recorded(Sizes(norm=norm))
    for which in ("attention_norm", "ffn_norm"):
        for token in range(3):
            found = normalisation(record, which, token)
            assert found.mean == pytest.approx(found.before.mean(), abs=1e-6)
            assert found.scale == pytest.approx(math.sqrt(found.before.var() + 1e-5), abs=1e-6)
            assert found.normalised.mean() == pytest.approx(0, abs=1e-6)
            assert found.normalised.std() == pytest.approx(1, abs=1e-4)
            np.testing.assert_allclose(found.after, found.normalised, atol=1e-6)  # γ = 1 and β = 0 at the start


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "swiglu"])
def test_units_lie_on_the_curve(activation):
    found = neurons(recorded(Sizes(activation=activation)), 1)
    bent = curve(activation, found.bent)
    np.testing.assert_allclose(bent if activation != "swiglu" else bent * found.up, found.after, atol=1e-6)
    assert len(found.after) == 32 and len(found.output) == 8
    assert (found.share_silent > 0) == (activation == "relu")


@given(st.integers(1, 6), st.integers(0, 99), st.booleans(), st.sampled_from(["relu", "gelu", "swiglu"]), st.data())
def test_ffn_moves_only_the_changed_token_and_attention_all_that_may_see_it(n, seed, causal, activation, data):
    token = data.draw(st.integers(0, n - 1))
    sizes = Sizes(d_model=8, heads=2, d_ff=16, layers=1, activation=activation, seed=seed)
    x, blocks = sentence_example(torch.arange(1, n + 1)[None], sizes)
    allowed = torch.ones(n, n, dtype=torch.bool)
    record = record_forward(blocks, x, allowed.tril() if causal else allowed, ["x"] * n, layer=0, head=0)
    moved = movement(record, token)
    others = np.arange(n) != token
    assert (moved.ffn[others] == 0).all() and moved.ffn[token] > 0
    assert np.array_equal(moved.attention > 0, record.allowed[:, token])


def test_one_head_has_one_row_where_h_heads_have_h():
    record = recorded()
    found = one_against_many(record)
    assert found.heads.shape == (2, 3, 3) and found.one.shape == found.average.shape == (3, 3)
    np.testing.assert_allclose(found.one.sum(-1), 1, atol=1e-6)
    # One head adds all 8 products up before its softmax, and divides by √8 instead of √4.
    scores = record.steps.attention.products[0].sum(0).numpy() / math.sqrt(8)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(found.one, weights, atol=1e-6)


@given(st.integers(0, 200))
def test_the_average_face_is_at_least_as_blurred_as_the_heads_on_average(seed):
    found = one_against_many(recorded(Sizes(heads=4, seed=seed)))
    assert (found.average_entropy >= found.heads_entropy.mean(0) - 1e-6).all()  # entropy is concave
    assert (found.average_entropy <= math.log(3) + 1e-6).all()


def test_with_one_head_both_readings_are_the_same():
    found = one_against_many(recorded(Sizes(heads=1)))
    np.testing.assert_allclose(found.one, found.heads[0], atol=1e-7)


def test_drift_begins_at_one_and_compares_neighbours():
    record = recorded(Sizes(layers=3))
    found = drift(record)
    assert found.to_start.shape == found.to_neighbours.shape == (4, 3)
    np.testing.assert_allclose(found.to_start[0], 1)
    a, b, c = record.hidden_states[2].astype(float)
    cosine = lambda p, q: p @ q / np.linalg.norm(p) / np.linalg.norm(q)  # noqa: E731
    assert found.to_neighbours[2] == pytest.approx([cosine(a, b), (cosine(a, b) + cosine(b, c)) / 2, cosine(b, c)])


def test_a_lonely_token_has_no_neighbours():
    x, blocks = sentence_example(torch.tensor([[7]]), Sizes())
    record = record_forward(blocks, x, torch.ones(1, 1, dtype=torch.bool), ["x"], layer=0, head=0)
    assert np.isnan(drift(record).to_neighbours).all()


def test_heads_of_one_number_share_nothing_else_unless_there_is_one_layer():
    one = same_number(recorded(Sizes(layers=1)))
    assert one.weights_cosine == pytest.approx(1) and one.map_distance == 0
    far = same_number(recorded(Sizes(d_model=512, heads=8, d_ff=64, layers=2)))
    assert abs(far.weights_cosine) < 0.03 and far.map_distance > 0
