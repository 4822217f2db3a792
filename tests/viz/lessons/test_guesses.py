"""What a class guessed: every guess is in some bar, and the right answer is marked once it is known."""

import base64

import numpy as np
import pytest

from analysis.lessons.lesson import Range
from analysis.lessons.questions import Question
from viz.lessons.guesses import MOST_BARS, MOST_BINS, guesses_figure

WORDS = ("The", "cat", "<b>sat</b>")


def question(predict, **more):
    return Question("l", 1, predict, "", "?", **more)


def shown(asked, guesses, right=None):
    """Name → number of phones, from the first bar to the last."""
    figure = guesses_figure(asked, guesses, right)
    bars = figure.data[0]
    return dict(reversed(list(zip(figure.layout.yaxis.ticktext, bars.x, strict=True))))


def test_tokens_are_counted_in_the_order_of_the_sentence_and_the_right_one_is_marked():
    asked = question("token", labels=WORDS)
    assert shown(asked, [1, 1, 0]) == {"The": 1, "cat": 2, "&lt;b&gt;sat&lt;/b&gt;": 0}
    assert shown(asked, [1, 1, 0], 2) == {"The": 1, "cat": 2, "● &lt;b&gt;sat&lt;/b&gt;": 0}


def test_of_a_long_sentence_the_guessed_tokens_are_there_and_the_right_one():
    asked = question("token", labels=tuple(f"w{i}" for i in range(64)))
    assert shown(asked, [60, 3, 3], 40) == {"w3": 2, "● w40": 0, "w60": 1}


def test_pairs_are_listed_from_the_most_frequent():
    asked = question("pair", labels=WORDS)
    assert list(shown(asked, [(1, 0), (0, 1), (0, 1)], (1, 0)).items()) == [("The → cat", 2), ("● cat → The", 1)]


def test_choices_are_counted_by_their_texts():
    asked = question("choice", choices=(("a", "first"), ("b", "second")))
    assert shown(asked, ["b", "b"], "a") == {"● first": 0, "second": 2}


def test_of_an_order_the_right_places_are_counted_and_before_the_reveal_only_the_first():
    asked = question("order", choices=(("a", "first"), ("b", "second"), ("c", "third")))
    guesses = [("a", "b", "c"), ("a", "c", "b")]
    assert shown(asked, guesses) == {"1. first": 2, "1. second": 0, "1. third": 0}
    assert shown(asked, guesses, ("a", "c", "b")) == {"● 1. first": 2, "● 2. third": 1, "● 3. second": 1}


@pytest.mark.parametrize("step", [1, 0.05])
def test_every_number_is_in_one_bar_and_there_are_not_too_many(step):
    asked = question("number", range=Range(0, 70 * step, step, 3), unit="heads")
    guesses = [i * step for i in range(71)]
    found = shown(asked, guesses, 11 * step)
    assert sum(found.values()) == 71
    assert len(found) <= MOST_BINS + 1
    assert sum(name.startswith("●") for name in found) == 1


def test_a_few_whole_numbers_have_a_bar_each():
    asked = question("number", range=Range(0, 100, 1, 3), unit="%")
    assert shown(asked, [40.0, 42.0, 42.0], 43.0) == {"40 %": 1, "41 %": 0, "42 %": 2, "● 43 %": 0}


def test_an_answer_beyond_the_range_of_guesses_is_shown_beside_them():
    asked = question("number", range=Range(0, 10, 1, 0))
    assert shown(asked, [8.0], 14.0)["● 14"] == 0


def test_cells_show_the_share_of_the_class_and_frame_the_right_ones():
    asked = question("cells", labels=("a", "b"), columns=("1", "2", "3"))
    guesses = [frozenset({(0, 0)}), frozenset({(0, 0), (1, 2)})]
    figure = guesses_figure(asked, guesses, frozenset({(0, 1)}))
    z = figure.to_plotly_json()["data"][0]["z"]
    cells = np.asarray(z) if not isinstance(z, dict) else np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"])
    assert np.asarray(cells).ravel() == pytest.approx([1, 0, 0, 0, 0, 0.5])
    (frame,) = [shape for shape in figure.layout.shapes if shape.line.width == 3]
    assert (int(frame.y0), int(frame.x0)) == (0, 1)


def test_no_guess_yet_is_no_error():
    for predict in ("token", "pair", "choice", "order", "number", "cells"):
        labels = () if predict in ("choice", "order") else WORDS
        guesses_figure(
            question(predict, labels=labels, choices=() if labels else (("a", "A"),), range=Range(0, 1, 1, 0)), [], None
        )


def test_many_different_pairs_are_cut_to_the_most_frequent():
    asked = question("pair", labels=tuple("abcdefgh"))
    pairs = [(i, j) for i in range(8) for j in range(8) if i != j]
    assert len(shown(asked, pairs)) == MOST_BARS
