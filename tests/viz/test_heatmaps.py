"""The figures by their data: what a cell shows, what is masked, what the axes call it, and how many bytes it takes."""

import json
import math
import re

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest

from viz.heatmaps import head_heatmap
from viz.layer_grid import MAX_CELLS, MAX_POINTED, layer_grid
from viz.maps import MOST_CELLS, Maps
from viz.style import Style
from viz.theme import MASKED_FILL, TEXT

REPEATED = ["[CLS]", "the", "<s>", "the", "<b>x</b>", "$x$", "the", "[SEP]"]


def maps(n_heads, n_tokens, *, causal=False, seed=0):
    allowed = (
        np.tril(np.ones((n_tokens, n_tokens), dtype=bool)) if causal else np.ones((n_tokens, n_tokens), dtype=bool)
    )
    weights = np.random.default_rng(seed).random((n_heads, n_tokens, n_tokens)) ** 4 * allowed
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32), allowed


def spec(figure: go.Figure) -> dict:
    """What Streamlit sends to the browser."""
    return json.loads(plotly.io.to_json(figure, validate=False))


def tile(figure, head, n_heads, n_cells):
    """One head's cells, cut out of the mosaic."""
    row, column = divmod(head, int(np.ceil(np.sqrt(n_heads))))
    return np.asarray(figure.data[0].z)[row * (n_cells + 1) :, column * (n_cells + 1) :][:n_cells, :n_cells]


def test_a_narrow_map_names_the_hatching_without_a_legend():
    allowed = np.tril(np.ones((3, 3), dtype=bool))
    wide = head_heatmap(Maps(np.where(allowed, 0.5, 0), allowed, ["a", "b", "c"]), title="4-2")
    narrow = head_heatmap(Maps(np.where(allowed, 0.5, 0), allowed, ["a", "b", "c"]), narrow=True)
    assert wide.layout.showlegend and "4-2" in wide.layout.annotations[0].text
    assert not narrow.layout.showlegend and "masked" in narrow.layout.annotations[0].text
    everything = np.ones((3, 3), dtype=bool)
    assert (
        head_heatmap(Maps(np.full((3, 3), 1 / 3), everything, ["a", "b", "c"]), narrow=True).layout.annotations[0].text
        == ""
    )


def test_every_token_keeps_its_own_row_and_column_though_words_repeat():
    attention, allowed = maps(1, len(REPEATED))
    figure = head_heatmap(Maps(attention[0], allowed, REPEATED))
    assert list(figure.layout.xaxis.tickvals) == list(figure.layout.yaxis.tickvals) == list(range(8))
    assert figure.layout.xaxis.ticktext == figure.layout.yaxis.ticktext
    assert figure.data[0].x is None  # cells are numbered, never named
    np.testing.assert_array_equal(figure.data[0].z, attention[0])


def test_markup_in_tokens_is_escaped_so_that_it_is_shown_as_typed():
    attention, allowed = maps(1, len(REPEATED))
    ticks = head_heatmap(Maps(attention[0], allowed, REPEATED)).layout.xaxis.ticktext
    assert ticks[2] == "&lt;s&gt;" and ticks[4] == "&lt;b&gt;x&lt;/b&gt;" and ticks[5] == "$x$"


def test_blank_and_endless_tokens_still_have_a_label():
    attention, allowed = maps(1, 2)
    ticks = head_heatmap(Maps(attention[0], allowed, [" ", "x" * 500])).layout.xaxis.ticktext
    assert ticks[0] == "␣" and ticks[1].endswith("…") and len(ticks[1]) < 20


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["[CLS]", "the", "cat"], -60), (["[CLS]", "小明", "cat"], -90), (["，"], -90), (["the"] * 25, -90)],
)
def test_labels_that_fill_their_square_stand_upright_below_the_map(labels, expected):
    n = len(labels)
    figure = head_heatmap(Maps(np.eye(n), np.ones((n, n), bool), labels))
    assert figure.layout.xaxis.tickangle == expected


def test_rows_run_downwards_cells_are_square_and_colour_goes_from_0_to_1():
    attention, allowed = maps(1, 5)
    figure = head_heatmap(Maps(attention[0], allowed, list("abcde")))
    assert tuple(figure.layout.yaxis.range) == (4.5, -0.5)
    assert figure.layout.xaxis.scaleanchor == "y"
    assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
    assert figure.data[0].colorbar.ticktext == ("0", "attention weight", "1")


def test_masked_cells_are_a_trace_of_their_own_and_carry_no_weight():
    attention, allowed = maps(1, 6, causal=True)
    weights, masked, hatching = head_heatmap(Maps(attention[0], allowed, list("abcdef"))).data
    np.testing.assert_array_equal(np.isnan(weights.z), ~allowed)
    np.testing.assert_array_equal(np.isnan(masked.z), allowed)
    assert not weights.hoverongaps and not masked.hoverongaps  # so each cell answers with exactly one of the two
    assert {color for _, color in masked.colorscale} == {MASKED_FILL}
    assert "masked: may not attend" in masked.hovertemplate and "%{z" not in masked.hovertemplate
    assert hatching.showlegend and hatching.name == "masked"


