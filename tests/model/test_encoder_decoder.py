"""model.encoder_decoder: cross-attention against torch's own, and what moves when a token is changed or hidden."""

import pytest
import torch
from torch import nn

from model import EncoderDecoder, EncoderDecoderConfig, HeadworkError, Mask, MultiHeadAttention, TransformerConfig
from model.attention import AttentionSteps
from model.cache import DecoderCache
from model.decoder_block import DecoderBlock, DecoderBlockSteps

V, D, H, N_K, N_Q = 23, 16, 4, 7, 5
# What T5 chooses, every choice beside its usual one.
T5_LIKE = {
    "norm": "pre",
    "norm_kind": "rms",
    "positions": "relative",
    "scaled_scores": False,
    "activation": "geglu",
    "bias": False,
    "embedding_norm": False,
    "final_norm": True,
    "head_width": 6,
}
USUAL = {"positions": "sinusoidal_halves", "scaled_embedding": True, "layer_norm_eps": 1e-5}


def small(choices, **shared) -> EncoderDecoder:
    torch.manual_seed(0)
    encoder = TransformerConfig(V, D, H, 2, 24, max_tokens=16, **choices)
    decoder = TransformerConfig(V, D, H, 3, 24, max_tokens=16, output="tied", relative_past_only=True, **choices)
    return EncoderDecoder(EncoderDecoderConfig(encoder, decoder, **shared)).double().eval()


@pytest.fixture(scope="module", params=[USUAL, T5_LIKE], ids=["usual", "T5-like"])
def model(request):
    return small(request.param)


def ids(n, seed=0, batch=1):
    return torch.randint(1, V, (batch, n), generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
def run(model, source, target, *masks, **more):
    return model(source, target, *masks, **more)


def test_cross_attention_is_torchs_with_other_keys():
    torch.manual_seed(0)
    ours, theirs = MultiHeadAttention(D, H).double(), nn.MultiheadAttention(D, H, batch_first=True).double()
    with torch.no_grad():
        for name, rows in zip("qkv", range(0, 3 * D, D), strict=True):
            getattr(ours, f"W_{name}").weight.copy_(theirs.in_proj_weight[rows : rows + D])
            getattr(ours, f"W_{name}").bias.copy_(theirs.in_proj_bias[rows : rows + D])
        ours.W_o.load_state_dict(theirs.out_proj.state_dict())
    x, context = torch.randn(2, N_Q, D, dtype=torch.float64), torch.randn(2, N_K, D, dtype=torch.float64)
    is_padding = torch.tensor([[False] * N_K, [False] * 4 + [True] * 3])
    out, maps = ours(x, ~is_padding[:, None, None, :], context=context)
    expected, their_maps = theirs(x, context, context, key_padding_mask=is_padding, average_attn_weights=False)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(maps, their_maps)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_block_is_torchs_decoder_layer(norm):
    torch.manual_seed(0)
    ours = DecoderBlock(D, H, 24, norm=norm).double().eval()
    theirs = nn.TransformerDecoderLayer(D, H, 24, batch_first=True, norm_first=norm == "pre").double().eval()
    with torch.no_grad():
        for mine, other in ((ours.attention, theirs.self_attn), (ours.cross_attention, theirs.multihead_attn)):
            other.in_proj_weight.copy_(torch.cat([getattr(mine, f"W_{x}").weight for x in "qkv"]))
            other.in_proj_bias.copy_(torch.cat([getattr(mine, f"W_{x}").bias for x in "qkv"]))
            other.out_proj.load_state_dict(mine.W_o.state_dict())
        for i, mine in enumerate((ours.attention_norm, ours.cross_norm, ours.ffn_norm), 1):
            mine.gamma.normal_()
            getattr(theirs, f"norm{i}").load_state_dict({"weight": mine.gamma, "bias": mine.beta})
        theirs.linear1.load_state_dict(ours.ffn.W_1.state_dict())
        theirs.linear2.load_state_dict(ours.ffn.W_2.state_dict())
    x, context = torch.randn(2, N_Q, D, dtype=torch.float64), torch.randn(2, N_K, D, dtype=torch.float64)
    causal = torch.ones(N_Q, N_Q, dtype=torch.bool).tril()
    out, _, _ = ours(x, context, causal)
    torch.testing.assert_close(out, theirs(x, context, tgt_mask=~causal))


def test_three_families_of_maps_each_of_its_shape_and_every_row_sums_to_1(model):
    output = run(model, ids(N_K), ids(N_Q, 1))
    assert output.encoder.attention.shape == (2, 1, H, N_K, N_K)
    assert output.decoder.attention.shape == (3, 1, H, N_Q, N_Q)
    assert output.cross.shape == (3, 1, H, N_Q, N_K)
    for maps in (output.encoder.attention, output.decoder.attention, output.cross):
        torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:-1], dtype=torch.float64))
    with torch.inference_mode():
        assert model.logits(output.hidden).shape == (1, N_Q, V)


