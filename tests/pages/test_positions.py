"""The page Positions through app.py: every tab, every way, links, and what can't be shuffled."""

import numpy as np
import pytest

from analysis.positions.order import compare, shuffled_order
from model import Mask
from model.training.lengths import shipped
from tests.models import load
from ui.positions import longer

TEXT = "A big dog chased the black cat."


def cells(figure):
    import base64

    z = figure["data"][0]["z"]
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


@pytest.fixture
def expected():
    model = load("minilm")
    tokens = model.tokens(TEXT)
    return compare(model, tokens, shuffled_order(tokens, 1), Mask.bidirectional(), layer=2, placed=False)


def test_without_positions_the_page_shows_the_same_map_in_another_order(app, expected):
    app.open_page("positions", text=TEXT, layer="3", head="9")
    text, copy, rest = app.figures()[:3]
    np.testing.assert_allclose(cells(text), expected.maps[8], atol=1e-6)
    np.testing.assert_allclose(cells(copy), expected.copy_maps[8], atol=1e-6)
    assert np.abs(cells(rest)).max() < 1e-6
    assert "Order is lost" in app.words and "Without positions" in app.words


def test_with_positions_order_counts_and_the_link_says_so(app):
    app.open_page("positions", text=TEXT).pick("positions_on", "on")
    assert "Order counts" in app.words and app.link["positions"] == "on"


def test_another_shuffle_is_in_the_link(app):
    app.open_page("positions", text=TEXT)
    before = cells(app.figures()[1]).copy()
    app.test.get_by_key("positions_again").click()
    app.run()
    assert app.link["shuffle"] == "2" and not np.array_equal(cells(app.figures()[1]), before)


def test_a_causal_mask_tells_order(app):
    app.open_page("positions", text=TEXT, mask="causal")
    assert "Order counts although positions are off" in app.words and "The mask tells order" in app.words


@pytest.mark.parametrize("text", ["cat", "cat cat"])
def test_one_word_can_not_be_shuffled(app, text):
    app.open_page("positions", text=text)
    assert app.errors == ["Order needs two different words. Type one more."]


@pytest.mark.parametrize("way", ["sinusoidal", "learned", "rotary", "alibi", "none"])
@pytest.mark.parametrize("model_id", ["minilm", "smollm2-135m"])
def test_each_way_has_its_picture(app, way, model_id):
    app.open_page("positions", tab="ways", way=way, model=model_id, text=TEXT)
    assert not app.errors
    assert (
        len(app.figures())
        == {"sinusoidal": 2, "learned": 2 * (model_id == "minilm"), "rotary": 1, "alibi": 4, "none": 1}[way]
    )


def test_a_slope_is_written_as_the_fraction_that_it_is(app):
    app.open_page("positions", tab="ways", way="alibi", text=TEXT)
    assert app.figures()[0]["data"][0]["text"] == [f"1/{2**head}" for head in range(1, 9)]


@pytest.mark.parametrize("way", ["rotary", "alibi", "none"])
def test_a_toy_takes_places_as_asked_and_its_steps_show_it(app, way):
    app.open(model=f"toy:positions={way}", text=TEXT)
    assert app.value("toy_positions") == way and app.link["model"] == f"toy:positions={way}"
    app.open_page("positions", tab="ways", model=f"toy:positions={way}", text=TEXT)
    assert app.value("positions_way") == way and not app.errors
    app.open_page("inside", source="model", model=f"toy:positions={way}", text=TEXT)
    names = [option for group in app.test.get("button_group") for option in str(group.proto)]
    assert not app.errors and names


def test_a_model_opens_on_its_own_way(app):
    app.open_page("positions", tab="ways", model="smollm2-135m", text=TEXT)
    assert app.value("positions_way") == "rotary" and "own query" in app.words


def test_hands_moved_together_keep_their_product(app):
    app.open_page("positions", tab="ways", way="rotary", text=TEXT, m="20", n="12")
    here, moved = app.words.split("q · k = ")[1].split(". Both moved on by 7 places: ")
    assert here[:4] == moved[:4] and app.value("positions_m") == 20


@pytest.mark.parametrize("bad", ["-1", "9999", "x", "1.5"])
def test_a_place_that_is_none_is_ignored(app, bad):
    app.open_page("positions", tab="ways", way="rotary", m=bad, shuffle=bad)
    assert app.value("positions_m") == 5 and not app.errors


def test_the_sentences_about_lengths_follow_from_the_shipped_runs(app):
    app.open_page("positions", tab="longer")
    for sentence in longer.says(shipped()):
        assert sentence in app.words
    best = longer.accuracies(shipped(), "match").mean(axis=1)[:, -1]
    assert longer.WAYS[int(best.argmax())] in longer.says(shipped())[1]


def test_heads_by_offset_and_a_click_on_another(app):
    app.open_page("positions", tab="heads", text=TEXT, layer="1", head="3")
    assert "Head 1-3" in app.words and "Here it follows places." in app.words
    app.pick("head_menu", 5)
    assert "Head 1-5" in app.words


def test_the_page_in_chinese(app):
    app.open_page("positions", lang="zh", text="小明把苹果递给了小红。", model="e5-small-4bit")
    assert "顺序丢失了" in app.words and not app.errors
