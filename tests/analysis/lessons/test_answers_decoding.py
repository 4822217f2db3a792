"""What a decoder expects, what its mask keeps still, and which heads it misses."""

import pytest

from analysis.lessons.answers.decoding import (
    came_after,
    likeliest,
    most_surprising,
    probability_next,
    rows_that_change,
    sink,
)
from analysis.lessons.answers.mattering import looks_and_matters, missed_most, without_head, zero_and_mean
from analysis.lessons.numbers import percent, points, probability, signed, weight
from analysis.lessons.setup import Setup
from model import HeadworkError
from tests.analysis.lessons.made_setups import setup

DECODER = "smollm2-135m"


def test_the_capital_of_france():
    asked = setup("The capital of France is", DECODER)
    found = likeliest(asked, words=["London", "the", "Paris"])
    assert (found.right, found.said["top"]) == ("paris", "Paris")
    assert probability_next(asked, word="Paris").right == pytest.approx(77.3, abs=1)
    assert sum(p for _word, p in found.shown.candidates) < 1
    with pytest.raises(HeadworkError, match="tokens here"):
        probability_next(asked, word="Liechtenstein")


def test_the_word_that_does_not_belong_surprises_most():
    found = most_surprising(setup("I take my coffee with cream and socks.", DECODER))
    assert found.labels[found.right] == "socks"
    assert [bar.name for bar in found.shown.bars] == list(found.labels[1:])  # nothing predicts the first
    with pytest.raises(HeadworkError, match="three words"):
        most_surprising(setup("Hello", DECODER))


def test_a_model_that_predicts_nothing_says_so():
    with pytest.raises(HeadworkError):
        likeliest(setup("The capital of France is", "minilm"), words=["Paris"])


@pytest.mark.parametrize(
    ("model", "mask", "right"),
    [(DECODER, "causal", "last"), ("minilm", "causal", "last"), ("minilm", None, "all")],
)
def test_a_causal_mask_keeps_the_rows_before_a_change(model, mask, right):
    asked = setup("The teacher praised the students", model, mask=mask)
    found = rows_that_change(asked, other="The teacher praised the parents")
    assert found.right == right
    with pytest.raises(HeadworkError, match="as many tokens"):
        rows_that_change(asked, other="The teacher praised")


def test_the_first_token_is_a_sink():
    found = sink(setup("When Mary and John left the museum, Mary handed the map to", DECODER))
    assert found.right > 3 * float(found.said["even"].removesuffix(" %"))
    assert sum(bar.value for bar in found.shown.bars) == pytest.approx(1, abs=1e-5)
    assert found.right == round(100 * found.shown.bars[0].value)


def test_an_induction_head_looks_at_what_came_after():
    found = came_after(setup("cat lamp river stone cat lamp river", DECODER), layer=19, head=7)
    assert (found.said["key"], found.said["before"], found.said["next"]) == ("stone", "river", "stone")


def test_looking_and_mattering_part():
    asked = Setup("x", DECODER)
    assert without_head(asked, set="indirect_object", layer=25, head=5).right == "open"
    assert without_head(asked, set="indirect_object", layer=24, head=4).right == "falls"
    assert without_head(asked, set="indirect_object", layer=24, head=2).right == "rises"
    found = missed_most(asked, set="indirect_object", heads=["25-5", "24-2", "24-4", "21-1"])
    assert found.right == ("24-4", "21-1", "25-5", "24-2")
    assert (found.said["effect_1"], found.said["looks_1"]) == ("−1.88", "0.06")
    assert looks_and_matters(asked, set="indirect_object").said["looker"] == "25-5"
    assert looks_and_matters(asked, set="agreement").said["looker"] == "27-1"  # there the one that matters, too
    assert missed_most(asked, set="agreement", heads=["25-5", "27-1"]).right[0] == "27-1"
    both = zero_and_mean(asked, set="indirect_object", layer=2, head=6)
    assert (both.given["zero"], both.said["mean"]) == ("−1.68", "−0.13")


def test_a_set_or_a_head_that_was_not_measured_is_named():
    with pytest.raises(HeadworkError, match="No record of weather"):
        zero_and_mean(Setup("x", DECODER), set="weather", layer=1, head=1)
    with pytest.raises(HeadworkError, match="no head 31-1"):
        without_head(Setup("x", DECODER), set="capitals", layer=31, head=1)


def test_numbers_are_written_as_the_app_writes_them():
    assert (weight(-0.004), signed(-1.877), points(0.279), points(0.0)) == ("−0.00", "−1.88", "+28", "0")
    assert [percent(share) for share in (0.814, 0.995, 1)] == ["81 %", "99 %", "100 %"]
    assert [probability(p) for p in (0.773, 0.012, 0.0001)] == ["77 %", "1.2 %", "< 0.1 %"]
