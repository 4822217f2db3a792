"""What the mask lab runs a model for: each on-screen claim, over sizes, heads and masks, and on the built-in model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.maps.mask_runs import edit_word, largest_move, layer_scores, leak, revealed
from analysis.maps.masking import cut_and_rescale, largest, masked_softmax, split_difference
from analysis.maps.padded_batch import CASES, padded_batch
from model import AttentionModel, HeadworkError, Mask, parse_mask
from model.weights.checkpoints import load_folder
from model.weights.minilm import minilm_folder
from model.weights.toy import toy_id
from tests.models import LLAMA_LIKE, load, tiny_decoder

SENTENCE = "The teacher praised the students because they worked hard."
SINGLE = 2e-6  # float32: weights and states of size 1, rounded a few hundred times
DEEP = 1e-5  # the same after six layers, where matrices of another shape are multiplied in another order
WORDS = st.lists(st.sampled_from(["cat", "dog", "sat", "on", "the", "ran", "猫", "鱼"]), min_size=1, max_size=9)


@pytest.fixture(scope="module")
def minilm():
    return load("minilm")


def toy(heads, layers, seed):
    return load(toy_id(d_model=8 * heads, heads=heads, layers=layers, seed=seed))


toys = st.builds(toy, st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
masks = st.sampled_from(["bidirectional", "causal", "window:1", "prefix:2", "causal+window:1"]).map(parse_mask)


@given(toys, WORDS, masks)
@settings(max_examples=30)
def test_the_scores_of_a_layer_with_the_mask_give_back_its_map(model, words, mask):
    text = " ".join(words)
    trace = model.trace(text, mask)
    for layer in range(model.n_layers):
        scores = layer_scores(model, text, mask, layer).scores
        np.testing.assert_allclose(masked_softmax(scores, trace.allowed), trace.attention[layer], atol=SINGLE)


@pytest.mark.parametrize("windows", [(), (0, 4, 0)])
def test_scores_of_a_decoder_are_turned_by_place_and_seen_through_each_layers_window(windows):
    decoder = tiny_decoder(replace(LLAMA_LIKE, windows=windows))
    trace = decoder.trace("a cat sat")
    for layer in range(decoder.n_layers):
        scores = layer_scores(decoder, "a cat sat", Mask.causal(), layer).scores
        found = masked_softmax(scores, trace.allowed_in(layer))
        np.testing.assert_allclose(found, trace.attention[layer], atol=SINGLE)


@given(toys, WORDS)
@settings(max_examples=30)
def test_in_layer_1_a_causal_row_is_the_bidirectional_row_cut_and_rescaled(model, words):
    text = " ".join(words)
    wide, narrow = model.trace(text), model.trace(text, "causal")
    np.testing.assert_allclose(cut_and_rescale(wide.attention[0], narrow.allowed), narrow.attention[0], atol=SINGLE)


def test_the_same_holds_in_the_built_in_model_and_no_longer_from_layer_2_on(minilm):
    wide, narrow = minilm.trace(SENTENCE), minilm.trace(SENTENCE, "causal")
    errors = [
        largest(cut_and_rescale(wide.attention[layer], narrow.allowed) - narrow.attention[layer]) for layer in range(6)
    ]
    assert errors[0] < 1e-6
    assert min(errors[1:]) > 0.05


@given(toys, WORDS, masks, masks)
@settings(max_examples=30)
def test_cut_and_rescale_plus_changed_input_is_the_whole_difference(model, words, one, two):
    text = " ".join(words)
    first, second = model.trace(text, one), model.trace(text, two)
    for layer in range(model.n_layers):
        scores = layer_scores(model, text, one, layer).scores
        split = split_difference(first.attention[layer], second.attention[layer], scores, second.allowed)
        whole = second.attention[layer].astype(float) - first.attention[layer]
        np.testing.assert_allclose(split.by_mask + split.by_input, whole, atol=1e-6)
        if layer == 0:
            assert largest(split.by_input) < SINGLE


@given(toys, WORDS, st.data())
@settings(max_examples=30)
def test_under_a_causal_mask_an_edit_moves_nothing_before_it(model, words, data):
    text = " ".join(words)
    tokens = model.tokenizer.encode(text, limit=64)
    word = data.draw(st.integers(0, len(tokens.words) - 1))
    found = leak(model, text, edit_word(tokens, word, "new"), Mask.causal())
    assert found.first == word and found.edited.tolist() == [i == word for i in range(len(tokens))]
    assert largest(found.before) < SINGLE and largest(found.weights_moved) < SINGLE


def test_leaks_in_the_built_in_model_are_0_with_the_causal_mask_and_not_without(minilm):
    tokens = minilm.tokenizer.encode(SENTENCE, limit=64)
    edited = edit_word(tokens, 8, "never")  # hard
    causal, both = (leak(minilm, SENTENCE, edited, mask) for mask in (Mask.causal(), Mask.bidirectional()))
    assert causal.n_before == both.n_before == 9
    assert not causal.before.any() and not causal.weights_moved.any()  # exactly 0: the same numbers are multiplied
    assert both.before[0] == 0  # embeddings know nothing of each other
    assert (both.before[1:] > 0.05).all() and (both.weights_moved > 0.05).all()  # and in every layer they then do
    assert largest_move(both.before)[0] == both.before.max()
    assert (causal.moved[1:, 10:] > 0).all()  # what comes after the edit may change


def test_a_window_lets_an_edit_travel_w_tokens_a_layer(minilm):
    tokens = minilm.tokenizer.encode(SENTENCE, limit=64)
    found = leak(minilm, SENTENCE, edit_word(tokens, 8, "never"), Mask.window(2))
    place = int(np.flatnonzero(found.edited)[0])
    for layer in range(1, 4):
        far = place - 2 * layer
        assert not found.moved[layer, : max(far, 0)].any()
        assert found.moved[layer, max(far, 0) : place].all()


def test_edits_that_change_the_number_of_tokens_match_both_ends(minilm):
    tokens = minilm.tokenizer.encode(SENTENCE, limit=64)
    found = leak(minilm, SENTENCE, edit_word(tokens, 4, "unbelievably patient pupils"), Mask.causal())
    assert found.first == 5 and found.edited.tolist() == [i == 5 for i in range(12)]
    assert largest(found.before) < DEEP


def test_an_edit_that_edits_nothing_says_so(minilm):
    tokens = minilm.tokenizer.encode(SENTENCE, limit=64)
    for replacement in ("", "  ", "hard"):
        with pytest.raises(HeadworkError):
            edit_word(tokens, 8, replacement)
    with pytest.raises(HeadworkError, match="alike"):
        leak(minilm, SENTENCE, SENTENCE.replace("hard", "HARD"), Mask.causal())  # an uncased model


@pytest.mark.parametrize("n", range(1, 13))
def test_a_causal_row_is_final_the_moment_its_token_has_arrived(minilm, n):
    whole = minilm.trace(SENTENCE, "causal")
    for layer in (0, 5):
        beginning = revealed(minilm, whole.tokenized, Mask.causal(), n, layer).attention
        np.testing.assert_allclose(beginning, whole.attention[layer, :, :n, :n], atol=SINGLE)
    if 1 < n < 12:
        both = minilm.trace(SENTENCE)
        assert (
            largest(
                revealed(minilm, both.tokenized, Mask.bidirectional(), n, 5).attention - both.attention[5, :, :n, :n]
            )
            > 0.01
        )


@given(toys, WORDS, WORDS, st.sampled_from(["right", "left"]))
@settings(max_examples=40)
def test_with_the_padding_mask_real_tokens_come_out_as_without_any_padding(model, words, others, side):
    if len(words) == len(others):
        others = [*others, "more"]
    batch = padded_batch(model, " ".join(words), " ".join(others), 0, side)
    for case in (CASES.index("padding"), CASES.index("causal+padding")):
        assert batch.moved[case].max() < 1e-6
        assert not batch.pad_share[case].any()
        assert batch.refilled[case] < 1e-6  # nobody reads what stands in the places of [PAD]
    assert batch.moved[CASES.index("bidirectional"), -1] > 1e-3
    assert (batch.pad_share[CASES.index("bidirectional")] > 0).all()
    assert batch.is_second == (len(others) < len(words))


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_causal_mask_is_no_padding_mask_unless_padding_is_on_the_right(minilm, side):
    batch = padded_batch(minilm, SENTENCE, "The cat sat.", 3, side)
    causal = CASES.index("causal")
    assert batch.attention.shape == (4, 12, 12, 12) and batch.allowed.shape == (4, 12, 12)
    assert (
        batch.labels.count("[PAD]") == 6 and [label == "[PAD]" for label in batch.labels] == batch.is_padding.tolist()
    )
    if side == "right":
        assert not batch.pad_share[causal].any() and batch.moved[causal].max() < DEEP
    else:
        assert batch.pad_share[causal].max() > 0.1 and batch.moved[causal, -1] > 0.1
    assert batch.pad_share[CASES.index("bidirectional")].max() > 0.1
    assert not np.isnan(batch.attention).any()


@pytest.mark.parametrize("side", ["right", "left"])
def test_in_double_precision_the_built_in_model_pads_without_a_trace(minilm, side):
    """The claim itself, with rounding out of the way."""
    folder = load_folder(minilm_folder())
    exact = AttentionModel(minilm.entry, folder.transformer.double(), minilm.tokenizer, sha256=None, packed=False)
    batch = padded_batch(exact, SENTENCE, "The cat sat.", 3, side)
    masked = [CASES.index("padding"), CASES.index("causal+padding")]
    assert batch.moved[masked].max() < 1e-12
    assert batch.moved[CASES.index("bidirectional"), -1] > 0.1
    tokens = minilm.tokenizer.encode(SENTENCE, limit=64)
    found = leak(exact, SENTENCE, edit_word(tokens, 4, "unbelievably patient pupils"), Mask.causal())
    assert largest(found.before) < 1e-12


def test_padded_maps_are_those_of_the_batch(minilm):
    batch = padded_batch(minilm, SENTENCE, "The cat sat.", 2, "right")
    trace = minilm.trace("The cat sat.", "padding:12")
    np.testing.assert_allclose(batch.attention[CASES.index("padding")], trace.attention[2], atol=SINGLE)
    np.testing.assert_array_equal(batch.allowed[CASES.index("padding")], trace.allowed)
    mine = batch.attention[CASES.index("padding")][:, :6, :6]
    np.testing.assert_allclose(mine, minilm.trace("The cat sat.").attention[2], atol=SINGLE)


@pytest.mark.parametrize("side", ["right", "left"])
@torch.inference_mode()
def test_the_longer_sentence_in_the_batch_changes_nothing_in_the_shorter_ones_row(minilm, side):
    """It isn't run; here it is, beside it."""
    found = padded_batch(minilm, SENTENCE, "The cat sat.", 2, side)
    long, short = (minilm.tokenizer.encode(text, limit=64).ids for text in (SENTENCE, "The cat sat."))
    embed, padding = minilm.transformer.embeddings, torch.zeros(1, len(long) - len(short), dtype=torch.long)
    if side == "right":
        row = embed(torch.cat([torch.tensor([short]), padding], dim=1))
    else:
        row = torch.cat([embed(padding), embed(torch.tensor([short]))], dim=1)
    both = torch.cat([embed(torch.tensor([long])), row])  # (2, M, d_model)
    for case, allowed in enumerate(found.allowed):
        masks = torch.stack([torch.ones(12, 12, dtype=torch.bool), torch.tensor(allowed)])[:, None]
        run = minilm.transformer.encode(both, masks)
        np.testing.assert_allclose(found.attention[case], run.attention[2, 1].numpy(), atol=SINGLE)


