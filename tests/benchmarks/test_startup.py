"""benchmarks.startup with commands whose answer is known, and the claim it starts with."""

import sys

import pytest

from benchmarks import startup


def test_the_first_map_of_the_built_in_model_needs_no_transformers():
    assert not startup.imported(startup.commands()["ours: python -m model"], "transformers")


@pytest.mark.parametrize(("package", "expected"), [("json", True), ("sqlite3", False)])
def test_imports_are_seen(package, expected):
    assert startup.imported([sys.executable, "-c", "import json.decoder"], package) is expected


def test_compare_pairs_the_rounds_and_counts_whole_processes():
    quick, slow = ([sys.executable, "-c", f"import time; time.sleep({seconds})"] for seconds in (0, 0.3))
    times = startup.compare({"quick": quick, "slow": slow}, rounds=2)
    assert len(times["quick"].wall) == len(times["slow"].cpu) == 2
    assert min(times["slow"].wall) >= 0.3 > min(times["quick"].wall)
    assert min(times["slow"].cpu) < 0.3  # sleeping is no work


def test_a_failing_command_is_not_timed():
    with pytest.raises(Exception, match="exit status 3"):
        startup.run([sys.executable, "-c", "raise SystemExit(3)"])
