"""benchmarks.opening: each visit draws what it is timed for, and one that doesn't is not timed."""

import sys

import pytest

from benchmarks import opening, startup
from model.weights.e5 import e5_path


@pytest.mark.skipif(e5_path() is None, reason="the package of multilingual-e5-small, 4-bit, is not installed")
@pytest.mark.parametrize("name", opening.commands())
def test_a_visit_draws_a_map_of_the_model_that_it_is_timed_for(name):
    wall, cpu = startup.run(opening.commands()[name])
    assert wall > 0 and cpu > 0.5  # torch alone takes longer


def test_a_visit_with_another_model_is_not_timed(monkeypatch):
    *command, _model = opening.commands()["in English"]
    monkeypatch.setattr(sys, "argv", [*command[2:], "toy"])  # what the process would be given
    with pytest.raises(AssertionError):
        exec(opening._VISIT, {"__name__": "__main__"})