def test_left_padded_rows_that_see_nothing_are_0(minilm):
    batch = padded_batch(minilm, SENTENCE, "The cat sat.", 0, "left")
    case = CASES.index("causal+padding")
    assert not batch.attention[case][:, :6].any()  # the [PAD] rows: causal leaves them [PAD] only, padding hides it


def test_equal_lengths_and_empty_sentences_say_what_to_do(minilm):
    with pytest.raises(HeadworkError, match="nothing to pad"):
        padded_batch(minilm, "The cat sat.", "A dog ran.", 0)
    with pytest.raises(HeadworkError, match="no text"):
        padded_batch(minilm, SENTENCE, "  ", 0)


@pytest.mark.parametrize(("n_words", "n"), [(1, 3), (600, 512)])
def test_shortest_and_longest_sentences(minilm, n_words, n):
    text = "cat " * n_words
    result = layer_scores(minilm, text, Mask.causal(), 5)
    assert result.scores.shape == (12, n, n) and result.nbytes == 12 * n * n * 4
    assert not result.scores.flags.writeable


def test_one_token_alone():
    model = toy(1, 1, 0)
    assert layer_scores(model, "cat", Mask.causal(), 0).scores.shape == (1, 1, 1)
    found = leak(model, "cat", "dog", Mask.causal())
    assert found.n_before == 0 and not found.before.any() and np.isnan(found.moved).all()
    assert revealed(model, model.tokenizer.encode("cat", limit=9), Mask.causal(), 1, 0).attention.tolist() == [[[1.0]]]
    assert torch.is_grad_enabled()


@given(toys, st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=40)
def test_drawn_masks_with_empty_rows_give_0_there_and_split_like_all_others(model, n, seed, density):
    text = " ".join(["cat", "dog", "sat", "on", "mat", "no", "ran"][:n])
    drawn = np.random.default_rng(seed).random((n, n)) < density
    mask = Mask.matrix(drawn.tolist())
    first, second = model.trace(text), model.trace(text, mask)
    empty = ~drawn.any(axis=-1)
    assert not second.attention[:, :, empty].any()
    np.testing.assert_allclose(second.attention[:, :, ~empty].sum(-1), 1, atol=SINGLE)
    np.testing.assert_allclose(cut_and_rescale(first.attention[0], drawn), second.attention[0], atol=SINGLE)
    for layer in range(model.n_layers):
        scores = layer_scores(model, text, Mask.bidirectional(), layer).scores
        split = split_difference(first.attention[layer], second.attention[layer], scores, drawn)
        assert split.max_error < 1e-6
