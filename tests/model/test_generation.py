"""A decoder writes on: the cache gives what a full run gives, and a step can be taken back."""

import dataclasses

import numpy as np
import pytest
import torch

from model import HeadworkError, generate
from model.generation import Generation
from model.masks import Mask
from tests.models import END, LLAMA_LIKE, load, tiny_decoder


@pytest.fixture(scope="module")
def decoder():
    return tiny_decoder()


def full_run(decoder, made, mask="causal"):
    """The same tokens run all at once (their text may be read as others: random weights write bytes)."""
    ids = made.tokens.ids
    with torch.inference_mode():
        return decoder.transformer(torch.tensor([ids]), Mask.of(mask).allowed(len(ids)))


def test_rows_written_one_by_one_equal_a_full_run(decoder):
    made = generate(decoder, "The cat", 12)
    trace = made.trace()
    whole = full_run(decoder, made)
    assert trace.n_tokens == 7 + 12
    np.testing.assert_allclose(trace.attention, whole.attention[:, 0], atol=1e-5)
    np.testing.assert_allclose(trace.hidden, whole.hidden[0], atol=1e-4)
    assert (np.triu(trace.attention, 1) == 0).all()


def test_earlier_rows_keep_every_bit(decoder):
    made = Generation(decoder, "The cat")
    made.step()
    before = made.trace().attention
    for _ in range(5):
        made.step()
    assert (made.trace().attention[:, :, :8, :8] == before).all()


def test_greedy_writes_the_most_probable_token_each_time(decoder):
    made = Generation(decoder, "The cat")
    for _ in range(5):
        with torch.inference_mode():
            probabilities = decoder.transformer.logits(full_run(decoder, made).hidden[0, -1]).softmax(-1)
        token = made.step()
        assert token.id == int(probabilities.argmax())
        assert token.probability == pytest.approx(float(probabilities.max()), abs=1e-5)


def test_a_step_taken_back_and_taken_again_writes_the_same(decoder):
    made = Generation(decoder, "The cat", temperature=1.5, seed=3)
    first = [made.step().id for _ in range(6)]
    maps, text = made.trace().attention, made.tokens.text
    for _ in range(4):
        made.back()
    assert made.cache.n_tokens == len(made.tokens) == 7 + 2
    assert [*first[:2], *(made.step().id for _ in range(4))] == first
    assert made.tokens.text == text
    assert (made.trace().attention == maps).all()
    for _ in range(20):
        made.back()
    assert made.tokens.text == "The cat" and made.written == []


def test_seeds_differ_and_one_seed_repeats(decoder):
    def ids(seed):
        return [t.id for t in generate(decoder, "The cat", 8, temperature=2.0, seed=seed).written]

    assert ids(1) == ids(1)
    assert len({tuple(ids(seed)) for seed in range(12)}) == 12


def test_a_low_temperature_is_greedy_and_does_not_overflow(decoder):
    greedy = [t.id for t in generate(decoder, "The cat", 5).written]
    assert [t.id for t in generate(decoder, "The cat", 5, temperature=1e-300).written] == greedy


def test_the_cache_holds_key_heads_and_not_query_heads(decoder):
    made = Generation(decoder, "The cat")
    layers, key_heads, d_k, both, float32 = 3, 2, 8, 2, 4
    assert made.cache.nbytes == layers * key_heads * d_k * both * float32 * 7


def test_windows_hold_while_writing():
    decoder = tiny_decoder(dataclasses.replace(LLAMA_LIKE, windows=(0, 3, 5)))
    made = generate(decoder, "abcdef", 6)
    trace = made.trace()
    np.testing.assert_allclose(trace.attention, full_run(decoder, made).attention[:, 0], atol=1e-5)
    assert trace.allowed.shape == (3, 12, 12)
    assert (trace.attention[1][:, 11, :9] == 0).all() and (trace.attention[1][:, 11, 9:] > 0).all()
    assert trace.check().masked_is_zero


def test_writing_ends_when_the_text_is_full(decoder):
    made = generate(decoder, "a" * 60, 100)
    assert len(made.tokens) == 64 and made.is_full
    with pytest.raises(HeadworkError, match="64 tokens, as many as can be read"):
        made.step()
    made.back()
    made.step()


def test_writing_ends_with_a_mark_of_the_model(decoder):
    made = Generation(decoder, "The cat")
    end = decoder.tokenizer.backend.token_to_id(END)
    made._hidden[-1] = decoder.transformer.embeddings.token.weight[end][None].clone() * 10  # as if it expected the end
    assert made.step().id == end
    assert made.ended and list(made) == []
    assert made.tokens.is_special[-1] and made.tokens.text.endswith(END)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": "hot"}, "temperature is 'hot'"),
        ({"seed": -1}, "seed is -1"),
        ({"mask": "bidirectional"}, "bidirectional a new token would change the rows"),
        ({"mask": "prefix:3"}, "prefix:3 a new token"),
        ({"mask": "causal+padding:16"}, "padding:16 a new token"),
    ],
)
def test_what_cannot_be_written_on_is_a_sentence(decoder, settings, sentence):
    with pytest.raises(HeadworkError, match=sentence):
        Generation(decoder, "The cat", **settings)


def test_empty_prompts_and_models_that_do_not_write(decoder):
    with pytest.raises(HeadworkError, match="There is no text"):
        Generation(decoder, "  ")
    with pytest.raises(HeadworkError, match="no output matrix"):
        Generation(load("toy"), "The cat", mask="causal")
    with pytest.raises(HeadworkError, match="0 or more"):
        generate(decoder, "The cat", -1)


def test_a_causal_window_can_be_written_under(decoder):
    made = generate(decoder, "abcdef", 3, mask="causal+window:2")
    trace = made.trace()
    assert (trace.attention[:, :, 8, :6] == 0).all()
    whole = full_run(decoder, made, "causal+window:2")
    np.testing.assert_allclose(trace.attention, whole.attention[:, 0], atol=1e-5)


def test_bytes_that_are_no_character_yet_keep_their_tokens(decoder):
    made = Generation(decoder, "The cat")
    for id_ in decoder.tokenizer.backend.encode("猫").ids[:2]:  # two of its three bytes
        made._hidden[-1] = decoder.transformer.embeddings.token.weight[id_][None].clone() * 10
        made.step()
    assert made.tokens.labels[-2:] == ("<0xE7>", "<0x8C>")
    assert len(made.tokens) == len(made.tokens.spans) == 9
    assert torch.tensor(made.trace().attention.shape).tolist() == [3, 6, 9, 9]
