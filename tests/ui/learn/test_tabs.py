"""What is said about a head that is switched off: every sentence at the bound where it begins."""

import numpy as np
import pytest

from model.training.training import SwitchedOff
from ui.learn.tabs import says

CHANCE = 0.04
ONE, TWO = [(0, 1)], [(0, 0), (0, 1)]


def said(left, whole, taken=ONE):
    """Of one relation with two heads in one layer."""
    found = SwitchedOff(np.array([[[each] for each in left]], dtype=np.float64), np.array([whole], dtype=np.float64))
    return says(found, [taken], ["+1"], CHANCE)


@pytest.mark.parametrize("whole", [0.04, 0.05, 0.1355])  # 0.136 is a tenth of the way from 0.04 to 1
@pytest.mark.parametrize("left", [(0.04, 0.04), (0.0, 0.04)])
@pytest.mark.parametrize("taken", [[], ONE, TWO])
def test_what_was_hardly_learnt_is_no_finding_about_heads(whole, left, taken):
    assert said(left, whole, taken) == [
        f"+1 was not learnt: {100 * whole:.0f} % of its answers are right, the baseline gets 4 %."
    ]


def test_a_tenth_of_the_way_is_learnt():
    assert said((0.1365, 0.13), 0.1365) == [
        "+1 needs no single head (at least 13 % right without any one head, 14 % with all)."
    ]


@pytest.mark.parametrize("taken", [[], ONE, TWO])
def test_a_head_is_needed_when_at_most_half_is_left_without_it(taken):
    assert said((0.8, 0.4), 0.8, taken) == [
        "+1 needs 1-2: without it 40 % of its answers are right, with every head 80 %."
    ]
    assert said((0.3, 0.4), 0.8, taken) == [
        "+1 needs 1-1, 1-2: without it 30 %, 40 % of its answers are right, with every head 80 %."
    ]


@pytest.mark.parametrize("taken", [[], ONE, TWO])
@pytest.mark.parametrize(("least", "shown"), [(0.41, "41 %"), (0.71, "71 %")])  # nine tenths of 0.8 are 0.72
def test_between_a_half_and_nine_tenths_heads_are_not_said_to_do_the_same(taken, least, shown):
    assert said((0.8, least), 0.8, taken) == [
        f"+1 needs no single head, but loses something: without 1-2 {shown} of its answers are right, with every "
        "head 80 %."
    ]


def test_two_that_took_it_do_the_same_when_little_is_lost_and_one_alone_does_not():
    assert said((0.8, 0.73), 0.8, TWO) == [
        "+1: 1-1, 1-2 do the same, so it needs no single one (at least 73 % right without any one head, 80 % with all)."
    ]
    assert said((0.8, 0.73), 0.8, ONE) == [
        "+1 needs no single head (at least 73 % right without any one head, 80 % with all)."
    ]


def test_nearly_all_is_not_said_to_be_all():
    assert "at least 99 % right without any one head, 100 % with all" in said((0.997, 1.0), 1.0)[0]


def test_what_is_never_asked_is_left_out():
    assert said((np.nan, np.nan), np.nan) == []