def test_hatching_covers_the_masked_cells_and_no_other():
    allowed = np.random.default_rng(3).random((9, 9)) > 0.4
    attention = np.where(allowed, 0.5, 0).astype(np.float32)
    hatching = head_heatmap(Maps(attention, allowed, list("abcdefghi"))).data[2]
    covered = np.zeros((9, 9), dtype=int)
    for corner in range(0, len(hatching.x), 6):
        left, right = hatching.x[corner] + 0.5, hatching.x[corner + 1] + 0.5
        top, bottom = hatching.y[corner] + 0.5, hatching.y[corner + 2] + 0.5
        covered[int(top) : int(bottom), int(left) : int(right)] += 1
    np.testing.assert_array_equal(covered, ~allowed)


def test_without_a_mask_nothing_is_drawn_as_masked():
    attention, allowed = maps(1, 4)
    assert len(head_heatmap(Maps(attention[0], allowed, list("abcd"))).data) == 1


def test_hover_says_query_key_and_two_decimals():
    attention, allowed = maps(1, 4)
    template = head_heatmap(Maps(attention[0], allowed, list("abcd"))).data[0].hovertemplate
    assert template == "query '%{y}' → key '%{x}': %{z:.2f}<extra></extra>"


MAX_TICKS = 36  # of a figure 455 pixels high: 11 pixels for each label


@pytest.mark.parametrize("n", [MAX_TICKS + 1, 64, 200, 512])
def test_labels_are_thinned_but_hover_keeps_every_name(n):
    attention, allowed = maps(1, n)
    layout = head_heatmap(Maps(attention[0], allowed, [f"w{i}" for i in range(n)])).layout
    assert len(layout.xaxis2.ticktext) <= MAX_TICKS and not layout.xaxis.showticklabels
    step = math.ceil(n / MOST_CELLS)
    names = [f"w{at}" if step == 1 else f"w{at} … w{min(n, at + step) - 1}" for at in range(0, n, step)]
    assert list(layout.xaxis.ticktext) == names  # the trace's own axis, which hover reads
    assert layout.xaxis2.ticktext[1] == f"w{layout.xaxis2.tickvals[1] * step}"
    assert layout.xaxis2.matches == "x" and layout.yaxis2.matches == "y"


def test_arrays_travel_as_binary_never_as_lists():
    attention, allowed = maps(12, 64, causal=True)
    labels = ["token"] * 64
    for figure in (
        head_heatmap(Maps(attention[0], allowed, labels)),
        layer_grid(Maps(attention, allowed, labels), layer=0),
    ):
        for trace in spec(figure)["data"]:
            if trace["type"] == "heatmap":
                assert trace["z"]["dtype"] in ("f4", "u1")


@pytest.mark.parametrize("causal", [False, True])
def test_grid_of_12_heads_at_64_tokens_stays_under_300_kb(causal):
    attention, allowed = maps(12, 64, causal=causal)
    figure = layer_grid(Maps(attention, allowed, ["students"] * 64), layer=3, selected=1)
    n_bytes = len(plotly.io.to_json(figure, validate=False).encode())
    assert n_bytes <= 300_000, n_bytes


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 8, 12, 16, 20])
@pytest.mark.parametrize("n", [1, 2, 12, MAX_POINTED])
def test_grid_shows_every_head_exactly(n_heads, n):
    attention, allowed = maps(n_heads, n, causal=True)
    figure = layer_grid(Maps(attention, allowed, ["t"] * n), layer=3)
    for head in range(n_heads):
        np.testing.assert_array_equal(tile(figure, head, n_heads, n), np.where(allowed, attention[head], np.nan))
    assert [note.text for note in figure.layout.annotations] == [f"4-{head + 1}" for head in range(n_heads)]


@pytest.mark.parametrize("n", [MAX_POINTED + 1, 64, MAX_CELLS])
def test_grid_of_more_tokens_carries_each_colour_in_a_byte(n):
    attention, allowed = maps(12, n, causal=True)
    figure = layer_grid(Maps(attention, allowed, ["t"] * n), layer=0)
    cells = tile(figure, 7, 12, n)
    assert cells.dtype == np.uint8
    np.testing.assert_array_equal(cells == 0, ~allowed)
    shown = (cells.astype(float) - 1) / 254
    assert np.abs(shown - attention[7])[allowed].max() <= 0.5 / 254 + 1e-6
    transparent, lowest = figure.data[0].colorscale[:2]
    assert transparent[1].startswith("rgba(0, 0, 0, 0") and lowest[0] * 255 == pytest.approx(1)


