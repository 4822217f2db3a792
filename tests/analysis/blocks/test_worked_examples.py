"""worked_examples: the course's examples come out as the code on the page makes them, whatever else draws numbers."""

import pytest
import torch

from analysis.blocks.record import record_forward
from analysis.blocks.worked_examples import (
    BOUNDS,
    EXAMPLES,
    LABELS,
    Sizes,
    check_sizes,
    example_code,
    sentence_example,
    worked_example,
)
from model import HeadworkError, MultiHeadAttention

EVERYTHING = torch.ones(3, 3, dtype=torch.bool)
# torch.manual_seed(42); x = torch.randn(1, 3, 8); MultiHeadAttention(8, 2)(x): the maps of both heads.
CAT_MAPS = [
    [[0.2786, 0.3233, 0.3981], [0.3140, 0.3408, 0.3452], [0.3201, 0.3086, 0.3713]],
    [[0.3433, 0.3850, 0.2717], [0.3131, 0.4226, 0.2643], [0.3384, 0.3544, 0.3072]],
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_code_on_the_page_makes_the_numbers_on_the_page(name):
    sizes = EXAMPLES[name]
    said = {}
    exec(example_code(sizes), said)
    torch.rand(5)  # somebody else draws from the global generator
    x, blocks = worked_example(sizes)
    blocks = list(blocks)
    assert x.equal(said["x"]) and x.shape == (1, 3, sizes.d_model)
    output, attention = blocks[0].attention(x)
    assert attention.equal(said["attention"]) and output.equal(said["output"])
    for ours, theirs in zip(blocks, said["blocks"], strict=True):
        for name_, weight in theirs.state_dict().items():
            assert ours.state_dict()[name_].equal(weight), name_


def test_the_maps_of_seed_42_are_those_of_the_course():
    x, blocks = worked_example(EXAMPLES["cat"])
    record = record_forward(blocks, x, EVERYTHING, LABELS, layer=0, head=0)
    maps = record.steps.attention.attention
    assert maps.shape == (1, 2, 3, 3)
    torch.testing.assert_close(maps[0], torch.tensor(CAT_MAPS), atol=6e-5, rtol=0)
    assert x[0, 0, :3].tolist() == pytest.approx([1.9269, 1.4873, 0.9007], abs=6e-5)


def test_eight_heads_of_64():
    x, blocks = worked_example(EXAMPLES["wide"])
    record = record_forward(blocks, x, EVERYTHING, LABELS, layer=0, head=0)
    assert (record.d_model, record.n_heads, record.d_k) == (512, 8, 64)
    assert record.steps.attention.queries.shape == (1, 8, 3, 64)


def test_a_sentence_gets_the_same_numbers_twice_and_others_from_another_seed():
    ids = torch.tensor([[5, 6, 5]])
    x, blocks = sentence_example(ids, Sizes(seed=1))
    again, more = sentence_example(ids, Sizes(seed=1))
    other, _ = sentence_example(ids, Sizes(seed=2))
    assert x.equal(again) and not x.equal(other)
    assert next(blocks).ffn.W_2.weight.equal(next(more).ffn.W_2.weight)


@pytest.mark.parametrize(
    ("sizes", "n", "said"),
    [
        (Sizes(d_model=0), 3, "d_model is 0"),
        (Sizes(d_model=8, heads=7), 3, "8 / 7 is not whole. Try 7 / 14"),
        (Sizes(d_model=4096, heads=8), 3, "too large for this page"),
        (Sizes(heads=0), 3, "h is 0"),
        (Sizes(d_ff=-1), 3, "d_ff is -1"),
        (Sizes(layers=0), 3, "layers is 0"),
        (Sizes(layers=10**9), 3, "too large"),
        (Sizes(seed=-1), 3, "seed is -1"),
        (Sizes(), 0, "N is 0"),
        (Sizes(), 513, "N is 513"),
    ],
)
def test_impossible_sizes_say_why_and_what_would_do(sizes, n, said):
    with pytest.raises(HeadworkError, match=said):
        check_sizes(sizes, n)


def test_the_largest_sizes_are_possible():
    check_sizes(Sizes(*(BOUNDS[name][1] for name in ("d_model", "h", "d_ff", "layers")), seed=BOUNDS["seed"][1]), 512)


def test_the_first_block_of_the_example_holds_the_attention_of_the_example():
    torch.manual_seed(42)
    x = torch.randn(1, 3, 8)
    mha = MultiHeadAttention(8, 2)
    _, blocks = worked_example(Sizes())
    assert next(blocks).attention(x)[0].equal(mha(x)[0])
