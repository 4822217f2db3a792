"""One sign, one colour, in every figure with signs: orange is above 0, purple below."""

import re

import numpy as np
import pytest

from viz.maps import Maps
from viz.masks import Panel, difference_map
from viz.scores import Scores, score_grid
from viz.steps import Tiles, tiles_figure

VALUES = np.array([[-0.4, 0.2], [0.1, -0.3]], dtype=np.float32)
LABELS = ("a", "b")
GAINS = Scores(VALUES, VALUES > 0, LABELS, LABELS, [["", ""], ["", ""]], quantity="gain")


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(tiles_figure(Tiles(VALUES[None], ["x"], LABELS)), id="steps"),
        pytest.param(difference_map(Maps(VALUES, VALUES == VALUES, LABELS), Panel(""), limit=0.4), id="masks"),
        pytest.param(score_grid(GAINS), id="gains"),
    ],
)
def test_more_is_orange_and_less_is_purple(figure):
    scale = next(trace.colorscale for trace in figure.data if getattr(trace, "zmin", 0) not in (0, None))
    (low, *_, low_blue), (high, *_, high_blue) = (
        [int(part) for part in re.findall(r"\d+", colour)[:3]] for _place, colour in (scale[0], scale[-1])
    )
    assert low < low_blue and high > high_blue
