"""Where each word looks, on maps small enough to work out by hand, and beside the word maps of analysis.words.units."""

import numpy as np
import pytest
import torch

from analysis.evidence.arrows import Batch, EncodedText, heaviest, sharing, visible_words, word_maps, word_pieces
from analysis.words.units import by_words, drop_special
from tests.models import load


def batch(*pieces, n_tokens):
    return Batch.of([EncodedText(tuple(range(n_tokens)), tuple(pieces))])


def test_weight_to_a_word_is_the_sum_and_weight_from_it_the_mean_over_its_pieces():
    # [CLS] play ##ing chess [SEP]: words "playing", "chess"
    attention = torch.tensor(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.5, 0.1, 0.0, 0.2, 0.2],
            [0.0, 0.3, 0.3, 0.1, 0.3],
            [1.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )[None, None, None]  # (L, B, h, N, N)
    maps = word_maps(attention, batch((1, 2), (3,), n_tokens=5).members)
    expected = [[(0.5 + 0.1) / 2, (0.4 + 0.2) / 2], [0.6, 0.1]]
    np.testing.assert_allclose(maps[0, :, 0].numpy(), expected, atol=1e-7)


def test_heads_and_layers_stay_apart():
    attention = torch.rand(2, 3, 4, 5, 5)
    members = Batch.of([EncodedText((0,) * 5, ((0,), (1,), (2,), (3,), (4,)))] * 3).members
    maps = word_maps(attention, members)
    for layer, head in ((0, 0), (1, 2)):
        assert torch.equal(maps[:, :, layer * 4 + head], attention[layer, :, head])


def test_of_equal_candidates_the_first_is_chosen_and_never_the_word_itself():
    maps = torch.tensor([[0.9, 0.3, 0.3], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]])[None, :, None]  # (1, W, 1, W)
    others = ~torch.eye(3, dtype=torch.bool)[None]
    assert heaviest(maps, others)[0, :, 0].tolist() == [1, 0, 0]


def test_a_word_alone_points_nowhere():
    maps = torch.ones(1, 1, 1, 1)
    members = batch((1,), n_tokens=3).members
    assert heaviest(maps, ~sharing(members)).tolist() == [[[-1]]]


def test_words_that_share_their_piece_are_never_each_others_arrow():
    members = batch((1,), (1,), (2,), n_tokens=4).members  # "can" and "not" in the one piece "cannot"
    assert sharing(members)[0].tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    maps = torch.tensor([[0.5, 0.5, 0.1]] * 3)[None, :, None]
    assert heaviest(maps, ~sharing(members))[0, :, 0].tolist() == [2, 2, 0]


def test_a_causal_mask_shows_earlier_words_and_padding_shows_nothing():
    lines = [EncodedText((5, 6, 7, 8), ((0,), (1, 2), (3,))), EncodedText((5, 6), ((0,), (1,)))]
    both = Batch.of(lines)
    causal = torch.ones(4, 4, dtype=torch.bool).tril() & ~both.is_padding[:, None, None, :]
    visible = visible_words(causal, both.members)
    assert visible[0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert visible[1].tolist() == [[True, False, False], [True, True, False], [False, False, False]]


@pytest.mark.parametrize(
    ("text", "words", "pieces"),
    [
        ("I cannot go", ["I", "can", "not", "go"], [["i"], ["cannot"], ["cannot"], ["go"]]),
        ("I don't", ["I", "do", "n't"], [["i"], ["don"], ["'", "t"]]),
        ("we do n't", ["we", "do", "n't"], [["we"], ["do"], ["n", "'", "t"]]),
        ("unhappily !", ["unhappily", "!"], [["un", "##ha", "##pp", "##ily"], ["!"]]),
    ],
)
def test_pieces_go_to_the_word_with_most_of_their_characters_and_a_word_without_any_shares(text, words, pieces, minilm):
    spans, end = [], 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    tokens = minilm.tokenizer.encode(text, limit=64)
    found = word_pieces(tokens, spans)
    assert [[tokens.pieces[i] for i in word] for word in found] == pieces


@pytest.mark.parametrize("mask", ["bidirectional", "causal", "window:2"])
def test_the_same_arrows_as_from_the_word_maps_of_one_sentence(mask, minilm):
    text = "The old captain's unbelievably heavy suitcases weren't opened yesterday."
    trace = minilm.trace(text, mask)
    edges = "0 3,4 7,8 15,15 17,18 30,31 36,37 46,47 54,55 61,62 71,71 72"
    words = [(int(a), int(b)) for a, b in (pair.split() for pair in edges.split(","))]
    content = drop_special(by_words(trace, words))
    weights = np.where(np.eye(len(words), dtype=bool) | ~content.allowed, -1, content.attention)  # (L, h, W, W)
    expected = np.where((weights >= 0).any(axis=-1), weights.argmax(axis=-1), -1)

    line = EncodedText(trace.tokenized.ids, word_pieces(trace.tokenized, words))
    one = Batch.of([line])
    maps = word_maps(torch.tensor(trace.attention)[:, None], one.members)
    visible = visible_words(torch.tensor(trace.allowed), one.members)
    found = heaviest(maps, visible & ~sharing(one.members))[0].numpy()  # (W, L·h)
    np.testing.assert_array_equal(found.T.reshape(expected.shape), expected)


def test_the_toy_model_has_no_special_tokens_and_works_the_same():
    toy = load("toy")
    tokens = toy.tokenizer.encode("a b c", limit=8)
    assert word_pieces(tokens, [(0, 1), (2, 3), (4, 5)]) == ((0,), (1,), (2,))
