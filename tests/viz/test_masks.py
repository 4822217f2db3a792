"""The figures of the mask lab by their data: shared ranges, signed colours, masked cells, labels, flow and bytes."""

import numpy as np
import plotly.io
import pytest

from analysis.maps.masking import layers_needed
from model import Mask
from viz.layer_grid import difference_grid, layer_grid
from viz.maps import Maps
from viz.mask_effects import moves, row_sums
from viz.mask_flow import MOST_CELLS, MOST_DRAWN, flow_graph, gallery
from viz.masks import Panel, difference_map, mask_matrix, reach_map, score_map, weight_map
from viz.style import DIFFERENCES
from viz.theme import ACCENT

ODD = ["[CLS]", "the", "<s>", "the", "<b>x</b>", "$x$", "", "[SEP]"]


def causal(n):
    return Mask.causal().allowed(n).numpy()


def some(n, seed=0):
    return np.random.default_rng(seed).random((n, n))


def seen(n):
    return np.ones((n, n), dtype=bool)


def names(n):
    return [f"t{i}" for i in range(n)]


def outlines(figure):
    return [(shape.y0, shape.y1) for shape in figure.layout.shapes if shape.line.color == ACCENT]


@pytest.mark.parametrize("n", [1, 2, 8, 40, 128])
def test_maps_that_are_compared_share_the_range_0_to_1_and_keep_masked_cells_apart(n):
    both = weight_map(Maps(some(n), seen(n), names(n)), Panel("a"))
    narrow = weight_map(Maps(some(n, 1), causal(n), names(n)), Panel("b", n - 1))
    assert {(figure.data[0].zmin, figure.data[0].zmax) for figure in (both, narrow)} == {(0, 1)}
    np.testing.assert_array_equal(np.isnan(narrow.data[0].z), ~causal(n))
    assert outlines(narrow) == [(n - 1.5, n - 0.5)] and not outlines(both)
    assert narrow.data[0].z.dtype == np.float32


