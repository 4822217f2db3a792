"""Figures and messages of Translate and depth: rows and columns of two texts, heads' errors, gradients and losses."""

import base64
import zlib

import numpy as np
import pytest

from model.training.depth import DepthRun
from viz.alignment import errors_figure
from viz.depth import gradients_figure, losses_figure
from viz.learning import Lesson, Look, Network, learning_part, learning_view


class Point:
    loss, accuracy = 0.5, 0.25


def test_maps_of_two_texts_keep_their_rows_and_columns_on_the_way_to_the_browser():
    maps = np.arange(2 * 3 * 5, dtype=np.float32).reshape(1, 2, 3, 5) / 30
    share = np.full((1, 2, 1), 0.5, dtype=np.float32)
    network = Network("2 heads", [Look(0, maps, share, share)], [Point()], 10)
    part = learning_part(network, 0, np.ones((3, 5), dtype=bool))
    codes = np.frombuffer(zlib.decompress(base64.b64decode(part["bytes"])), np.uint8).reshape(part["shape"])
    assert part["shape"] == [1, 1, 2, 3, 5]
    np.testing.assert_allclose(codes[0] / part["top"], maps, atol=0.5 / 254 + 1e-6)
    keys = np.array([[1], [-1], [4]])
    lesson = Lesson(
        list("abcde"), ["noun"], keys, 128, None, rows=list("xyz"), gold=[1, -1, 4], floor=0.69, says={"play": "go"}
    )
    view = learning_view([network], lesson, parts=[["p"]], name="run", live=False)
    assert view["rows"] == list("xyz") and view["gold"] == [1, -1, 4] and view["chance"] is None
    assert view["floor"] == 0.69 and view["text"]["play"] == "go" and view["text"]["pause"] == "Pause"


def test_each_head_has_its_errors_and_the_other_network_its_best_head_s():
    errors = np.array([[[0.8, 0.7]], [[0.1, 0.3]]])
    other = np.array([[[0.9, 0.6]], [[0.2, 0.4]]])
    figure = errors_figure([0, 600], errors, ("1 head", [0, 600], other), 0.81)
    by_name = {trace.name: list(trace.y) for trace in figure.data}
    assert by_name["1-1"] == pytest.approx([0.8, 0.1]) and by_name["1-2"] == pytest.approx([0.7, 0.3])
    assert by_name["1 head"] == pytest.approx([0.6, 0.2])
    assert any("0.81" in note.text for note in figure.layout.annotations)


RUNS = [
    DepthRun(layers, norm, residual, 50, tuple(0.1 * (i + 1) for i in range(layers)), 3.5, layers + residual / 10, 0.1)
    for layers in (1, 4)
    for norm in ("pre", "post")
    for residual in (True, False)
]


def test_gradients_are_those_of_every_block_of_one_depth():
    figure = gradients_figure(RUNS, 4)
    assert len(figure.data) == 4 and figure.layout.yaxis.type == "log"
    for trace in figure.data:
        assert list(trace.x) == [1, 2, 3, 4] and list(trace.y) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert len({(trace.line.color, trace.line.dash, trace.marker.symbol) for trace in figure.data}) == 4


def test_losses_stand_over_their_depths_between_floor_and_word_frequencies():
    figure = losses_figure(RUNS, 0.69, 2.79)
    by_name = {trace.name: list(trace.y) for trace in figure.data}
    assert by_name["pre-LN, residual"] == pytest.approx([1.1, 4.1])
    assert by_name["post-LN, no residual"] == pytest.approx([1.0, 4.0])
    assert list(figure.layout.xaxis.ticktext) == ["1", "4"]
    assert {note.text for note in figure.layout.annotations} >= {"floor: 0.69", "word frequencies alone: 2.79"}
