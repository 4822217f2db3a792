"""analysis.blocks.ledger and known_configs: formulas against our modules and, on the meta device, transformers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analysis.blocks.known_configs import known_config, published
from analysis.blocks.ledger import ledger
from model import HeadworkError, TransformerConfig
from tests.analysis.blocks.made_configs import configs
from tests.models import load

BERTS = ["bert-base-uncased", "bert-base-cased", "bert-base-chinese", "bert-base-multilingual-cased"]


@given(configs, st.booleans())
def test_every_line_of_the_ledger_equals_the_count_of_its_module(config, pooler):
    found = ledger(config, pooler=pooler)
    for line in found.lines:
        assert line.each == line.counted, line
        assert _value(line.numbers) == line.each, line
    assert found.total == found.counted


def _value(numbers):
    return eval(numbers.replace("·", "*").replace("²", "**2"))  # digits and signs that the ledger wrote itself


def test_bert_base_in_round_numbers():
    found = ledger(known_config("bert-base-uncased"), pooler=True)
    assert found.total == found.counted == 109_482_240
    assert found.line("attention").each == 2_362_368  # "about 2.36 M"
    assert found.line("ffn").each == 4_722_432  # "about 4.72 M"
    assert found.block == 7_087_872  # "about 7.1 M"
    assert found.embeddings == 23_837_184


@pytest.mark.parametrize("model_id", BERTS)
def test_transformers_counts_the_same_for_the_published_configs(model_id):
    transformers = pytest.importorskip("transformers")
    raw = published()[model_id]
    with torch.device("meta"):
        theirs = transformers.BertModel(transformers.BertConfig(**raw), add_pooling_layer=True)
    counted = sum(parameter.numel() for parameter in theirs.parameters())
    assert ledger(known_config(model_id), pooler=True).total == counted


DECODER = {"norm": "pre", "embedding_norm": False, "final_norm": True}
LLAMA = {**DECODER, "norm_kind": "rms", "activation": "swiglu", "positions": "rotary", "bias": False}
SIZES = {"vocab_size": 97, "d_model": 48, "num_heads": 6, "num_layers": 3, "d_ff": 80, "max_tokens": 40}
THEIRS = {
    "vocab_size": 97,
    "hidden_size": 48,
    "num_attention_heads": 6,
    "num_hidden_layers": 3,
    "intermediate_size": 80,
}
FAMILIES = {
    "gpt2": (
        {**DECODER, "output": "tied"},
        {"n_embd": 48, "n_head": 6, "n_layer": 3, "n_inner": 80, "n_positions": 40},
    ),
    "gpt2, d_ff not said": (
        {**DECODER, "output": "own", "d_ff": 192},
        {"n_embd": 48, "n_head": 6, "n_layer": 3, "n_positions": 40, "tie_word_embeddings": False},
    ),
    "gpt_neox": ({**DECODER, "positions": "rotary", "parallel": True, "output": "own"}, {}),
    "gpt_neox, tied, no biases": (
        {**DECODER, "positions": "rotary", "output": "tied", "attention_bias": "none"},
        {"tie_word_embeddings": True, "attention_bias": False},
    ),
    "llama": ({**LLAMA, "output": "own"}, {"num_key_value_heads": 6}),
    "llama, grouped, tied": (
        {**LLAMA, "num_key_heads": 2, "output": "tied"},
        {"num_key_value_heads": 2, "tie_word_embeddings": True},
    ),
    "llama, biases, wide heads": (
        {**LLAMA, "num_key_heads": 3, "head_width": 10, "attention_bias": "all", "bias": True, "output": "own"},
        {"num_key_value_heads": 3, "head_dim": 10, "attention_bias": True, "mlp_bias": True},
    ),
    "mistral": (
        {**LLAMA, "num_key_heads": 1, "windows": (8, 8, 8), "output": "own"},
        {"num_key_value_heads": 1, "sliding_window": 8},
    ),
    "qwen2": ({**LLAMA, "num_key_heads": 2, "attention_bias": "qkv", "output": "own"}, {"num_key_value_heads": 2}),
    "qwen2, tied": (
        {**LLAMA, "num_key_heads": 2, "attention_bias": "qkv", "output": "tied"},
        {"num_key_value_heads": 2, "tie_word_embeddings": True},
    ),
    "qwen3": (
        {**LLAMA, "num_key_heads": 3, "head_width": 16, "qk_norm": True, "output": "own"},
        {"num_key_value_heads": 3, "head_dim": 16},
    ),
    "qwen3, biases, tied": (
        {**LLAMA, "num_key_heads": 3, "head_width": 16, "qk_norm": True, "attention_bias": "all", "output": "tied"},
        {"num_key_value_heads": 3, "head_dim": 16, "attention_bias": True, "tie_word_embeddings": True},
    ),
}


@pytest.mark.parametrize("case", FAMILIES)
def test_transformers_modules_of_every_decoder_family_have_as_many_parameters(case):
    ours, theirs = FAMILIES[case]
    raw = {"model_type": case.split(",")[0], **({} if case.startswith("gpt2") else THEIRS), "vocab_size": 97, **theirs}
    assert ledger(TransformerConfig(**{**SIZES, **ours})).total == counted_by_transformers(raw)


def counted_by_transformers(raw):
    """Parameters of the real module with its output matrix, on the meta device; a tied matrix counts once."""
    transformers = pytest.importorskip("transformers")
    with torch.device("meta"):
        module = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**raw))
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_built_in_models_config_gives_the_count_of_its_weights():
    weights = sum(p.numel() for p in load("minilm").transformer.parameters())
    packed = load("minilm").transformer
    matrices = sum(m.in_features * m.out_features for m in packed.modules() if type(m).__name__ == "PackedLinear")
    assert ledger(known_config("minilm")).total == weights + matrices


def test_a_toy_and_a_folder_go_through_the_ledger(tmp_path):
    assert (
        ledger(known_config("toy:d_model=16,heads=2,layers=3")).block
        == ledger(TransformerConfig(0, 16, 2, 1, 64)).block
    )
    (tmp_path / "config.json").write_text(__import__("json").dumps(published()["bert-base-chinese"]))
    assert ledger(known_config(str(tmp_path))) == ledger(known_config("bert-base-chinese"))


def test_a_hub_model_that_is_not_here_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(HeadworkError, match="not on this computer"):
        known_config("nobody/no-such-model")