@pytest.mark.parametrize(("n", "step"), [(129, 2), (510, 4), (512, 4)])
def test_a_long_sentence_is_drawn_in_blocks_of_at_least_two_pixels(n, step):
    weights, signed, cells = some(n), some(n) - 0.5, -(-n // step)
    shown = weight_map(Maps(weights, causal(n), names(n)), Panel("a", n - 1))
    change = difference_map(Maps(signed, causal(n), names(n)), Panel("change"), limit=0.5)
    needed = reach_map(np.where(causal(n), np.arange(n)[:, None], -1), names(n), Panel("r"), n_layers=n)
    for row, column in [(0, 0), (cells - 1, 0), (cells - 1, cells - 1), (7, 7), (7, 3), (3, 7)]:
        block = np.s_[row * step : (row + 1) * step, column * step : (column + 1) * step]
        open_cells = causal(n)[block]
        for figure in (shown, change, needed):
            assert np.isnan(figure.data[0].z[row, column]) == (not open_cells.any()) == (column > row)
            assert np.isnan(figure.data[1].z[row, column]) == bool(open_cells.any())  # hatched where all is masked
        if open_cells.any():
            assert shown.data[0].z[row, column] == np.float32(weights[block][open_cells].max())
            assert change.data[0].z[row, column] == np.float32(max(signed[block][open_cells], key=abs))
        if column < row:
            assert needed.data[0].z[row, column] == row * step  # the fewest layers in it
    assert shown.data[0].z.shape == (cells, cells)
    axis = shown.layout.xaxis
    assert axis.ticktext[:2] == (f"t0 … t{step - 1}", f"t{step} … t{2 * step - 1}")  # what hover names
    assert axis.ticktext[-1] == ("t128" if n == 129 else f"t{n - 2} … t{n - 1}" if n == 510 else "t508 … t511")
    at, said = shown.layout.xaxis2.tickvals, shown.layout.xaxis2.ticktext
    assert said == tuple(f"t{cell * step}" for cell in at)  # what stands under the map: the first token of a block
    assert outlines(shown) == [(cells - 1.5, cells - 0.5)] and shown.layout.shapes[-1].x1 == cells - 0.5
    assert len(plotly.io.to_json(shown, validate=False)) < 300_000


def test_differences_are_signed_and_centred_on_0():
    difference = np.array([[-0.4, 0.1], [0.0, 0.2]])
    figure = difference_map(Maps(difference, seen(2), ["a", "b"]), Panel("change"), limit=0.4)
    cells = figure.data[0]
    assert (cells.zmin, cells.zmax) == (-0.4, 0.4)
    np.testing.assert_allclose(cells.z, difference, atol=1e-7)
    assert [color for at, color in DIFFERENCES if at == 0.5] == ["rgba(128, 128, 128, 0)"]  # 0 has no colour
    assert "%{z:+.2f}" in cells.hovertemplate


def test_a_difference_of_nothing_draws_nothing():
    figure = difference_map(Maps(np.zeros((3, 3)), seen(3), names(3)), Panel("change"), limit=0.0)
    assert figure.data[0].zmin < 0 < figure.data[0].zmax


def test_cells_that_neither_mask_allows_are_masked_in_the_difference_too():
    hidden = ~causal(4)
    figure = difference_map(Maps(some(4), ~hidden, names(4)), Panel("change"), limit=1)
    np.testing.assert_array_equal(np.isnan(figure.data[0].z), hidden)


def test_tokens_are_shown_as_typed():
    for figure in (
        weight_map(Maps(some(8), causal(8), ODD), Panel("<i>")),
        mask_matrix(causal(8), ODD, Panel("<i>")),
        reach_map(layers_needed(causal(8), 2), ODD, Panel("<i>"), n_layers=2),
        flow_graph(causal(8), ODD, Panel("<i>"), query=3, n_layers=2),
        row_sums(np.ones(8), ODD, Panel("<i>", 0, 400)),
        moves(np.zeros((3, 8)), ODD, Panel("<i>"), first=2, limit=1),
    ):
        assert "&lt;s&gt;" in _tokens_of(figure) and "<s>" not in plotly.io.to_json(figure, validate=False)
        assert any("&lt;i&gt;" in note.text for note in figure.layout.annotations)


def _tokens_of(figure):
    axis = figure.layout.yaxis if figure.data[0].type == "bar" else figure.layout.xaxis
    return [tick.removeprefix("<b>").removesuffix("</b>") for tick in axis.ticktext]


def test_labels_are_thinned_where_they_would_overlap_and_hover_keeps_all_names():
    figure = weight_map(Maps(some(100), causal(100), names(100)), Panel("a", height=300))
    assert len(figure.layout.xaxis.ticktext) == 100 and len(figure.layout.xaxis2.ticktext) <= 16
    figure = weight_map(Maps(some(30), causal(30), names(30)), Panel("a", height=300))
    assert figure.layout.xaxis.showticklabels is False
    assert len(figure.layout.yaxis.ticktext) == 30 and len(figure.layout.yaxis2.ticktext) == 15
    assert figure.layout.yaxis2.range == figure.layout.yaxis.range


def test_scores_take_the_range_they_are_given():
    figure = score_map(Maps(some(3), causal(3), names(3)), Panel("S"), limits=(-5, 6))
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-5, 6)


def test_a_small_mask_carries_its_numbers_and_a_large_one_does_not():
    written = mask_matrix(causal(3), names(3), Panel("M"), words=("0", "−∞")).data[-1]
    assert list(written.text) == ["0", "−∞", "−∞", "0", "0", "−∞", "0", "0", "0"]
    assert all(
        trace.mode != "text" for trace in mask_matrix(causal(60), names(60), Panel("M")).data if trace.type == "scatter"
    )


@pytest.mark.parametrize(("heads", "n"), [(1, 1), (2, 3), (12, 16), (12, 130)])
def test_differences_of_all_heads_lie_where_the_grid_has_its_tiles(heads, n):
    difference = np.random.default_rng(0).normal(size=(heads, n, n)).astype(np.float32)
    limit = float(np.abs(difference).max())
    shown = Maps(difference, seen(n), names(n))
    figure = difference_grid(shown, layer=2, limit=limit, selected=heads - 1, title="<a>")
    grid = layer_grid(Maps(np.abs(difference), seen(n), names(n)), layer=2)
    assert figure.data[0].z.shape == grid.data[0].z.shape
    columns = int(np.ceil(np.sqrt(heads)))
    n_cells = (figure.data[0].z.shape[1] + 1) // columns - 1
    for head in range(heads):
        row, column = divmod(head, columns)
        tile = figure.data[0].z[row * (n_cells + 1) :, column * (n_cells + 1) :][:n_cells, :n_cells]
        if n_cells == n:
            np.testing.assert_array_equal(tile, difference[head])
        else:  # the value farthest from 0 of each block
            assert np.abs(tile).max() == pytest.approx(np.abs(difference[head]).max())
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-limit, limit)
    assert figure.layout.title.text == "<b>&lt;a&gt;</b>"


