"""Marian's tokenizers without the sentencepiece library: the pieces it gives, recorded in marian/expected.json."""

import json
import shutil
from pathlib import Path

import pytest

from model import HeadworkError, load
from model.tokenizers.marian import load_marian
from model.tokenizers.sentencepiece_file import read_sentencepiece, unigram_backend
from tests.model.random_checkpoints import save_random

FOLDER = Path(__file__).parent / "marian"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
VOCABULARY = json.loads((FOLDER / "vocab.json").read_text())
BOTH = dict(zip(("source", "target"), load_marian(FOLDER), strict=True))


@pytest.mark.parametrize("side", BOTH)
@pytest.mark.parametrize("text", EXPECTED["source"])
def test_pieces_and_ids_are_those_of_sentencepiece(side, text):
    pieces = EXPECTED[side][text]
    assert unigram_backend(read_sentencepiece(FOLDER / f"{side}.spm")).encode(text).tokens == pieces
    tokens = BOTH[side].encode(text, limit=512)
    assert list(tokens.ids) == [*(VOCABULARY.get(piece, 1) for piece in pieces), 0]
    assert tokens.n_unknown == sum(piece not in VOCABULARY for piece in pieces)


def test_words_spans_and_the_mark_at_the_end():
    tokens = BOTH["source"].encode("the red  house!", limit=20, pad_to=9)
    assert tokens.words == ("the", "red", "house!")
    assert tokens.pieces == ("▁the", "▁red", "▁house", "!", "</s>", *["<pad>"] * 4)
    assert tokens.ids[-1] == VOCABULARY["<pad>"] and tokens.is_special == (False,) * 4 + (True,) * 5
    assert [tokens.text[slice(*span)] for span in tokens.spans[:3]] == ["the", "red", "house"]


def test_a_language_code_is_one_token_and_the_text_after_it_begins_anew():
    coded, plain = (BOTH["source"].encode(text, limit=20) for text in (">>de<< the cat", "the cat"))
    assert coded.ids == (VOCABULARY[">>de<<"], *plain.ids)
    assert coded.is_special[0] and coded.words == plain.words


def test_ids_become_text_again():
    tokenizer = BOTH["target"]
    ids = tokenizer.encode("die katze sieht", limit=20).ids
    assert tokenizer.text_of(ids[:-1]) == " die katze sieht"
    assert tokenizer.is_special(ids[-1]) and tokenizer.label_of(ids[-1]) == "</s>"
    assert tokenizer.is_ordinary(ids[0]) and not tokenizer.is_ordinary(ids[-1])


@pytest.fixture
def folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    heads = {
        f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in (("attention_heads", 2), ("layers", 1))
    }
    sizes = {"vocab_size": len(VOCABULARY), "d_model": 24, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, **heads}
    ids = dict.fromkeys(("pad_token_id", "decoder_start_token_id"), VOCABULARY["<pad>"])
    save_random(transformers.MarianConfig(**sizes, **ids, eos_token_id=0), transformers.MarianMTModel, tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[VOCABULARY["<pad>"]]]}))
    for name in ("source.spm", "target.spm", "vocab.json"):
        shutil.copy(FOLDER / name, tmp_path)
    return tmp_path


def test_a_folder_opens_with_a_tokenizer_for_each_side(folder):
    model = load(folder)
    traces = model.trace("the cat", "die katze")
    assert traces.encoder.tokens == ("▁the", "▁cat", "</s>")
    assert traces.decoder.tokens == ("<pad>", "▁die", "▁katze")
    assert VOCABULARY["<pad>"] in model.rules.banned
    assert "<pad>" not in model.write("the cat", 9)


def cut(path):
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize(
    ("name", "damage", "sentence"),
    [
        ("source.spm", Path.unlink, "source.spm is missing. A Marian model needs source.spm, target.spm, vocab.json"),
        ("vocab.json", Path.unlink, "vocab.json is missing"),
        ("target.spm", cut, "target.spm can't be read"),
        ("target.spm", lambda path: path.write_bytes(b"hello, this is no model"), "target.spm can't be read"),
        ("target.spm", lambda path: path.write_bytes(b""), "no single unknown piece"),
        ("vocab.json", lambda path: path.write_text("[1]"), "no vocabulary of Marian"),
        ("vocab.json", lambda path: path.write_text('{"a": 0}'), "no vocabulary of Marian"),
    ],
)
def test_files_that_are_missing_or_damaged_are_named(folder, name, damage, sentence):
    damage(folder / name)
    with pytest.raises(HeadworkError, match=sentence):
        load(folder)


@pytest.mark.parametrize("n", range(0, 1700, 41))
def test_a_file_cut_anywhere_is_read_or_refused_in_a_sentence(tmp_path, n):
    path = tmp_path / "x.spm"
    path.write_bytes((FOLDER / "source.spm").read_bytes()[:n])
    try:
        assert read_sentencepiece(path).pieces
    except HeadworkError:
        return
