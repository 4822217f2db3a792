"""The page Attention with an encoder–decoder: three families of maps of a source and a target; what can go wrong."""

import base64
import json

import numpy as np
import pytest

from model import load
from tests.model.random_pairs import bart, t5
from tests.pages.test_explorer import component
from ui.attention import maps as readings_of
from ui.attention.two_texts import SAYS, Question, provenance
from ui.frame import loading

SOURCE, TARGET = "a cat sat", "le chat"
OTHERS = ("masks", "inside", "heads", "effects", "positions")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A random BART over bytes, for this module."""
    found = tmp_path_factory.mktemp("bart")
    bart(found)
    return str(found)


@pytest.fixture(scope="module")
def model(folder):
    return load(folder)


@pytest.fixture
def two(app, folder):
    """Opens the page with the model; `link` in place of what it says otherwise."""

    def open_(**link):
        app.open(**{"model": folder, "text": SOURCE, "target": TARGET} | link)
        return app

    return open_


def numbers(app, index=0):
    z = app.figures()[index]["data"][0]["z"]
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def strip(app):
    return component(app, "strip")


def test_it_opens_on_cross_attention_with_a_line_for_each_text(two, model):
    app = two(layer="2", head="3")
    traces = model.trace(SOURCE, TARGET)
    assert not app.errors
    np.testing.assert_allclose(app.head_map(), traces.cross.attention[1, 2], atol=2e-5)
    view = strip(app)
    assert view["tokens"]["labels"] == list(traces.cross.tokens) and view["keys"]["labels"] == list(traces.cross.keys)
    assert view["tokens"]["name"] == "target: looks (query)" and view["keys"]["name"] == "source: looked at (key)"
    assert f"N = {traces.cross.n_queries} × {traces.cross.n_keys}" in app.words


@pytest.mark.parametrize("family", ["encoder", "decoder"])
def test_the_switch_shows_the_other_families_and_stands_in_the_link(two, model, family):
    app = two(layer="1", head="2").pick("maps", family)
    expected = model.trace(SOURCE, TARGET).of(family)
    shown = app.head_map()
    np.testing.assert_allclose(np.nan_to_num(shown), expected.attention[0, 1], atol=2e-5)
    assert app.link["maps"] == family and strip(app)["keys"] is None


@pytest.mark.parametrize("family", SAYS)
def test_a_link_opens_on_its_family(two, family):
    assert two(maps=family).value("maps") == family


def test_the_model_writes_the_target_unless_one_is_typed(two, model):
    app = two(target="")
    written = model.trace(SOURCE)
    assert strip(app)["tokens"]["labels"] == list(written.cross.tokens)
    assert app.test.get_by_key("target").placeholder == written.target and "Target, by the model" in app.words
    assert "by the model" in strip(app)["tokens"]["name"]
    app.pick("target", TARGET)
    assert app.link["target"] == TARGET and strip(app)["tokens"]["labels"] == list(
        model.trace(SOURCE, TARGET).cross.tokens
    )
    app.test.get_by_key("target_write").click()
    app.run()
    assert "target" not in app.link and strip(app)["tokens"]["labels"] == list(written.cross.tokens)


def test_the_mask_acts_on_the_decoder_and_padding_fills_up_the_source(two, model):
    app = two(maps="decoder")
    assert app.value("mask_base") == "causal" and "outside its training" not in app.words
    app.pick("mask_base", "bidirectional")
    expected = model.trace(SOURCE, TARGET, "bidirectional")
    np.testing.assert_allclose(app.head_map(), expected.decoder.attention[2, 1], atol=2e-5)  # head 4-2 of 3 layers
    assert "outside its training" in app.words
    app.pick("maps", "cross")
    np.testing.assert_allclose(app.head_map(), expected.cross.attention[2, 1], atol=2e-5)
    app.pick("mask_pads", True)
    app.pick("mask_padding", 14)
    shown = app.head_map()
    n = len(model.source_tokens(SOURCE))
    assert shown.shape[1] == 14 and np.isnan(shown[:, n:]).all() and not np.isnan(shown[:, :n]).any()


@pytest.mark.parametrize("family", SAYS)
@pytest.mark.parametrize("view", ["heads", "numbers", "compare", "take"])
def test_every_tab_of_every_family(two, family, view):
    app = two(maps=family, view=view)
    assert not app.errors
    if view == "compare":
        kinds = app.test.get_by_key("differs").options
        assert ("another mask" in kinds) == (family != "encoder") and "another model" not in kinds


@pytest.mark.parametrize("family", SAYS)
@pytest.mark.parametrize("reading", ["without_special", "without_first", "norm", "log"])
def test_every_reading_of_every_family_between_tokens_and_words(two, family, reading):
    app = two(maps=family, reading=reading)
    assert not app.errors and app.figures()
    assert not app.pick("level", "words").errors and app.figures()


@pytest.mark.parametrize(("family", "is_offered"), [("encoder", True), ("decoder", False), ("cross", False)])
def test_rollout_is_offered_where_one_text_is_followed_alone(two, family, is_offered):
    shown = two(maps=family, view="heads").test.get_by_key("show").options
    assert ("All layers together (rollout)" in shown) == is_offered


def test_a_decoder_of_another_source_is_another_result(folder):
    """Its tokens and its mask are the same; the maps above the first layer are not."""
    first, second = (
        Question(source, TARGET, folder, loading.masks_of(loading.Mask.causal())[0], "decoder")()
        for source in ("a cat", "a dog")
    )
    assert first.tokenized.ids == second.tokenized.ids and not np.allclose(first.attention, second.attention)
    assert readings_of.name_of(first) != readings_of.name_of(second)


def test_files_say_which_maps_they_hold_and_who_wrote_the_target(folder):
    mask = loading.Mask.causal()
    typed = provenance(Question(SOURCE, TARGET, folder, mask, "cross")())
    assert typed == {"maps": SAYS["cross"], "target": "typed", "decoder_mask": "causal"}
    assert provenance(Question(SOURCE, None, folder, mask, "decoder")())["target"] == "written by the model"
    assert provenance(loading.trace("a", "toy", loading.Mask.bidirectional())) == {}


def test_another_source_is_compared_beside_the_same_target(two, model):
    app = two(view="compare", differs="sentence", b_text="a dog sat", layer="1", head="1")
    assert not app.errors
    b = model.trace("a dog sat", TARGET).cross.attention[0, 0]
    a = model.trace(SOURCE, TARGET).cross.attention[0, 0]
    difference = next(figure for figure in app.figures() if any(trace.get("type") == "bar" for trace in figure["data"]))
    z = difference["data"][0]["z"]
    np.testing.assert_allclose(
        np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape(a.shape), b - a, atol=5e-5
    )
    app.pick("b_text", "a longer one")
    assert len(app.errors) == 1 and "can't be compared cell by cell" in app.errors[0]


def test_one_pair_ranks_the_heads_by_the_weight_from_a_target_token_to_a_source_token(two, model):
    attention = model.trace(SOURCE, TARGET).cross.attention
    n_queries, n_keys = attention.shape[2:]
    assert n_keys > n_queries
    app = two(colour="find", find=f"3-{n_keys}")
    values = np.array(component(app, "overview")["metric"]["values"])
    np.testing.assert_allclose(values, attention[:, :, 2, -1], atol=1e-3)


def test_a_pair_that_is_none_here_is_as_if_nothing_were_said(two, model):
    app = two(colour="find", find=f"{len(model.source_tokens(SOURCE))}-1")  # so many queries there are not
    assert not app.errors and component(app, "overview")["metric"] is None and "find" not in app.link


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_source(two, text):
    app = two(text="x").pick("text", text)
    assert len(app.errors) == 1 and "There is no source to read" in app.errors[0]
    app.pick("text", SOURCE)
    assert not app.errors and app.figures()


def test_a_target_of_spaces_counts_as_none(two, model):
    assert strip(two(target="   "))["tokens"]["labels"] == list(model.trace(SOURCE).cross.tokens)


@pytest.mark.parametrize(("source", "target", "cut"), [("a" * 700, "b", "source"), ("b", "a" * 700, "target")])
def test_a_source_of_512_and_a_target_of_1_and_the_reverse(two, source, target, cut):
    app = two(text=source, target=target)
    assert not app.errors and app.figures()
    warnings = [warning.value for warning in app.test.warning]
    assert len(warnings) == 1 and warnings[0].startswith(f"The {cut}: This model reads 512 tokens")
    for view in ("heads", "numbers", "compare", "take"):
        app.test.session_state["view_tabs_en"] = {"heads": "More maps", "numbers": "Numbers"}.get(view, "Export")
        assert not app.run().errors


@pytest.mark.parametrize(
    "text", ["שלום עולם", "😀👩‍👩‍👧", "<img src=x onerror=alert(1)><b>", "[link](http://x) $x$ `a`", "a\x00\x1b"]
)
def test_strange_texts_on_both_sides(two, text):
    app = two(text=text, target=text)
    assert not app.errors and app.figures()
    assert strip(app)["keys"] is not None
    json.dumps(strip(app), allow_nan=False)


@pytest.mark.parametrize(
    "link", [{"maps": "both"}, {"maps": ""}, {"pinned": "999"}, {"find": "99-99"}, {"find": "x"}, {"heads": "77"}]
)
def test_wrong_values_in_the_link(two, link):
    app = two(**link)
    assert not app.errors and app.value("maps") == "cross"


def test_a_mask_drawn_for_another_number_of_tokens_is_told_and_the_target_can_still_be_typed(two):
    app = two(mask="matrix:2:9")
    assert len(app.errors) == 1
    app.pick("target", "le chien")
    assert len(app.errors) == 1 and not app.test.exception


@pytest.mark.parametrize("page", OTHERS)
def test_other_pages_say_what_the_model_is_and_lead_to_its_maps(app, folder, page):
    app.open_page(page, model=folder, **({"source": "model"} if page == "inside" else {}))
    told = [info.value for info in app.test.info]
    assert not app.errors and len(told) == 1 and "has two parts" in told[0]
    app.test.get_by_key("to_attention").click()
    app.run()
    assert app.test.title[0].value == "What does each head look at?" and strip(app)["keys"] is not None


def test_a_t5_writes_and_looks_back(app, tmp_path):
    t5(tmp_path)
    app.open(model=str(tmp_path), text=SOURCE, maps="cross")
    traces = load(tmp_path).trace(SOURCE)
    assert not app.errors and strip(app)["tokens"]["labels"] == list(traces.cross.tokens)
    np.testing.assert_allclose(app.head_map(), traces.cross.attention[1, 1], atol=2e-5)


def test_a_model_of_one_part_after_it_has_no_target(two):
    app = two()
    app.pick("model", "toy")
    assert not app.errors and strip(app)["keys"] is None and not {"target", "maps"} & set(app.link)
    assert not [element for element in app.test.text_input if element.key == "target"]
