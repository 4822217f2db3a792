"""The bars of the lesson by their data: lengths, labels, signs and colours, for any number of heads."""

import numpy as np
import pytest

from analysis.evidence.agreement import Answers, Question
from viz.agreement import agreement_figure
from viz.dependency_arcs import GOLD, HIT
from viz.theme import ACCENT

ASKED = (Question("she", "<b>Mary</b>", "Tom"), Question("him", "Tom", "<b>Mary</b>"))
WEIGHTS = np.zeros((1, 3, 2, 2, 2), dtype=np.float32)
WEIGHTS[0, 0] = [[(0.5, 0.25), (0.5, 0.125)], [(0.5, 0.25), (0.75, 0.0)]]  # right throughout
WEIGHTS[0, 1] = [[(0.5, 0.25), (0.0, 0.5)], [(0.25, 0.25), (np.nan, 0.5)]]  # a hit, a miss, a tie, one masked
ANSWERS = Answers(ASKED, WEIGHTS)


def test_each_question_has_two_bars_of_the_weights_lengths():
    right, other = agreement_figure(ANSWERS, [(0, 0), (0, 1)]).data
    assert right.x.tolist() == [0.5, 0.25, 0.5, 0.125, 0.5, 0.25, 0.75, 0.0]
    assert other.x.tolist() == [0.5, 0.25, 0.0, 0.5, 0.25, 0.25, 0.0, 0.5]
    assert right.x.dtype == np.float32 and len(set(right.y.tolist())) == 8 and right.y.tolist() == other.y.tolist()


def test_labels_name_the_noun_as_text_and_mark_hit_and_miss_by_sign_and_colour():
    _, bars = agreement_figure(ANSWERS, [(0, 0), (0, 1)]).data
    mary = "&lt;b&gt;Mary&lt;/b&gt;"
    assert list(bars.text) == [
        *(f"● {mary} 0.50", "Tom 0.25", "Tom 0.00", f"✕ {mary} 0.50"),
        *(f"{mary} 0.25", "Tom 0.25", "Tom masked", f"{mary} 0.50"),  # a tie, and nothing to compare with
    ]
    assert list(bars.marker.color) == [HIT, GOLD, GOLD, ACCENT, GOLD, GOLD, GOLD, GOLD]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_columns_share_the_width_and_one_scale(n):
    figure = agreement_figure(ANSWERS, [(0, head) for head in range(n)])
    axes = [figure.layout["xaxis" + ("" if i == 0 else str(i + 1))] for i in range(n)]
    edges = [edge for axis in axes for edge in axis.domain]
    assert edges == sorted(edges) and edges[0] >= 0 and edges[-1] <= 1
    assert len({tuple(axis.range) for axis in axes}) == 1
    assert [data.xaxis for data in figure.data] == ["x", "x2", "x3"][:n]


def test_the_chosen_head_is_underlined_and_each_says_how_many_it_gets():
    notes = [note.text for note in agreement_figure(ANSWERS, [(0, 0), (0, 1)], selected=(0, 1)).layout.annotations]
    assert notes == ["<b>1-1</b>  4/4", "<b><u>1-2</u></b>  1/4", "as written", "swapped"]


def test_words_are_translated_and_grow():
    small, large = (agreement_figure(ANSWERS, [(0, 1)], text_scale=scale, t=str.upper) for scale in (1.0, 1.4))
    assert "SWAPPED" in [note.text for note in small.layout.annotations] and "Tom MASKED" in small.data[0].text
    assert large.layout.height > 1.3 * small.layout.height
    assert large.data[0].textfont.size == pytest.approx(1.4 * small.data[0].textfont.size)


def test_weights_of_nothing_still_draw():
    assert agreement_figure(Answers(ASKED, WEIGHTS * 0), [(0, 2)]).layout.xaxis.range[1] > 0
