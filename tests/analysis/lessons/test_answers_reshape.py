"""Where numbers go: x = 0 1 2 3 / 4 5 6 7 with two heads by hand, and the 3 × 8 of the lesson."""

import pytest

from analysis.lessons.answers.reshape import columns_of_head, misplaced, place_of, row_of_head
from analysis.lessons.setup import Setup

SMALL = {"tokens": 2, "d_model": 4, "heads": 2}
LESSON = {"tokens": 3, "d_model": 8, "heads": 2}


def test_a_head_gets_its_columns_of_all_rows():
    assert columns_of_head(Setup(), **SMALL, head=2).right == {(0, 2), (0, 3), (1, 2), (1, 3)}


@pytest.mark.parametrize(
    ("sizes", "way", "numbers"),
    [
        (SMALL, "right", "2-3"),
        (SMALL, "wrong", "4-5"),  # view(2, 2, 2) makes 0 1 / 2 3 and 4 5 / 6 7
        (LESSON, "right", "4-5-6-7"),
        (LESSON, "wrong", "12-13-14-15"),
    ],
)
def test_the_first_row_of_head_2(sizes, way, numbers):
    assert row_of_head(Setup(), **sizes, head=2, row=1, way=way).right == numbers


def test_a_number_keeps_its_row_and_its_column_decides_the_head():
    assert place_of(Setup(), **SMALL, number=6).right == "2-2-1"
    assert place_of(Setup(), **LESSON, number=13).right == "2-2-2"


def test_numbers_that_a_view_alone_puts_into_the_wrong_head():
    assert misplaced(Setup(), **SMALL).right == 4  # 2 and 3 in head 1, 4 and 5 in head 2
    assert misplaced(Setup(), **LESSON).right == 8
