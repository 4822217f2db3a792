"""Large text in finished figures: what is measured in pixels grows, what is measured in data stays."""

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.larger import larger

FIGURE = {
    "data": [
        {"type": "scatter", "x": [1, 2], "y": [3, 4], "marker": {"size": [8, 12]}, "textfont": {"size": 10}},
        {"type": "heatmap", "z": np.eye(2, dtype=np.float32), "colorbar": {"thickness": 10, "tickfont": {"size": 10}}},
    ],
    "layout": {
        "height": 300,
        "margin": {"l": 40, "r": 10, "t": 20, "b": 30},
        "xaxis": {
            "range": [0, 2],
            "tickfont": {"size": 10},
            "title": {"text": "x", "font": {"size": 10}, "standoff": 5},
        },
        "annotations": [{"text": "a <span style='font-size:10px'>b</span>", "x": 1, "y": 1, "yshift": 10}],
        "shapes": [{"type": "rect", "x0": 0, "x1": 1, "y0": 0, "y1": 1}],
    },
}


def test_letters_margins_marks_and_height_grow():
    figure = larger(go.Figure(FIGURE), 1.5)
    assert figure.layout.height == 450
    assert [figure.layout.margin[side] for side in "lrtb"] == [60, 15, 30, 45]
    assert (
        figure.layout.xaxis.tickfont.size == figure.layout.xaxis.title.font.size == figure.data[0].textfont.size == 15
    )
    assert figure.layout.xaxis.title.standoff == 7.5
    assert list(figure.data[0].marker.size) == [12, 18]
    assert (figure.data[1].colorbar.thickness, figure.data[1].colorbar.tickfont.size) == (15, 15)
    assert figure.layout.annotations[0].yshift == 15
    assert "font-size:15px" in figure.layout.annotations[0].text


def test_what_is_measured_in_data_stays():
    figure = larger(go.Figure(FIGURE), 1.5)
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([1, 2], [3, 4])
    assert figure.to_json().count(go.Figure(FIGURE["data"][1]).to_plotly_json()["data"][0]["z"]["bdata"]) == 1
    assert tuple(figure.layout.xaxis.range) == (0, 2)
    assert (figure.layout.annotations[0].x, figure.layout.shapes[0].x1) == (1, 1)


@pytest.mark.parametrize("scale", [1, 1.0])
def test_normal_text_leaves_the_figure_itself(scale):
    figure = go.Figure(FIGURE)
    assert larger(figure, scale) is figure
