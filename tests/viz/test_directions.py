"""Where the words of two models look: bars that add up, in the order of the words, and room for their legend."""

import numpy as np
import pytest

from viz.directions import PARTS, directions_figure
from viz.masks import Panel


def shares(n, seed):
    parts = np.random.default_rng(seed).dirichlet(np.ones(4), size=n).T
    return dict(zip(PARTS, parts, strict=True))


def drawn(n, **panel):
    models = [shares(n, 0), shares(n, 1)]
    return models, directions_figure(models, ["A", "B"], [f"w{i}" for i in range(n)], Panel("where", **panel))


def bars(figure, axis):
    return {bar.name: np.array(bar.x) for bar in figure.data if bar.type == "bar" and (bar.xaxis or "x") == axis}


def test_each_model_has_a_bar_of_length_1_for_each_word():
    models, figure = drawn(7)
    for model, axis in zip(models, ("x", "x2"), strict=True):
        found = bars(figure, axis)
        assert list(found) == list(PARTS.values())
        np.testing.assert_allclose(sum(found.values()), 1, atol=1e-6)
        np.testing.assert_allclose(found["after it"], model["after"], atol=1e-6)


def test_of_a_long_text_neighbours_share_a_bar():
    models, figure = drawn(300)
    found = bars(figure, "x")["itself"]
    assert len(found) == 100
    np.testing.assert_allclose(found, models[0]["itself"].reshape(100, 3).mean(axis=1), atol=1e-6)


@pytest.mark.parametrize(("query", "at"), [(0, 0), (4, 4)])
def test_the_row_is_outlined(query, at):
    _models, figure = drawn(7, query=query)
    (box,) = figure.layout.shapes
    assert (box.y0, box.y1) == (at - 0.5, at + 0.5)


def test_large_text_has_more_room_below():
    assert drawn(7, scale=1.4)[1].layout.margin.b > drawn(7)[1].layout.margin.b
