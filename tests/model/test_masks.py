"""model.masks: what each mask allows, their algebra, and their one spelling."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model import HeadworkError, Mask, parse_mask

simple = st.one_of(
    st.just(Mask.bidirectional()),
    st.just(Mask.causal()),
    st.builds(Mask.window, st.integers(0, 12)),
    st.builds(Mask.prefix, st.integers(0, 12)),
)
sizes = st.integers(1, 10)


def rows(mask, n, **kwargs):
    return ["".join("x" if cell else "." for cell in row) for row in mask.allowed(n, **kwargs).tolist()]


def test_what_each_mask_allows_for_four_tokens():
    assert rows(Mask.bidirectional(), 4) == ["xxxx", "xxxx", "xxxx", "xxxx"]
    assert rows(Mask.causal(), 4) == ["x...", "xx..", "xxx.", "xxxx"]
    assert rows(Mask.window(1), 4) == ["xx..", "xxx.", ".xxx", "..xx"]
    assert rows(Mask.window(0), 4) == ["x...", ".x..", "..x.", "...x"]
    assert rows(Mask.prefix(2), 4) == ["xx..", "xx..", "xxx.", "xxxx"]
    assert rows(Mask.causal() & Mask.window(1), 4) == ["x...", "xx..", ".xx.", "..xx"]


def test_padding_blocks_the_columns_of_padding_for_every_query():
    is_padding = torch.tensor([False, False, True, True])
    assert rows(Mask.padding(4), 4, is_padding=is_padding) == ["xx.."] * 4
    assert rows(Mask.causal() & Mask.padding(4), 4, is_padding=is_padding) == ["x...", "xx..", "xx..", "xx.."]


def test_a_batch_gets_one_matrix_for_each_sentence():
    is_padding = torch.tensor([[False, False, True], [False, False, False]])
    allowed = Mask.causal().allowed(3, is_padding)
    assert allowed.shape == (2, 1, 3, 3)
    assert allowed[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
    assert allowed[1, 0].equal(torch.ones(3, 3, dtype=torch.bool).tril())


def test_a_padding_mask_without_knowing_the_padding_is_refused():
    with pytest.raises(HeadworkError, match="which tokens are padding"):
        Mask.padding(5).allowed(5)


def test_any_matrix():
    matrix = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    mask = Mask.matrix(matrix)
    assert mask.allowed(3).equal(matrix)
    assert parse_mask(str(mask)) == mask
    assert (mask & Mask.causal()).allowed(3).equal(matrix.tril())
    with pytest.raises(HeadworkError, match="drawn for 3 tokens, but the sentence has 4"):
        mask.allowed(4)
    with pytest.raises(HeadworkError, match="for 3 and for 2 tokens"):
        mask & Mask.matrix([[True, True], [True, True]])


@pytest.mark.parametrize("bad", [[], [[True, False]], [[True], [True, False]]])
def test_a_matrix_that_is_not_square_is_refused(bad):
    with pytest.raises(HeadworkError, match="square"):
        Mask.matrix(bad)


TRIANGLE = torch.ones(4, 4, dtype=torch.bool).tril()


@pytest.mark.parametrize(
    "same",
    [
        TRIANGLE,
        TRIANGLE.int(),
        TRIANGLE.to(torch.uint8),
        TRIANGLE.numpy(),
        TRIANGLE.long().numpy(),
        TRIANGLE.tolist(),
        list(TRIANGLE.numpy()),
    ],
)
def test_booleans_and_ones_are_read_as_they_are(same):
    assert Mask.matrix(same) == Mask.of(same) == Mask.matrix(TRIANGLE)
    assert Mask.matrix(same).allowed(4).equal(TRIANGLE)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (torch.zeros(4, 4).masked_fill(~TRIANGLE, -torch.inf), "float32"),  # 0 would be False, −inf True
        (torch.zeros(4, 4, dtype=torch.float64), "float64"),
        (TRIANGLE.to(torch.bfloat16), "bfloat16"),
        (TRIANGLE.float().numpy(), "float32"),
        (TRIANGLE.float().tolist(), "float"),
        (TRIANGLE.long() * -10_000, "int64"),
        ([["1"]], "str"),
    ],
)
def test_numbers_that_could_mean_the_opposite_are_refused_by_their_name(other, named):
    with pytest.raises(HeadworkError, match=rf"holds {named}, .* True = may attend.* mask == 0"):
        Mask.matrix(other)


@pytest.mark.parametrize("other", [None, 3, {}, object])
def test_what_is_no_mask_is_refused(other):
    with pytest.raises(HeadworkError, match=r"There is no mask .* causal"):
        Mask.of(other)


@pytest.mark.parametrize("shape", [(), (4,), (1, 4, 4), (4, 3)])
def test_a_tensor_that_is_not_square_is_refused(shape):
    with pytest.raises(HeadworkError, match="square"):
        Mask.of(torch.ones(shape, dtype=torch.bool))


@given(a=simple, b=simple, n=sizes)
def test_and_allows_what_both_allow(a, b, n):
    assert (a & b).allowed(n).equal(a.allowed(n) & b.allowed(n))


@given(a=simple, b=simple, c=simple)
def test_and_is_commutative_associative_and_idempotent(a, b, c):
    assert a & b == b & a
    assert (a & b) & c == a & (b & c)
    assert a & a == a
    assert a & Mask.bidirectional() == a


@given(a=simple, b=simple, pad=st.none() | st.integers(1, 600))
def test_the_spelling_reads_back_and_equal_masks_are_spelled_alike(a, b, pad):
    mask = a & b if pad is None else a & b & Mask.padding(pad)
    assert parse_mask(str(mask)) == mask
    assert hash(parse_mask(str(mask))) == hash(mask)


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
def test_any_drawn_matrix_survives_a_link(matrix):
    mask = Mask.matrix(matrix)
    assert parse_mask(str(mask)).allowed(len(matrix)).tolist() == matrix


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("causal", "causal"),
        (" Causal ", "causal"),
        ("bidirectional", "bidirectional"),
        ("padding:16+causal", "causal+padding:16"),
        ("causal padding:16", "causal+padding:16"),  # a + that a browser turned into a space
        ("causal+prefix:3", "causal"),
        ("window:3+window:2", "window:2"),
        ("bidirectional+window:5", "window:5"),
        ("prefix:4+prefix:2", "prefix:2"),
        ("prefix:1", "causal"),
        ("prefix:0+window:2", "causal+window:2"),
    ],
)
def test_spellings(text, canonical):
    assert str(parse_mask(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "window",
        "window:",
        "window:-1",
        "window:1.5",
        "window:９",
        "window:99999999999999999999",
        "causal:3",
        "causal:",
        "bidirectional:1",
        "causal++window:2",
        "padding:0",
        "matrix:2:ff0",
        "matrix:0:",
        "matrix:2:g",
        "matrix:99999:0",
        "<script>",
        "causal\x00",
    ],
)
def test_anything_else_is_refused_with_a_sentence(text):
    with pytest.raises(HeadworkError):
        parse_mask(text)


def test_two_paddings_are_refused():
    with pytest.raises(HeadworkError, match="16 and to 32"):
        parse_mask("padding:16+padding:32")


@pytest.mark.parametrize(
    ("mask", "hides"), [("causal", True), ("prefix:2", True), ("window:1", False), ("padding:4", False)]
)
def test_which_masks_hide_later_tokens(mask, hides):
    assert parse_mask(mask).hides_later_tokens is hides


@given(a=simple, n=sizes)
def test_every_simple_mask_lets_a_token_see_itself(a, n):
    assert a.allowed(n).diagonal().all()