def test_row_sums_stand_beside_the_line_at_1():
    figure = row_sums(np.array([0.2, 1.0]), ["a", "b"], Panel("sums", 0))
    assert figure.data[0].x.tolist() == pytest.approx([0.2, 1.0])
    assert figure.data[0].marker.color[0] == ACCENT
    assert any(shape.x0 == shape.x1 == 1 for shape in figure.layout.shapes)


def test_moves_show_the_edit_as_a_gap_behind_a_line():
    moved = np.array([[0, np.nan, 0.1], [0.2, np.nan, 0.3]])
    figure = moves(moved, ["a", "b", "c"], Panel("m"), first=1, limit=0.3)
    assert figure.data[0].zmax == 0.3 and np.isnan(figure.data[0].z[:, 1]).all()
    assert list(figure.layout.yaxis.ticktext) == ["embedding · 0", "layer 1 · 0.20"]
    assert {(shape.x0, shape.x1) for shape in figure.layout.shapes} == {(0.5, 1.5), (0.5, 0.5)}


def test_reach_shows_the_layers_needed_and_hatches_what_is_out_of_reach():
    needed = layers_needed(Mask.window(1).allowed(6).numpy(), 2)
    figure = reach_map(needed, names(6), Panel("r"), n_layers=2)
    np.testing.assert_array_equal(np.isnan(figure.data[0].z), needed < 0)
    assert np.nanmax(figure.data[0].z) == 2


def test_the_graph_draws_a_line_for_each_cell_that_is_allowed_and_colours_the_past_of_the_query():
    allowed = causal(4)
    figure = flow_graph(allowed, names(4), Panel("g"), query=1, n_layers=2)
    lines = {trace.line.dash or trace.line.width: trace for trace in figure.data if trace.mode == "lines"}
    drawn = sum(int(np.isnan(trace.x).sum()) for trace in lines.values())
    assert drawn == 2 * allowed.sum()
    reached = lines[1.6]
    assert int(np.isnan(reached.x).sum()) == 2 + 3  # at the top row 1 looks at 2 keys; below, rows 0 and 1 at 1 + 2
    assert np.nanmax(reached.x) == 1


def test_a_row_that_sees_nothing_keeps_its_residual_line():
    figure = flow_graph(np.zeros((3, 3), dtype=bool), names(3), Panel("g"), query=2, n_layers=3)
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert line.line.dash == "dot" and int(np.isnan(line.x).sum()) == 3


def test_of_a_long_sentence_the_graph_draws_the_stretch_around_the_query():
    figure = flow_graph(causal(512), names(512), Panel("g"), query=300, n_layers=2)
    ticks = figure.layout.xaxis.ticktext
    assert len(ticks) == MOST_DRAWN and "<b>t300</b>" in ticks
    assert (
        len(flow_graph(causal(512), names(512), Panel("g"), query=511, n_layers=1).layout.xaxis.ticktext) == MOST_DRAWN
    )


@pytest.mark.parametrize("n", [1, 2, 12, 512])
def test_the_gallery_is_small_whatever_the_sentence(n):
    masks = [("bidirectional", np.ones((n, n), dtype=bool)), ("causal", causal(n))]
    figure = gallery(masks, selected=1)
    cells = min(n, MOST_CELLS)
    z = figure.data[0].z
    assert z.shape == (cells, 2 * cells + 1) and z.dtype == np.uint8
    assert (z[:, :cells] == 1).all() and (z[:, cells] == 2).all()
    np.testing.assert_array_equal(z[:, cells + 1 :] == 1, causal(cells))
    assert len(plotly.io.to_json(figure, validate=False)) < 40_000


def test_row_sums_of_a_long_text_say_that_a_bar_is_the_least_of_its_rows():
    long = row_sums(np.linspace(0.2, 1, 300), [str(i) for i in range(300)], Panel("row sums"))
    assert "row sums, the least of each 3" in long.to_json() and long.data[0].x[0] == pytest.approx(0.2)
    assert "the least" not in row_sums(np.ones(5), list("abcde"), Panel("row sums")).to_json()
