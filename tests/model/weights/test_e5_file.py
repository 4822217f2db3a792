"""e5_file and quantised: small files written here come back number by number, and broken ones are told."""

import hashlib
import struct
import tracemalloc
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn

from model.entry import Entry
from model.errors import HeadworkError
from model.tracing import AttentionModel
from model.weights.e5 import load_e5
from model.weights.e5_file import expected_shapes, read_e5_file
from model.weights.quantised import BLOCK, QuantisedEmbedding, decoded
from tests.model.weights.e5_reference import bert_of, normaliser_of
from tests.model.weights.e5_writer import (
    NORMALISER,
    PIECES,
    SIZES,
    dequantise,
    e5_bytes,
    quantise,
    random_tensors,
    stored_numbers,
)

WHOLE = e5_bytes()
HEADER = 72  # bytes before the offsets of the pieces
VERSION, D_MODEL, LAYERS, HEADS, D_FF, VOCABULARY, POSITIONS, TYPES, EPS, BLOCK_AT = range(4, 44, 4)
N_PIECES, BOS, EOS, PAD, UNK, TEXT_BYTES = 44, 48, 52, 56, 60, 64
OFFSETS = HEADER
SCORES = OFFSETS + 4 * (len(PIECES) + 1)
TEXT = SCORES + 4 * len(PIECES)
NORMALISER_AT = TEXT + len("".join(PIECES).encode())
ENTRIES = sum(5 + 4 * len(other) for other in NORMALISER.values())
DIRECTORY = NORMALISER_AT + 8 + ENTRIES


