"""analysis.blocks.cost: formulas against our modules, against transformers, and against torch's own FLOP counter."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.blocks.cost import TABLE_3, core_multiplications, counted_flops, crossings, flops, ledger, map_bytes
from analysis.blocks.known_configs import known_config, published
from analysis.blocks.timing import head_counts, time_heads
from model import HeadworkError, TransformerConfig
from tests.models import load

BERTS = ["bert-base-uncased", "bert-base-cased", "bert-base-chinese", "bert-base-multilingual-cased"]

configs = st.builds(
    lambda heads, d_k, **rest: TransformerConfig(d_model=heads * d_k, num_heads=heads, **rest),
    heads=st.integers(1, 6),
    d_k=st.integers(1, 9),
    vocab_size=st.integers(0, 300),
    num_layers=st.integers(1, 4),
    d_ff=st.integers(0, 70),
    max_tokens=st.integers(1, 60),
    n_token_types=st.integers(0, 3),
    norm=st.sampled_from(["pre", "post", "none"]),
    activation=st.sampled_from(["relu", "gelu", "gelu_tanh", "swiglu"]),
    positions=st.sampled_from(["learned", "sinusoidal", "none"]),
    position_offset=st.integers(0, 2),
    embedding_norm=st.booleans(),
    final_norm=st.booleans(),
    bias=st.booleans(),
)


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


def test_the_built_in_models_config_gives_the_count_of_its_weights():
    weights = sum(p.numel() for p in load("minilm").transformer.parameters())
    packed = load("minilm").transformer
    matrices = sum(m.in_features * m.out_features for m in packed.modules() if type(m).__name__ == "PackedLinear")
    assert ledger(known_config("minilm")).total == weights + matrices


@given(configs, st.integers(1, 40))
@settings(max_examples=25)
def test_flop_formulas_equal_torchs_counter(config, n):
    assert flops(config, n) == counted_flops(config, n)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 200))
def test_several_heads_multiply_as_often_as_one(heads, d_k, n):
    assert core_multiplications(n, heads * d_k, heads) == core_multiplications(n, heads * d_k, 1) == n * n * heads * d_k


def test_n_squared_times_512_is_eight_times_n_squared_times_64():
    assert core_multiplications(10, 512, 8) == 8 * 10**2 * 64 == 10**2 * 512


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_costs_meet_at_the_crossings(activation):
    config = TransformerConfig(0, 768, 12, 12, 3072, activation=activation)
    with_projections, with_all = crossings(config)
    first, second = flops(config, with_projections), flops(config, with_all)
    assert first.core == first.projections
    assert second.core == second.projections + second.ffn
    assert crossings(TransformerConfig(0, 768, 12, 12, 3072)) == (1536, 4608)


def test_maps_of_bert_base_at_the_apps_limit():
    assert map_bytes(12, 12, 512) == 150_994_944


def test_table_3_has_the_papers_numbers():
    assert [(row.heads, row.d_k, row.perplexity, row.bleu) for row in TABLE_3] == [
        (1, 512, 5.29, 24.9),
        (4, 128, 5.00, 25.5),
        (8, 64, 4.92, 25.8),
        (16, 32, 4.91, 25.8),
        (32, 16, 5.01, 25.4),
    ]
    assert all(row.heads * row.d_k == 512 for row in TABLE_3)


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


def test_timing_covers_the_chosen_heads_in_order_with_its_spread():
    found = time_heads(64, 4, 16, longest=0.05)
    assert [timing.heads for timing in found] == list(head_counts(64, 4)) == [1, 2, 4, 8, 16, 32, 64]
    for timing in found:
        for spread in (timing.core, timing.layer):
            assert 0 < spread.low <= spread.median <= spread.high
        assert timing.calls >= 3


def test_head_counts_divide_the_width():
    assert head_counts(12, 3) == (1, 2, 3, 4)


@pytest.mark.parametrize(("d_model", "heads", "n"), [(512, 7, 64), (4096, 8, 512), (0, 1, 4), (64, 4, 0)])
def test_timing_refuses_what_cannot_be_timed(d_model, heads, n):
    with pytest.raises(HeadworkError):
        time_heads(d_model, heads, n)
