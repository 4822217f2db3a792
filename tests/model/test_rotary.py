"""Rotary positions: products depend on the distance alone, and the tables are those that models were trained with."""

import math

import pytest
import torch

from model import HeadworkError
from model.rotary import RotaryScaling, rotary_frequencies, rotate, rotation


def turned(x, positions, width=8):
    return rotate(x, rotation(torch.tensor(positions), rotary_frequencies(width).double(), torch.float64))


def test_the_product_depends_on_the_distance_alone():
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)
    products = [float((turned(q, [i]) * turned(k, [j])).sum()) for i, j in ((5, 2), (13, 10), (3, 0))]
    assert products == pytest.approx([products[0]] * 3, abs=1e-5)
    assert float((turned(q, [5]) * turned(k, [3])).sum()) != pytest.approx(products[0], abs=1e-2)


def test_a_pair_of_columns_is_turned_by_position_times_frequency():
    x = torch.tensor([[[[1.0, 0.0, 0.0, 0.0]]]], dtype=torch.float64)  # the first of columns 0 and 2
    [turned_x] = turned(x, [3], width=4).flatten(0, 2)
    assert turned_x.tolist() == pytest.approx([math.cos(3), 0, math.sin(3), 0], abs=1e-7)


def test_columns_beyond_the_width_stay_as_they_are():
    x = torch.randn(1, 2, 3, 8, dtype=torch.float64)
    made = turned(x, [0, 1, 2], width=4)
    assert torch.equal(made[..., 4:], x[..., 4:])
    assert not torch.equal(made[:, :, 1:, :4], x[:, :, 1:, :4])


def test_frequencies_are_those_of_the_paper():
    assert rotary_frequencies(4, 100.0).tolist() == pytest.approx([1.0, 0.1])


@pytest.mark.parametrize("kind", ["linear", "llama3"])
def test_scaled_frequencies_equal_those_of_transformers(kind):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    parameters = {"rope_type": kind, "rope_theta": 10_000.0, "factor": 8.0}
    if kind == "llama3":
        parameters |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 256}
    config = LlamaConfig(hidden_size=64, num_attention_heads=2, rope_parameters=parameters)
    theirs, _ = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"))
    ours = rotary_frequencies(32, 10_000.0, RotaryScaling(kind, 8.0, original_context=256))
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "scaling",
    [{"kind": "yarn", "factor": 2.0}, {"kind": "linear", "factor": 0.0}, {"kind": "llama3", "factor": 2.0, "low": 4.0}],
)
def test_scalings_that_make_no_frequencies_are_refused(scaling):
    with pytest.raises(HeadworkError):
        RotaryScaling(**scaling)
