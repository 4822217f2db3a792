"""Heads against one head: by hand for three tokens, and the paper's table."""

import pytest

from analysis.lessons.answers.cost import (
    best_heads,
    bleu_lost,
    head_width,
    multiplications,
    projections,
    weights_of_maps,
)
from analysis.lessons.setup import Setup
from model import HeadworkError
from tests.analysis.lessons.made_setups import setup

N = 3
TEXT = "a b c"


def test_eight_narrow_heads_multiply_as_often_as_one_wide_head():
    found = multiplications(setup(TEXT), d_model=512, heads=8)
    assert found.right == "same"
    assert found.said == {"one": "4,608", "many": "4,608", "each": "576"}  # 512 · 3², and 64 · 3² for one of the eight
    assert (found.given["n"], found.given["d_k"]) == ("3", "64")
    assert {bar.value for bar in found.shown.bars} == {512 * N**2}


def test_the_four_projections_have_4_d_squared_weights_and_4_d_biases_whatever_h_is():
    found = projections(Setup(), d_model=512, heads=8)
    assert found.right == "same"
    assert found.said["many"] == found.said["one"] == f"{4 * 512**2 + 4 * 512:,}"


def test_eight_heads_make_eight_maps():
    found = weights_of_maps(setup(TEXT), heads=8)
    assert (found.right, found.said) == ("more", {"one": "9", "many": "72"})


def test_the_width_of_a_head_and_a_width_that_is_not_whole():
    assert head_width(Setup(), d_model=512, heads=8).right == 64
    with pytest.raises(HeadworkError, match="512"):
        head_width(Setup(), d_model=512, heads=7)


def test_8_and_16_heads_share_the_best_bleu_of_the_paper_and_one_head_loses_0_9():
    best = best_heads(Setup())
    assert best.right == "8-16"
    assert [best.said[f"bleu_{h}"] for h in (1, 4, 8, 16, 32)] == ["24.9", "25.5", "25.8", "25.8", "25.4"]
    assert bleu_lost(Setup(), heads=1).right == 0.9
