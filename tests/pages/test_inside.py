"""Inside a block: every control, every step's numbers, impossible sizes, hostile text and links."""

import numpy as np
import pytest
import torch

from analysis.blocks.steps import StageKey, attention_stages
from analysis.blocks.worked_examples import EXAMPLES, LABELS, worked_example
from model import MultiHeadAttention
from tests.models import load
from tests.pages.conftest import INSIDE_TABS as TABS
from ui.inside import runs
from ui.inside.controls import OWN

STAGES = StageKey.__args__


def test_opens_on_the_worked_example_of_the_course(inside):
    inside.open()
    torch.manual_seed(42)
    np.testing.assert_array_equal(inside.matrix(), torch.randn(1, 3, 8).flatten().numpy())
    codes = [code.value for code in inside.app.test.get("code")]
    assert codes[0] == "x (1, 3, 8)" and "torch.manual_seed(42)" in codes[1]


def test_from_x_to_the_output_every_tensor_of_the_example_is_found_with_its_numbers(inside):
    torch.manual_seed(42)
    x = torch.randn(1, 3, 8)
    mha = MultiHeadAttention(8, 2)
    with torch.no_grad():
        output, attention = mha(x)
        q = mha.W_q(x)
    inside.open()
    found = {}
    for step in STAGES:
        inside.set(step=step)
        found[step] = sorted(inside.matrix())
        assert inside.app.test.get("latex"), step
    record = runs.example(EXAMPLES["cat"], _everything(), 0)
    for stage in attention_stages(record):
        shown = stage.matrices[:1] if stage.key == "split" else stage.matrices
        expected = np.concatenate([matrix.values.ravel() for matrix in shown])
        np.testing.assert_array_equal(found[stage.key], np.sort(expected))
    np.testing.assert_array_equal(found["split"], np.sort(q.flatten().numpy()))
    np.testing.assert_array_equal(found["softmax"], np.sort(attention.flatten().numpy()))
    np.testing.assert_array_equal(found["output"], np.sort(output.flatten().numpy()))


def _everything():
    from model import Mask

    return Mask.bidirectional()


@pytest.mark.parametrize("source", ["example", "sentence", "model"])
@pytest.mark.parametrize("tab", TABS)
def test_every_tab_of_every_source_is_drawn(inside, source, tab):
    inside.open(tab, source=source)
    assert inside.app.figures()
    assert not inside.app.errors


