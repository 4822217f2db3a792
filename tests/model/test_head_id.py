"""A head's name, and what is none."""

import pytest

from model.head_id import HeadId


def test_a_head_is_counted_from_1_in_its_name_and_from_0_in_its_numbers():
    assert str(HeadId(2, 0)) == "3-1" and f"{HeadId(2, 0)}" == "3-1"
    assert HeadId.parse("3-1") == (2, 0) == HeadId.parse("3-1", (3, 1))


@pytest.mark.parametrize("name", ["", "3", "0-1", "3-0", "-1-1", "3-1-1", "３-1", "1e1-1", " 3-1", "1000-1", None, 31])
def test_whatever_names_no_head_is_refused(name):
    with pytest.raises(ValueError, match="names no head"):
        HeadId.parse(name)


@pytest.mark.parametrize("name", ["4-1", "3-2"])
def test_a_head_that_the_model_lacks_is_refused(name):
    with pytest.raises(ValueError, match="names no head"):
        HeadId.parse(name, (3, 1))
