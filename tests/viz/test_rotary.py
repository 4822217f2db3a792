"""viz.rotary: a turned pair in its plane."""

import numpy as np
import pytest

from viz.rotary import plane_figure


@pytest.mark.parametrize("angle", [0.0, 1.0, 3 * np.pi, 40.0])
def test_the_way_from_before_to_after_ends_where_the_point_is(angle):
    query, key = np.array([1.0, 0.5]), np.array([-0.3, 2.0])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    figure = plane_figure((query, turn @ query), (key, turn @ key), angle)
    for first, last, arc in (figure.data[:3], figure.data[3:]):
        assert (arc.x[0], arc.y[0]) == pytest.approx((first.x[1], first.y[1]))
        assert (arc.x[-1], arc.y[-1]) == pytest.approx((last.x[1], last.y[1]), abs=1e-5)
    assert figure.layout.yaxis.scaleanchor == "x"  # a circle looks like one
