"""Numbers and sentences of the page Does it matter?: said only where the numbers bear them out."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.effects.ranks import RankCorrelation
from ui.effects import says
from ui.effects.data import Measured
from ui.effects.words import between, probability, signed

EACH = np.array([[[-2.0, 0.5], [0.0, 1.0]], [[-1.0, 0.5], [0.0, 0.0]]])
LOOKS = np.array([[0.05, 0.66], [0.1, 0.2]])


def measured(**changes):
    made = Measured(
        of="logits",
        each=EACH,
        interval=np.stack([EACH.min(axis=0), EACH.max(axis=0)]),
        attention=LOOKS,
        word="the answer",
        correlation=RankCorrelation(-0.03, (-0.1, 0.04), 2),
        held_out=(),
        direct=None,
        ffns=None,
        layers=None,
        raw={},
    )
    return replace(made, **changes)


def test_numbers_have_a_true_minus_and_nothing_has_no_sign():
    assert [signed(value) for value in (-2.584, 0.29, -0.001)] == ["−2.58", "+0.29", "0.00"]
    assert between((-0.1, 0.04)) == " [−0.10, +0.04]" and between(None) == ""
    assert [probability(share) for share in (0.92, 0.023, 0.0004)] == ["92 %", "2.3 %", "below 0.1 %"]


def test_two_heads_are_told_apart_with_both_weights_and_both_effects():
    assert says.headline(measured()) == "The head that looks most isn't the one that matters most."
    assert says.details(measured()) == (
        "○ 1-2 looks most at the answer (0.66); without it the logit difference changes by +0.50. ◆ 1-1 looks at it "
        "with 0.05; without it: −1.50."
    )
    assert says.correlation(measured()) == "rank correlation −0.03 [−0.10, +0.04]"


def test_one_head_that_does_both_is_said_to_do_both():
    one = measured(attention=np.array([[0.9, 0.1], [0.1, 0.2]]))
    assert says.headline(one) == "The head that looks most is also the one that matters most."
    assert "◆ 1-1 looks at the answer with 0.90; without it the logit difference changes by −1.50." in says.details(one)


def test_without_attention_only_the_effect_is_told():
    none = measured(attention=np.full((2, 2), np.nan), correlation=None)
    assert (none.looks, none.most_looking) == (None, None)
    assert says.headline(none) + says.details(none) == (
        "1-1 matters most.Without ◆ 1-1 the logit difference changes by −1.50."
    )


@pytest.mark.parametrize("of", ["token", "sentence"])
def test_a_distance_has_no_sign_and_the_largest_matters_most(of):
    turned = measured(of=of, each=np.abs(EACH[:1]), interval=None)
    assert turned.matters == (0, 0) and turned.ranked(2) == [(0, 0), (1, 1)]
    assert f"the {of}'s vector turns by 2.000" in says.moves(turned, (0, 0))
