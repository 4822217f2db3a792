"""The decisive test: a part off gives what transformers gives with that part's output replaced in its own modules.

For a head that is the slice of the input of its o_proj (c_proj, dense). Weights are ten times what a fresh model has,
so that heads matter; the bars are 1e-4 in float32 and 1e-9 in float64 all the same.
"""

import contextlib

import numpy as np
import pytest
import torch

from analysis.effects.effects import measure
from analysis.effects.joint import switch_off
from analysis.effects.patching import patch
from analysis.effects.questions import EncodedQuestion, Question
from model.entry import Entry
from model.head_id import HeadId
from model.tracing import AttentionModel
from model.weights.checkpoints import load_folder
from tests.model.test_decoder_parity import DECODERS, Precise, saved
from tests.models import byte_level

BAR = {torch.float32: 1e-4, torch.float64: 1e-9}
KINDS = ["llama", "gpt2"]  # of all of them one head is tried, of these everything
N_LAYERS, N_HEADS, N_TOKENS, N = 3, 6, 9, 3
MODULES = {"gpt2": ("transformer.h", "attn.c_proj", "mlp"), "gpt_neox": ("gpt_neox.layers", "attention.dense", "mlp")}


def pair(kind, dtype, folder):
    """transformers' model and ours, of the same weights."""
    theirs = saved(kind, folder)
    with torch.no_grad():
        for parameter in theirs.parameters():
            if parameter.dim() > 1:
                parameter.mul_(10)
    theirs.save_pretrained(folder)
    entry = Entry("small", "Small", "Random.", "folder", trained_mask="causal")
    transformer = load_folder(folder).transformer.to(dtype)
    return theirs.to(dtype), AttentionModel(entry, transformer, byte_level(), sha256=None, packed=False)


def questions(seed=0):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(1, 97, (N, N_TOKENS), generator=generator).tolist()
    rows = [[3, 4, *ids[2:]] for ids in rows]  # they begin alike
    made = Question("p", "a", "b")
    return [EncodedQuestion(made, tuple(ids), ("x",) * N_TOKENS, 5 + i, 40 + i, (2,)) for i, ids in enumerate(rows)]


def module(theirs, kind, layer, name):
    layers, o_proj, mlp = MODULES.get(kind.split(",")[0], ("model.layers", "self_attn.o_proj", "mlp"))
    return theirs.get_submodule(f"{layers}.{layer}.{o_proj if name == 'heads' else mlp}")


def put(head, value, of_heads):
    """A hook that puts columns of `value` (…, d) in the place of a head's slice of the input."""

    def hook(_module, arguments):
        mixed = arguments[0].clone()
        width = mixed.size(-1) // of_heads
        mixed[..., head * width : (head + 1) * width] = value[..., head * width : (head + 1) * width]
        return (mixed, *arguments[1:])

    return hook


@contextlib.contextmanager
def hooked(*handles):
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def difference(theirs, asked):
    with torch.inference_mode(), Precise():
        logits = theirs(torch.tensor([each.ids for each in asked])).logits[:, -1]
    rows = torch.arange(len(asked))
    return (logits[rows, [a.right_id for a in asked]] - logits[rows, [a.wrong_id for a in asked]]).numpy()


def kept(theirs, kind, asked):
    """The input of every o_proj and the output of every FFN: (L, n, N, …) each."""
    mixed, ffn = [], []
    handles = []
    for layer in range(N_LAYERS):
        handles += [
            module(theirs, kind, layer, "heads").register_forward_pre_hook(lambda _, a: mixed.append(a[0].clone())),
            module(theirs, kind, layer, "ffns").register_forward_hook(lambda _, __, out: ffn.append(out.clone())),
        ]
    with hooked(*handles):
        difference(theirs, asked)
    return torch.stack(mixed), torch.stack(ffn)


def n_heads(theirs):
    return getattr(theirs.config, "n_head", None) or theirs.config.num_attention_heads


