"""The benchmark of effects asks what it says, also where the reference isn't beside the project."""

from pathlib import Path

import numpy as np

from analysis.effects.joint import switch_off
from benchmarks import effects
from model.head_id import HeadId
from tests.models import load


def test_sixteen_prompts_of_fourteen_tokens_and_full_runs_that_switch_off_the_head(monkeypatch):
    model = load("smollm2-135m")
    monkeypatch.setattr(effects, "SHARED", Path("not/here"))
    asked = effects.questions(model)
    assert len({each.ids for each in asked}) == 16
    found = effects.full_runs(model, asked[:2], [(23, 3), (0, 0)], workers=2)
    for row, head in zip(found, (HeadId(23, 3), HeadId(0, 0)), strict=True):
        np.testing.assert_allclose(row, switch_off(model, asked[:2], [head]).difference, atol=1e-4)
