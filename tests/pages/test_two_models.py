"""Masks opens with a trained encoder beside a trained decoder, each under its own mask, where both can be."""

import re

import numpy as np
import pytest

from analysis.maps.two_models import common_words, directions
from analysis.words.units import by_words
from model.weights.smollm2 import smollm2_path
from tests.models import load
from tests.pages.conftest import App
from tests.pages.test_masks import cells, title
from ui.frame.examples import examples

pytestmark = pytest.mark.skipif(smollm2_path() is None, reason="the package of SmolLM2-135M isn't installed")
SMOLLM2 = "smollm2-135m"
FIRST = examples()[0].text


@pytest.fixture
def masks(app):
    def open_at(**link):
        app.open(**link)
        app.test.switch_page("pages/masks.py")
        for name, value in link.items():
            app.test.query_params[name] = value
        return app.run()

    return open_at


def is_pair(app):
    return [title(one) for one in app.figures()][-1:] == ["where words look, all heads"]


def test_the_page_opens_with_both_models_on_the_same_words(masks):
    app = masks()
    encoder, decoder, looks = app.figures()
    assert [title(one) for one in app.figures()] == [
        "MiniLM 4-2 · bidirectional",
        "SmolLM2 14-9 · causal",
        "where words look, all heads",
    ]
    traces = load("minilm").trace(FIRST), load(SMOLLM2).trace(FIRST)
    words = common_words(*traces)
    expected = by_words(traces[1], words).attention[13, 8]
    found = cells(decoder)
    assert np.isnan(found[np.triu_indices(10, 1)]).all()
    np.testing.assert_allclose(np.tril(np.nan_to_num(found)), np.tril(expected), atol=1e-6)
    assert cells(encoder).shape == found.shape == (10, 10) and not np.isnan(cells(encoder)).any()
    assert {bar["name"] for bar in looks["data"] if bar["type"] == "bar"} == {
        *("before it", "itself", "after it", "special tokens")
    }


def test_it_says_what_the_row_may_see_and_where_words_look(masks):
    app = masks()
    assert "Row “they”: in MiniLM it may look at 10 of 10 words, and this head looks most at “students” (0.92); in" in (
        app.words
    )
    assert "in SmolLM2 it may look at 7 of 10 words, and this head looks most at “students” (0.81)." in app.words
    traces = load("minilm").trace(FIRST), load(SMOLLM2).trace(FIRST)
    share = directions(traces[0], common_words(*traces)).after.mean()
    assert share > 0.1 and f"{share:.0%} of their weight to later words in MiniLM, and 0% in SmolLM2" in app.words
    assert "outside this model's training" not in app.words  # each runs as it was trained


def test_heads_and_row_are_chosen_and_kept_in_the_link(masks):
    app = masks().pick("head_of_minilm", "1-3").pick(f"head_of_{SMOLLM2}", "17-1").pick("pair_word", 3)
    assert (app.link["encoder"], app.link["decoder"], app.link["row"]) == ("1-3", "17-1", "3")
    assert "Row “praised”" in app.words and title(app.figures()[1]) == "SmolLM2 17-1 · causal"
    again = App().open(**app.link)
    again.test.switch_page("pages/masks.py")
    for name, value in app.link.items():
        again.test.query_params[name] = value
    assert again.run().words.count("Row “praised”") == 1


def test_one_model_under_two_masks_is_the_second_thing(masks):
    app = masks().pick("mask_way", "masks")
    assert [title(one) for one in app.figures()[:3]] == ["bidirectional", "causal", "change"]
    assert "causal: outside this model's training, which was bidirectional." in app.words
    assert app.link["compare"] == "masks"
    assert is_pair(app.pick("mask_way", "models")) and "compare" not in app.link


@pytest.mark.parametrize("link", [{"mask": "causal"}, {"with": "window:2"}, {"picture": "all"}, {"tab": "padding"}])
def test_a_link_about_masks_opens_on_them(masks, link):
    assert not is_pair(masks(**link))


def test_the_decoder_of_the_sidebar_stands_beside_minilm(masks):
    assert re.findall(r"in (\w+) it may", masks(model=SMOLLM2).words) == ["MiniLM", "SmolLM2"]


@pytest.mark.parametrize("link", [{"model": "toy"}, {"text": "老师表扬了学生，因为他们很努力。"}])
def test_without_a_pair_that_says_something_the_page_opens_as_before(masks, link):
    app = masks(**link)
    assert [title(one) for one in app.figures()[:3]] == ["bidirectional", "causal", "change"]
    assert not [control for control in app.test.get("button_group") if control.key == "mask_way"]


@pytest.mark.parametrize(("missing", "kept"), [("smollm2-135m", "minilm"), ("minilm", "smollm2-135m")])
def test_with_one_of_the_models_missing_the_page_opens_as_before(masks, monkeypatch, missing, kept):
    monkeypatch.setenv("HEADWORK_MODELS", kept)
    app = masks()
    assert not app.errors and not is_pair(app) and len(app.figures()) > 3


@pytest.mark.parametrize(
    ("text", "is_told"), [("😀", False), ("…", False), ("<|endoftext|>", True), ("a" * 3000, False)]
)
def test_odd_texts_are_drawn_or_told(masks, text, is_told):
    app = masks(text=text)
    assert is_pair(app) is not is_told
    assert (
        app.errors == ["No word of this text has a token of its own in both models. Type another sentence."] * is_told
    )
