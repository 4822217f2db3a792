"""With one head nothing is compared with itself: what the page of costs says at one head and from two on."""

from types import SimpleNamespace

import pytest

from ui.cost.growth import maps_in_memory
from ui.cost.several import softmax_cells, times

MEDIAN = SimpleNamespace(layer=SimpleNamespace(median=1.5), core=SimpleNamespace(median=0.5), calls=40)


@pytest.mark.parametrize("says", [maps_in_memory, lambda h: softmax_cells(h, 8), lambda h: times(MEDIAN, MEDIAN, h)])
def test_one_head_is_compared_with_no_other(says):
    assert "1 heads" not in says(1) and "with 1" not in says(1) and "2" in says(2)


def test_the_numbers_are_those_of_the_formula():
    assert "64 with one head and 128 with 2" in softmax_cells(2, 8) and "64 with one head." in softmax_cells(1, 8)
    assert "2 heads keep 2 maps" in maps_in_memory(2)
    assert times(MEDIAN, MEDIAN, 2).startswith("One head: 1.50 ms for the layer, 0.50 ms of it between")