@pytest.mark.parametrize("place", range(N_Q))
def test_a_later_target_token_moves_no_earlier_row(model, place):
    target = ids(N_Q, 1)
    changed = target.clone()
    changed[0, place] = (changed[0, place] + 1) % V
    before, after = run(model, ids(N_K), target), run(model, ids(N_K), changed)
    for name in ("cross", "hidden"):
        a, b = getattr(before, name), getattr(after, name)
        assert torch.equal(a[..., :place, :], b[..., :place, :])
        assert not torch.equal(a[..., place:, :], b[..., place:, :])
    assert before.decoder.attention.triu(1).count_nonzero() == 0
    assert torch.equal(before.encoder.attention, after.encoder.attention)


def test_a_source_token_moves_cross_attention_and_not_the_decoders_first_self_attention(model):
    source = ids(N_K)
    changed = source.clone()
    changed[0, 2] = (changed[0, 2] + 1) % V
    before, after = run(model, source, ids(N_Q, 1)), run(model, changed, ids(N_Q, 1))
    assert torch.equal(before.decoder.attention[0], after.decoder.attention[0])
    assert not torch.equal(before.decoder.attention[1], after.decoder.attention[1])  # the layer before brought it in
    assert not torch.equal(before.cross[0], after.cross[0])


def test_padding_on_both_sides_changes_nothing_for_real_tokens(model):
    source, target = ids(N_K), ids(N_Q, 1)
    alone = run(model, source, target)
    no_source, no_target = torch.arange(N_K + 3) >= N_K, torch.arange(N_Q + 2) >= N_Q
    masks = (
        Mask.bidirectional().allowed(N_K + 3, no_source[None]),
        Mask.causal().allowed(N_Q + 2, no_target[None]),
        ~no_source[None, None, None, :],
    )
    for filler in (0, 5):
        padded = run(
            model,
            torch.cat((source, torch.full((1, 3), filler)), 1),
            torch.cat((target, torch.full((1, 2), filler)), 1),
            *masks,
        )
        torch.testing.assert_close(padded.hidden[:, :N_Q], alone.hidden)
        torch.testing.assert_close(padded.cross[..., :N_Q, :N_K], alone.cross)
        assert padded.cross[..., N_K:].count_nonzero() == 0
        torch.testing.assert_close(padded.encoder.attention[..., :N_K, :N_K], alone.encoder.attention)


def test_a_target_that_may_look_at_no_source_token_gets_0_and_no_nan(model):
    cross_mask = torch.ones(N_Q, N_K, dtype=torch.bool)
    cross_mask[1] = False
    output = run(model, ids(N_K), ids(N_Q, 1), None, None, cross_mask)
    assert output.cross[..., 1, :].count_nonzero() == 0
    torch.testing.assert_close(output.cross[..., 2, :].sum(-1), torch.ones(3, 1, H, dtype=torch.float64))
    assert output.hidden.isfinite().all()


@pytest.mark.parametrize("at_once", [1, 2])
@torch.inference_mode()
def test_writing_with_the_cache_gives_the_rows_of_the_whole_target(model, at_once):
    source, target = ids(N_K, batch=2), ids(N_Q + 1, 1, batch=2)
    whole, cache = model(source, target), DecoderCache(3)
    for start in range(0, N_Q + 1, at_once):
        rows = model.decoder(target[:, start : start + at_once], whole.encoder.hidden, cache=cache)
        torch.testing.assert_close(rows.hidden, whole.hidden[:, start : start + at_once])
        torch.testing.assert_close(rows.cross, whole.cross[:, :, :, start : start + at_once])
        expected = whole.decoder.attention[:, :, :, start : start + at_once, : start + at_once]
        torch.testing.assert_close(rows.attention, expected)
    n_values = 3 * 2 * 2 * H * model.decoder.config.d_k * (N_Q + 1 + N_K)  # layers, K and V, batch
    assert cache.nbytes == 8 * n_values
    cache.cut(2)
    assert cache.n_tokens == 2 and cache.has_context


