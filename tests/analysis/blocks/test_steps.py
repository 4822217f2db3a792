"""analysis.blocks.steps: what the page tells about a forward is what the modules themselves made."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analysis.blocks.cell import cell_path
from analysis.blocks.record import record_forward
from analysis.blocks.steps import attention_stages
from analysis.blocks.worked_examples import LABELS, Sizes, sentence_example, worked_example
from model import HeadworkError, scaled_dot_product_attention
from tests.models import load

SHAPES = {
    "input": (1, 3, 8),
    "project": (1, 3, 8),
    "split": (1, 2, 3, 4),
    "scores": (1, 2, 3, 3),
    "scale": (1, 2, 3, 3),
    "mask": (1, 2, 3, 3),
    "softmax": (1, 2, 3, 3),
    "mix": (1, 2, 3, 4),
    "concat": (1, 3, 8),
    "output": (1, 3, 8),
}


def recorded(sizes=Sizes(), allowed=None, layer=0, head=0):  # noqa: B008
    x, blocks = worked_example(sizes)
    allowed = torch.ones(3, 3, dtype=torch.bool) if allowed is None else allowed
    return record_forward(blocks, x, allowed, LABELS, layer=layer, head=head)


def test_shapes_of_every_stage_of_the_course_example():
    stages = attention_stages(recorded())
    assert {stage.key: stage.matrices[0].shape for stage in stages} == SHAPES
    assert [stage.key for stage in stages] == list(SHAPES)
    for stage in stages:
        for matrix in stage.matrices:
            assert matrix.values.shape == matrix.shape[1:]
            assert str(matrix.shape) in stage.shapes


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_stage_equals_what_the_module_makes_when_called_part_by_part(norm, causal):
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed = allowed.tril() if causal else allowed
    record = recorded(Sizes(norm=norm), allowed, layer=1)
    mha = record.block.attention
    stages = {stage.key: [matrix.values for matrix in stage.matrices] for stage in attention_stages(record)}
    with torch.no_grad():
        x = torch.from_numpy(stages["input"][0])[None]
        q, k, v = mha.W_q(x), mha.W_k(x), mha.W_v(x)
        for made, shown in zip((q, k, v), stages["project"], strict=True):
            assert np.array_equal(made[0].numpy(), shown)
        heads = [mha.split_heads(made) for made in (q, k, v)]
        for made, shown in zip(heads, stages["split"], strict=True):
            assert np.array_equal(made[0].numpy(), shown)
        mixed, attention = scaled_dot_product_attention(*heads, allowed if causal else None)
        products = heads[0] @ heads[1].transpose(-2, -1)
        assert np.array_equal(products[0].numpy(), stages["scores"][0])
        assert np.array_equal((products / math.sqrt(4))[0].numpy(), stages["scale"][0])
        assert np.array_equal(np.isneginf(stages["mask"][0]), np.broadcast_to(~allowed.numpy(), (2, 3, 3)))
        assert np.array_equal(attention[0].numpy(), stages["softmax"][0])
        assert np.array_equal(mixed[0].numpy(), stages["mix"][0])
        assert np.array_equal(mha.merge_heads(mixed)[0].numpy(), stages["concat"][0])
        output, whole = mha(x, allowed if causal else None)
    assert np.array_equal(output[0].numpy(), stages["output"][0])
    assert np.array_equal(whole[0].numpy(), stages["softmax"][0])


def test_a_record_of_the_trained_model_holds_the_maps_of_its_trace():
    loaded = load("minilm")
    tokens, allowed, output = loaded.run("The cat sat.", "causal", record="hidden")
    record = record_forward(loaded.transformer.blocks, output.hidden_states[0], allowed, tokens.labels, layer=3)
    trace = loaded.trace("The cat sat.", "causal")
    for maps, expected in zip(record.stack.maps, trace.attention[[0, -1]], strict=True):
        np.testing.assert_allclose(maps, expected, atol=1e-6)
    np.testing.assert_allclose(record.steps.attention.attention[0].numpy(), trace.attention[3], atol=1e-6)
    # The layer that records runs its GELU apart from the product, which rounds otherwise than the fused kernel.
    np.testing.assert_allclose(record.hidden_states[-1], output.hidden[0].numpy(), atol=1e-4)
    assert record.n_layers == 6 and record.n_heads == 12 and record.d_k == 32


def test_one_layer_of_512_tokens_is_all_that_stays_in_memory():
    loaded = load("minilm")
    tokens, allowed, output = loaded.run("cat " * 600, record="hidden")
    record = record_forward(loaded.transformer.blocks, output.hidden_states[0], allowed, tokens.labels, layer=2, head=0)
    n, d, h, f, layers = 512, 384, 12, 1536, 6
    six_maps = 6 * 4 * h * n * n  # four of this layer, and those of the first and the last
    vectors = 4 * n * d * (layers + 1 + 16) + 2 * 4 * n * f  # hidden states, steps of one layer, the FFN's two
    assert record.n_tokens == n
    assert record.nbytes < 1.05 * (six_maps + vectors) + 4 * 1_774_464 < 120e6


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99), st.booleans())
def test_a_cell_adds_up_from_its_products_to_its_share_of_the_output(n, heads, d_k, seed, causal):
    sizes = Sizes(d_model=heads * d_k, heads=heads, d_ff=4, layers=1, seed=seed)
    x, blocks = sentence_example(torch.arange(1, n + 1)[None], sizes)
    allowed = torch.ones(n, n, dtype=torch.bool)
    allowed = allowed.tril() if causal else allowed
    record = record_forward(blocks, x, allowed, [str(i) for i in range(n)], layer=0, head=0)
    for query in range(n):
        paths = [cell_path(record, heads - 1, query, key) for key in range(n)]
        for key, path in enumerate(paths):
            assert path.products.sum() == pytest.approx(path.dot, abs=1e-5)
            assert path.dot / math.sqrt(d_k) == pytest.approx(path.scaled, abs=1e-6)
            assert path.masked == (path.scaled if allowed[query, key] else -math.inf)
            assert path.exponentials[key] / path.row_sum == pytest.approx(path.weight, abs=1e-6)
            np.testing.assert_allclose(path.parts, path.weight * path.value)
        np.testing.assert_allclose(sum(path.parts for path in paths), paths[0].mixed, atol=1e-5)


def test_a_row_that_may_look_at_nothing_is_followed_without_nan():
    allowed = torch.ones(3, 3, dtype=torch.bool)
    allowed[1] = False
    path = cell_path(recorded(allowed=allowed), 0, 1, 2)
    assert path.weight == 0 and path.masked == -math.inf
    assert not np.isnan(path.exponentials).any() and not np.isnan(path.mixed).any()


@pytest.mark.parametrize(
    ("head", "query", "key", "said"), [(2, 0, 0, "head 3"), (0, 3, 0, "query 4"), (0, 0, -1, "key 0")]
)
def test_cells_that_do_not_exist_are_named(head, query, key, said):
    with pytest.raises(HeadworkError, match=said):
        cell_path(recorded(), head, query, key)
