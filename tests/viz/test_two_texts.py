"""Pictures of one text looking at another: rows and columns keep their own tokens, however unequal the two are."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from analysis import by_pieces, compare
from analysis.maps.export import provenance
from tests.analysis.made import tokens_of, trace_of
from viz.comparison import difference_heatmap
from viz.export import fonts
from viz.export.html import page_html
from viz.export.images import png_bytes, square, svg_text
from viz.export.layout import map_layout
from viz.export.strip_svg import strip_svg
from viz.heatmaps import head_heatmap
from viz.layer_grid import layer_grid
from viz.maps import MOST_UNEVEN, Maps, cell_height
from viz.overview import overview_maps
from viz.theme import isolated
from viz.token_strip import LayerMaps, Line, StripChoice, StripLook, layer_maps, strip_maps, strip_view

QUERIES = tokens_of("<s>", "die", "Katze", "</s>")
KEYS = tokens_of("<s>", "the", "cat", "<b>sat</b>", "😀", "</s>", "[PAD]")
N_Q, N_K = len(QUERIES), len(KEYS)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def cross():
    """Two layers of three heads from 4 tokens at 7, of which the last is padding."""
    rng = np.random.default_rng(0)
    allowed = np.ones((N_Q, N_K), dtype=bool)
    allowed[:, -1] = False
    maps = rng.gamma(0.3, size=(2, 3, N_Q, N_K)) * allowed
    maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
    square = trace_of(np.zeros((2, 3, N_Q, N_Q)), QUERIES)
    return replace(square, attention=maps, allowed=allowed, context=KEYS)


def tick_texts(axis):
    return [text for text in axis.ticktext if text]


def test_the_strip_has_a_line_for_each_text(cross):
    shown = layer_maps(by_pieces(cross), 1, is_written=[False, True, True, False])
    view = strip_view(shown, StripChoice([0]), StripLook(names=("target", "source")), maps="x")
    json.dumps(view, allow_nan=False)
    assert view["tokens"]["labels"] == list(QUERIES.labels) and view["keys"]["labels"] == list(KEYS.labels)
    assert view["keys"]["padding"] == [0] * (N_K - 1) + [1] and view["tokens"]["written"] == [0, 1, 1, 0]
    assert (view["tokens"]["name"], view["keys"]["name"]) == ("target", "source")
    assert strip_maps(shown)["shape"] == [3, N_Q, N_K]
    alone = strip_view(
        layer_maps(by_pieces(trace_of(np.zeros((4, 4)), QUERIES)), 0), StripChoice(), StripLook(), maps="x"
    )
    assert alone["keys"] is None and alone["id"] != view["id"]


def test_keys_are_pinned_by_numbers_after_those_of_the_queries(cross):
    shown = layer_maps(by_pieces(cross), 0)
    pins = [strip_view(shown, StripChoice(pinned=at), StripLook(), maps="x")["pinned"] for at in (3, 4, 10, 11)]
    assert pins == [3, 4, 10, None]


def test_each_line_runs_the_way_of_its_own_letters():
    maps = LayerMaps(np.zeros((1, 1, 2)), np.ones((1, 2), bool), ["the"], 0, context=Line(["של", "תלמידים"]))
    view = strip_view(maps, StripChoice(), StripLook(), maps="x")
    assert (view["tokens"]["dir"], view["keys"]["dir"]) == ("ltr", "rtl")


def test_maps_that_fit_only_one_text_are_refused():
    with pytest.raises(ValueError, match="N_q = 2 and N_k = 3"):
        LayerMaps(np.zeros((1, 2, 2)), np.ones((2, 2), bool), "ab", 0, context=Line("abc"))
    with pytest.raises(ValueError, match="flags"):
        LayerMaps(np.zeros((1, 1, 2)), np.ones((1, 2), bool), "a", 0, context=Line("ab", [True]))


@pytest.mark.parametrize(
    ("rows", "columns", "height"), [(4, 7, 1), (7, 4, 1), (5, 5, 1), (1, 128, 64), (128, 1, 1 / 64), (1, 1, 1)]
)
def test_cells_are_square_until_one_side_is_twice_the_other(rows, columns, height):
    assert cell_height(rows, columns) == pytest.approx(height)
    assert 1 / MOST_UNEVEN <= columns / (rows * cell_height(rows, columns)) <= MOST_UNEVEN


def test_the_large_map_names_queries_beside_and_keys_below(cross):
    figure = head_heatmap(Maps(cross.attention[0, 0], cross.allowed, cross.tokens, cross.keys))
    below = tick_texts(figure.layout.xaxis)
    assert tick_texts(figure.layout.yaxis)[1] == "die" and "&lt;b&gt;sat&lt;/b&gt;" in below and len(below) == N_K


@pytest.mark.parametrize("shape", [(1, 512), (512, 1), (1, 1)])
def test_a_source_of_512_and_a_target_of_1_make_a_picture_and_the_reverse(shape):
    rng = np.random.default_rng(1)
    weights = rng.random((3, *shape), dtype=np.float32)
    queries, keys = [f"q{i}" for i in range(shape[0])], [f"k{i}" for i in range(shape[1])]
    maps = Maps(weights, np.ones(shape, dtype=bool), queries, keys)
    figure = head_heatmap(replace(maps, cells=weights[0]))
    rows, columns = figure.data[0].z.shape
    high = rows / (columns * figure.layout.xaxis.scaleratio)
    assert 1 / MOST_UNEVEN <= high <= MOST_UNEVEN
    grid = layer_grid(maps, layer=0)
    tile = grid.layout.shapes[0]
    high = (tile.y1 - tile.y0) * grid.layout.yaxis.scaleratio / (tile.x1 - tile.x0)
    assert 1 / MOST_UNEVEN <= high <= MOST_UNEVEN
    layout = map_layout(replace(maps, cells=weights[0]), title="", source={}, measure=fonts.width)
    left, top, right, bottom = square(layout)
    assert 1 / MOST_UNEVEN <= (bottom - top) / (right - left) <= MOST_UNEVEN
    assert svg_text(layout).count("data-query") == layout.weights.size and png_bytes(layout)
    sent = overview_maps(weights[None], maps.allowed)
    assert max(sent["shape"][2:]) <= 64 and min(sent["shape"][2:]) == 1


def test_layers_with_masks_of_their_own_are_sent_each_under_its_own(cross):
    masks = np.stack([cross.allowed, np.ones_like(cross.allowed)])
    own, first = (overview_maps(cross.attention, of)["bytes"] for of in (masks, cross.allowed))
    every = overview_maps(cross.attention, masks[1])["bytes"]
    assert len({own, first, every}) == 3


def test_a_difference_keeps_its_rows_and_columns(cross):
    a = by_pieces(cross)
    figure = difference_heatmap(compare(a, a, (0, 0), (1, 2)))
    assert figure.data[0].z.shape == (N_Q, N_K - 1) and figure.data[0].z.any()
    bars = next(trace for trace in figure.data if trace.type == "bar")
    assert len(bars.x) == N_Q


def test_the_exported_page_holds_both_texts_as_data(cross):
    page = page_html(by_pieces(cross), provenance(cross), layer=0, head=0, pinned=5)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["strip_view"]["tokens"]["labels"] == list(QUERIES.labels)
    assert data["strip_view"]["keys"]["labels"] == list(KEYS.labels) and data["strip_view"]["pinned"] == 5
    assert "<b>sat</b>" not in page


def test_the_strip_as_svg_has_both_texts_and_edges_from_one_to_the_other(cross):
    shown = layer_maps(by_pieces(cross), 1)
    row = cross.attention[1, 2, 2]
    looks = ElementTree.fromstring(strip_svg(shown, StripChoice([2], pinned=2)))
    assert svg_edges(looks) == {(2, key): pytest.approx(row[key], abs=1e-5) for key in range(N_K) if row[key] >= 0.02}
    texts = [text.text for text in looks.iter(f"{SVG}text")]
    assert texts[: N_Q + N_K] == [*(isolated(label) for label in (*QUERIES.labels, *KEYS.labels))]
    assert {"key (looked at)", "query (looks)"} < set(texts)
    tops = [float(box.get("y")) for box in looks.iter(f"{SVG}rect") if box.get("data-token")]
    assert max(tops[N_Q:]) < min(tops[:N_Q])
    column = cross.attention[1, 2, :, 1]
    looked_at = ElementTree.fromstring(strip_svg(shown, StripChoice([2], pinned=N_Q + 1)))
    assert svg_edges(looked_at) == {
        (query, 1): pytest.approx(column[query], abs=1e-5) for query in range(N_Q) if column[query] >= 0.02
    }


def svg_edges(picture):
    found = [path for path in picture.iter(f"{SVG}path") if path.get("data-key")]
    return {(int(path.get("data-query")), int(path.get("data-key"))): float(path.get("data-weight")) for path in found}
