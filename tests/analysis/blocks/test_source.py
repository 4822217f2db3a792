"""analysis.blocks.source: the code beside a step is the code in the file."""

from typing import get_args

import pytest

from analysis.blocks.source import _PLACES, ROOT, excerpt
from analysis.blocks.steps import StageKey


@pytest.mark.parametrize("name", _PLACES)
def test_lines_are_those_of_the_file_at_their_numbers(name):
    found = excerpt(name)
    lines = (ROOT / found.file).read_text(encoding="utf-8").splitlines()
    in_file = [lines[number - 1].split("  # type: ignore")[0].strip() for number in found.numbers]
    assert in_file == [line.strip() for line in found.code.splitlines()]
    assert "if steps is not None" not in found.code and ".keep(" not in found.code
    assert not found.code.startswith(" ")


def test_every_stage_has_its_lines():
    assert set(get_args(StageKey)) - {"input"} <= set(_PLACES)
    assert "/= math.sqrt" in excerpt("scale").code
    assert "softmax" in excerpt("softmax").code
    assert "transpose(1, 2)" in excerpt("split").code and "view" in excerpt("split").code
    assert excerpt("mask").place.startswith("model/attention.py, ")
