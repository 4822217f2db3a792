"""Figures of effects, by their data: signs of heads, signed colours, and parts that are drawn as they were measured."""

import numpy as np
import pytest

from viz.effect_parts import LayerParts, in_proportion, on_each_prompt, patched, together, written
from viz.effects import LOOKS, MATTERS, Marked, Scale, against_attention, head_grid, number

EFFECT = np.array([[-2.58, 0.29], [0.1, -0.01], [0.0, 0.99]])
ATTENTION = np.array([[0.05, 0.66], [0.1, 0.2], [0.0, 0.3]])
HOVERS = [["a", "b"], ["c", "d"], ["e", "f"]]
MARKED = Marked(selected=(0, 0), matters=(0, 0), looks=(0, 1))
COLOURS = Scale("change", 2.58)


def grid(values=EFFECT, colours=COLOURS, marked=MARKED):
    return head_grid(values, colours, marked, HOVERS, height=300)


def targets_of(figure):
    return next(trace for trace in figure.data if trace.customdata is not None)


def test_effects_are_signed_around_nothing_and_what_is_less_is_hatched():
    figure = grid()
    cells = figure.data[0]
    np.testing.assert_array_equal(cells.z, EFFECT.astype(np.float32))
    assert cells.zmin == -cells.zmax == pytest.approx(-2.58)
    assert list(cells.colorbar.ticktext) == ["▤ −2.6", "0", "+2.6"]
    hatched = figure.data[1]
    assert (
        hatched.fillpattern.shape == "-" and hatched.x[0] == -0.5 and len(hatched.x) == 6
    )  # 1-1 alone is clearly less


def test_attention_goes_from_nothing_to_its_limit_without_hatching():
    figure = grid(ATTENTION, Scale("attention", 1.0, is_signed=False))
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
    assert list(figure.data[0].colorbar.ticktext) == ["0", "1"]
    assert not [trace for trace in figure.data if trace.type == "scatter" and trace.fill]


def test_the_head_that_matters_and_the_one_that_looks_bear_their_signs_and_the_chosen_one_a_frame():
    figure = grid()
    signs = {
        trace.marker.symbol: (trace.y[0], trace.x[0])
        for trace in figure.data
        if trace.hoverinfo == "skip" and trace.type == "scatter" and trace.mode == "markers"
    }
    assert signs == {MATTERS: (0, 0), "circle": (0, 1)}
    (box,) = figure.layout.shapes
    assert (box.x0, box.y0) == (-0.5, -0.5)


def test_every_cell_can_be_clicked_and_says_what_it_is():
    marks = targets_of(grid())
    assert list(zip(marks.y.tolist(), marks.x.tolist(), marks.customdata, strict=True)) == [
        (0, 0, "a"), (0, 1, "b"), (1, 0, "c"), (1, 1, "d"), (2, 0, "e"), (2, 1, "f"),
    ]  # fmt: skip


def test_layers_of_a_deep_model_are_named_as_far_as_there_is_room():
    deep = head_grid(np.zeros((30, 9)), COLOURS, MARKED, [[""] * 9] * 30, height=330)
    named = [int(name) for name in deep.layout.yaxis.ticktext]
    assert named[0] == 1 and 10 <= len(named) < 30 and list(deep.layout.xaxis.ticktext) == list("123456789")


def test_the_scatter_names_what_is_far_out_and_gives_heads_the_same_signs():
    figure = against_attention(ATTENTION, EFFECT, MARKED, HOVERS, x_title="x", y_title="y", height=300)
    (points,) = figure.data
    np.testing.assert_allclose(points.x, ATTENTION.ravel(), atol=1e-6)
    np.testing.assert_allclose(points.y, EFFECT.ravel(), atol=1e-6)
    assert points.text[0] == "1-1" and points.text[1] == "1-2" and points.text[5] == "3-2"
    assert list(points.marker.symbol[:3]) == [MATTERS, LOOKS, "circle"]
    low, high = figure.layout.yaxis.range
    assert low < -2.58 and high > 0.99


def test_bars_of_prompts_are_in_order_of_size_with_their_mean_and_its_interval():
    figure = on_each_prompt(
        np.array([0.5, -1.0, 0.2]), ["p1", "p2", "p3"], interval=(-0.9, 0.4), shown=2, x_title="x", y_title="y"
    )
    (bars,) = figure.data
    assert list(bars.customdata) == ["p2", "p3", "p1"] and bars.y.tolist() == pytest.approx([-1.0, 0.2, 0.5])
    band, line = figure.layout.shapes
    assert (band.y0, band.y1) == (-0.9, 0.4) and line.y0 == pytest.approx(-0.1)
    assert len(on_each_prompt(np.ones(1), ["p"], interval=None, shown=0, x_title="", y_title="").layout.shapes) == 1


def test_heads_ffns_and_layers_share_one_axis():
    parts = LayerParts(EFFECT, np.array([-3.0, 0.0, 1.0]), np.array([-9.0, 0.5, 0.0]))
    heads, ffns, layers = in_proportion(parts, HOVERS, selected=(0, 0), y_title="y").data
    np.testing.assert_allclose(heads.y, EFFECT.ravel(), atol=1e-6)
    assert ffns.y.tolist() == [-3.0, 0.0, 1.0] and layers.y.tolist() == [-9.0, 0.5, 0.0]
    assert heads.x[0] < 1 < heads.x[1] < 1.5 and list(layers.x) == [1, 2, 3]
    assert len({heads.marker.symbol or "circle", ffns.marker.symbol, layers.marker.symbol}) == 3


def test_what_is_written_adds_up_to_the_sum_of_the_bars():
    parts = LayerParts(EFFECT, np.array([-3.0, 0.0, 1.0]))
    figure = written(parts, 0.25, -0.5, y_title="y")
    total = sum(value for trace in figure.data for value in trace.y)
    assert total == pytest.approx(EFFECT.sum() - 2.0 - 0.25)
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "3", "embedding", "all biases"]
    assert "all biases" not in written(parts, 0.25, 0.0, y_title="y").layout.xaxis.ticktext


def test_patched_states_stand_by_layer_and_token():
    values = np.arange(6.0).reshape(3, 2) - 2
    figure = patched(values, ["a", "<b>"], COLOURS, says="{token} {layer}: {value}")
    np.testing.assert_array_equal(figure.data[0].z, values.astype(np.float32))
    assert "&lt;b&gt;" in str(figure.layout.xaxis.ticktext) and list(figure.layout.yaxis.ticktext) == ["1", "2", "3"]
    assert targets_of(figure).customdata[3] == "&lt;b&gt; 2: +1.00"


def test_heads_together_are_written_out_with_a_true_minus():
    figure = together(["sum", "together"], [-1.5, 0.25], x_title="x")
    assert list(figure.data[0].text) == ["−1.50", "+0.25"]
    assert list(figure.layout.yaxis.ticktext) == ["sum", "together"]


def test_numbers_have_two_digits_that_count():
    assert [number(v) for v in (2.58, -0.314, 12.3)] == ["2.6", "−0.31", "12"] and number(0.29, plus=True) == "+0.29"