@pytest.fixture
def write(tmp_path):
    def written(content, name="small.bin"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return written


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("e5") / "changed.bin"


def changed(at, form, *values, content=WHOLE):
    new = struct.pack("<" + form, *values)
    return content[:at] + new + content[at + len(new) :]


def as_model(path):
    checkpoint, tokenizer = load_e5(path, expected_sha256=None)
    entry = Entry("small", "small", "", "built in")
    return AttentionModel(entry, checkpoint.transformer, tokenizer, sha256=checkpoint.sha256, packed=False)


# Blocks of four bits


def test_a_block_by_hand():
    levels = bytes(low | high << 4 for low, high in zip(range(16), reversed(range(16)), strict=True))
    block = np.frombuffer(np.float16(0.5).tobytes() + levels, BLOCK)
    half = [0.5 * (level - 8) for level in range(16)]  # −4, −3.5, … 3.5
    assert decoded(block).tolist() == half + half[::-1]


@given(st.binary(min_size=18 * 6, max_size=18 * 6))
def test_blocks_are_what_the_description_says_number_by_number(packed):
    blocks = np.frombuffer(packed, BLOCK).reshape(2, 3)
    with np.errstate(invalid="ignore"):
        ours, theirs = decoded(blocks), dequantise(packed).reshape(2, 96)
    np.testing.assert_array_equal(ours, theirs)  # NaN equals NaN here
    assert ours.dtype == np.float32


def test_the_quantised_embedding_is_an_embedding_of_the_decoded_rows():
    numbers = random_tensors()["emb.word"]
    stored = np.frombuffer(quantise(numbers), BLOCK).reshape(len(numbers), 1)
    plain = nn.Embedding.from_pretrained(torch.tensor(dequantise(quantise(numbers)).reshape(numbers.shape)))
    embedding = QuantisedEmbedding(stored)
    ids = torch.tensor([[0, 5, 5], [len(numbers) - 1, 1, 0]])
    assert embedding(ids).equal(plain(ids))
    assert embedding.num_embeddings == plain.num_embeddings and not list(embedding.parameters())


# Files as they should be


@pytest.mark.parametrize("quantised", [True, False])
def test_a_small_file_comes_back_number_by_number(write, quantised):
    tensors = random_tensors()
    path = write(e5_bytes(tensors, quantised=lambda name: quantised))
    file = read_e5_file(path)
    assert [file.pieces[i] for i in range(len(file.pieces))] == list(PIECES)
    assert file.scores.tolist() == [float(np.float32(score)) for score in PIECES.values()]
    assert normaliser_of(path) == NORMALISER
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    config = file.config
    assert (config.d_model, config.num_layers, config.num_heads, config.d_ff) == (32, 2, 4, 64)
    assert (config.vocab_size, config.max_tokens, config.n_token_types) == (SIZES["vocabulary"], 24, 2)
    assert config.position_offset == 0 and config.layer_norm_eps == pytest.approx(1e-12)
    expected = stored_numbers(tensors) if quantised else tensors
    assert file.tensors.keys() == expected.keys() == expected_shapes(config).keys()
    for name, stored in file.tensors.items():
        np.testing.assert_array_equal(decoded(stored), expected[name], err_msg=name)


def test_every_tensor_reaches_its_place(write):
    """Our Transformer, filled by hand from the names in the format's description."""
    tensors = random_tensors(seed=3)
    numbers = {name: torch.tensor(values) for name, values in stored_numbers(tensors).items()}
    ours = as_model(write(e5_bytes(tensors))).transformer.state_dict()
    expected = {
        "embeddings.position": numbers["emb.pos"],
        "embeddings.token_type": numbers["emb.type"],
        "embeddings.norm.gamma": numbers["emb.ln.w"],
        "embeddings.norm.beta": numbers["emb.ln.b"],
    }
    for i in range(2):
        for theirs, name in {"q": "W_q", "k": "W_k", "v": "W_v", "ao": "W_o"}.items():
            expected[f"blocks.{i}.attention.{name}.weight"] = numbers[f"l{i}.{theirs}.w"]
            expected[f"blocks.{i}.attention.{name}.bias"] = numbers[f"l{i}.{theirs}.b"]
        for theirs, name in {"fi": "W_1", "fo": "W_2"}.items():
            expected[f"blocks.{i}.ffn.{name}.weight"] = numbers[f"l{i}.{theirs}.w"]
            expected[f"blocks.{i}.ffn.{name}.bias"] = numbers[f"l{i}.{theirs}.b"]
        for theirs, name in {"aln": "attention_norm", "oln": "ffn_norm"}.items():
            expected[f"blocks.{i}.{name}.gamma"] = numbers[f"l{i}.{theirs}.w"]
            expected[f"blocks.{i}.{name}.beta"] = numbers[f"l{i}.{theirs}.b"]
    assert ours.keys() == expected.keys()
    for name, tensor in expected.items():
        assert ours[name].equal(tensor), name


def test_maps_of_a_small_file_equal_those_of_transformers(write):
    pytest.importorskip("transformers")
    tensors = random_tensors(seed=1)
    model = as_model(write(e5_bytes(tensors)))
    theirs = bert_of(stored_numbers(tensors), SIZES)
    tokens, _, output = model.run("小明把苹果给了小红,因为她 the cats", record="hidden")
    with torch.inference_mode():
        reference = theirs(torch.tensor([tokens.ids]), output_attentions=True)
    assert len(tokens) == 15
    assert (output.attention - torch.stack(reference.attentions)).abs().max() <= 1e-5
    assert (output.hidden - reference.last_hidden_state).abs().max() <= 1e-5


# Files as they shouldn't be


@pytest.mark.parametrize("content", [b"", b"E5S", b"GGUF" + WHOLE[4:], b"PK\x03\x04" + bytes(100), b"\0" * 5000])
def test_a_foreign_file_is_told_apart(write, content):
    with pytest.raises(HeadworkError, match=r"small\.bin is not a model in the format E5S1"):
        read_e5_file(write(content))


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    for path in (tmp_path / "none.bin", tmp_path):
        with pytest.raises(HeadworkError, match="can't be read"):
            read_e5_file(path)


def test_another_hash_is_refused_before_anything_is_read(write):
    with pytest.raises(HeadworkError, match="not the published ones"):
        read_e5_file(write(b"E5S1"), expected_sha256="0" * 64)
    assert read_e5_file(write(WHOLE), expected_sha256=hashlib.sha256(WHOLE).hexdigest())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (changed(VERSION, "I", 2), "its version is 2, not 1"),
        (changed(BLOCK_AT, "i", 64), "don't part into blocks of 64"),
        (changed(D_MODEL, "i", 48), "rows of 48 and 64 numbers don't part into blocks of 32"),
        (changed(D_MODEL, "i", -32), "d_model is -32"),
        (changed(D_MODEL, "i", 2**31 - 32), "d_model is 2147483616"),
        (changed(LAYERS, "i", 3), "it has 37 tensors, but a model of its sizes has 53"),
        (changed(LAYERS, "i", 2**31 - 1), "num_layers is 2147483647"),
        (changed(HEADS, "i", 5), "d_model 32 can't be split over 5 heads"),
        (changed(VOCABULARY, "i", 0), "it has 0 words"),
        (changed(VOCABULARY, "i", 10**7), "emb.word has .* numbers, but a model of its sizes asks for 320000000"),
        (changed(TYPES, "i", 0), "0 token types"),
        (changed(EPS, "f", float("nan")), "layer_norm_eps is nan"),
        (changed(N_PIECES, "i", -1), "it has -1 pieces"),
        (changed(N_PIECES, "i", 2**31 - 1), "it has 2147483647 pieces for"),
        (changed(VOCABULARY, "i", 10**7, content=changed(N_PIECES, "i", 10**7)), "ends within the offsets of pieces"),
        (changed(TEXT_BYTES, "Q", 2**64 - 1), "ends within the pieces"),
        (changed(BOS, "i", 5), "don't have the ids"),
        (changed(UNK, "i", -1), "don't have the ids"),
        (changed(OFFSETS, "I", 1), "don't rise"),
        (changed(OFFSETS + 4, "I", 2**32 - 1), "don't rise"),
        (changed(OFFSETS + 8, "I", 3), "don't rise"),  # an empty piece
        (changed(SCORES + 16, "f", float("nan")), "no finite score"),
        (changed(TEXT + 20, "B", 0xFF), "no text in UTF-8"),
        (changed(NORMALISER_AT, "i", -1), "a normaliser of -1 entries"),
        (changed(NORMALISER_AT, "i", 2**31 - 1), "a normaliser of 2147483647 entries"),
        (changed(NORMALISER_AT + 4, "I", 2**32 - 1), "doesn't fit into 4294967295 bytes"),
        (changed(DIRECTORY, "i", -1), "it has -1 tensors"),
        (changed(DIRECTORY, "i", 2**31 - 1), "it has 2147483647 tensors"),
        (changed(DIRECTORY + 4, "H", 65535), "the list of tensors|tensor .* more than"),
        (changed(DIRECTORY + 6, "B", ord("x")), "a tensor 'xmb.word' more than"),
        (changed(DIRECTORY + 15, "I", 31), "emb.word has 31 numbers, but a model of its sizes asks for"),
        (changed(DIRECTORY + 19, "Q", 2**64 - 1), "emb.word ends .* bytes after the file"),
        (changed(DIRECTORY + 19, "Q", len(WHOLE) - 10), "emb.word ends .* bytes after the file"),
        (changed(DIRECTORY + 19, "Q", 0), "emb.word lies over something else"),
        (changed(DIRECTORY + 27, "Q", 17), "emb.word takes 17 bytes, but"),
        (changed(DIRECTORY + 27, "Q", 2**64 - 1), "emb.word takes 18446744073709551615 bytes"),
    ],
)
def test_what_does_not_fit_together_is_told(write, content, sentence):
    with pytest.raises(HeadworkError, match=sentence):
        read_e5_file(write(content))


