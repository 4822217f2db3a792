"""Every line of the table of libraries, run as it stands on screen against the installed library."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from analysis.maps.mask_conventions import CONVENTIONS, Convention
from model import scaled_dot_product_attention

N = 5
LINES = {line.library: line for line in CONVENTIONS}
allowed = torch.tensor(
    [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool
)
is_padding = torch.tensor([[False, False, False, True, True]])


def written(line: Convention) -> torch.Tensor:
    return eval(line.code, {"torch": torch, "allowed": allowed, "is_padding": is_padding, "N": N})


def line(words: str) -> Convention:
    (found,) = [line for name, line in LINES.items() if words in name]
    return found


def vectors(seed=0):
    torch.manual_seed(seed)
    return torch.randn(1, 1, N, 4, dtype=torch.float64)


def close(a, b):
    torch.testing.assert_close(a, b, atol=1e-6, rtol=0, equal_nan=True, check_dtype=False)


def expected(mask=allowed):
    q = vectors()
    mixed, weights = scaled_dot_product_attention(q.clone(), q, q, mask)
    return q, mixed, weights


@pytest.mark.parametrize("words", ["attn_mask (float", "product_attention), attn_mask"])
def test_sdpa_keeps_what_is_true_and_adds_what_is_float(words):
    mine = line(words)
    q, mixed, _ = expected()
    mask = written(mine)
    close(
        F.scaled_dot_product_attention(q, q, q, attn_mask=mask.to(q.dtype) if mask.is_floating_point() else mask), mixed
    )
    values = {"True": True, "False": False, "0.0": 0.0, "-inf": -math.inf}
    assert mask[0, 0].item() == values[mine.visible] and mask[0, 1].item() == values[mine.hidden]
    assert mine.empty_row == "output 0" and not mixed[0, 0, 2].any()


def multihead():
    """nn.MultiheadAttention whose projections change nothing, so that it attends with x itself."""
    layer = nn.MultiheadAttention(4, 1, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(4))
    return layer.eval()


def test_multiheadattention_hides_what_is_true():
    mine = line("nn.MultiheadAttention, attn_mask")
    q, _, weights = expected()
    with torch.no_grad():
        _, theirs = multihead()(q[0], q[0], q[0], attn_mask=written(mine))
    seeing = allowed.any(-1)
    close(theirs[0, seeing], weights[0, 0, seeing])
    assert mine.hidden == "True" and mine.empty_row == "weights NaN" and theirs[0, 2].isnan().all()


def test_its_key_padding_mask_hides_what_is_true_for_every_query():
    mine = line("key_padding_mask")
    q, _, weights = expected(~is_padding[:, None, None, :])
    with torch.no_grad():
        _, theirs = multihead()(q[0], q[0], q[0], key_padding_mask=written(mine))
        _, empty = multihead()(q[0], q[0], q[0], key_padding_mask=torch.ones(1, N, dtype=torch.bool))
    close(theirs[0], weights[0, 0])
    assert mine.hidden == "True" and mine.empty_row == "weights NaN" and empty.isnan().all()


@pytest.fixture(scope="module")
def bert():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        initializer_range=1.0,
        attn_implementation="eager",
    )
    model = transformers.BertModel(config).eval()

    def attention(mask):
        with torch.no_grad():
            ids = torch.arange(1, N + 1)[None]
            return model(ids, attention_mask=mask, output_attentions=True).attentions[0][0]  # (h, N, N)

    return attention


def renormalised(weights, mask):
    kept = weights * mask
    return kept / kept.sum(-1, keepdim=True)


def test_berts_attention_mask_is_1_for_words_and_0_for_padding(bert):
    mine = line("(B, N): padding only")
    mask = written(mine)
    assert mask.tolist() == [[1, 1, 1, 0, 0]] and (mine.visible, mine.hidden) == ("1", "0")
    close(bert(mask), renormalised(bert(torch.ones(1, N)), ~is_padding))
    empty = bert(torch.zeros(1, N, dtype=torch.long))
    assert mine.empty_row == "weights 1/N"
    close(empty, torch.full_like(empty, 1 / N))


def test_berts_4d_mask_is_added(bert):
    mine = line("(B, 1, N, N), added")
    mask = written(mine)
    theirs = bert(mask)
    seeing = allowed.any(-1)
    close(theirs[:, seeing], renormalised(bert(torch.ones(1, N)), allowed)[:, seeing])
    assert f"{mask.min().item():.1e}" == "-3.4e+38" and mine.hidden == "-3.4e38"
    assert mine.empty_row == "weights 1/N"
    close(theirs[:, 2], torch.full((2, N), 1 / N))


def test_the_trap_a_boolean_4d_mask_is_added_as_0_and_1_and_hides_nothing(bert):
    theirs = bert(allowed[None, None])
    assert (theirs > 0).all()
    plain = bert(torch.ones(1, N))
    close(theirs, torch.softmax(plain.log() + allowed.float(), -1))


def test_our_own_line():
    mine = line("Headwork")
    _, mixed, weights = expected(written(mine))
    assert not weights[0, 0][~allowed].any() and not mixed[0, 0, 2].any() and mine.empty_row == "weights 0"


def test_what_is_only_read_names_its_file_and_follows_from_its_fill_value():
    """−1e9 everywhere in a row is the same for all keys: 1/N. −inf everywhere is 0/0: NaN."""
    annotated, scratch = line("Annotated"), line("LLMs-from-scratch")
    scores = torch.randn(1, N)
    close(torch.softmax(scores.masked_fill(torch.ones(1, N).bool(), -1e9), -1), torch.full((1, N), 1 / N))
    assert annotated.empty_row == "weights 1/N" and annotated.source.endswith(".py")
    assert torch.softmax(scores.masked_fill(torch.ones(1, N).bool(), -torch.inf), -1).isnan().all()
    assert scratch.empty_row == "weights NaN" and scratch.source.endswith(".py")
    assert written(scratch)[0].tolist() == [0, 1, 1, 1, 1]


def test_every_line_that_claims_a_test_has_one():
    assert sum(one.source == "test" for one in CONVENTIONS) == 7
