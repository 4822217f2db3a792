"""GGUF files: the right numbers in the right rows, and a sentence for each way in which a file can be broken."""

import re
import struct
import time

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, dequantize, quantize

from model.errors import HeadworkError
from model.weights.gguf_file import read_gguf
from model.weights.smollm2 import load_smollm2
from tests.model.test_decoder_parity import batch, largest_differences
from tests.model.weights.gguf_writer import SIZES, SPECIAL, kinds_of, small_model, write_gguf

Kind = GGMLQuantizationType


@pytest.fixture(scope="module")
def small():
    """config.json and tensors of the small model."""
    return small_model()


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("gguf") / "small.gguf", small[1])


def llama_of(config, tensors):
    """transformers' LlamaForCausalLM with these tensors."""
    transformers = pytest.importorskip("transformers")
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config, attn_implementation="eager")).eval()
    state = {f"{'' if name == 'lm_head' else 'model.'}{name}.weight": torch.tensor(t) for name, t in tensors.items()}
    left = theirs.load_state_dict(state, strict=False)
    assert not left.unexpected_keys and set(left.missing_keys) <= {"lm_head.weight"}
    return theirs


def rounded(tensors, kinds=kinds_of):
    """The numbers that are left of a tensor in its quantisation."""
    return {
        name: tensor if tensor.ndim == 1 else dequantize(quantize(tensor, kind), kind)
        for name, tensor in tensors.items()
        for kind in [kinds("embd" if name == "embed_tokens" else name)]
    }


def load(path):
    return load_smollm2(path, expected_sha256=None)


# The right numbers


def test_maps_hidden_states_and_logits_are_those_of_transformers(small, whole):
    config, tensors = small
    checkpoint, _ = load(whole)
    assert checkpoint.config.output == "tied" and checkpoint.config.layer_norm_eps == 1e-5
    theirs = llama_of(config, rounded(tensors))
    assert max(largest_differences(checkpoint.transformer, theirs, *batch([17, 9, 1], "right"))) <= 1e-4


def test_an_output_matrix_of_its_own(small, tmp_path):
    config, tensors = small
    own = tensors | {"lm_head": tensors["embed_tokens"][::-1].copy()}
    plain = {Kind.F32: lambda _: Kind.F32, Kind.F16: lambda name: Kind.F32 if "norm" in name else Kind.F16}
    for kind, kinds in plain.items():
        checkpoint, _ = load(write_gguf(tmp_path / f"{kind.name}.gguf", own, kinds=kinds))
        assert checkpoint.config.output == "own"
        numbers = own if kind == Kind.F32 else {n: t.astype(np.float16).astype(np.float32) for n, t in own.items()}
        numbers |= {name: tensor for name, tensor in own.items() if tensor.ndim == 1}
        theirs = llama_of(config | {"tie_word_embeddings": False}, numbers)
        assert max(largest_differences(checkpoint.transformer, theirs, *batch([9], "right"))) <= 1e-4


def test_what_a_file_leaves_out_is_as_llama_cpp_has_it(small, tmp_path):
    unsaid = dict.fromkeys(("llama.attention.head_count_kv", "llama.rope.freq_base", "llama.rope.dimension_count"))
    tensors = small[1] | {
        f"layers.{i}.self_attn.{name}_proj": small[1][f"layers.{i}.self_attn.q_proj"] for i in range(2) for name in "kv"
    }

    def permute_by_all_heads(stored):
        stored |= {name.replace("attn_q", "attn_k"): rows for name, rows in stored.items() if "attn_q" in name}

    path = write_gguf(tmp_path / "a.gguf", tensors, values=unsaid, change=permute_by_all_heads)
    config, entries = load(path)[0].config, small[0] | {"num_key_value_heads": 4, "rope_theta": 10_000.0}
    assert (config.rotary_base, config.d_k) == (10_000.0, 16)
    theirs = llama_of(entries, rounded(tensors))
    assert max(largest_differences(load(path)[0].transformer, theirs, *batch([9], "right"))) <= 1e-4


