"""A model runs once for all steps about one sentence, and what is kept is bounded."""

from collections import OrderedDict

import pytest

from analysis.lessons import kept
from analysis.lessons.answers.block import carried_or_added, growth
from analysis.lessons.setup import Setup
from tests.analysis.lessons.made_setups import setup


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(kept, "_results", OrderedDict())


def test_a_result_is_made_once_for_a_sentence_and_a_mask():
    looks = []
    for _ in range(2):
        kept.kept(Setup("a b", "toy"), "stack", lambda: looks.append(1))
        kept.kept(Setup("a b", "toy", "causal"), "stack", lambda: looks.append(1))
    assert len(looks) == 2


def test_no_model_is_kept_and_the_oldest_result_goes_first():
    growth(setup("a b c"))
    carried_or_added(setup("a b c"), layer=1, query="b")
    (stack,) = kept._results.values()
    assert stack.transformer is None
    for number in range(kept.MOST):
        kept.kept(Setup(f"a {number}", "toy"), "stack", lambda: None)
    assert len(kept._results) == kept.MOST
    assert stack not in kept._results.values()
