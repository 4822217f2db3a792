"""SmolLM2 on sixteen prompts: the values that transformers gives for the same weights, within 0.02.

Here the heads of the last seven layers, and the strongest below them; `python -m benchmarks.effects` compares all 270.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from analysis.effects.effects import directions
from analysis.effects.joint import switch_off
from analysis.effects.prompts import replacement, runner_of
from analysis.effects.questions import encode_questions
from analysis.effects.reading import read_questions
from model.head_id import HeadId
from model.masks import Mask
from tests.models import load

SHARED = Path(__file__).parents[4] / "shared" / "data"
FIRST = 23  # of the last seven layers, from 0


@pytest.fixture(scope="module")
def reference():
    path = SHARED / "indirect_object_16_reference.json"
    if not path.is_file():
        pytest.skip("the reference set in ../shared/data isn't here")
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def asked(reference):
    found, problems = encode_questions(
        load("smollm2-135m"), read_questions(SHARED / "indirect_object_16.jsonl").questions
    )
    assert problems == () and len(found) == 16
    return found


def test_the_answers_with_everything_on(reference, asked):
    found = switch_off(load("smollm2-135m"), asked, [])
    assert found.difference.mean() == pytest.approx(reference["logit_difference"], abs=0.02)
    assert (found.difference > 0).sum() == reference["right"] == 16


@torch.inference_mode()
def test_every_head_of_the_last_layers_off_and_what_it_looks_at(reference, asked):
    transformer = load("smollm2-135m").transformer
    runner, direction = runner_of(transformer, asked, Mask.causal()), directions(load("smollm2-135m"), asked)
    whole, instead = runner.whole(), replacement(transformer, asked, Mask.causal(), "zero")
    before = (whole.hidden[:, -1] * direction).sum(dim=-1)
    drop = [
        (before - (runner.heads_off(whole, layer, range(9), instead)[:, :, -1] * direction).sum(dim=-1)).mean(dim=1)
        for layer in range(FIRST, 30)
    ]
    np.testing.assert_allclose(torch.stack(drop), reference["drop_of_logit_difference"][FIRST:], atol=0.02)
    looks = torch.stack([whole.looks[:, i, :, list(each.places)].sum(dim=-1) for i, each in enumerate(asked)])
    expected = reference["attention_last_token_to_right_name"]
    np.testing.assert_allclose(looks.mean(dim=0), expected, atol=0.002)


@pytest.mark.parametrize("head", ["21-1", "2-4"])
def test_the_strongest_heads_below(reference, asked, head):
    model, (layer, number) = load("smollm2-135m"), HeadId.parse(head)
    drop = switch_off(model, asked, []).difference - switch_off(model, asked, [HeadId(layer, number)]).difference
    assert drop.mean() == pytest.approx(reference["drop_of_logit_difference"][layer][number], abs=0.02)
