"""Three architectures on a source and a target: who sees whom, and cross-attention's steps as torch has them."""

import numpy as np
import pytest
import torch

from analysis.blocks.pair import START, cross_stages, run_pair
from model import HeadworkError

PAIR = run_pair("The cat eats fish.", "猫 吃 鱼")


def test_rows_are_of_who_looks_and_columns_of_who_is_looked_at():
    looks = PAIR.looks
    assert PAIR.source == ("The", "cat", "eats", "fish", ".") and PAIR.target == (START, "猫", "吃", "鱼")
    assert looks["cross"].maps.shape == (2, 4, 5) and looks["decoder"].maps.shape == (2, 4, 4)
    for key in ("encoder_only", "decoder_only", "encoder"):
        assert looks[key].maps.shape == (2, 5, 5)


def test_masks_hide_what_comes_later_in_both_decoders_and_nothing_else():
    for key, look in PAIR.looks.items():
        allowed = np.tril(np.ones_like(look.allowed)) if "decoder" in key else np.ones_like(look.allowed)
        np.testing.assert_array_equal(look.allowed, allowed)
        assert (look.maps[:, ~allowed] == 0).all() and (look.maps[:, allowed] > 0).all()
        np.testing.assert_allclose(look.maps.sum(axis=-1), 1, atol=1e-6)


def test_the_encoder_is_the_same_with_a_decoder_and_without():
    np.testing.assert_array_equal(PAIR.looks["encoder"].maps, PAIR.looks["encoder_only"].maps)


def test_cross_attention_equals_torchs_with_other_keys():
    own = PAIR.block.cross_attention
    theirs = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([own.W_q.weight, own.W_k.weight, own.W_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([own.W_q.bias, own.W_k.bias, own.W_v.bias]))
        theirs.out_proj.load_state_dict(own.W_o.state_dict())
        y, x = PAIR.steps.cross_input, PAIR.context
        output, maps = theirs(y, x, x, average_attn_weights=False)
    stages = {stage.key: stage for stage in cross_stages(PAIR)}
    np.testing.assert_allclose(stages["softmax"].matrices[0].values, maps[0], atol=1e-6)
    np.testing.assert_allclose(stages["output"].matrices[0].values, output[0], atol=1e-5)


def test_keys_and_values_have_the_sources_rows_and_queries_the_targets():
    stages = {stage.key: stage for stage in cross_stages(PAIR)}
    assert [matrix.shape for matrix in stages["project"].matrices] == [(1, 4, 16), (1, 5, 16), (1, 5, 16)]
    assert [matrix.shape for matrix in stages["split"].matrices] == [(1, 2, 4, 8), (1, 2, 5, 8), (1, 2, 5, 8)]
    assert stages["scores"].shapes == "(1, 2, 4, 8) · (1, 2, 8, 5) → (1, 2, 4, 5)"


def test_another_target_changes_cross_attention_and_not_the_encoder():
    other = run_pair("The cat eats fish.", "狗 吃 鱼")
    np.testing.assert_array_equal(other.looks["encoder"].maps, PAIR.looks["encoder"].maps)
    np.testing.assert_allclose(other.looks["cross"].maps[:, 0], PAIR.looks["cross"].maps[:, 0], atol=1e-6)  # <s>: past
    assert np.abs(other.looks["cross"].maps[:, 1:] - PAIR.looks["cross"].maps[:, 1:]).max() > 1e-3


@pytest.mark.parametrize("texts", [("", "猫"), ("cat", "   ")])
def test_empty_texts_are_refused(texts):
    with pytest.raises(HeadworkError):
        run_pair(*texts)
