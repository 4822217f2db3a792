"""viz.steps: every number of a step stands in its picture, at its row and column."""

import numpy as np
import pytest

from analysis.blocks.reshape import split
from viz.reshape import reshape_figure
from viz.steps import MOST_CELLS, Tiles, head_colour, tiles_figure


def cells(figure, trace=0):
    """{(x, y): value} of a figure's heatmap, at the middle of each cell."""
    heatmap = figure.data[trace]
    x, y = (np.asarray(edges) for edges in (heatmap.x, heatmap.y))
    z = np.asarray(heatmap.z)
    middle_x, middle_y = (x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2
    return {
        (round(float(middle_x[j]), 3), round(float(middle_y[i]), 3)): float(z[i, j])
        for i, j in zip(*np.nonzero(~np.isnan(z)), strict=True)
    }


@pytest.mark.parametrize(
    ("k", "rows", "columns"), [(1, 3, 8), (3, 3, 8), (2, 3, 4), (12, 12, 12), (8, 3, 64), (5, 2, 1)]
)
def test_every_value_is_drawn_once_and_has_its_row_and_column_name(k, rows, columns):
    tiles = np.arange(1, k * rows * columns + 1, dtype=np.float32).reshape(k, rows, columns)
    figure = tiles_figure(Tiles(tiles, [f"tile {i}" for i in range(k)], [f"row {i}" for i in range(rows)]))
    drawn = cells(figure)
    assert sorted(drawn.values()) == tiles.ravel().tolist()
    xs = dict(zip(np.round(figure.layout.xaxis.tickvals, 3), figure.layout.xaxis.ticktext, strict=True))
    ys = dict(zip(np.round(figure.layout.yaxis.tickvals, 3), figure.layout.yaxis.ticktext, strict=True))
    for (x, y), value in drawn.items():
        _, row, column = np.unravel_index(int(value) - 1, tiles.shape)
        near_x, near_y = min(xs, key=lambda at: abs(at - x)), min(ys, key=lambda at: abs(at - y))
        assert abs(near_x - x) < 1e-2 and abs(near_y - y) < 1e-2
        assert (xs[near_x], ys[near_y]) == (str(column + 1), f"row {row}")
    assert [note.text for note in figure.layout.annotations] == [f"tile {i}" for i in range(k)]


def test_signed_numbers_are_centred_on_zero_and_weights_run_from_0_to_1():
    tiles = np.array([[[-3.0, 1.0]]])
    signed, weights = (tiles_figure(Tiles(tiles, ["x"], ["a"], scale=scale)).data[0] for scale in ("signed", "weights"))
    assert (signed.zmin, signed.zmax) == (-3, 3)
    assert (weights.zmin, weights.zmax) == (0, 1)


def test_minus_infinity_is_drawn_as_masked_and_spoils_no_scale():
    figure = tiles_figure(Tiles(np.array([[[2.0, -np.inf]]]), ["x"], ["a"]))
    assert figure.data[0].zmax == 2
    assert list(cells(figure, 0).values()) == [2.0]
    assert len(cells(figure, 1)) == 1
    assert [text for row in figure.data[1].text for text in row if text] == ["−∞"]


def test_all_zero_and_all_masked_can_be_drawn():
    for values in (np.zeros((1, 2, 2)), np.full((1, 2, 2), -np.inf)):
        assert tiles_figure(Tiles(values, ["x"], ["a", "b"])).data[0].zmax == 1


def test_columns_of_heads_are_marked_in_their_colours():
    figure = tiles_figure(Tiles(np.zeros((1, 2, 8)), ["x"], ["a", "b"], heads=2))
    marks = [(shape.x0, shape.x1, shape.fillcolor) for shape in figure.layout.shapes]
    assert marks == [(0, 4, head_colour(0)), (4, 8, head_colour(1))]


def test_hostile_tokens_are_escaped():
    figure = tiles_figure(Tiles(np.zeros((1, 1, 1)), ["x"], ["<script>"], columns=["<b>"]))
    assert figure.layout.yaxis.ticktext == ("&lt;script&gt;",)
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;",)


def test_a_large_matrix_is_cut_and_says_so():
    figure = tiles_figure(Tiles(np.ones((1, 512, 1536), dtype=np.float32), ["x"], ["t"] * 512))
    assert np.count_nonzero(~np.isnan(figure.data[0].z)) <= MOST_CELLS
    assert (
        "of 512 rows" in figure.layout.annotations[-1].text and "of 1536 columns" in figure.layout.annotations[-1].text
    )


@pytest.mark.parametrize("way", ["right", "wrong"])
def test_the_reshape_shows_every_number_twice_in_the_colour_of_its_head(way):
    found = split(3, 8, 2, way)
    figure = reshape_figure(found, ["a", "b", "c"])
    numbers = figure.data[0]
    texts = [int(text.strip("</b>")) for text in numbers.text]
    assert sorted(texts) == sorted([*range(24), *range(24)])
    assert len(figure.layout.shapes) == 48
    for text, shape in zip(texts, figure.layout.shapes, strict=True):
        assert shape.fillcolor == head_colour(text % 8 // 4)


def test_heads_that_share_keys_have_one_colour():
    tiles = Tiles(np.ones((6, 2, 2)), list("abcdef"), ["x", "y"], group=3)
    colours = [shape.fillcolor for shape in tiles_figure(tiles).layout.shapes]
    assert colours == [head_colour(0)] * 3 + [head_colour(1)] * 3
    columns = Tiles(np.ones((1, 2, 12)), ["Q"], ["x", "y"], heads=6, group=3)
    strips = tiles_figure(columns).layout.shapes
    assert [strip.fillcolor for strip in strips] == colours and strips[0].x1 == strips[1].x0 == 2


def test_marked_columns_are_marked_on_every_tile():
    tiles = Tiles(np.ones((2, 2, 4)), ["before", "after"], ["x", "y"], marked=(0, 2))
    marks = [(shape.x0, shape.x1) for shape in tiles_figure(tiles).layout.shapes]
    assert len(marks) == 4 and all(x1 - x0 == 1 for x0, x1 in marks) and marks[1][0] - marks[0][0] == 2


def test_one_huge_number_does_not_take_the_colours_from_all_others():
    cells = np.linspace(-1, 1, 400, dtype=np.float32).reshape(1, 4, 100)
    usual = tiles_figure(Tiles(cells, ["x"], list("abcd"))).data[0]
    assert usual.zmax == 1 and usual.colorbar.ticktext[-1] == "1.00"
    cells[0, 0, 0] = -20_000
    figure = tiles_figure(Tiles(cells, ["x"], list("abcd"))).data[0]
    assert 3 < figure.zmax < 4 and figure.colorbar.ticktext[-1].startswith("≥ ")
    assert np.nanmin(figure.z) == -20_000  # the number itself stays for the pointer


def test_masked_weights_are_grey_and_say_so():
    cells = np.array([[[1.0, -np.inf], [0.5, 0.5]]])
    figure = tiles_figure(Tiles(cells, ["A"], ["x", "y"], scale="weights"))
    assert np.isnan(figure.data[0].z[0, 1]) and figure.data[1].z[0, 1] == 1
    assert ": 0, masked" in figure.data[1].hovertemplate and figure.data[1].text[0][1] == "0"