def test_the_tokenizer_is_that_of_the_file(whole):
    _, tokenizer = load(whole)
    tokens = tokenizer.encode("the the 42<|im_end|>", limit=20, pad_to=9)
    assert tokens.pieces == ("the", "Ġthe", "Ġ", "4", "2", "<|im_end|>", *["<|im_end|>"] * 3)
    assert tokens.is_special == (False,) * 5 + (True,) * 4 and tokens.is_padding == (False,) * 6 + (True,) * 3
    assert tokens.words == ("the", "the", "42")
    assert [tokenizer.encode(text, limit=9).ids for text in SPECIAL] == [(0,), (1,), (2,)]


# Broken files


def test_files_that_are_none(tmp_path):
    for name, content in {"empty": b"", "short": b"GG", "foreign": b"PK\x03\x04" * 100}.items():
        path = tmp_path / f"{name}.gguf"
        path.write_bytes(content)
        with pytest.raises(HeadworkError, match=f"{name}.gguf is not a model in the format GGUF"):
            read_gguf(path)
    with pytest.raises(HeadworkError, match=r"nothing.gguf can't be read"):
        read_gguf(tmp_path / "nothing.gguf")


def test_a_file_cut_anywhere_is_damaged(whole, tmp_path):
    content = whole.read_bytes()
    for length in (4, 8, 20, 30, 100, 1_000, 5_000, len(content) // 2, len(content) - 1000):
        path = tmp_path / "cut.gguf"
        path.write_bytes(content[:length])
        with pytest.raises(HeadworkError, match=rf"cut.gguf is damaged.* Install the package {tmp_path.name} again"):
            load(path)


def test_another_file_than_the_published_one_is_refused_before_it_is_read(whole):
    with pytest.raises(HeadworkError, match="not the published ones"):
        load_smollm2(whole)


def test_any_byte_may_be_wrong(whole, tmp_path):
    """A sentence or a model, in no time: never another exception."""
    content = whole.read_bytes()
    header = content.index(b"blk.1.") + 2_000
    random = np.random.default_rng(0)
    path = tmp_path / "flipped.gguf"
    said = 0
    start = time.process_time()
    for _ in range(150):
        changed = bytearray(content)
        changed[random.integers(4, header)] = random.integers(256)
        path.write_bytes(changed)
        try:
            load(path)
        except HeadworkError:
            said += 1
    assert 0 < said < 150
    assert time.process_time() - start < 60


@pytest.mark.parametrize(("kind", "size"), [(4, 4), (8, 8), (9, 4)])  # uint32, strings, arrays of arrays
def test_an_array_that_claims_to_be_longer_than_the_file_ends_at_once(tmp_path, kind, size):
    header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    name = b"tokenizer.ggml.tokens"
    array = struct.pack("<Q", len(name)) + name + struct.pack("<IIQ", 9, kind, 2**60) + bytes(100 * size)
    path = tmp_path / "long.gguf"
    path.write_bytes(header + array)
    start = time.process_time()
    with pytest.raises(HeadworkError, match="is damaged"):
        read_gguf(path)
    assert time.process_time() - start < 1


LAYER = "blk.1.attn_q.weight"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"general.architecture": "mamba"}, "The architecture mamba is not supported. These are: llama"),
        ({"llama.block_count": None}, "damaged: it has no entry llama.block_count"),
        ({"llama.block_count": 3}, "damaged: it lacks the tensor blk.2"),
        ({"llama.block_count": 1}, "damaged: a model of its sizes has no place for the tensor blk.1"),
        ({"llama.embedding_length": 128}, "has the shape"),
        ({"llama.embedding_length": "wide"}, "d_model is 'wide'"),
        ({"llama.attention.head_count": 5}, "5"),
        ({"llama.attention.head_count_kv": 3}, "4 query heads can't share 3 key heads"),
        ({"llama.attention.head_count": 0}, "num_heads is 0"),
        ({"llama.rope.freq_base": 0.0}, "rotary_base is 0.0"),
        ({"llama.rope.scaling.type": "yarn"}, "small.gguf sets rope.scaling.type to yarn, which is not supported"),
        ({"llama.rope.dimension_count": 8, "llama.attention.key_length": 16}, "sets rope.dimension_count to 8"),
        ({"llama.expert_count": 8}, "sets expert_count to 8"),
        ({"llama.attention.sliding_window": 5}, "sets attention.sliding_window to 5"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer.ggml.pre to llama smollm"),
        ({"tokenizer.ggml.pre": "llama-bpe"}, "tokenizer.ggml.pre to gpt2 llama-bpe"),
        ({"tokenizer.ggml.padding_token_id": 4_000_000}, "can't be used: a special token has no place"),
    ],
)
def test_sizes_that_do_not_fit(small, tmp_path, values, sentence):
    path = write_gguf(tmp_path / "small.gguf", small[1], values=values)
    with pytest.raises(HeadworkError, match=sentence):
        load(path)