def test_coarse_grid_keeps_the_largest_weight_of_each_block_and_says_so():
    n, step = 250, 3
    attention = np.zeros((4, n, n), dtype=np.float32)
    attention[2, 100, 31] = 1.0  # block (33, 10)
    allowed = np.tril(np.ones((n, n), dtype=bool))
    figure = layer_grid(Maps(attention, allowed, ["t"] * n), layer=0)
    cells = tile(figure, 2, 4, 84)
    assert cells[33, 10] == 255 and (cells == 255).sum() == 1
    assert (
        cells[0, 0] == 1 and cells[0, 1] == 0
    )  # a block that is partly masked shows its weights; a wholly masked one is a hole
    assert figure.layout.title.subtitle.text == f"each cell: the largest of {step} × {step} weights"


@pytest.mark.parametrize("n", [1, 2, 4, 6])
@pytest.mark.parametrize("height", [340, 400])
def test_labels_that_leave_the_map_no_room_still_build(n, height):
    attention, allowed = maps(1, n)
    figure = head_heatmap(Maps(attention[0], allowed, ["W" * 18] * n), Style(text_scale=1.4), height=height)
    assert len(figure.data[0].z) == n


@pytest.mark.parametrize("n", [1, 512])
def test_extreme_sizes_build(n):
    attention, allowed = maps(16, n, causal=True)
    head_heatmap(Maps(attention[3], allowed, ["t"] * n))
    n_bytes = len(plotly.io.to_json(layer_grid(Maps(attention, allowed, ["t"] * n), layer=0), validate=False))
    assert n_bytes < 300_000


@pytest.mark.parametrize(("n_heads", "n"), [(1, 1), (4, 5), (12, 12), (5, MAX_CELLS + 1)])
def test_masked_cells_of_the_grid_are_holes_over_grey_that_lies_under_each_tile_exactly(n_heads, n):
    allowed = np.tril(np.ones((n, n), dtype=bool))
    attention = np.where(allowed, 0.5, 0.0).astype(np.float32)[None].repeat(n_heads, 0)
    figure = layer_grid(Maps(attention, allowed, ["x"] * n), layer=0, selected=0)
    grey = [shape for shape in figure.layout.shapes if shape.fillcolor == MASKED_FILL]
    assert len(grey) == n_heads and all((shape.layer, shape.line.width) == ("below", 0) for shape in grey)
    x, y = (np.asarray(edges, dtype=float) for edges in (figure.data[0].x, figure.data[0].y))
    n_columns, n_cells = math.ceil(math.sqrt(n_heads)), round(grey[0].x1 - grey[0].x0)
    for head, shape in enumerate(grey):
        row, column = divmod(head, n_columns)
        left, top = column * (n_cells + 1), row * (n_cells + 1)  # a column and a row of the mosaic parts two tiles
        corners = (x[left], x[left + n_cells], y[top], y[top + n_cells])
        assert (shape.x0, shape.x1, shape.y0, shape.y1) == pytest.approx(corners)


def test_the_selected_head_is_outlined_and_its_name_bold():
    attention, allowed = maps(12, 8)
    figure = layer_grid(Maps(attention, allowed, ["t"] * 8), layer=3, selected=1)
    (outline,) = [shape for shape in figure.layout.shapes if shape.line.width]
    name = figure.layout.annotations[1]
    assert name.text == "<b>4-2</b>" and (outline.x0, outline.y0) == (name.x, name.y)


def test_figures_are_transparent_and_every_text_takes_the_colour_of_the_page():
    attention, allowed = maps(2, 5)
    for figure in (
        head_heatmap(Maps(attention[0], allowed, list("abcde"))),
        layer_grid(Maps(attention, allowed, list("abcde")), layer=0),
    ):
        assert re.fullmatch(r"rgba\(0, 0, 0, 0\)", figure.layout.paper_bgcolor)
        figure.layout.template = None
        fonts = re.findall(r'"color":"(#[^"]+)"', json.dumps(spec(figure)["layout"], separators=(",", ":")))
        assert set(fonts) == {TEXT}


def test_words_of_the_figure_are_translated():
    attention, allowed = maps(1, 3, causal=True)
    figure = head_heatmap(Maps(attention[0], allowed, list("abc")), t=lambda text: f"«{text}»")
    assert figure.layout.xaxis.title.text.startswith("«") and figure.data[0].colorbar.ticktext[1].startswith("«")
    assert figure.data[1].hovertemplate.startswith("«")


def test_sizes_that_do_not_fit_are_refused_with_the_numbers():
    with pytest.raises(ValueError, match="3 labels need a 3 × 3 map"):
        head_heatmap(Maps(np.zeros((2, 2), dtype=np.float32), np.ones((2, 2), dtype=bool), list("abc")))
