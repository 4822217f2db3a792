"""analysis.blocks.cost and timing: formulas against torch's own FLOP counter, memory, and clocks."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.blocks.cost import (
    TABLE_3,
    cache_bytes,
    core_multiplications,
    counted_flops,
    crossings,
    flops,
    map_bytes,
    output_flops,
)
from analysis.blocks.timing import head_counts, time_heads
from model import HeadworkError, Transformer, TransformerConfig
from model.cache import KeyValueCache
from tests.analysis.blocks.made_configs import configs


@given(configs, st.integers(1, 40))
@settings(max_examples=25)
def test_flop_formulas_equal_torchs_counter(config, n):
    assert flops(config, n) == counted_flops(config, n)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 200))
def test_several_heads_multiply_as_often_as_one(heads, d_k, n):
    width = heads * d_k
    assert core_multiplications(n, n, heads, d_k) == core_multiplications(n, n, 1, width) == n * n * width


def test_n_squared_times_512_is_eight_times_n_squared_times_64():
    assert core_multiplications(10, 10, 8, 64) == 8 * 10**2 * 64 == 10**2 * 512


def test_one_query_to_seven_keys_takes_a_seventh_of_seven_queries():
    assert core_multiplications(1, 7, 8, 64) == 7 * 512
    assert core_multiplications(7, 7, 8, 64) == 7 * core_multiplications(1, 7, 8, 64)


@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_costs_meet_at_the_crossings(activation):
    config = TransformerConfig(0, 768, 12, 12, 3072, activation=activation)
    with_projections, with_all = crossings(config)
    first, second = flops(config, with_projections), flops(config, with_all)
    assert first.core == first.projections
    assert second.core == second.projections + second.ffn
    assert crossings(TransformerConfig(0, 768, 12, 12, 3072)) == (1536, 4608)


def test_costs_meet_at_the_crossings_with_grouped_queries_and_wide_heads():
    config = TransformerConfig(
        0, 1024, 16, 28, 3072, activation="swiglu", num_key_heads=8, head_width=128
    )  # Qwen3-0.6B
    with_projections, with_all = crossings(config)
    assert with_projections == 1024 * (16 + 8) // 16 == 1536
    first, second = flops(config, with_projections), flops(config, with_all)
    assert first.core == first.projections
    assert second.core == second.projections + second.ffn


def test_sharing_keys_saves_projections_and_no_products():
    alone = TransformerConfig(0, 576, 9, 30, 1536)
    shared = replace(alone, num_key_heads=3)
    before, after = flops(alone, 100), flops(shared, 100)
    assert (after.core, after.ffn) == (before.core, before.ffn)
    assert before.projections - after.projections == 2 * 2 * 100 * 576 * (576 - 192)  # W_k and W_v, a third as wide


def test_one_more_token_with_a_cache_runs_one_row_of_everything():
    config = TransformerConfig(0, 576, 9, 30, 1536, num_key_heads=3)
    whole, one = flops(config, 50), flops(config, 1, 50)
    assert (50 * one.projections, 50 * one.core, 50 * one.ffn) == (whole.projections, whole.core, whole.ffn)


def test_the_output_matrix_scores_the_whole_vocabulary_once():
    config = TransformerConfig(1000, 8, 2, 1, 16, output="tied")
    assert output_flops(config, 3) == 2 * 3 * 1000 * 8
    assert output_flops(replace(config, output="none"), 3) == 0


@pytest.mark.parametrize(("key_heads", "head_width"), [(0, 0), (2, 0), (1, 6)])
def test_the_cache_takes_what_a_real_one_takes(key_heads, head_width):
    config = TransformerConfig(
        11, 16, 4, 3, 0, norm="none", positions="rotary", num_key_heads=key_heads, head_width=head_width
    )
    cache = KeyValueCache(config.num_layers)
    with torch.inference_mode():
        Transformer(config).eval()(torch.arange(5)[None], cache=cache)
    assert cache_bytes(config, 5, 4) == cache.nbytes


def test_keys_and_values_of_smollm2_take_a_third_of_what_nine_key_heads_would():
    config = TransformerConfig(49152, 576, 9, 30, 1536, num_key_heads=3, output="tied")
    assert cache_bytes(config, 1, 2) == 2 * 30 * 3 * 64 * 2 == 23_040
    assert cache_bytes(config, 1, 2, grouped=False) == 69_120
    assert cache_bytes(config, 1000, 4) == 2000 * 23_040


def test_a_layer_with_a_window_keeps_no_more_than_its_window():
    config = TransformerConfig(0, 8, 2, 2, 0, norm="none", windows=(0, 4))
    per_token = 2 * 8 * 4  # keys and values of one layer
    assert cache_bytes(config, 3, 4) == 6 * per_token
    assert cache_bytes(config, 10, 4) == (10 + 4) * per_token


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


def test_heads_wider_than_their_share_are_timed_at_their_width():
    found = time_heads(16, 4, 8, 8, longest=0.01)  # four heads of 8 columns on 16
    assert [timing.heads for timing in found] == [1, 2, 4, 8, 16, 32]
