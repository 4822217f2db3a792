"""Who is moved by whom, in small random blocks and in two real ones; lengths against a run of the model."""

import numpy as np
import pytest
import torch

from analysis.lessons.answers.block import carried_or_added, growth, moved_outputs, order_of_block
from model import HeadworkError
from tests.analysis.lessons.made_setups import setup
from tests.models import load

TEXT = "a b c d"


@pytest.mark.parametrize(
    ("part", "mask", "right", "n"),
    [
        ("attention", "bidirectional", "all", 4),
        ("attention", "causal", "after", 3),
        ("attention", "window:0", "one", 1),
        ("attention", "window:1", "some", 3),
        ("ffn", "bidirectional", "one", 1),
        ("ffn", "causal", "one", 1),
    ],
)
def test_a_changed_token_moves_the_column_of_the_mask_in_attention_and_itself_in_the_ffn(part, mask, right, n):
    found = moved_outputs(setup(TEXT, mask=mask), part=part, layer=1, change="b")
    assert (found.right, found.said["n_moved"]) == (right, str(n))
    assert (found.given["before"], found.given["behind"]) == ("1", "2")


def test_minilm_is_post_ln_and_smollm2_is_pre_ln():
    sublayers = ("attention", "attention-sum", "attention-norm", "ffn", "ffn-sum", "ffn-norm")
    assert order_of_block(setup("The cat sat.", "minilm")).right == sublayers
    pre = ("attention-norm", "attention", "attention-sum", "ffn-norm", "ffn", "ffn-sum")
    assert order_of_block(setup("The cat sat.", "smollm2-135m")).right == pre


def test_growth_of_a_single_token_which_it_leaves_out_is_told_in_a_sentence():
    with pytest.raises(HeadworkError, match="at least two tokens"):
        growth(setup("The", "smollm2-135m"))


def test_growth_is_the_mean_length_after_the_last_layer_over_that_after_the_first():
    _, _, output = load("toy").run(TEXT, record="hidden")
    lengths = [float(state[0, 1:].norm(dim=-1).mean()) for state in output.hidden_states]
    found = growth(setup(TEXT))
    assert found.right == pytest.approx(lengths[-1] / lengths[1], rel=1e-5)
    assert len(found.shown) == load("toy").n_layers


def test_states_of_the_pre_ln_decoder_grow_more_than_tenfold_and_those_of_minilm_shrink():
    text = "The cat sat on the mat because it was warm."
    assert growth(setup(text, "smollm2-135m")).right > 10
    assert growth(setup(text, "minilm")).right < 1


def test_what_is_carried_past_attention_is_the_embedding():
    toy = load("toy")
    tokens = toy.tokens(TEXT)
    embedded = toy.transformer.embeddings(torch.tensor([tokens.ids]))[0].numpy()
    found = carried_or_added(setup(TEXT), layer=1, query="b")
    assert found.said["carried"] == f"{np.linalg.norm(embedded[1]):.2f}"
    assert found.right == ("carried" if float(found.said["carried"]) > float(found.said["added"]) else "added")
