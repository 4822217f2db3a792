"""The worked example against torch.manual_seed and the module itself, and the arithmetic that a class does by hand."""

import math

import pytest
import torch

from analysis.lessons.answers.steps import (
    example_output,
    example_weight,
    largest_product,
    order_of_attention,
    without_scale,
)
from analysis.lessons.setup import Setup
from model import MultiHeadAttention


@pytest.fixture(scope="module")
def weights() -> torch.Tensor:
    """(h, N, N), as the lines on the page Inside a block make them."""
    torch.manual_seed(42)
    x = torch.randn(1, 3, 8)
    return MultiHeadAttention(8, 2)(x)[1][0].detach()


def test_a_weight_is_the_one_that_the_module_makes_after_seed_42(weights):
    found = example_weight(Setup(), query="猫", key="吃", head=2)
    assert found.right == pytest.approx(float(weights[1, 0, 1]), abs=1e-6)
    assert found.said["weight"] == "0.38"


def test_the_given_scores_lead_to_the_weight():
    found = example_weight(Setup(), query="吃", key="吃", head=2, mask="causal")
    first, second, hidden = found.given["scores"].replace("−", "-").split(", ")
    powers = [math.exp(float(first)), math.exp(float(second))]
    assert hidden == "-∞"
    assert found.right == pytest.approx(powers[1] / sum(powers), abs=0.01)  # of scores with two decimals
    assert found.said["weights"].endswith("0.00")


def test_the_first_token_gives_itself_everything_under_a_causal_mask():
    assert example_weight(Setup(), query="猫", key="猫", head=2, mask="causal").right == pytest.approx(1)


def test_the_largest_product_is_that_of_the_given_vectors():
    found = largest_product(Setup(), query="猫", head=2)
    vectors = {
        name: [float(number) for number in found.given[name].strip("()").replace("−", "-").split(", ")]
        for name in ("q", "k_1", "k_2", "k_3")
    }
    products = [sum(a * b for a, b in zip(vectors["q"], vectors[f"k_{key}"], strict=True)) for key in (1, 2, 3)]
    assert found.right == products.index(max(products)) == 1
    assert [float(found.said[f"product_{key}"]) for key in (1, 2, 3)] == pytest.approx(products, abs=0.03)


def test_without_the_root_of_d_k_the_largest_weight_grows():
    found = without_scale(Setup(), query="猫", head=2)
    assert found.right == "larger"
    assert float(found.said["most_bare"]) > float(found.said["most"])


def test_an_output_is_the_mean_of_the_given_values_by_the_given_weights():
    found = example_output(Setup(), query="吃", head=2, column=3, mask="causal")
    weights, values = (
        [float(number) for number in found.given[name].replace("−", "-").split(", ")] for name in ("weights", "values")
    )
    assert found.right == pytest.approx(sum(w * v for w, v in zip(weights, values, strict=True)), abs=0.01)
    assert "(−" in found.said["sum"]  # a negative factor stands in brackets


def test_the_order_is_the_one_in_which_the_module_runs():
    found = order_of_attention(Setup(), steps=["mix", "softmax", "mask", "scale", "scores"])
    assert found.right == ("scores", "scale", "mask", "softmax", "mix")
