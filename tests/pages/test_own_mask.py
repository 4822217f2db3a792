"""Each model opens under the mask that it was trained under, unless the person or the link asked for another."""

import pytest

from tests.model.random_checkpoints import edit_config, small_bert, write_tokenizer
from ui.frame import controls

OUTSIDE = "outside its training"


@pytest.fixture
def decoder(tmp_path, app):
    """A folder with a model that its config calls a decoder, as an entry of the menu."""
    folder = write_tokenizer(small_bert(tmp_path))
    edit_config(folder, is_decoder=True)
    app.test.session_state[controls.TRAINED] = {str(folder): "A decoder"}
    return str(folder)


def test_a_decoder_opens_under_a_causal_mask(app, decoder):
    app.open(model=decoder, text="a b c")
    assert app.value("mask_base") == "causal" and "mask" not in app.link
    assert "mask causal" in app.words and OUTSIDE not in app.words


def test_a_decoder_that_sees_both_ways_is_outside_its_training(app, decoder):
    app.open(model=decoder, text="a b c", mask="bidirectional")
    assert app.value("mask_base") == "bidirectional" and app.link["mask"] == "bidirectional"
    assert "trained under the mask causal" in app.words and OUTSIDE in app.words


def test_the_mask_follows_the_model_there_and_back(app, decoder):
    app.open(model="toy", text="a b c").pick("model", decoder)
    assert app.value("mask_base") == "causal" and "mask" not in app.link
    app.pick("model", "toy")
    assert app.value("mask_base") == "bidirectional" and "mask" not in app.link


def test_the_mask_follows_although_somebody_types_before_the_page_is_there(app, decoder, monkeypatch):
    app.open(model="toy", text="a b c")
    with monkeypatch.context() as broken_off:
        broken_off.setattr(controls, "end", lambda: None)
        app.pick("model", decoder)
    app.test.session_state["mask_base"] = "bidirectional"  # as the browser still had it when it sent the text
    app.test.session_state["text"] = "a b c d"
    app.run()
    assert app.value("mask_base") == "causal" and "mask" not in app.link
    app.pick("mask_base", "bidirectional")  # and then the person has the last word
    assert app.value("mask_base") == "bidirectional" and app.link["mask"] == "bidirectional"


def test_a_mask_that_was_asked_for_stays(app, decoder):
    app.open(model="toy", text="a b c", mask="window:2").pick("model", decoder)
    assert app.value("mask_base") == "window" and app.link["mask"] == "window:2"
    assert "trained under the mask causal" in app.words


def test_padding_stays_when_the_mask_follows(app, decoder):
    app.open(model="toy", text="a b c", mask="padding:8").pick("model", decoder)
    assert app.link["mask"] == "causal+padding:8" and app.value("mask_base") == "causal"
    assert OUTSIDE not in app.words


def test_a_window_wider_than_the_sentence_hides_nothing(app):
    assert OUTSIDE not in app.open(text="Two cats.", mask="window:9").words
    assert OUTSIDE in app.pick("mask_window", 1).words


def test_masks_compares_a_decoder_with_seeing_both_ways_and_an_encoder_with_causal(app, decoder):
    app.open(model=decoder, text="a b c")
    app.test.switch_page("pages/masks.py")
    app.test.query_params["compare"] = "masks"
    app.run()
    assert (app.value("mask_base"), app.value("with_kind")) == ("causal", "bidirectional") and "with" not in app.link
    assert "bidirectional: outside this model's training, which was causal." in app.words
    app.pick("model", "toy")
    assert (app.value("mask_base"), app.value("with_kind")) == ("bidirectional", "causal") and "with" not in app.link
