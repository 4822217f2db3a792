"""viz.block and viz.cost: the data of each picture."""

import numpy as np
import pytest

from analysis.blocks.cost import TABLE_3, Flops, crossings, flops, map_bytes
from analysis.blocks.known_configs import known_config
from analysis.blocks.ledger import ledger
from analysis.blocks.timing import Spread, Timing
from viz.block import bars, curve_figure, drift_figure, entropies_figure, lines
from viz.cost import (
    growth_figure,
    ledger_figure,
    lengths_for,
    memory_figure,
    share_text,
    short,
    table_3_figure,
    timing_figure,
)
from viz.theme import ACCENT

CONFIG = known_config("bert-base-uncased")


def test_bars_mark_the_selected_one_and_write_few_values_out():
    figure = bars(np.array([1.0, -2.0]), ["<s>", "b"], title="t", selected=1)
    assert figure.data[0].y.tolist() == [1, -2]
    assert figure.data[0].marker.color[1] == ACCENT != figure.data[0].marker.color[0]
    assert list(figure.data[0].text) == ["1.00", "-2.00"]
    assert figure.layout.xaxis.ticktext == ("&lt;s&gt;", "b")
    low, high = figure.layout.yaxis.range
    assert low < -2 and high > 1
    assert bars(np.ones(100), ["x"] * 100).data[0].text is None


def test_series_differ_in_shape_as_well_as_colour():
    figure = lines([(name, np.arange(3.0)) for name in "abc"], ["x", "y", "z"], selected=1)
    assert (
        len({trace.marker.symbol for trace in figure.data}) == len({trace.marker.color for trace in figure.data}) == 3
    )
    assert figure.layout.shapes[0].x0 == 1


def test_a_curve_with_its_units():
    x = np.linspace(-1, 1, 5)
    figure = curve_figure(x, x**2, np.array([0.5]), np.array([0.25]), names=("f", "units"), x_title="x")
    assert figure.data[1].x.tolist() == [0.5] and figure.data[1].y.tolist() == [0.25]


def test_entropies_show_every_head_the_mean_and_the_single_head():
    figure = entropies_figure(
        np.ones((3, 2)), np.array([0.5, 0.6]), np.array([0.1, 0.2]), ["a", "b"], selected=0, equal=float(np.log(2))
    )
    assert len(figure.data) == 5
    assert figure.data[3].y.tolist() == pytest.approx([0.5, 0.6]) and figure.data[4].y.tolist() == pytest.approx(
        [0.1, 0.2]
    )
    assert figure.layout.shapes[1].y0 == pytest.approx(np.log(2))


def test_marks_of_equal_height_stand_beside_each_other():
    even = np.full((3, 4), 1.1)
    figure = entropies_figure(even, even[0], even[0], list("abcd"), selected=0, equal=1.1)
    points = [(float(x), float(y)) for trace in figure.data for x, y in zip(trace.x, trace.y, strict=True)]
    assert len(set(points)) == len(points) == 5 * 4


def test_drift_draws_one_token_in_colour_and_survives_a_lonely_token():
    start = np.array([[1.0, 1.0], [0.5, 0.7]])
    figure = drift_figure(start, start - 0.2, ["a", "b"], selected=1)
    assert figure.data[1].y.tolist() == pytest.approx([1.0, 0.7])
    assert figure.data[2].y.tolist() == pytest.approx([0.8, 0.5])
    drift_figure(np.ones((2, 1)), np.full((2, 1), np.nan), ["a"], selected=0)


def test_the_ledger_draws_every_part():
    found = ledger(CONFIG, pooler=True)
    names = {line.part: line.part for line in found.lines}
    bar = ledger_figure(found, names).data[0]
    assert dict(zip(bar.y, bar.x, strict=True)) == {line.part: line.total for line in found.lines}


def test_growth_and_its_crossings():
    at = crossings(CONFIG)
    lengths = lengths_for(at)
    assert lengths[0] == 8 and lengths[-1] >= 4 * at[1]
    figure = growth_figure(lengths, [flops(CONFIG, n) for n in lengths], at)
    assert [trace.y[0] for trace in figure.data] == [
        flops(CONFIG, 8).core,
        flops(CONFIG, 8).projections,
        flops(CONFIG, 8).ffn,
    ]
    assert [shape.x0 for shape in figure.layout.shapes] == [1536, 4608]
    assert [10**note.x for note in figure.layout.annotations] == pytest.approx([1536, 4608])


def test_memory_marks_the_apps_limit():
    figure = memory_figure(CONFIG)
    at = dict(zip(figure.data[0].x, figure.data[0].y, strict=True))
    assert at[512] == pytest.approx(map_bytes(12, 12, 512) / 1e6) == pytest.approx(150.994944)
    assert figure.layout.shapes[0].x0 == 512 and "151 MB" in figure.layout.annotations[0].text


def test_timing_shows_medians_and_quartiles():
    timings = [Timing(h, Spread(1.0 * h, 0.5, 8.0), Spread(2.0, 1.5, 3.0), 5) for h in (1, 4)]
    layer, core = timing_figure(timings, chosen=4).data
    assert core.y == (1, 4) and core.error_y.array == (7, 4) and core.error_y.arrayminus == (0.5, 3.5)
    assert layer.y == (2, 2) and layer.x == ("1", "4")


def test_table_3_shows_the_papers_numbers():
    trace = table_3_figure().data[0]
    assert list(trace.y) == [row.bleu for row in TABLE_3] and list(trace.customdata) == [5.29, 5.00, 4.92, 4.91, 5.01]


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0"), (768, "768"), (2_362_368, "2.36 M"), (109_482_240, "109 M"), (10**12, "1,000 B")]
)
def test_counts_as_people_say_them(count, said):
    assert short(count) == said


def test_what_is_there_is_never_0_percent():
    assert (share_text(0.0001), share_text(0.0), share_text(0.256)) == ("< 1 %", "0 %", "26 %")


def test_flops_add_up():
    assert Flops(1, 2, 4).attention == 3 and Flops(1, 2, 4).total == 7
