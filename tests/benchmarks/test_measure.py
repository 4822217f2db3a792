"""The measuring itself, on things whose time and size are known."""

import mmap
import time

import pytest

from benchmarks.measure import Spread, interleave, markdown_table, peak_over_present, ratios


def test_spread_is_median_and_range():
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(median=2.0, low=1.0, high=3.0)
    assert f"{Spread(0.5, 0.25, 1.0):.2f}" == "0.50 (0.25–1.00)"


def test_ratios_are_taken_within_a_round_and_not_between_medians():
    # The machine got ten times slower in the last two rounds; the ratio is 2 in every one.
    assert ratios([2.0, 20.0, 20.0], [1.0, 10.0, 10.0]) == Spread(2.0, 2.0, 2.0)


def test_interleave_reverses_the_order_each_round_and_does_not_count_the_first():
    calls = []
    times = interleave(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")},
        clock=time.perf_counter,
        seconds=0,
        least=3,
    )
    assert "".join(calls) == "ab" + "ab" + "ba" + "ab"
    assert {name: len(of) for name, of in times.items()} == {"a": 3, "b": 3}


def test_interleave_tells_a_slow_candidate_from_a_quick_one():
    now = [0.0]

    def takes(seconds: float):
        return lambda: now.__setitem__(0, now[0] + seconds)

    times = interleave({"slow": takes(0.02), "quick": takes(0.005)}, clock=lambda: now[0], seconds=0)
    assert ratios(times["slow"], times["quick"]).median == pytest.approx(4)


def test_peak_over_present_sees_memory_that_is_released_again():
    def allocate_then_release():
        with mmap.mmap(-1, 50 * 2**20) as fresh:  # not from what an earlier test has left free in the heap
            for page in range(0, len(fresh), mmap.PAGESIZE):
                fresh[page] = 1

    try:
        peak = peak_over_present(allocate_then_release)
    except OSError as error:
        pytest.skip(f"this system doesn't let a process reset its own peak: {error}")
    assert peak == pytest.approx(50, abs=5)


def test_markdown_table():
    assert markdown_table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
