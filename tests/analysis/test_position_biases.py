"""Positions that add to scores act wherever a run is made block by block: records, scores, heads off, effects."""

import numpy as np
import pytest
import torch

from analysis.blocks.block_steps import movement
from analysis.blocks.record import record_layer, run_stack
from analysis.effects.runs import Replacement, Runner
from analysis.evidence.ablation import switch_off_each
from analysis.maps.mask_runs import layer_scores
from model import Mask
from model.transformer import Transformer, TransformerConfig
from tests.models import load

TEXT, MASK = "A big dog chased the black cat .", Mask.causal()


@pytest.fixture
def toy():
    return load("toy:d_model=16,heads=2,layers=3,seed=1,positions=alibi")


def test_a_record_holds_the_maps_of_the_model_and_the_step_that_adds(toy):
    tokens, allowed, output = toy.run(TEXT, MASK)
    stack = run_stack(toy.transformer, output.hidden_states[0], allowed)
    record = record_layer(stack, allowed, tokens.labels, layer=1)
    torch.testing.assert_close(record.steps.attention.attention, output.attention[1])
    assert record.bias[0, 0, 3, 1] == pytest.approx(-2 * 2.0**-4)
    assert (movement(record, 0).attention >= 0).all()


def test_scores_under_another_mask_give_the_models_rows(toy):
    scores = torch.tensor(layer_scores(toy, TEXT, MASK, 0).scores)
    rows = torch.softmax(scores.masked_fill(~MASK.allowed(scores.size(-1)), -torch.inf), dim=-1)
    np.testing.assert_allclose(rows.numpy(), toy.trace(TEXT, MASK).attention[0], atol=1e-6)


def test_heads_off_together_are_the_models_with_a_head_mask(toy):
    found = switch_off_each(toy, TEXT, MASK).change  # (L, h, N)
    head_mask = np.ones((3, 2), dtype=np.float32)
    head_mask[1, 0] = 0
    whole, off = (toy.run(TEXT, MASK, record="maps", head_mask=m)[2].hidden[0] for m in (None, head_mask))
    np.testing.assert_allclose(found[1, 0], ((off - whole).norm(dim=-1) / whole.norm(dim=-1)).numpy(), atol=1e-5)


def test_effects_run_with_the_bias_also_where_prompts_share_their_beginning():
    torch.manual_seed(0)
    config = TransformerConfig(11, 8, 2, 3, 16, positions="alibi", norm="pre", embedding_norm=False, dropout=0.0)
    transformer = Transformer(config).eval().requires_grad_(False)
    ids = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 6, 7]])
    whole = transformer(ids, MASK.allowed(5)).hidden
    with torch.inference_mode():
        for share in (True, False):
            runs = Runner(transformer, ids, MASK, share=share)
            made = runs.whole()
            torch.testing.assert_close(made.hidden, whole)
            torch.testing.assert_close(runs.from_layer(made.states[1], 1)[:, -1], whole[:, -1])
            torch.testing.assert_close(runs.several_off({}, Replacement([], []))[:, -1], whole[:, -1])
