"""The benchmark of the page: its sizes keep the budgets, and it says when bertviz is missing."""

import subprocess
import sys

import pytest

from benchmarks import page


def test_the_sizes_keep_the_budgets_of_the_design():
    rows = {row[0]: float(row[1].replace(",", "")) for row in page.sizes()}
    assert rows["ours: layer grid, 12 heads (Plotly)"] <= 300
    assert rows["ours: overview, all 144 heads"] <= 500


def test_without_bertviz_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "bertviz", None)  # as if it were not installed
    assert not [row for row in page.sizes() if row[0].startswith("bertviz")]
    assert "pip install -r benchmarks/requirements.txt" in capsys.readouterr().out


def test_cpu_time_of_children_grows_with_their_work():
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    before = page.cpu_ms()
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\nimport sys\nsys.stdin.read()"
    child = subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    assert page.cpu_ms() - before >= 250
    child.communicate()