OFF = torch.zeros(1, 1, 96)  # as wide as the widest input of W_o here


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", DECODERS)
def test_a_head_off_in_every_family(kind, dtype, tmp_path):
    theirs, ours = pair(kind, dtype, tmp_path)
    asked, last = questions(), n_heads(theirs) - 1
    found = measure(ours, asked, workers=1)
    before = difference(theirs, asked)
    np.testing.assert_allclose(found.difference, before, rtol=0, atol=BAR[dtype])
    for layer, head in ((0, last), (N_LAYERS - 1, 0)):
        hook = module(theirs, kind, layer, "heads").register_forward_pre_hook(put(head, OFF, n_heads(theirs)))
        with hooked(hook):
            effect = difference(theirs, asked) - before
        assert abs(effect).max() > 0.01  # it does matter
        np.testing.assert_allclose(found.heads[:, layer, head], effect, rtol=0, atol=BAR[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("off", ["zero", "mean", "position"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_head_ffn_and_layer_off(kind, off, dtype, tmp_path):
    theirs, ours = pair(kind, dtype, tmp_path)
    asked = questions()
    found = measure(ours, asked, off=off, parts=("heads", "ffns", "layers"), workers=2)
    before = difference(theirs, asked)
    mixed, ffn = (
        {
            "zero": torch.zeros_like(each),
            "mean": each.mean(dim=(1, 2), keepdim=True).expand_as(each).contiguous(),
            "position": each.mean(dim=1, keepdim=True).expand_as(each).contiguous(),
        }[off]
        for each in kept(theirs, kind, asked)
    )
    for layer in range(N_LAYERS):
        o_proj, mlp = module(theirs, kind, layer, "heads"), module(theirs, kind, layer, "ffns")
        for head in range(N_HEADS):
            with hooked(o_proj.register_forward_pre_hook(put(head, mixed[layer], N_HEADS))):
                effect = difference(theirs, asked) - before
            np.testing.assert_allclose(found.heads[:, layer, head], effect, rtol=0, atol=BAR[dtype])
        without_ffn = mlp.register_forward_hook(lambda *_, value=ffn[layer]: value)
        with hooked(without_ffn):
            np.testing.assert_allclose(found.ffns[:, layer], difference(theirs, asked) - before, atol=BAR[dtype])
        handles = [mlp.register_forward_hook(lambda *_, value=ffn[layer]: value)]
        if off == "zero":  # W_o's bias too
            handles.append(o_proj.register_forward_hook(lambda *_, value=ffn[layer]: value))
        else:
            handles.append(o_proj.register_forward_pre_hook(lambda _, a, value=mixed[layer]: (value, *a[1:])))
        with hooked(*handles):
            np.testing.assert_allclose(found.layers[:, layer], difference(theirs, asked) - before, atol=BAR[dtype])


@pytest.mark.parametrize("kind", KINDS)
def test_several_heads_off_together(kind, tmp_path):
    theirs, ours = pair(kind, torch.float64, tmp_path)
    asked, off = questions(), [HeadId(0, 1), HeadId(0, 4), HeadId(2, 3)]
    handles = [
        module(theirs, kind, layer, "heads").register_forward_pre_hook(put(head, OFF, n_heads(theirs)))
        for layer, head in off
    ]
    with hooked(*handles):
        expected = difference(theirs, asked)
    found = switch_off(ours, asked, off)
    np.testing.assert_allclose(found.difference, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(switch_off(ours, asked, []).difference, difference(theirs, asked), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_patches_from_another_run(kind, tmp_path, monkeypatch):
    theirs, ours = pair(kind, torch.float64, tmp_path)
    asked, others = questions(), questions(1)
    others = [
        EncodedQuestion(each.question, (*mine.ids[:4], *each.ids[4:]), each.labels, each.right_id, each.wrong_id, ())
        for mine, each in zip(asked, others, strict=True)
    ]
    ids = iter(others)
    monkeypatch.setattr("analysis.effects.patching._changed", lambda *_: (next(ids).ids, ("y",) * N_TOKENS))
    found = patch(ours, asked, workers=2)
    before = difference(theirs, asked)
    np.testing.assert_allclose(found.other, difference(theirs, others), atol=1e-9)
    mixed, _ = kept(theirs, kind, others)
    layers = theirs.get_submodule(MODULES.get(kind, ("model.layers",))[0])
    inputs = []
    handles = [
        layer.register_forward_pre_hook(
            lambda _, a, k: inputs.append((a or (k["hidden_states"],))[0].clone()), with_kwargs=True
        )
        for layer in layers
    ]
    with hooked(*handles):
        difference(theirs, others)
    for layer in range(N_LAYERS):
        for head in range(N_HEADS):
            hook = module(theirs, kind, layer, "heads").register_forward_pre_hook(put(head, mixed[layer], N_HEADS))
            with hooked(hook):
                effect = difference(theirs, asked) - before
            np.testing.assert_allclose(found.heads[:, layer, head], effect, atol=1e-9)
        for place in range(N_TOKENS):

            def patched(_module, arguments, layer=layer, place=place):
                x = arguments[0].clone()
                x[:, place] = inputs[layer][:, place]
                return (x, *arguments[1:])

            with hooked(layers[layer].register_forward_pre_hook(patched)):
                effect = difference(theirs, asked) - before
            np.testing.assert_allclose(found.residual[:, layer, place], effect, atol=1e-9)
    assert (found.residual[:, :, :4] == 0).all() and (abs(found.residual[:, :, 4:]).max(axis=(0, 2)) > 0.01).all()