def test_with_gradients_the_maps_are_the_same_and_the_encoder_learns_from_the_target(model):
    output = model(ids(N_K), ids(N_Q, 1))
    torch.testing.assert_close(output.cross.detach(), run(model, ids(N_K), ids(N_Q, 1)).cross)
    model.logits(output.hidden).sum().backward()
    assert model.encoder.blocks[0].attention.W_q.weight.grad.abs().sum() > 0
    model.zero_grad(set_to_none=True)


def test_steps_hold_cross_attention_and_change_nothing(model):
    plain, recorded = run(model, ids(N_K), ids(N_Q, 1)), run(model, ids(N_K), ids(N_Q, 1), record="steps")
    torch.testing.assert_close(recorded.hidden, plain.hidden)
    steps = recorded.decoder.blocks[1]
    assert isinstance(steps, DecoderBlockSteps) and isinstance(steps.cross, AttentionSteps)
    assert steps.cross.queries.shape[2] == N_Q and steps.cross.keys.shape[2] == N_K
    torch.testing.assert_close(steps.cross.attention, plain.cross[1])
    torch.testing.assert_close(steps.cross_sum, steps.middle + steps.cross.output)
    assert len(recorded.encoder.hidden_states) == 3 and len(recorded.decoder.hidden_states) == 4


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_a_head_that_is_switched_off_moves_the_prediction(model, part):
    layers = 2 if part == "encoder" else 3
    off = torch.ones(layers, H, dtype=torch.float64)
    plain = run(model, ids(N_K), ids(N_Q, 1), **{f"{part}_head_mask": off})
    torch.testing.assert_close(plain.hidden, run(model, ids(N_K), ids(N_Q, 1)).hidden)
    off[0, 1] = 0
    assert not torch.allclose(run(model, ids(N_K), ids(N_Q, 1), **{f"{part}_head_mask": off}).hidden, plain.hidden)


def test_three_families_count_together_towards_the_memory_that_maps_may_take():
    part = TransformerConfig(vocab_size=9, d_model=64, num_heads=64, num_layers=20, d_ff=0, norm="none")
    with torch.device("meta"):  # no weights: whatever ran would fail in another way
        large = EncoderDecoder(EncoderDecoderConfig(part, part))
        tokens = torch.zeros(1, 512, dtype=torch.long)
        with pytest.raises(HeadworkError, match=r"make 4\.0 GB of maps for 512 tokens, .* Shorten the text to 360"):
            large(tokens, tokens)  # 3 · 20 · 64 · 512² · 4 bytes; each family alone has 1.3 GB
        large.check_size(tokens[:, :360], tokens[:, :360], "maps")


def test_attention_only_blocks_without_a_norm():
    torch.manual_seed(0)
    part = TransformerConfig(V, D, 2, 1, 0, norm="none", embedding_norm=False, output="tied")
    output = run(EncoderDecoder(EncoderDecoderConfig(part, part)).eval(), ids(N_K), ids(N_Q, 1))
    assert output.cross.shape == (1, 1, 2, N_Q, N_K)


def test_both_parts_share_their_token_vectors_only_where_the_config_says_so():
    shared, apart = small(USUAL), small(USUAL, shared_embedding=False)
    assert shared.decoder.embeddings.token is shared.encoder.embeddings.token
    assert apart.decoder.embeddings.token is not apart.encoder.embeddings.token


def test_a_scale_and_a_bias_of_the_output():
    plain, model = small(USUAL), small(USUAL, output_scale=0.5, output_bias=True)
    model.output_bias[3] = 2.0
    hidden = plain(ids(N_K), ids(N_Q, 1)).hidden
    expected = plain.logits(hidden) * 0.5
    expected[..., 3] += 2.0
    torch.testing.assert_close(model.logits(hidden), expected)


PART = TransformerConfig(V, D, H, 1, 24)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: EncoderDecoderConfig(PART, TransformerConfig(V, 8, H, 1, 24)), "d_model is 8 and the encoder's 16"),
        (lambda: EncoderDecoderConfig(PART, TransformerConfig(9, D, H, 1, 24)), "vocabularies have 23 and 9 tokens"),
        (lambda: EncoderDecoderConfig(PART, PART, output_bias=True), "no output matrix"),
        (lambda: EncoderDecoder(EncoderDecoderConfig(PART, PART)).logits(torch.zeros(1, D)), "no output matrix"),
        (lambda: EncoderDecoder(EncoderDecoderConfig(PART, PART)).decoder(ids(3)), "looks at a source"),
        (lambda: DecoderBlock(D, H, 24, norm="pre", parallel=True), "can't be parallel"),
    ],
)
def test_parts_that_do_not_fit_are_refused(make, sentence):
    with pytest.raises(HeadworkError, match=sentence):
        make()
