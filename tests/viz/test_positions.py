"""Figures of positions, by their data."""

import numpy as np

from viz.positions import hands_figure, layer_offsets_figure, lengths_figure, offsets_figure, table_figure
from viz.theme import untranslated


def test_a_large_table_is_thinned_and_keeps_its_numbers():
    table = np.arange(600 * 300, dtype=float).reshape(600, 300)
    trace = table_figure(table, x="column", y="place", name="value").data[0]
    assert trace.z.shape == (200, 150) and (trace.dx, trace.dy) == (2, 3)
    assert trace.z[1, 1] == table[3, 2]


def test_hands_point_where_the_vectors_point():
    figure = hands_figure(np.array([[0.0, 2.0]]), np.array([[-1.0, 0.0]]), np.array([1.0]))
    query, key = figure.data
    np.testing.assert_allclose(query.y[:2], [0, 0.42], atol=1e-6)
    np.testing.assert_allclose(key.x[:2], [0, -0.3], atol=1e-6)


def test_lengths_are_means_with_bars_from_the_least_to_the_most():
    accuracy = np.array([[[1.0, 0.5], [0.8, 0.3]]] * 5)
    trace = lengths_figure((12, 24), list("abcde"), accuracy, chance=0.125).data[0]
    np.testing.assert_allclose(trace.y, [0.9, 0.4])
    np.testing.assert_allclose(trace.error_y.array, [0.1, 0.1])


def test_tokens_in_names_are_escaped():
    figure = offsets_figure(np.array([-1, 0, 1]), np.zeros(3), np.zeros(3), names=("<s>", "x"), t=untranslated)
    assert figure.data[0].name == "&lt;s&gt;"


def test_each_head_of_a_layer_has_its_place():
    figure = layer_offsets_figure(np.arange(3), np.zeros((9, 3)), np.zeros((9, 3)), names=list("abcdefghi"), selected=4)
    assert len(figure.data) == 18 and sum(shape.line.width == 2 for shape in figure.layout.shapes) == 1
