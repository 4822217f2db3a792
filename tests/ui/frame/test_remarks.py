"""The line under a picture: it says what was measured, also when that is bad."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.models import load
from ui.frame import remarks

TOY = load("toy")


def line(trace) -> str:
    """What `status` writes."""

    def page(trace):
        from ui.frame import remarks

        remarks.status(trace, "1-1")

    test = AppTest.from_function(page, args=(trace,)).run()
    assert not test.exception
    (written,) = test.markdown
    return written.value.replace("\\", "")


def changed(mask: str, row: int, column: int, value: float):
    trace = TOY.trace("one two three", mask)
    attention = trace.attention.copy()
    attention[0, 0, row, column] = value
    return replace(trace, attention=attention)


def test_a_good_trace():
    said = line(TOY.trace("one two three", "causal"))
    assert "rows sum to 1 (max error " in said and "masked cells exactly 0" in said and "NOT" not in said


@pytest.mark.parametrize(
    ("added", "said"),
    [(0.5, "rows do NOT sum to 1 (max error 5e-1)"), (2e-4, "do NOT sum"), (2e-5, "rows sum to 1 (max error 2e-5)")],
)
def test_rows_are_said_to_sum_to_1_only_where_they_do(added, said):
    trace = TOY.trace("one two three")
    assert said in line(changed("bidirectional", 1, 1, float(trace.attention[0, 0, 1, 1]) + added))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_told(value):
    said = line(changed("bidirectional", 0, 0, value))
    assert "some weights are NOT numbers" in said and "sum to 1" not in said


@pytest.mark.parametrize("value", [0.25, np.nan])
def test_a_masked_cell_that_is_not_0_is_told(value):
    assert "masked cells are NOT all 0" in line(changed("causal", 0, 2, value))


def test_rows_that_may_look_at_nothing_are_counted():
    assert "1 row may look at nothing and is 0" in line(TOY.trace("one two three", "matrix:3:1f8"))
    assert "2 rows may look at nothing and are 0" in line(TOY.trace("one two three", "matrix:3:038"))


@pytest.mark.parametrize(
    ("number", "said"),
    [(0.0, "0"), (3.4e-7, "3e-7"), (1.0, "1e0"), (12.0, "1e1"), (np.nan, "nan"), (np.inf, "inf")],
)
def test_numbers_with_one_digit(number, said):
    assert remarks.scientific(number) == said
