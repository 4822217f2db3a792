"""The difference of two maps as a figure: signs, symmetric range, bars, and labels of both sides."""

import base64

import numpy as np
import pytest

from analysis import by_pieces, compare
from tests.models import load
from viz.comparison import both_labels, difference_heatmap
from viz.style import scale_colours


@pytest.fixture(scope="module")
def found():
    model = load("minilm")
    a = by_pieces(model.trace("The cat sat on it because it was big."))
    b = by_pieces(model.trace("The cat sat on it because it was small.", "causal"))
    return compare(a, b, (3, 1), (3, 1))


def decoded(values):
    return np.asarray(values) if not isinstance(values, dict) else np.frombuffer(base64.b64decode(values["bdata"]))


def test_the_difference_is_b_minus_a_on_a_range_symmetric_about_0(found):
    heatmap = difference_heatmap(found).data[0]
    np.testing.assert_array_equal(decoded(heatmap.z), found.b - found.a)
    assert heatmap.zmax == -heatmap.zmin == pytest.approx(np.abs(found.b - found.a).max())


def test_bars_are_the_distance_of_each_row(found):
    bar = difference_heatmap(found).data[-1]
    assert bar.orientation == "h"
    np.testing.assert_allclose(decoded(bar.x), np.abs(found.b - found.a).sum(axis=1) / 2, atol=1e-6)


def test_cells_masked_on_one_side_only_are_shown_and_on_both_are_hatched(found):
    assert [trace.name for trace in difference_heatmap(found).data if trace.name] == [
        "difference B − A",
        "distance of the row",
    ]  # bidirectional A allows everything
    model = load("minilm")
    a = by_pieces(model.trace("A cat sat.", "causal"))
    b = by_pieces(model.trace("A dog sat.", "causal"))
    figure = difference_heatmap(compare(a, b, (0, 0), (0, 0)))
    assert [trace.name for trace in figure.data][1:3] == ["masked", "masked"]


def test_places_that_differ_carry_both_labels(found):
    rows, columns = both_labels(found)
    assert "big | small" in rows and rows[2] == "cat" and columns == rows


def test_equal_maps_are_drawn_too():
    a = by_pieces(load("minilm").trace("A cat sat."))
    heatmap = difference_heatmap(compare(a, a, (0, 0), (0, 0))).data[0]
    assert (heatmap.zmin, heatmap.zmax) == (-1, 1) and not decoded(heatmap.z).any()


def test_purple_is_less_and_orange_is_more():
    less, none, more = scale_colours("PuOr_r", np.array([0.1, 0.5, 0.9])).astype(int)
    assert less[2] > less[1] and more[0] > more[2] and none.min() > 240
