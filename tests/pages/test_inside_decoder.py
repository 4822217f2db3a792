"""Inside a block with the built-in decoder: the steps that it has, grouped queries, and what a change runs again."""

import numpy as np
import pytest

from model.blocks import TransformerBlock
from tests.models import load
from tests.pages.conftest import INSIDE_TABS as TABS

DECODER = {"source": "model", "model": "smollm2-135m", "text": "When Mary and John went to the store"}


@pytest.fixture
def decoder(inside):
    """The page with SmolLM2; `open` as for `inside`."""

    def open_(tab="steps", **link):
        return inside.open(tab, **DECODER, **link)

    inside.open_decoder = open_
    return inside


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_is_drawn(decoder, tab):
    decoder.open_decoder(tab)
    assert decoder.app.figures() and not decoder.app.errors


def test_the_steps_are_numbered_without_a_gap(decoder):
    decoder.open_decoder()
    options = decoder.app.test.get_by_key("inside_step").options
    assert [option.split(" ", 1)[0] for option in options] == [str(n) for n in range(1, 13)]
    assert [option.split(" ", 1)[1] for option in options[2:5]] == ["split", "rotate", "QKᵀ"] and options[
        -1
    ] == "12 next"


def test_which_heads_share_keys_is_said_and_drawn(decoder):
    decoder.open_decoder(step="split", head="8")
    assert "heads 7–9 meet keys and values of key head 3" in decoder.app.words
    names = [note["text"] for note in decoder.app.figures()[0]["layout"]["annotations"]]
    assert names[:4] == ["1 · k1", "2 · k1", "3 · k1", "4 · k2"]
    assert "8 · k3 is head 8 with the keys of key head 3" in decoder.app.words
    colours = [shape["fillcolor"] for shape in decoder.app.figures()[0]["layout"]["shapes"]]
    assert len(set(colours)) == 3 and colours[0] == colours[2] != colours[3]
    decoder.set(letter="K")
    names = [note["text"] for note in decoder.app.figures()[0]["layout"]["annotations"]]
    assert names == ["key head 1, for 1–3", "key head 2, for 4–6", "key head 3, for 7–9"]
    decoder.tab("cell")
    assert "Its keys and values are those of key head 3, shared by heads 7–9." in decoder.app.words


def test_the_rotation_shows_the_pair_that_is_chosen(decoder):
    decoder.open_decoder(step="rotate", token="6", pair="2")
    assert "Column c is paired with column c + 32: all 64 columns" in decoder.app.words
    (marks,) = ({shape["x0"] for shape in decoder.app.figures()[0]["layout"]["shapes"]},)
    assert {1, 33} < marks
    angle = 5 * 100_000 ** (-2 / 64)
    assert any(rf"= {angle:.2f}\;" in latex.value for latex in decoder.app.test.get("latex"))


def test_the_causal_half_of_the_map_is_masked_not_coloured(decoder):
    decoder.open_decoder(step="softmax", layer="18", head="1")
    weights = load("smollm2-135m").trace(DECODER["text"], "causal").attention[17]
    shown = decoder.matrix()
    n = weights.shape[-1]
    assert len(shown) == 9 * n * (n + 1) // 2
    np.testing.assert_allclose(shown.sum(), weights.sum(), rtol=1e-4)


def test_the_next_token_is_the_one_that_the_model_expects(decoder):
    decoder.open_decoder(step="next")
    expected = load("smollm2-135m").trace(DECODER["text"], "causal").next(10)
    bars = decoder.app.figures()[0]["data"][0]
    assert bars["text"] == [f"{token.probability:.2f}" for token in expected]
    assert [label.replace("<br>", "") for label in bars["customdata"]] == [token.label for token in expected]
    assert "10 layers follow the one above" in decoder.app.words or "layers follow" in decoder.app.words


def test_its_block_has_rms_norms_without_mean_or_beta(decoder):
    decoder.open_decoder("block", box="attention_norm")
    assert "no mean is taken off, and there is no β" in decoder.app.words and "after γ and β" not in decoder.app.words
    assert "RMSNorm 1" in decoder.app.test.get("bidi_component")[1].proto.json
    code = " ".join(code.value for code in decoder.app.test.get("code"))
    assert "rsqrt" in code and "native_layer_norm" not in code


def test_another_head_runs_nothing_and_another_layer_one_block(decoder, monkeypatch):
    decoder.open_decoder(step="softmax", layer="5", head="1")
    ran = []
    forward = TransformerBlock.forward

    def counted(self, *args, **kwargs):
        ran.append(self)
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(TransformerBlock, "forward", counted)
    for head in (2, 9):
        decoder.app.pick("head_menu", head)
    assert not ran
    decoder.app.pick("layer_menu", 6)
    assert len(ran) == 1