def test_a_missing_and_an_overlapping_tensor_are_told(write):
    without = {name: numbers for name, numbers in random_tensors().items() if name != "l1.oln.b"}
    with pytest.raises(HeadworkError, match="it has 36 tensors, but a model of its sizes has 37"):
        read_e5_file(write(e5_bytes(without)))
    renamed = {name.replace("l1.oln.b", "l1.oln.w"): n for name, n in without.items()} | {"l9.oln.b": without["l0.q.b"]}
    with pytest.raises(HeadworkError, match=r"a tensor 'l9\.oln\.b' more than"):
        read_e5_file(write(e5_bytes(renamed)))
    at = WHOLE.index(b"emb.ln.b") + 8 + 5
    (offset,) = struct.unpack_from("<Q", WHOLE, at)
    with pytest.raises(HeadworkError, match="lies over something else"):
        read_e5_file(write(changed(at, "Q", offset - 4)))


def test_a_file_without_feed_forward_networks_is_told(write):
    sizes = SIZES | {"d_ff": 0}
    path = write(e5_bytes(random_tensors(sizes), sizes, quantised=lambda name: False))
    for read in (read_e5_file, partial(load_e5, expected_sha256=None)):
        with pytest.raises(HeadworkError, match="its feed-forward network has 0 units"):
            read(path)


