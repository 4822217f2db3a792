"""A decoder's block told step by step: every number that is shown follows from those shown before, by the formulas."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from analysis.blocks.block_steps import (
    arrows,
    boxes,
    branches,
    movement,
    normalisation,
    one_against_many,
    residual,
    skips,
)
from analysis.blocks.cell import cell_path
from analysis.blocks.next_token import next_token
from analysis.blocks.record import record_layer, run_stack
from analysis.blocks.rotary_pair import rotary_pair, rotary_width
from analysis.blocks.steps import attention_stages, before
from tests.models import LLAMA_LIKE, tiny_decoder

QWEN3_LIKE = replace(LLAMA_LIKE, qk_norm=True)
PYTHIA_LIKE = replace(
    LLAMA_LIKE,
    norm_kind="layer",
    activation="gelu",
    bias=True,
    num_key_heads=0,
    head_width=0,
    d_model=48,
    rotary_width=4,
    parallel=True,
    output="own",
)
GPT2_LIKE = replace(PYTHIA_LIKE, positions="learned", parallel=False, output="tied")
CONFIGS = {"llama": LLAMA_LIKE, "qwen3": QWEN3_LIKE, "pythia": PYTHIA_LIKE, "gpt2": GPT2_LIKE}
TEXT = "The cat sat on the mat."


def recorded(config, layer=1, text=TEXT):
    model = tiny_decoder(config)
    tokens = model.tokens(text)
    allowed = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()
    with torch.inference_mode():
        x = model.transformer.embeddings(torch.tensor([tokens.ids]))
    stack = run_stack(model.transformer, x, allowed)
    return model, record_layer(stack, allowed, tokens.labels, layer=layer)


def numbers(record):
    return {
        stage.key: {matrix.symbol: matrix.values for matrix in stage.matrices} for stage in attention_stages(record)
    }


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_steps_are_those_that_the_model_has(kind):
    _, record = recorded(CONFIGS[kind])
    found = [stage.key for stage in attention_stages(record)]
    assert ("qk_norm" in found) == (kind == "qwen3")
    assert ("rotate" in found) == (kind != "gpt2")
    assert found[-1] == "next"
    for stage in attention_stages(record):
        for matrix in stage.matrices:
            assert matrix.values.shape == matrix.shape[1:] and str(matrix.shape) in stage.shapes, stage.key


@pytest.mark.parametrize("kind", CONFIGS)
def test_each_step_follows_from_the_one_before(kind):
    model, record = recorded(CONFIGS[kind])
    config, mha, made = CONFIGS[kind], record.block.attention, numbers(record)
    h, d_k, group, n = record.n_heads, record.d_k, record.group, record.n_tokens
    with torch.inference_mode():
        x = torch.from_numpy(made["input"]["x"])
        for letter, matrix in (("Q", mha.W_q), ("K", mha.W_k), ("V", mha.W_v)):
            assert_same(made["project"][letter], matrix(x).numpy())
            heads = made["project"][letter].reshape(n, -1, d_k).transpose(1, 0, 2)
            assert np.array_equal(made["split"][letter], heads)
    q, k = made["split"]["Q"], made["split"]["K"]
    assert len(q) == h and len(k) == h // group == len(made["split"]["V"])
    if config.qk_norm:
        q, k = (rms(each, norm) for each, norm in ((q, mha.q_norm), (k, mha.k_norm)))
        assert_same(made["qk_norm"]["Q"], q)
        assert_same(made["qk_norm"]["K"], k)
    if config.positions == "rotary":
        q, k = (turned(each, config.rotary_width or d_k, config.rotary_base) for each in (q, k))
        assert_same(made["rotate"]["Q"], q)
        assert_same(made["rotate"]["K"], k)
    products = np.stack([q[i] @ k[i // group].T for i in range(h)])
    assert_same(made["scores"]["QKᵀ"], products)
    scores = made["scale"]["QKᵀ / √d_k"]
    assert_same(scores, products / np.sqrt(d_k))
    masked = np.where(np.tri(n, dtype=bool), scores, -np.inf)
    assert_same(made["mask"]["QKᵀ / √d_k + M"], masked)
    weights = np.exp(masked - masked.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    assert_same(made["softmax"]["A"], weights)
    mixed = np.stack([weights[i] @ made["split"]["V"][i // group] for i in range(h)])
    assert_same(made["mix"]["A V"], mixed)
    concat = mixed.transpose(1, 0, 2).reshape(n, h * d_k)
    assert_same(made["concat"]["concat"], concat)
    with torch.inference_mode():
        assert_same(made["output"]["output"], mha.W_o(torch.from_numpy(concat)).numpy())
    trace = model.trace(TEXT, "causal")
    assert_same(made["softmax"]["A"], trace.attention[1])


def assert_same(shown, expected):
    np.testing.assert_allclose(shown, expected, rtol=2e-4, atol=2e-4)  # float32, sums of up to 48 products


def rms(x, norm):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + norm.eps) * norm.gamma.detach().numpy()


def turned(x, width, base):
    """Rotary positions pair by pair, with a loop (Su et al. 2021, equation 15, columns paired as GPT-NeoX has them)."""
    y = x.copy()
    half = width // 2
    for m in range(x.shape[1]):
        for c in range(half):
            angle = m * base ** (-2 * c / width)
            first, second = x[:, m, c], x[:, m, c + half]
            y[:, m, c] = first * np.cos(angle) - second * np.sin(angle)
            y[:, m, c + half] = first * np.sin(angle) + second * np.cos(angle)
    return y


@pytest.mark.parametrize("kind", ["llama", "pythia"])
def test_a_pair_keeps_its_length_and_turns_by_its_angle(kind):
    _, record = recorded(CONFIGS[kind])
    record = record.of_head(4)
    width = rotary_width(record)
    assert width == (8 if kind == "llama" else 4)
    for index in range(width // 2):
        pair = rotary_pair(record, index)
        assert pair.columns == (index, index + width // 2)
        np.testing.assert_allclose(
            pair.angles, np.arange(record.n_tokens) * 10_000.0 ** (-2 * index / width), atol=1e-4
        )
        for first, last in (pair.queries, pair.keys):
            np.testing.assert_allclose(np.hypot(*first.T), np.hypot(*last.T), rtol=1e-4)
            z = (first[:, 0] + 1j * first[:, 1]) * np.exp(1j * pair.angles)
            np.testing.assert_allclose(np.stack([z.real, z.imag], -1), last, atol=1e-3)


def test_columns_beyond_a_partial_width_stay():
    _, record = recorded(PYTHIA_LIKE)
    made = numbers(record)["rotate"]
    for first, last in zip(before(record, "rotate"), (made["Q"], made["K"]), strict=True):
        assert np.array_equal(first[..., 4:], last[..., 4:]) and not np.array_equal(first[:, 1:, :4], last[:, 1:, :4])


def test_another_head_shares_everything_that_was_recorded():
    _, record = recorded(LLAMA_LIKE)
    other = record.of_head(5)
    assert other.head == 5 and other.steps is record.steps and other.stack is record.stack


def test_a_cell_meets_the_keys_and_values_of_its_key_head():
    _, record = recorded(LLAMA_LIKE)
    keys, values = numbers(record)["rotate"]["K"], numbers(record)["split"]["V"]
    path = cell_path(record, 4, 5, 2)  # heads 4–6 share the second key head
    assert np.array_equal(path.key, keys[1, 2]) and np.array_equal(path.value, values[1, 2])
    assert path.products.sum() == pytest.approx(path.dot, abs=1e-4)


def test_one_head_over_all_columns_adds_the_products_of_the_heads():
    _, record = recorded(QWEN3_LIKE)
    made, found = numbers(record), one_against_many(record)
    scores = made["scores"]["QKᵀ"].sum(0) / np.sqrt(record.width)
    scores = np.where(np.tri(record.n_tokens, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    assert_same(found.one, weights / weights.sum(-1, keepdims=True))


def test_rms_norm_takes_no_mean_and_layer_norm_does():
    _, llama = recorded(LLAMA_LIKE)
    found = normalisation(llama, "attention_norm", 3)
    assert found.mean is None
    assert found.scale == pytest.approx(np.sqrt((found.before**2).mean() + 1e-5), rel=1e-5)
    np.testing.assert_allclose(found.normalised, found.before / found.scale, rtol=1e-4, atol=1e-6)
    _, gpt2 = recorded(GPT2_LIKE)
    assert normalisation(gpt2, "attention_norm", 3).mean == pytest.approx(
        float(normalisation(gpt2, "attention_norm", 3).before.mean()), abs=1e-6
    )


def test_a_parallel_block_adds_attention_and_ffn_to_the_same_x():
    _, record = recorded(PYTHIA_LIKE)
    found = {box.key: box for box in boxes(record)}
    assert list(found) == ["input", "attention_norm", "attention", "ffn_norm", "ffn", "ffn_sum"]
    assert branches(record) == (("attention_norm", "attention"), ("ffn_norm", "ffn"))
    assert skips(record) == (("input", "ffn_sum"),)
    assert {("input", "attention_norm"), ("input", "ffn_norm"), ("attention", "ffn_sum"), ("ffn", "ffn_sum")} < set(
        arrows(record)
    )
    for norm in ("attention_norm", "ffn_norm"):
        assert np.array_equal(found[norm].before, found["input"].after)
    total = found["input"].after + found["attention"].after + found["ffn"].after
    assert_same(found["ffn_sum"].after, total)
    assert_same(record.hidden_states[2], total)
    lengths = residual(record, "ffn")
    assert_same(lengths.beside, np.linalg.norm(found["attention"].after, axis=-1))
    assert_same(lengths.carried, np.linalg.norm(found["input"].after, axis=-1))


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_changed_token_moves_what_may_see_it_and_no_other(kind):
    _, record = recorded(CONFIGS[kind])
    moved = movement(record, 4)
    assert np.array_equal(moved.attention > 0, record.allowed[:, 4])
    assert (moved.ffn > 0).sum() == 1


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_next_token_from_the_last_hidden_state(kind):
    model, record = recorded(CONFIGS[kind])
    found = next_token(record.stack, 5, k=4)
    expected = model.trace(TEXT, "causal").next(4, position=5)
    assert found.ids == tuple(token.id for token in expected)
    np.testing.assert_allclose(found.probabilities, [token.probability for token in expected], rtol=1e-3)
    np.testing.assert_allclose(np.exp(found.logits - found.log_total), found.probabilities, rtol=1e-4)
    matrix = model.transformer.embeddings.token if kind != "pythia" else model.transformer.output
    np.testing.assert_allclose(
        matrix.weight.detach().numpy()[list(found.ids)] @ found.normed, found.logits, rtol=1e-3, atol=1e-3
    )


def test_a_window_is_the_layers_own():
    config = replace(LLAMA_LIKE, windows=(0, 3, 0))
    for layer, seen in ((0, 23), (1, 3)):
        _, record = recorded(config, layer)
        assert record.n_tokens == 23 and record.allowed.sum(-1).max() == seen
        weights = numbers(record)["softmax"]["A"]
        assert np.array_equal((weights > 0).any(0), record.allowed)
