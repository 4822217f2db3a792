"""What is said about the mean of heads follows from its numbers: each sentence at the bound where it begins."""

import pytest

from ui.frame.languages import catalogue
from ui.inside.words import mean_of_heads

EVEN = "All these rows are nearly even, so the mean of the heads looks like each of them."
BLURRED = "The heads' rows are sharper than their mean: averaging blurs what each head picks out."
ALIKE = "The heads pick out much the same keys, so their mean is about as sharp as they are."
NOTHING = "This token sees at most one key, so there is nothing to compare."


@pytest.mark.parametrize(
    ("heads", "mean", "said"),
    [
        (1.96, 2.0, EVEN),
        (1.901, 2.0, EVEN),
        (1.899, 2.0, ALIKE),  # 0.95 of equal weights is 1.9
        (1.0, 1.199, ALIKE),
        (1.0, 1.201, BLURRED),  # a tenth of equal weights is 0.2
        (0.0, 0.0, ALIKE),
        (0.0, 2.0, BLURRED),
    ],
)
def test_the_mean_is_called_a_blur_only_where_it_is_one(heads, mean, said):
    assert mean_of_heads(heads, mean, 2.0) == said


def test_one_key_leaves_nothing_to_compare():
    assert mean_of_heads(0.0, 0.0, 0.0) == NOTHING


def test_each_has_its_chinese():
    assert {EVEN, BLURRED, ALIKE, NOTHING} <= set(catalogue("zh"))