@pytest.mark.parametrize("box", ["input", "attention", "attention_sum", "attention_norm", "ffn", "ffn_sum", "ffn_norm"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_box_opens_its_tensors(inside, box, norm):
    inside.open("block", source="sentence", norm=norm, box=box)
    assert inside.app.figures()
    diagram = inside.app.test.get("bidi_component")[1:]  # the first holds the scripts
    assert f'"selected": "{box}"' in diagram[0].proto.json or f'"selected":"{box}"' in diagram[0].proto.json


def test_only_one_output_moves_in_the_ffn_and_all_that_may_see_it_in_attention(inside):
    inside.open("block", box="ffn")
    assert "1 of 3 outputs move. The other 2 stay exactly as they were." in inside.app.words
    inside.set(box="attention")
    assert "All 3 outputs move." in inside.app.words


def test_the_causal_mask_blocks_movement_to_earlier_tokens(inside):
    inside.open("block", mask="causal", box="attention", token="2")
    assert "2 of 3 outputs move." in inside.app.words


@pytest.mark.parametrize("view", ["places", "wrong"])
@pytest.mark.parametrize("step", ["split", "concat"])
def test_the_reshape_the_right_way_and_the_wrong_way(inside, step, view):
    inside.open(step=step, reshape=view)
    codes = " ".join(code.value for code in inside.app.test.get("code"))
    if view == "wrong":
        assert "8 of 24 cells stand" in inside.app.words
    elif step == "concat":
        assert "RuntimeError: view size is not compatible" in codes
    assert ("transpose(1, 2)" in codes) == (view == "places")


def test_the_numbered_example_opens_at_the_reshape(inside):
    inside.open()
    inside.app.pick("inside_example", "numbered")
    assert inside.app.value("inside_step") == "split" and inside.app.value("inside_reshape") == "places"
    assert "Every number keeps its head" in inside.app.words


def test_the_wide_example_has_eight_heads_of_64(inside):
    inside.open(example="wide", step="split")
    codes = [code.value for code in inside.app.test.get("code")]
    assert codes[0] == "(1, 3, 512)\n→ view (1, 3, 8, 64)\n→ transpose (1, 8, 3, 64)"


def test_a_cell_of_the_trained_model_ends_in_the_weight_of_its_map(inside):
    inside.open("cell", source="model", layer="4", head="2", query="8", key="6")
    weight = load("minilm").trace(inside.app.value("text")).attention[3, 1, 7, 5]
    assert any(rf"\mathbf{{{weight:.2f}}}" in latex.value for latex in inside.app.test.get("latex"))
    assert f"{weight:.2f}" == "0.92"


def test_a_masked_cell_ends_in_zero(inside):
    inside.open("cell", mask="causal", query="1", key="3")
    latex = " ".join(latex.value for latex in inside.app.test.get("latex"))
    assert r"-\infty" in latex and r"\mathbf{0" in latex


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({}, "1.10 would be equal weights. All these rows are nearly even"),
        ({"mask": "causal", "token": "1"}, "This token sees at most one key"),
        ({"mask": "causal", "token": "2"}, "0.69 would be equal weights"),  # over the two that it may see
        ({"source": "model", "block_layer": "4", "token": "8"}, "The heads' rows are sharper than their mean"),
    ],
)
def test_what_is_said_of_the_mean_of_the_heads_follows_from_their_entropies(inside, link, said):
    inside.open("layers", **link)
    assert said in inside.app.words


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"d_model": 0}, "d_model is 0, which makes no model: it must be at least 1."),
        ({"heads": 7}, "d_model 16 can't be split over 7 heads: 16 / 7 is not whole. Try 14 / 21."),
        ({"heads": 0}, "h is 0"),
        ({"d_ff": -3}, "d_ff is -3"),
        ({"layers": 0}, "layers is 0"),
        ({"n": 0}, "N is 0"),
        ({"n": 513}, "N is 513, which is too large for this page"),
        ({"d_model": 10**15}, "too large for this page"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_sizes_get_a_sentence_and_keep_the_picture(inside, values, said):
    inside.open(source="sentence", step="softmax")
    before = inside.matrix()
    for name, value in values.items():
        inside.app.pick(f"inside_{name}", value)
    (error,) = inside.app.errors
    assert said in error and "Below: still d_model 16 with 4 heads, d_ff 64 and 2 layers." in error
    np.testing.assert_array_equal(inside.matrix(), before)
    for name in values:
        inside.app.pick(f"inside_{name}", 64 if name == "n" else getattr(OWN, name))
    assert not inside.app.errors


def test_sizes_change_what_runs(inside):
    inside.open(source="sentence", step="project")
    inside.app.pick("inside_d_model", 24).pick("inside_heads", 3).pick("inside_n", 4)
    assert inside.app.test.get("code")[0].value == "x (1, 4, 24) · W (24, 24)\n→ Q, K, V: (1, 4, 24)"
    before = inside.matrix()
    inside.app.pick("inside_seed", 5)
    assert not np.array_equal(inside.matrix(), before)
    inside.app.pick("inside_bias", False).pick("inside_norm", "post")
    inside.tab("block").app.pick("inside_activation", "swiglu")
    inside.set(box="ffn")
    assert any("SiLU" in latex.value for latex in inside.app.test.get("latex"))


def test_a_smaller_model_keeps_layer_and_head_in_range(inside):
    inside.open(source="model", layer="6", head="12")
    assert (inside.app.value("layer_menu"), inside.app.value("head_menu")) == (6, 12)
    inside.app.pick("model", "toy")
    assert (inside.app.value("layer_menu"), inside.app.value("head_menu")) == (2, 4)


@pytest.mark.parametrize(
    "text", ["", "   ", "cat", "<script>alert(1)</script>", "👩‍👩‍👧 $x$ ![](http://x.y/z) [a](b)", "word " * 700]
)
@pytest.mark.parametrize("source", ["sentence", "model"])
def test_any_text(inside, text, source):
    inside.open(source=source, text=text or "x", step="softmax")
    inside.app.pick("text", text)
    if not text.strip():
        assert "There is no text to look at" in " ".join(inside.app.errors)
        return
    for tab in TABS:
        inside.tab(tab)
        assert not inside.app.errors and inside.app.figures()


def test_wrong_link_values_become_defaults(inside):
    inside.open(
        source="<script>", step="zzz", example="9", block_layer="99", block_head="-1", token="x", box="nothing", n="1e9"
    )
    assert inside.app.value("inside_source") == "example" and inside.app.value("inside_step") == "input"
    assert not inside.app.errors
    for tab in TABS:
        inside.tab(tab)


def test_the_same_view_runs_nothing_again(inside, monkeypatch):
    inside.open(source="model")
    ran = []
    original = runs.record_forward
    monkeypatch.setattr(runs, "record_forward", lambda *a, **k: ran.append(1) or original(*a, **k))
    for step in STAGES:
        inside.set(step=step)
    for tab in TABS:
        inside.tab(tab)
    assert not ran


def test_records_are_kept_up_to_a_number_of_bytes():
    assert runs.records.max_bytes == runs.MOST_BYTES == 192_000_000


def test_the_worked_example_is_named_by_its_tokens():
    assert LABELS == ("猫", "吃", "鱼")
    x, _ = worked_example(EXAMPLES["cat"])
    assert x.shape == (1, 3, 8)
