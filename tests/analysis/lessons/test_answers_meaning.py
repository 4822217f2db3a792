"""Heads that only seem to, and heads that don't turn with the meaning."""

import numpy as np
import pytest

from analysis.lessons.answers.agreement import genders_recorded, genders_right, missed_order
from analysis.lessons.answers.labels import jobs, share_of_arrows
from analysis.lessons.answers.meaning import heads_that_turn, meaning_recorded, turns
from analysis.lessons.setup import Setup, Source
from model import HeadworkError
from model.masks import Mask
from tests import models
from tests.analysis.lessons.made_setups import setup
from tests.analysis.made import tokens_of, trace_of

TOM, MARY = (f"{a} handed the apple to {b} because she had helped him." for a, b in (("Tom", "Mary"), ("Mary", "Tom")))
MING, HONG = (f"{a}把苹果递给了{b}，因为她帮过他。" for a, b in (("小明", "小红"), ("小红", "小明")))
SMALL, BIG = (f"The trophy did not fit into the suitcase because it was too {size}." for size in ("small", "big"))


@pytest.mark.parametrize(
    ("model", "text", "swapped", "pronouns", "nouns", "head", "n"),
    [
        ("minilm", TOM, MARY, ["she", "him"], ["Mary", "Tom"], (6, 5), 2),
        ("minilm", TOM, MARY, ["she", "him"], ["Mary", "Tom"], (2, 4), 4),
        ("e5-small-4bit", MING, HONG, ["她", "他"], ["红", "明"], (12, 5), 2),
        ("e5-small-4bit", MING, HONG, ["她", "他"], ["红", "明"], (8, 1), 4),
    ],
)
def test_a_head_that_only_seems_to_gets_two_of_four(model, text, swapped, pronouns, nouns, head, n):
    asked = setup(text, model)
    found = genders_right(asked, layer=head[0], head=head[1], swapped=swapped, pronouns=pronouns, nouns=nouns)
    assert found.right == n == sum(found.shown.is_right)
    assert len(found.shown.looks) == 4


def test_the_balanced_set_tells_the_two_heads_apart():
    found = genders_recorded(Setup("x", "minilm"), corpus="gender_en", heads=["2-4", "6-5"])
    assert (found.said["accuracy"], found.said["other_accuracy"], found.given["n"]) == ("97 %", "49 %", "432")


@pytest.mark.parametrize(
    ("model", "text", "query", "heads"),
    [("minilm", TOM, "she", ["2-4", "6-5", "4-2"]), ("e5-small-4bit", MING, "她", ["8-1", "12-5", "9-9"])],
)
def test_the_head_that_only_seems_to_moves_the_vector_most(model, text, query, heads):
    found = missed_order(setup(text, model), heads=heads, query=query, ids=["agrees", "seems", "finds"])
    assert found.right == ("seems", "agrees", "finds")
    assert missed_order(setup(text, model), heads=heads, query=query).right == (heads[1], heads[0], heads[2])


def test_most_arrows_of_a_good_head_are_something_else():
    found = share_of_arrows(Setup("x", "minilm"), corpus="ud", relation="obj", layer=3, head=1)
    assert found.right == pytest.approx(3.7)
    assert (found.given["accuracy"], found.said["no_arc"]) == ("75 %", "66 %")


def test_a_head_has_several_jobs():
    found = jobs(Setup("x", "minilm"), corpus="ud", layer=3, head=9)
    assert {"det", "case", "nsubj"} <= set(found.said["names"].split(", "))
    assert found.right == len(found.said["names"].split(", ")) < int(found.given["total"])


def of_two(first: list[float], second: list[float]) -> Setup:
    """One head; in "it a b" it gives the row `first` from "it", in "it b a" the row `second`."""
    flat = [1 / 3] * 3
    traces = {
        text: trace_of([[row, flat, flat]], tokens_of(*text.split()))
        for text, row in (("it a b", first), ("it b a", second))
    }
    return Setup("it a b", "made", "bidirectional", source=Source(models.load, lambda text, _id, _mask: traces[text]))


def test_a_head_turns_when_the_larger_weight_goes_to_the_other_word():
    stays = turns(of_two([0, 0.7, 0.3], [0, 0.4, 0.6]), layer=1, head=1, query="it", other="it b a", keys=["a", "b"])
    assert stays.right == "stays"  # a .7, then a .6
    assert stays.said == {
        "first_before": "0.70", "second_before": "0.30", "first_after": "0.60", "second_after": "0.40", "winner": "a"
    }  # fmt: skip
    turning = turns(of_two([0, 0.7, 0.3], [0, 0.6, 0.4]), layer=1, head=1, query="it", other="it b a", keys=["a", "b"])
    assert turning.right == "turns"
    with pytest.raises(HeadworkError, match="two words"):
        turns(of_two([0, 1, 0], [0, 1, 0]), layer=1, head=1, query="it", other="it b a", keys=["a"])


def test_heads_that_turn_are_right_both_times():
    asked = {"query": "it", "other": "it b a", "right": ["a", "b"], "wrong": ["b", "a"]}
    found = heads_that_turn(of_two([0, 0.7, 0.3], [0, 0.6, 0.4]), **asked)
    assert (found.right, found.said["back"], found.said["same"]) == (1, "0", "0")
    found = heads_that_turn(of_two([0, 0.7, 0.3], [0, 0.4, 0.6]), **asked)
    assert (found.right, found.said["back"], found.said["same"]) == (0, "0", "1")


@pytest.mark.parametrize(("head", "keys"), [((4, 2), ["trophy", "suitcase"]), ((1, 7), ["suitcase", "trophy"])])
def test_heads_of_minilm_look_at_one_thing_whatever_its_size(head, keys):
    found = turns(setup(SMALL, "minilm"), layer=head[0], head=head[1], query="it", other=BIG, keys=keys)
    assert (found.right, found.said["winner"]) == ("stays", keys[0])


def test_11_9_looks_at_the_bag_as_much_when_the_size_is_the_other_one():
    shares = {}
    for size in "小大":
        trace = models.load("e5-small-4bit").trace(f"小明 把 苹果 放进 书包 因为 它 太 {size} 了")
        row = trace.attention[10, 8, trace.tokens.index("它")]
        shares[size] = [sum(row[trace.tokens.index(piece)] for piece in pieces) for pieces in (("书", "包"), ("苹果",))]
    assert np.allclose(shares["小"], [0.44, 0.19], atol=0.012)
    assert np.allclose(shares["大"], [0.39, 0.21], atol=0.012)


def test_pairs_of_meaning_are_told_as_the_record_has_them():
    found = meaning_recorded(Setup("x", "minilm", str(Mask.bidirectional())), corpus="gender_en", layer=4, head=2)
    assert (found.right, found.given["n"], found.said["best_head"], found.said["best"]) == (0, "8", "4-10", "3")
