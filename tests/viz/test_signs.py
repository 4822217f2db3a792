"""One sign, one colour, in every figure with signs: orange is above 0, purple below."""

import re

import numpy as np
import pytest

from analysis import by_pieces, compare
from tests.models import load
from viz.comparison import difference_heatmap
from viz.effects import Marked, Scale, head_grid
from viz.layer_grid import difference_grid
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
        pytest.param(head_grid(VALUES, Scale("x", 0.4), Marked((0, 0)), [["", ""]] * 2, height=200), id="effects"),
    ],
)
def test_more_is_orange_and_less_is_purple(figure):
    scale = next(trace.colorscale for trace in figure.data if getattr(trace, "zmin", 0) not in (0, None))
    (low, *_, low_blue), (high, *_, high_blue) = (
        [int(part) for part in re.findall(r"\d+", colour)[:3]] for _place, colour in (scale[0], scale[-1])
    )
    assert low < low_blue and high > high_blue


def lightness(rgb):
    """L* of CIELAB, 0 black to 100 white: what is left of a colour in grey print."""
    share = np.array(rgb) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return 116 * float(np.cbrt(linear @ [0.2126, 0.7152, 0.0722])) - 16


def colour(trace, place):
    """Red, green, blue at a place 0…1 of a trace's colour scale."""
    stops = [(at, [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) for at, colour in trace.colorscale]
    return [np.interp(place, [at for at, _ in stops], [rgb[i] for _, rgb in stops]) for i in range(3)]


def signed_figures(n):
    """Every figure with signs, of n × n cells (and more)."""
    values = np.random.default_rng(0).uniform(-1, 1, (4, n, n)).astype(np.float32)
    labels, everywhere = ["a"] * n, np.ones((n, n), dtype=bool)
    trace = by_pieces(load("toy").trace(" ".join(["cat"] * (n - 2))))
    return {
        "map": difference_map(Maps(values[0], everywhere, labels), Panel(""), limit=1),
        "grid": difference_grid(Maps(values, everywhere, labels), layer=0, limit=1),
        "comparison": difference_heatmap(compare(trace, trace, (0, 0), (1, 1))),
        "tiles": tiles_figure(Tiles(values, ["x"] * 4, labels)),
    }


@pytest.mark.parametrize("n", [4, 100])
def test_the_sign_is_seen_without_colour_in_large_cells_by_hatching_and_in_small_ones_by_lightness(n):
    for name, figure in signed_figures(n).items():
        cells, *over = figure.data
        is_hatched = any(getattr(trace, "fillpattern", None) and trace.fillpattern.shape == "-" for trace in over)
        is_written = cells.texttemplate is not None
        assert is_hatched or is_written or n == 100, name
        if n == 100:
            assert not is_hatched, name
            grey = [lightness(colour(cells, place)) for place in (0, 0.25, 0.5, 0.75, 1)]
            assert np.diff(grey).min() >= 10, (name, grey)