def without(name):
    return lambda stored: stored.pop(name)


def cut(name, n_rows):
    return lambda stored: stored.update({name: stored[name][:n_rows]})


def with_numbers(name, value):
    return lambda stored: stored.update({name: np.full(SIZES["d_model"], value, dtype=np.float32)})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without(LAYER), f"it lacks the tensor {re.escape(LAYER)}"),
        (without("token_embd.weight"), "it lacks the tensor token_embd.weight"),
        (cut(LAYER, 32), rf"{LAYER} has the shape \(32, 64\), not \(64, 64\)"),
        (cut("token_embd.weight", 200), "262 pieces for 200"),
        (with_numbers("rope_freqs.weight", 1), "no place for the tensor rope_freqs"),
        (with_numbers("blk.1.attn_norm.weight", np.nan), "blk.1.attn_norm.weight holds numbers that are not finite"),
        (with_numbers("blk.1.attn_norm.weight", -np.inf), "blk.1.attn_norm.weight holds numbers that are not finite"),
    ],
)
def test_tensors_that_do_not_fit(small, tmp_path, change, sentence):
    path = write_gguf(tmp_path / "small.gguf", small[1], change=change)
    with pytest.raises(HeadworkError, match=sentence):
        load(path)


def test_an_unknown_quantisation_is_named(whole, tmp_path):
    content = whole.read_bytes()
    place = content.index(LAYER.encode()) + len(LAYER) + 4 + 2 * 8  # its number of dimensions, and two of them
    assert content[place : place + 4] == struct.pack("<I", Kind.Q4_1)
    for kind, said in ((99, "99"), (Kind.I8, "I8")):  # no such kind; one that holds no weights
        path = tmp_path / "strange.gguf"
        path.write_bytes(content[:place] + struct.pack("<I", kind) + content[place + 4 :])
        with pytest.raises(HeadworkError, match=f"{LAYER} is quantised as {said}, which can't be read"):
            load(path)


# A tokenizer that disagrees with the vocabulary


def pieces_with(place, piece):
    pieces = [*SPECIAL, *(chr(1000 + i) for i in range(SIZES["vocabulary"] - len(SPECIAL)))]
    pieces[place] = piece
    return {"tokenizer.ggml.tokens": pieces, "tokenizer.ggml.merges": ["a b"]}


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"tokenizer.ggml.tokens": ["a", "b"]}, "damaged: it has 2 pieces for 262"),
        ({"tokenizer.ggml.token_type": [1, 1]}, "damaged: it has 262 pieces and 2 kinds"),
        ({"tokenizer.ggml.tokens": None}, "damaged: it has 0 pieces for 262"),
        ({"tokenizer.ggml.tokens": [7] * 262}, "damaged: its vocabulary holds no text"),
        ({"tokenizer.ggml.merges": [7, 8]}, "damaged: its vocabulary holds no text"),
        ({"tokenizer.ggml.merges": ["the"]}, "can't be used: 'the' is no pair of pieces"),
        ({"tokenizer.ggml.merges": ["q z"]}, r"can't be used: .*out of vocabulary"),
        (pieces_with(7, chr(1000)), "can't be used: a piece stands in the vocabulary twice"),
        (pieces_with(7, "a"), "can't be used: .*out of vocabulary"),
    ],
)
def test_vocabularies_that_do_not_fit(small, tmp_path, arrays, sentence):
    path = write_gguf(tmp_path / "small.gguf", small[1], arrays=arrays)
    with pytest.raises(HeadworkError, match=sentence):
        load(path)
