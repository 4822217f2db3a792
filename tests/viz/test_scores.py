"""Figures of scores, by their data: colours only where the baseline is beaten, hollow where arcs are few, ● and ✕."""

import numpy as np
import pytest

from viz.dependency_arcs import arc_figure, sentence_width
from viz.heatmaps import head_heatmap
from viz.maps import Maps
from viz.scores import Bar, Scores, _ink, head_bars, outline, score_grid, used_against_looked

VALUES = np.array([[0.9, 0.2], [0.4, np.nan]])
BEATS = np.array([[True, False], [True, False]])


def grid(selected=None, **options):
    table = Scores(VALUES, BEATS, ["a", "<b>"], ["1", "2"], [["w", "x"], ["y", "z"]], **options)
    return score_grid(table, selected=selected)


def test_only_cells_that_beat_the_baseline_are_coloured_and_the_others_are_grey():
    grey, coloured, marks = grid().data
    np.testing.assert_array_equal(coloured.z, np.array([[0.9, np.nan], [0.4, np.nan]], np.float32))
    np.testing.assert_array_equal(grey.z, np.array([[np.nan, 1], [np.nan, np.nan]], np.float32))
    assert list(marks.text) == ["90", "20", "40", ""] and list(marks.customdata) == ["w", "x", "y", "z"]
    assert (coloured.zmin, coloured.zmax) == (0, 1)


def test_a_row_with_few_arcs_is_hollow():
    grey, coloured, marks = grid(hollow=[False, True]).data
    assert np.isnan(coloured.z[1]).all() and np.isnan(grey.z[1]).all()
    assert [colour != "rgba(0, 0, 0, 0)" for colour in marks.marker.color] == [False, False, True, False]


def test_gains_are_centred_on_nothing_and_signed():
    _grey, coloured, marks = grid(quantity="gain").data
    assert coloured.zmin == -coloured.zmax == pytest.approx(-0.9)
    assert list(marks.text)[:2] == ["+90", "+20"]


def test_the_selected_cell_is_framed_and_names_are_escaped():
    figure = grid(selected=(0, 1))
    (box,) = figure.layout.shapes
    assert (box.x0, box.x1, box.y0, box.y1) == (0.5, 1.5, -0.5, 0.5)
    assert list(figure.layout.yaxis.ticktext) == ["a", "&lt;b&gt;"]


@pytest.mark.parametrize("scale", ["Viridis", "PuOr_r"])
def test_numbers_can_be_read_on_every_colour(scale):
    from plotly.colors import sample_colorscale

    def luminance(rgb):
        light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]

    for place in np.linspace(0, 1, 41):
        (colour,) = sample_colorscale(scale, [place])
        ground = luminance([float(part) / 255 for part in colour[4:-1].split(",")])
        ink = luminance([int(_ink(scale, place)[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        assert (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) >= 4.2


def test_bars_are_grey_or_hollow_where_they_prove_nothing():
    bars = [Bar("a", 0.7, 0.6, 0.8, 0.4, True, False, "A"), Bar("b", 0.3, 0.2, 0.4, 0.35, False, False, "B")]
    bars.append(Bar("c", 0.5, None, None, 0.1, True, True, "C"))
    bar, tick = head_bars(bars).data
    assert len(set(bar.marker.color)) == 3 and bar.marker.color[2] == "rgba(0, 0, 0, 0)"
    assert list(bar.error_x.array) == pytest.approx([0.1, 0.1, 0]) and list(tick.x) == [0.4, 0.35, 0.1]


def test_used_and_looked_at_keep_every_head_and_mark_one():
    rng = np.random.default_rng(0)
    (points,) = used_against_looked(rng.random((6, 12)), rng.random((6, 12)), (2, 0), x_title="x", y_title="y").data
    assert len(points.x) == 72 and points.customdata[24] == "3-1" and points.text[24] == "3-1"
    assert [i for i, sign in enumerate(points.marker.symbol) if sign == "diamond"] == [24]


def test_hits_are_dots_and_misses_are_crosses():
    figure = arc_figure(["a", "<b>", "c"], [(0, 1, "det"), (2, 1, "obj")], [(0, 1, True), (2, 0, False)])
    marks = {trace.marker.symbol: len(trace.x) for trace in figure.data if trace.mode == "markers"}
    assert marks == {"circle": 1, "x": 1}
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert [trace.line.dash for trace in lines] == [None, "dash", "dash"]
    assert {"&lt;b&gt;", "det", "obj"} <= {note.text for note in figure.layout.annotations}


def test_gold_arcs_lie_above_the_words_and_arrows_below():
    figure = arc_figure(["a", "b", "c"], [(0, 2, "obj"), (1, 2, "det")], [(0, 1, True)])
    gold = [y for y in figure.data[0].y if y is not None]
    below = [y for trace in figure.data[1:] for y in trace.y if y is not None]
    assert min(gold) > 0 > max(below)


def test_a_long_sentence_asks_for_room():
    assert sentence_width(["word"] * 30) > 1280 > sentence_width(["word"] * 10)


def test_gold_cells_are_framed():
    figure = head_heatmap(Maps(np.eye(3), np.ones((3, 3), bool), ["a", "b", "c"]))
    outline(figure, [(0, 2), (1, 0)])
    assert [(box.x0, box.y0) for box in figure.layout.shapes] == [(1.5, -0.5), (-0.5, 0.5)]
