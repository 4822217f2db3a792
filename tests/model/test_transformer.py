"""model.transformer: no leaks through a causal mask, padding that does nothing, steps and head masks."""

import numpy as np
import pytest
import torch

from model import HeadworkError, Mask, Transformer, TransformerConfig, parse_mask
from model.packed import PackedLinear, pack

TINY = {"vocab_size": 50, "d_model": 24, "num_heads": 3, "num_layers": 3, "d_ff": 40, "max_tokens": 64}


@pytest.fixture(params=["post", "pre"])
def tiny(request):
    torch.manual_seed(0)
    return Transformer(TransformerConfig(**TINY, norm=request.param, final_norm=request.param == "pre")).eval()


@pytest.fixture(autouse=True)
def undecided(monkeypatch):
    """Whether packing pays is found out anew."""
    monkeypatch.setattr("model.packed._pays", {})


def random_ids(n, seed=0):
    return torch.randint(0, 50, (1, n), generator=torch.Generator().manual_seed(seed))


def test_one_map_a_layer_and_head(tiny):
    output = tiny(random_ids(7))
    assert output.attention.shape == (3, 1, 3, 7, 7)
    assert output.hidden.shape == (1, 7, 24)
    assert output.hidden_states is None
    assert output.blocks is None


@pytest.mark.parametrize("n", [1, 2, 7, 64])
@pytest.mark.parametrize("spelled", ["causal", "causal+window:2"])
def test_changing_a_later_token_leaves_everything_before_it_unchanged(tiny, n, spelled):
    allowed = parse_mask(spelled).allowed(n)
    ids = random_ids(n)
    with torch.inference_mode():
        before = tiny(ids, allowed, record="hidden")
        for j in {0, n // 2, n - 1}:
            changed = ids.clone()
            changed[0, j] = (changed[0, j] + 1) % 50
            after = tiny(changed, allowed, record="hidden")
            for layer in range(3):
                assert after.attention[layer, :, :, :j].equal(before.attention[layer, :, :, :j])
            for old, new in zip(before.hidden_states, after.hidden_states, strict=True):
                assert new[:, :j].equal(old[:, :j])
                assert not new[:, j].equal(old[:, j])


def test_without_the_causal_mask_an_earlier_row_does_change(tiny):
    ids = random_ids(7)
    changed = ids.clone()
    changed[0, 6] += 1
    difference = (tiny(ids).attention - tiny(changed).attention).abs().amax(dim=(1, 2, 4))  # (L, N)
    assert (difference[:, :6] > 0).all()


def test_the_causal_leak_test_on_the_built_in_weights(minilm):
    ids = torch.randint(1000, 20_000, (1, 12), generator=torch.Generator().manual_seed(0))
    changed = ids.clone()
    changed[0, 8] = 2001
    allowed = Mask.causal().allowed(12)
    with torch.inference_mode():
        a, b = minilm(ids, allowed), minilm(changed, allowed)
    assert a.attention[:, :, :, :8].equal(b.attention[:, :, :, :8])
    assert not a.attention[:, :, :, 8:].equal(b.attention[:, :, :, 8:])


@pytest.mark.parametrize("mask", [Mask.bidirectional(), Mask.causal()])
def test_padding_changes_nothing_for_the_real_tokens_once_it_is_masked(tiny, mask):
    ids = random_ids(6)
    padded = torch.cat([ids, torch.zeros(1, 4, dtype=torch.long)], dim=1)
    is_padding = torch.arange(10)[None] >= 6
    with torch.inference_mode():
        alone = tiny(ids, mask.allowed(6))
        masked = tiny(padded, mask.allowed(10, is_padding))
        unmasked = tiny(padded, mask.allowed(10))
    torch.testing.assert_close(masked.attention[..., :6, :6], alone.attention, rtol=0, atol=1e-6)
    torch.testing.assert_close(masked.hidden[:, :6], alone.hidden, rtol=0, atol=1e-5)
    assert masked.attention[..., 6:].eq(0).all()
    if mask == Mask.bidirectional():
        assert (unmasked.hidden[:, :6] - alone.hidden).abs().max() > 1e-3


def test_a_sentence_in_a_batch_is_as_if_alone(tiny):
    ids = torch.cat([random_ids(9, 1), random_ids(9, 2)])
    is_padding = torch.tensor([[False] * 9, [False] * 5 + [True] * 4])
    with torch.inference_mode():
        together = tiny(ids, Mask.bidirectional().allowed(9, is_padding))
        alone = tiny(ids[1:, :5])
    torch.testing.assert_close(together.attention[:, 1:, :, :5, :5], alone.attention, rtol=0, atol=1e-6)


def test_a_row_that_sees_nothing_is_zero_in_every_layer_and_nothing_is_nan(tiny):
    allowed = torch.ones(5, 5, dtype=torch.bool)
    allowed[3] = False
    with torch.inference_mode():
        output = tiny(random_ids(5), allowed)
    assert output.attention.isfinite().all()
    assert output.hidden.isfinite().all()
    assert output.attention[..., 3, :].eq(0).all()


def test_recording_does_not_change_the_maps_and_the_steps_are_the_forwards_own(tiny):
    ids = random_ids(6)
    allowed = Mask.causal().allowed(6)
    with torch.inference_mode():
        plain = tiny(ids, allowed)
        recorded = tiny(ids, allowed, record="steps")
    assert recorded.attention.equal(plain.attention)
    assert len(recorded.hidden_states) == 4
    assert len(recorded.blocks) == 3
    for layer, steps in enumerate(recorded.blocks):
        assert steps.input.equal(recorded.hidden_states[layer])
        assert steps.output.equal(recorded.hidden_states[layer + 1])
        assert steps.attention.attention.equal(recorded.attention[layer])
        torch.testing.assert_close(torch.softmax(steps.attention.masked_scores, -1), steps.attention.attention)


def test_the_final_norm_acts_on_the_last_blocks_output(tiny):
    output = tiny(random_ids(5), record="hidden")
    last = output.hidden_states[-1]
    torch.testing.assert_close(output.hidden, last if tiny.final_norm is None else tiny.final_norm(last))
    assert output.hidden.equal(last) is (tiny.final_norm is None)


def test_with_and_without_gradients_give_the_same_maps(tiny):
    ids = random_ids(6)
    with_gradients = tiny(ids)
    assert with_gradients.attention.requires_grad
    with torch.no_grad():
        without = tiny(ids)
    torch.testing.assert_close(with_gradients.attention, without.attention, rtol=0, atol=1e-6)


def test_an_additive_mask_is_refused_and_not_read_as_its_opposite(tiny):
    with pytest.raises(HeadworkError, match="holds float32"):
        tiny(random_ids(4), torch.full((4, 4), -torch.inf))  # all() is true of it


def test_a_mask_a_layer_acts_in_its_own_layer_only(tiny):
    ids = random_ids(7)
    window, causal = Mask.window(1).allowed(7), Mask.causal().allowed(7)
    with torch.inference_mode():
        mixed = tiny(ids, [window, None, causal], record="hidden")
        same = tiny(ids, [causal] * 3, record="hidden")
        first = tiny(ids, window).attention[0]
        last, last_map = tiny.blocks[2](mixed.hidden_states[2], causal)
        assert same.attention.equal(tiny(ids, causal).attention)
    assert mixed.attention[0].equal(first)
    assert (mixed.attention[1] > 0).all()
    assert mixed.attention[2].equal(last_map) and mixed.hidden_states[3].equal(last)
    with pytest.raises(ValueError, match="shorter"):
        tiny(ids, [window, causal])


def test_grouped_queries_and_a_head_width_reach_every_layer():
    torch.manual_seed(0)
    grouped = Transformer(TransformerConfig(**TINY | {"num_heads": 4}, num_key_heads=2, head_width=5)).eval()
    assert grouped.config.d_k == 5
    assert {block.attention.W_k.weight.shape for block in grouped.blocks} == {(10, 24)}
    output = grouped(random_ids(6), Mask.causal().allowed(6), record="steps")
    assert output.attention.shape == (3, 1, 4, 6, 6)
    for layer, steps in enumerate(output.blocks):
        found, shared = steps.attention, output.attention[layer]
        assert found.keys[:, 0].equal(found.keys[:, 1]) and not found.keys[:, 1].equal(found.keys[:, 2])
        torch.testing.assert_close(torch.softmax(found.masked_scores, -1), shared)


@pytest.mark.parametrize("wrong", [{"num_key_heads": 2}, {"num_key_heads": -1}, {"head_width": 10**6}])
def test_key_heads_and_widths_that_make_no_model_are_refused(wrong):
    with pytest.raises(HeadworkError):
        TransformerConfig(**TINY | wrong)


def test_maps_that_would_fill_the_memory_are_refused_before_anything_runs():
    config = TransformerConfig(vocab_size=9, d_model=64, num_heads=64, num_layers=512, d_ff=0, norm="none")
    with torch.device("meta"):  # no weights: whatever ran would fail in another way
        large = Transformer(config)
        ids = torch.zeros(1, 512, dtype=torch.long)
        with pytest.raises(
            HeadworkError, match=r"512 layers of 64 heads make 34\.4 GB .* Shorten the text to 123 tokens"
        ):
            large(ids)
        with torch.inference_mode():
            assert large(ids[:, :123]).attention.shape == (512, 1, 64, 123, 123)
        with pytest.raises(HeadworkError, match="Shorten the text to 55 tokens"):
            large(ids[:, :123], record="steps")


def test_the_largest_published_model_of_these_families_fits():
    bert_large = {"vocab_size": 9, "d_model": 1024, "num_heads": 16, "num_layers": 24, "d_ff": 4096}
    with torch.device("meta"), torch.inference_mode():
        model = Transformer(TransformerConfig(**bert_large))
        assert model(torch.zeros(1, 512, dtype=torch.long), record="hidden").attention.nbytes == 402_653_184


def test_two_calls_do_not_share_their_maps(tiny):
    with torch.inference_mode():
        first = tiny(random_ids(6, 1)).attention
        kept = first.clone()
        tiny(random_ids(6, 2))
    assert first.equal(kept)


def test_a_gate_acts_in_its_own_layer_only(tiny):
    ids = random_ids(6)
    head_mask = torch.ones(3, 3)
    head_mask[1, 2] = 0
    with torch.inference_mode():
        full, masked_head, open_gate = tiny(ids), tiny(ids, head_mask=head_mask), tiny(ids, head_mask=torch.ones(3, 3))
    assert open_gate.attention.equal(full.attention)
    assert masked_head.attention[:2].equal(full.attention[:2])
    assert not masked_head.attention[2].equal(full.attention[2])


def test_packing_keeps_the_maps_and_drops_the_plain_weights(tiny):
    ids = random_ids(6)
    with torch.inference_mode():
        before = tiny(ids)
        weight = tiny.blocks[0].attention.W_v.weight.clone()
        if not pack(tiny.blocks):
            pytest.skip("this build of torch has no packed oneDNN product")
        after = tiny(ids)
    torch.testing.assert_close(after.attention, before.attention, rtol=0, atol=1e-6)
    assert isinstance(tiny.blocks[0].attention.W_v, PackedLinear)
    assert tiny.blocks[0].attention.W_v.weight.equal(weight)
    assert not any(p.dim() == 2 for p in tiny.blocks.parameters())


def test_packing_is_left_alone_where_the_operators_are_missing(tiny, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert pack(tiny.blocks) is False
    assert isinstance(tiny.blocks[0].attention.W_q, torch.nn.Linear)


def test_packing_is_left_alone_where_the_operators_answer_differently(tiny, monkeypatch):
    monkeypatch.setattr(PackedLinear, "forward", lambda self, x: zeros(x, self))
    assert pack(tiny.blocks) is False
    assert isinstance(tiny.blocks[0].attention.W_q, torch.nn.Linear)


@pytest.mark.parametrize(("slower", "done"), [("packed", False), ("plain", True)])
def test_packing_is_done_only_where_it_is_clearly_faster(tiny, monkeypatch, slower, done):
    if not pack(torch.nn.Sequential(torch.nn.Linear(8, 8))):
        pytest.skip("this build of torch has no packed oneDNN product")
    clock = iter(range(10_000))
    slow_class = PackedLinear if slower == "packed" else torch.nn.Linear
    forward = slow_class.forward

    def slow(self, x):
        next(clock), next(clock)  # three ticks in place of one
        return forward(self, x)

    for name in ("perf_counter", "thread_time"):  # of several threads, and of one
        monkeypatch.setattr(f"model.packed.time.{name}", lambda: next(clock))
    monkeypatch.setattr(slow_class, "forward", slow)
    assert pack(tiny.blocks, only_if_faster=True) is done
    assert isinstance(tiny.blocks[0].ffn.W_1, PackedLinear) is done


@pytest.mark.parametrize(("gelu_ticks", "long_ticks", "done"), [(9, 0, True), (0, 0, False), (9, 90, False)])
def test_packing_is_decided_by_the_block_at_a_short_and_a_long_sentence(
    tiny, monkeypatch, gelu_ticks, long_ticks, done
):
    """The products are equally fast: the fused GELU decides, unless the packed products are slow on long sentences."""
    if not pack(torch.nn.Sequential(torch.nn.Linear(8, 8))):
        pytest.skip("this build of torch has no packed oneDNN product")
    clock = iter(range(100_000))
    gelu, product = torch.nn.functional.gelu, PackedLinear.forward

    def slow_gelu(x, **kind):
        [next(clock) for _ in range(gelu_ticks)]
        return gelu(x, **kind)

    def slow_when_long(self, x):
        [next(clock) for _ in range(long_ticks if x.size(1) > 100 else 0)]
        return product(self, x)

    for name in ("perf_counter", "thread_time"):  # of several threads, and of one
        monkeypatch.setattr(f"model.packed.time.{name}", lambda: next(clock))
    monkeypatch.setattr(torch.nn.functional, "gelu", slow_gelu)
    monkeypatch.setattr(PackedLinear, "forward", slow_when_long)
    assert pack(tiny.blocks, only_if_faster=True) is done
    assert isinstance(tiny.blocks[0].ffn.W_1, PackedLinear) is done


@pytest.mark.parametrize(("writes", "done"), [(False, True), (True, False)])
def test_a_model_that_writes_is_packed_only_where_single_tokens_gain_too(tiny, monkeypatch, writes, done):
    if not pack(torch.nn.Sequential(torch.nn.Linear(8, 8))):
        pytest.skip("this build of torch has no packed oneDNN product")
    of_each = {1: 5.0, 16: 0.5, 128: 0.5}
    monkeypatch.setattr("model.packed.packed_times", lambda _block, _d_model, probe: {n: of_each[n] for n in probe})
    assert pack(tiny.blocks, only_if_faster=True, writes=writes) is done


def test_models_of_one_size_are_all_packed_or_all_plain(tiny, monkeypatch):
    times = iter([{16: 0.5, 128: 0.5}, {16: 2.0, 128: 2.0}, {16: 2.0, 128: 2.0}])
    monkeypatch.setattr("model.packed.packed_times", lambda *_: next(times))
    again, other = (Transformer(TransformerConfig(**TINY | changes)).eval() for changes in ({}, {"d_ff": 41}))
    assert pack(tiny.blocks, only_if_faster=True) == pack(again.blocks, only_if_faster=True)
    assert not pack(other.blocks, only_if_faster=True)


def zeros(x, layer):
    return torch.zeros(*x.shape[:-1], layer.out_features)


def test_a_model_without_vocabulary_takes_any_id():
    config = TransformerConfig(
        vocab_size=0, d_model=8, num_heads=2, num_layers=2, d_ff=16, positions="sinusoidal", seed=7
    )
    torch.manual_seed(7)
    output = Transformer(config).eval()(torch.tensor([[2**62 + 5, 3, 2**62 + 5]]))
    assert output.attention.shape == (2, 1, 2, 3, 3)


@pytest.mark.parametrize(
    "wrong", [{"num_heads": 5}, {"num_layers": 0}, {"d_ff": -1}, {"max_tokens": 0}, {"d_model": 0}]
)
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(HeadworkError):
        TransformerConfig(**TINY | wrong)


def test_too_many_tokens_are_refused(tiny):
    with pytest.raises(HeadworkError, match="65 tokens, but this model has positions for 64"):
        tiny(random_ids(65))


def test_parameters_of_a_block_are_4_d2_and_2_d_dff_and_their_biases():
    config = TransformerConfig(vocab_size=1, d_model=768, num_heads=12, num_layers=1, d_ff=3072)
    with torch.device("meta"):
        block = Transformer(config).blocks[0]
    attention = sum(p.numel() for p in block.attention.parameters())
    ffn = sum(p.numel() for p in block.ffn.parameters())
    assert attention == 4 * 768**2 + 4 * 768
    assert ffn == 2 * 768 * 3072 + 3072 + 768
    assert np.isclose(attention / 1e6, 2.36, atol=0.005)
    assert np.isclose(ffn / 1e6, 4.72, atol=0.005)
