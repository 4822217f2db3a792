"""Byte-level BPE as decoders use it (GPT-2, SmolLM2): readable labels, and pieces of one word together."""

import time

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from analysis.words.units import piece_units, word_units
from model.tokenizers.tokenizer_json import FastTokenizer
from tests.models import load

END = "<|endoftext|>"


@pytest.fixture(scope="module")
def byte_level():
    """The settings of SmolLM2's tokenizer: digits apart, then bytes; nothing put before or after a text."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=270, special_tokens=[END, "<|im_start|>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(["the cat sat on the mat"] * 3, trainer)
    return FastTokenizer(backend, {"bos_token": END, "eos_token": END, "unk_token": END})


def test_labels_are_text_and_bytes(byte_level):
    assert byte_level.encode("the cat", limit=20).labels == ("the", "▁cat")
    assert byte_level.encode("the 我", limit=20).labels == ("the", "▁", "<0xE6>", "<0x88>", "<0x91>")


def test_a_piece_with_whole_characters_and_a_part_of_one_shows_both():
    # "é" is C3 A9: Ã and © in GPT-2's alphabet; "é 我" cut after its first byte of three
    vocabulary = {"Ã": 0, "©": 1, "Ġ": 2, "æ": 3, "Ī": 4, "ĳ": 5, "Ã©": 6, "Ã©Ġ": 7, "Ã©Ġæ": 8}
    bpe = models.BPE(vocabulary, [("Ã", "©"), ("Ã©", "Ġ"), ("Ã©Ġ", "æ")])
    backend = tokenizers.Tokenizer(bpe)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokens = FastTokenizer(backend).encode("é 我", limit=20)
    assert tokens.labels == ("é▁<0xE6>", "<0x88>", "<0x91>")


def test_the_label_of_a_long_piece_of_no_characters_takes_no_longer_than_its_bytes():
    n = 400_000  # of a vocabulary that a person brings; byte by byte with a copy of the rest: a minute
    backend = tokenizers.Tokenizer(models.BPE({"ÿ" * n: 0}, []))  # ÿ is FF in GPT-2's alphabet
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = FastTokenizer(backend)
    start = time.process_time()
    assert tokenizer.label_of(0) == "<0xFF><0xFF><0xFF><0xFF><0xFF><…"
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我爱你", ("我", "爱", "你")),
        ("我 👍🏽 ok", ("我", "👍🏽", "ok")),
        ("the 2009 cat", ("the", "2009", "cat")),
        ("12.5 2", ("12", ".", "5", "2")),
        ("नमस्ते the", ("नमस्ते", "the")),
        ("re\u0301sume\u0301", ("re\u0301sume\u0301",)),
        ("❤\ufe0flove", ("❤\ufe0f", "love")),
        ("a\n\n 7", ("a", "▁", "7")),
    ],
)
def test_pieces_of_one_word_stand_together(byte_level, text, words):
    tokens = byte_level.encode(text, limit=60)
    assert tokens.words == words
    assert word_units(tokens, "tokenizer").labels == tuple("↵" if word == "▁" else word for word in words)
    assert len(tokens) > len(words)


def test_a_chinese_word_is_one_unit_of_its_bytes(byte_level):
    """By the segmenter: 喜欢 is one word of six bytes."""
    units = word_units(byte_level.encode("我喜欢猫", limit=60))
    assert units.labels == ("我", "喜欢", "猫")
    assert [len(pieces) for pieces in units.pieces] == [3, 6, 3]


def test_the_end_of_text_is_special_though_it_is_named_as_unknown_too(byte_level):
    tokens = byte_level.encode(f"{END}the cat{END} sat<|im_start|>", limit=20)
    assert tokens.is_special == (True, False, False, True, False, True)
    assert tokens.n_unknown == 0
    assert piece_units(tokens).kinds == ("start", "word", "word", "separator", "word", "special")


def test_the_mark_before_a_text_is_named_where_the_tokenizer_does_not_put_it_there(byte_level):
    assert byte_level.start_mark == END
    tokens = byte_level.encode(byte_level.start_mark + "the cat", limit=20)
    assert tokens.is_special == (True, False, False) and tokens.words == ("the", "cat")
    byte_level.backend.post_processor = processors.TemplateProcessing(single=f"{END} $A", special_tokens=[(END, 0)])
    assert byte_level.start_mark == ""
    byte_level.backend.post_processor = processors.TemplateProcessing(single="$A")
    assert load("minilm").tokenizer.start_mark == load("toy").tokenizer.start_mark == ""


def test_a_tokenizer_that_takes_a_text_for_one_word_is_parted_at_spaces():
    """Llama 2's and Mistral's: no pre-tokeniser, ▁ for every space, bytes for what the vocabulary lacks."""
    pieces = [
        "<unk>",
        "<s>",
        "▁",
        "t",
        "h",
        "e",
        "c",
        "a",
        "th",
        "▁th",
        "▁the",
        "▁c",
        *(f"<0x{b:02X}>" for b in range(256)),
    ]
    bpe = models.BPE(
        {piece: i for i, piece in enumerate(pieces)},
        [("t", "h"), ("▁", "th"), ("▁th", "e"), ("▁", "c")],
        unk_token="<unk>",
        byte_fallback=True,
    )
    backend = tokenizers.Tokenizer(bpe)
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokens = FastTokenizer(backend, {"unk_token": "<unk>"}).encode("the cat the 我", limit=60)
    assert tokens.labels == ("▁the", "▁c", "a", "t", "▁the", "▁", "<0xE6>", "<0x88>", "<0x91>")
    assert tokens.words == ("the", "cat", "the", "我")
