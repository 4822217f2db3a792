"""analysis.blocks.ledger and known_configs: formulas against our modules and, on the meta device, transformers."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from analysis.blocks.cost import cache_bytes
from analysis.blocks.known_configs import known, known_config, published, taken_apart
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


DECODERS = [model_id for model_id, raw in published().items() if raw["model_type"] != "bert"]


@pytest.mark.parametrize("model_id", DECODERS)
def test_transformers_counts_the_same_for_the_published_decoders(model_id):
    config = known_config(model_id)
    assert config.output != "none"
    assert ledger(config).total == ledger(config).counted == counted_by_transformers(published()[model_id])


@pytest.mark.parametrize(
    ("model_id", "count", "bytes_a_token"),
    [  # as published with the models; Biderman et al. 2023, table 1; bytes at two a number
        ("openai-community/gpt2", 124_439_808, 36_864),
        ("EleutherAI/pythia-160m", 162_322_944, 36_864),
        ("HuggingFaceTB/SmolLM2-135M", 134_515_008, 23_040),
        ("meta-llama/Llama-3.2-1B", 1_235_814_400, 32_768),
        ("mistralai/Mistral-7B-v0.1", 7_241_732_096, 131_072),
        ("Qwen/Qwen2.5-0.5B", 494_032_768, 12_288),
        ("Qwen/Qwen3-0.6B", 596_049_920, 114_688),
    ],
)
def test_well_known_decoders_in_numbers(model_id, count, bytes_a_token):
    config = known_config(model_id)
    assert ledger(config).total == count and cache_bytes(config, 1, 2) == bytes_a_token


def test_the_built_in_decoder_has_the_published_sizes():
    said, real = known_config("smollm2-135m"), load("smollm2-135m").transformer.config
    assert replace(said, head_width=said.d_k) == real  # its file says the width outright


def test_the_format_of_the_numbers_is_read_where_the_config_says_it():
    assert known("Qwen/Qwen3-0.6B").bytes_each == 2 and known("bert-base-cased").bytes_each == 0
    raw = published()["Qwen/Qwen3-0.6B"]
    assert taken_apart({**raw, "dtype": "float32"}).bytes_each == 4
    assert taken_apart({**raw, "dtype": ["?"]}).bytes_each == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model_type": "mixtral", "num_local_experts": 8}, "architecture mixtral"),
        ({"model_type": "qwen3_moe", "num_experts": 128}, "architecture qwen3_moe"),
        ({"model_type": "falcon", "alibi": True}, "architecture falcon"),
        ({"model_type": "gpt2", "add_cross_attention": True}, "add_cross_attention"),
        ({"model_type": "bert", "add_cross_attention": True}, "add_cross_attention"),
        ({"model_type": "llama", "hidden_act": "gelu"}, "activation gelu"),
        ({"model_type": "llama", "rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "scaled as yarn"),
        ({"model_type": "llama", "num_key_value_heads": 7}, "can't share 7 key heads"),
        ({"model_type": "llama", "hidden_size": "576"}, "wrong kind|whole number"),
    ],
)
def test_what_this_app_does_not_know_is_refused_by_its_name(changed, said):
    bases = {"bert": "bert-base-cased", "gpt2": "openai-community/gpt2"}
    raw = published()[bases.get(changed["model_type"], "HuggingFaceTB/SmolLM2-135M")]
    with pytest.raises(HeadworkError, match=said):
        taken_apart({**raw, **changed})


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2", "qwen3"])
def test_key_heads_that_a_config_does_not_name_are_those_that_transformers_takes(model_type):
    sizes = {"vocab_size": 50, "hidden_size": 64, "num_attention_heads": 32, "num_hidden_layers": 2, "head_dim": 4}
    raw = {"model_type": model_type, **sizes, "intermediate_size": 24, "max_position_embeddings": 40}
    assert ledger(taken_apart(raw).config).total == counted_by_transformers(raw)
