"""A decoder from a folder and from the hub, all the way: its mask, its tokenizer, what it says comes next."""

import json

import numpy as np
import pytest
import tokenizers
import torch
from tokenizers import decoders, pre_tokenizers, processors

from model import HeadworkError, NotDownloaded, catalogue, load
from model.catalogue import resolve
from tests.hub_stand_in import hub_stand_in
from tests.model.random_checkpoints import edit_config, save_random, small_bert, write_tokenizer
from tests.model.weights.gguf_writer import byte_pieces

transformers = pytest.importorskip("transformers")
END = "<|endoftext|>"
SIZES = {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 20}


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """A random GPT-2 with a byte-level tokenizer, as its own repository has them; read only."""
    folder = tmp_path_factory.mktemp("tiny-gpt2")
    config = transformers.GPT2Config(vocab_size=257, bos_token_id=256, eos_token_id=256, **SIZES)
    save_random(config, transformers.GPT2LMHeadModel, folder)
    backend = tokenizers.Tokenizer(tokenizers.models.BPE({p: i for i, p in enumerate(byte_pieces())}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder, backend.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False)
    backend.add_special_tokens([END])
    backend.save(str(folder / "tokenizer.json"))
    assert (folder / "generation_config.json").is_file()
    return folder


def test_a_folder_opens_under_a_causal_mask_and_says_what_comes_next(gpt2):
    model = load(gpt2)
    assert model.entry.trained_mask == "causal" and model.has_output
    trace = model.trace("go on")
    assert str(trace.mask) == "causal" and not np.triu(trace.attention, 1).any()
    theirs = transformers.GPT2LMHeadModel.from_pretrained(gpt2, attn_implementation="eager").eval()
    with torch.inference_mode():
        expected = theirs(torch.tensor([trace.tokenized.ids])).logits[0].numpy()
    assert np.abs(trace.logits - expected).max() < 1e-5
    assert trace.next(1)[0].id == int(expected[-1].argmax())


def test_a_typed_end_of_text_is_special_and_fills_up(gpt2):
    tokens = load(gpt2).tokenizer.encode(f"a{END}b", limit=20, pad_to=5)
    assert tokens.pieces == ("a", END, "b", END, END)
    assert tokens.is_special == (False, True, False, True, True)
    assert tokens.is_padding == (False, False, False, True, True)
    assert tokens.n_unknown == 0


def test_from_the_hub_it_is_the_same_and_no_file_is_fetched_that_is_not_needed(gpt2, no_hub, monkeypatch):
    with hub_stand_in(gpt2, "someone/tiny-gpt2") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(NotDownloaded):
            load("someone/tiny-gpt2")
        model = load("someone/tiny-gpt2", download=True)
        fetched = {
            path.rpartition("/")[2] for method, path, _ in server.requests if method == "GET" and "/resolve/" in path
        }
    assert fetched == {"config.json", "tokenizer.json", "model.safetensors"}
    assert model.entry.trained_mask == "causal"
    assert np.array_equal(model.trace("go on").logits, load(gpt2).trace("go on").logits)


def test_what_is_not_done_here_is_refused_before_its_weights_are_fetched(gpt2, no_hub, monkeypatch, tmp_path):
    for file in gpt2.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    edit_config(tmp_path, scale_attn_by_inverse_layer_idx=True)
    with hub_stand_in(tmp_path, "someone/scaled") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(HeadworkError, match="scale_attn_by_inverse_layer_idx to True"):
            load("someone/scaled", download=True)
        assert server.bytes_sent_for("model.safetensors") == 0


@pytest.mark.parametrize("name", ["gpt2", "openai-community/gpt2"])
def test_gpt2_is_known_by_its_old_name_too(name):
    entry = resolve(name)
    assert (entry.id, entry.trained_mask) == ("openai-community/gpt2", "causal") and entry in catalogue.ENTRIES


def test_half_precision_in_shards(gpt2, tmp_path):
    theirs = transformers.GPT2LMHeadModel.from_pretrained(gpt2, dtype=torch.bfloat16)
    theirs.save_pretrained(tmp_path, max_shard_size="8KB")
    (tmp_path / "tokenizer.json").write_bytes((gpt2 / "tokenizer.json").read_bytes())
    assert len(json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]) > 20
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 2
    trace = load(tmp_path).trace("go on")
    with torch.inference_mode():
        expected = theirs.float().eval()(torch.tensor([trace.tokenized.ids])).logits[0].numpy()
    assert np.abs(trace.logits - expected).max() < 1e-5


def test_a_bert_that_says_it_is_a_decoder_opens_causal_too(tmp_path):
    write_tokenizer(small_bert(tmp_path))
    assert str(load(tmp_path).trace("go on").mask) == "bidirectional"
    edit_config(tmp_path, is_decoder=True)
    model = load(tmp_path)
    assert model.entry.trained_mask == "causal" and str(model.trace("go on").mask) == "causal"
    assert not model.has_output