def test_wrong_shapes_are_told(write):
    tensors = random_tensors() | {"l0.fi.w": np.zeros((32, 32), "f4")}
    with pytest.raises(HeadworkError, match=r"l0\.fi\.w has 1024 numbers, but a model of its sizes asks for 2048"):
        read_e5_file(write(e5_bytes(tensors)))


def test_a_piece_that_stands_twice_is_told(write):
    content = WHOLE.replace("小明".encode(), "明明".encode(), 1)
    with pytest.raises(HeadworkError, match="a piece stands in it twice"):
        read_e5_file(write(content))


def test_weights_that_are_not_finite_are_told(write):
    tensors = random_tensors()
    tensors["l1.k.b"][3] = np.inf
    with pytest.raises(HeadworkError, match=r"l1\.k\.b holds numbers that are not finite"):
        load_e5(write(e5_bytes(tensors)), expected_sha256=None)


def opened(path):
    """Reads a file and runs it. Returns None where it is refused; anything but a HeadworkError comes out."""
    tracemalloc.start()
    try:
        with np.errstate(all="ignore"):
            model = as_model(path)
            _, _, output = model.run("小明 the cat", record="maps")
        return model.config, output.attention
    except HeadworkError:
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40 * len(WHOLE) + 2_000_000, f"{peak} bytes for a file of {len(WHOLE)}"


@given(st.integers(0, len(WHOLE) - 1))
@example(HEADER)
@example(DIRECTORY)
def test_every_truncation_is_refused(scratch, length):
    scratch.write_bytes(WHOLE[:length])
    assert opened(scratch) is None


numbers = st.one_of(st.sampled_from([0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1]), st.integers(0, 2**32 - 1))
edits = st.one_of(
    st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255).map(lambda byte: bytes([byte]))),
    st.tuples(st.integers(0, DIRECTORY + 2000), st.integers(0, 255).map(lambda byte: bytes([byte]))),
    st.tuples(st.integers(0, HEADER), numbers.map(lambda number: struct.pack("<I", number))),
    st.tuples(st.integers(DIRECTORY, DIRECTORY + 1500), numbers.map(lambda number: struct.pack("<I", number))),
)


@given(st.lists(edits, min_size=1, max_size=3))
@example([(HEADS, struct.pack("<i", 8))])
def test_a_changed_file_is_refused_or_a_model_of_the_same_size(scratch, changes):
    content = bytearray(WHOLE)
    for at, new in changes:
        content[at : at + len(new)] = new
    scratch.write_bytes(content)
    found = opened(scratch)
    if found is not None:
        config, attention = found
        assert (config.d_model, config.num_layers, config.d_ff) == (32, 2, 64)
        assert attention.shape[:3] == (2, 1, config.num_heads)
    if content != WHOLE:
        with pytest.raises(HeadworkError):
            read_e5_file(scratch, expected_sha256=hashlib.sha256(WHOLE).hexdigest())
