"""The explorer on the Attention page: readings, words, the overview, tabs, comparison, files, and the link of each."""

import base64
import io
import json

import numpy as np
import pytest
import streamlit as st

from analysis import METRICS, READINGS, by_words, compare, head_metrics, read, read_csv, rollout, value_norms
from analysis.words.units import by_pieces
from tests.models import load
from ui.attention.compare import pairs
from ui.attention.view import LEVELS
from ui.frame import links
from ui.frame.examples import examples
from ui.frame.languages import translate
from ui.frame.shell import LARGE
from viz.style import COLORSCALES

FIRST = examples()[0].text
HEAD = (3, 1)


@pytest.fixture(scope="module")
def trace():
    return load("minilm").trace(FIRST)


def chart(app, key):
    """The data of one figure by its key."""
    (found,) = [c for c in app.test.get("plotly_chart") if f"-{key}" in c.proto.id]
    return json.loads(found.proto.spec)


def array(z):
    flat = np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"])
    return flat.reshape([int(n) for n in z["shape"].split(",")]) if "shape" in z else flat


def component(app, key):
    """The data of one browser component by its key."""
    (found,) = [c for c in app.test.get("bidi_component") if c.proto.id.endswith(f"-{key}")]
    return json.loads(found.proto.json)


def ticks(app):
    return app.figures()[0]["layout"]["xaxis"]["ticktext"]


# -- readings --------------------------------------------------------------------------------------------------------


def test_raw_says_how_much_goes_to_special_tokens(app, trace):
    app.open()
    on = head_metrics(by_pieces(trace), ["start_mass", "separator_mass"])
    share = f"{on['start_mass'][HEAD]:.0%} of its words' weight to [CLS] and {on['separator_mass'][HEAD]:.0%} to [SEP]"
    assert f"Head 4-2 gives {share}." in app.words
    assert READINGS["raw"].leaves_out in app.words


def test_without_special_tokens_states_what_was_removed_and_can_rescale(app, trace):
    app.open().pick("reading", "without_special")
    expected = read(trace, hide_special=True)
    np.testing.assert_allclose(app.head_map(), expected.trace.attention[HEAD])
    assert f"{expected.removed_overall[HEAD]:.0%} of the weight went to [CLS] and [SEP]." in app.words
    assert "[CLS]" not in ticks(app)
    app.pick("rescale", True)
    np.testing.assert_allclose(app.head_map().sum(axis=-1), 1, atol=1e-5)
    assert app.link["reading"] == "without_special" and app.link["rescale"] == "on"


def test_norm_weighted_is_the_weight_times_the_length_of_the_value(app, trace):
    app.open(reading="norm")
    norms = value_norms(load("minilm"), FIRST)
    np.testing.assert_allclose(app.head_map(), trace.attention[HEAD] * norms[HEAD][None, :], rtol=1e-5)
    top = app.figures()[0]["data"][0]["zmax"]
    assert top >= (trace.attention * norms[:, :, None, :]).max() > 0.9 * top  # the stated maximum, over all heads
    assert component(app, "overview-maps")["maximum"] == top
    app.pick("rescale", True)
    np.testing.assert_allclose(app.head_map().sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize(("curve", "place"), [("log", 1 + np.log10(0.05) / 3), ("sqrt", np.sqrt(0.05))])
def test_small_weights_change_the_colour_and_never_the_number(app, trace, curve, place):
    app.open(reading="log", curve=curve)
    data = app.figures()[0]["data"][0]
    np.testing.assert_array_equal(array(data["customdata"]), trace.attention[HEAD])
    assert "%{customdata" in data["hovertemplate"]
    at = np.abs(trace.attention[HEAD] - 0.05).argmin()
    assert app.head_map().ravel()[at] == pytest.approx(place, abs=0.05)


def test_four_readings_side_by_side_each_say_what_they_leave_out(app):
    app.open(show="readings")
    assert len(app.figures()) == 1 + len(READINGS)
    for name, kind in READINGS.items():
        assert kind.leaves_out in app.words
        assert f"**{kind.title}**" in app.words and chart(app, f"side_{name}")


def test_the_map_without_the_first_token(app, trace):
    app.open(reading="without_first", mask="causal")
    causal = load("minilm").trace(trace.text, "causal")
    rest = causal.attention[HEAD][1:, 1:]
    expected = rest / rest.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(app.head_map()[1:, 1:], np.where(np.tri(11), expected, np.nan), atol=1e-6)
    assert np.isnan(app.head_map()[:, 0]).all()  # drawn as left out, not as 0
    share = causal.attention[HEAD][1:-1, 0].mean()  # of words: [SEP]'s row doesn't count
    assert f"{share:.0%} of the weight went to [CLS]." in app.words
    assert "attention sink (Xiao et al. 2023)" in app.words
    assert "“[CLS]” may look at nothing else: its row is 0." in app.words
    assert component(app, "strip")["text"]["says_nobody"].endswith("is left out here, or masked")
    assert component(app, "overview")["text"]["masked"] == "left out"


def test_without_the_first_token_numbers_are_about_the_rest(app, trace):
    app.open(reading="without_first", view="numbers", colour="previous_mass")
    rest = read(trace, hide_first=True, rescale=True).trace
    sent = np.array(component(app, "overview")["metric"]["values"])
    np.testing.assert_allclose(sent, head_metrics(rest, ["previous_mass"])["previous_mass"], atol=1e-4)
    assert "weights without the first token, rows rescaled to 1" in app.words


def test_a_model_without_special_tokens_is_not_said_to_have_any(app):
    app.open(model="toy", text="one two three four", colour="start_mass", view="numbers")
    assert "[CLS]" not in app.words and "[SEP]" not in app.words
    assert "of the weight to the first token, “one”." in app.words
    options = app.test.get_by_key("colour").options
    assert METRICS["first_mass"].title in options and METRICS["start_mass"].title not in options
    assert app.value("colour") == "map"


@pytest.mark.parametrize("level", ["words", "spaces"])
def test_words_sum_over_keys_and_average_over_queries(app, level):
    text = "Unbelievably, she re-read it."
    app.open(text=text, level=level)
    expected = by_words(load("minilm").trace(text), "spaces" if level == "spaces" else "tokenizer")
    np.testing.assert_allclose(app.head_map(), expected.attention[HEAD], atol=1e-6)
    np.testing.assert_allclose(app.head_map().sum(axis=-1), 1, atol=1e-5)
    assert component(app, "strip")["tokens"]["labels"] == list(expected.labels)


def test_chinese_words_come_from_spaces(app):
    app.open(text="山上 有 水", level="spaces")
    assert ticks(app) == ["[CLS]", "山上", "有", "水", "[SEP]"]


# -- strip and overview ----------------------------------------------------------------------------------------------


def test_the_strip_shows_the_chosen_head_and_its_tokens(app, trace):
    app.open(pinned="6", direction="looked_at_by")
    view = component(app, "strip")
    assert view["tokens"]["labels"] == list(trace.tokens) and view["heads"] == [1] and view["layer"] == 3
    assert view["pinned"] == 5 and view["direction"] == "looked_at_by"
    assert "pinned" not in app.pick("text", "A big dog.").link  # it was about another sentence
    assert component(app, "strip")["pinned"] is None


def test_an_example_opens_with_the_token_that_it_is_there_for(app):
    app.open()
    view = component(app, "strip")
    assert view["tokens"]["labels"][view["pinned"]] == "they" and "pinned" not in app.link
    app.pick("text", "A big dog chased the black cat.")
    view = component(app, "strip")
    assert view["tokens"]["labels"][view["pinned"]] == "big" and "pinned" not in app.link
    app.pick("text", "A big dog.")
    assert component(app, "strip")["pinned"] is None


def test_the_layers_maps_can_follow_the_pointer(app):
    app.open(pinned="6")
    tiles, strip = component(app, "tiles"), component(app, "strip")
    assert tiles["tile"] > 0 and strip["tile"] == 0
    assert strip["sentence"] and not tiles["sentence"]  # which stands on the page once
    mounted = [part.proto.id for part in app.test.get("bidi_component")]
    assert tiles["maps"] == strip["maps"] and not any("tiles-maps" in name for name in mounted)  # nor travels twice
    assert tiles["pinned"] == strip["pinned"] == 5 and tiles["heads"] == strip["heads"]


def test_more_heads_in_the_link_stand_in_the_strip_until_the_layer_changes(app):
    app.open(heads="2,9,11")
    assert component(app, "strip")["heads"] == [1, 8, 10]
    app.pick("layer", 2)
    assert component(app, "strip")["heads"] == [1] and "heads" not in app.link
    assert component(app.open(heads="mean"), "strip")["heads"] == [1]  # the session had chosen since


def test_the_mean_of_the_layer_is_a_choice_of_the_strip(app):
    assert component(app.open(heads="mean"), "strip")["heads"] == []


@pytest.mark.parametrize("metric", ["entropy", "start_mass", "mean_distance"])
def test_the_overview_is_coloured_by_a_number(app, trace, metric):
    app.open().pick("colour", metric)
    sent = component(app, "overview")["metric"]
    assert sent["label"] == METRICS[metric].title and app.link["colour"] == metric
    np.testing.assert_allclose(np.array(sent["values"]), head_metrics(by_pieces(trace), [metric])[metric], atol=1e-4)


def test_heads_are_found_by_the_weight_between_two_tokens(app, trace):
    app.open(colour="find", layer="1", head="1")
    assert component(app, "strip")["asks_pair"] and component(app, "overview")["metric"] is None
    assert "Pin a token, then click another" in app.words
    app = type(app)().open(colour="find", find="8-6")
    weights = trace.attention[:, :, 7, 5]  # they → students
    metric = component(app, "overview")["metric"]
    np.testing.assert_allclose(np.array(metric["values"]), weights, atol=1e-4)
    assert metric["label"] == "“they” → “students”"
    first, second = (
        f"{at // 12 + 1}-{at % 12 + 1} {weights.flat[at]:.2f}" for at in np.argsort(-weights, axis=None)[:2]
    )
    assert f"Most weight from “they” to “students” in this sentence: {first} · {second}" in app.words
    assert app.link["find"] == "8-6"
    assert "find" not in app.pick("text", "A big dog.").link


def test_finding_a_head_and_a_minimal_pair_keep_apart(app):
    app.open(colour="find", find="8-6", view="compare", differs="sentence").pick("pair", 2)
    assert not app.errors and app.value("text") == pairs()[2][0]


def test_a_pair_that_the_mask_hides_is_said(app):
    app.open(colour="find", find="6-8", mask="causal")
    assert "“students” may not look at “they” under this mask." in app.words
    assert {value for row in component(app, "overview")["metric"]["values"] for value in row} == {None}


def test_a_pinned_word_stays_pinned_in_another_sentence_or_is_said_to_be_gone(app):
    app.open(pinned="6")
    app.pick("text", "Two students slept.")
    view = component(app, "strip")
    assert view["tokens"]["labels"][view["pinned"]] == "students"
    app.pick("text", "A big dog.")
    assert component(app, "strip")["pinned"] is None and "“students”, pinned before, is not a token here." in app.words


def test_a_head_that_shows_little_in_another_model_comes_with_a_way_to_one_that_does(app):
    app.open(layer="4", head="2")
    assert "was chosen in another view" not in app.words
    app.pick("model", "e5-small-4bit")
    assert "Head 4-2 was chosen in another view; here it gives most to special tokens." in app.words
    trace = load("e5-small-4bit").trace(FIRST)
    confidence = head_metrics(by_pieces(trace), ["confidence"])["confidence"]
    layer, head = np.unravel_index(np.nanargmax(confidence), confidence.shape)
    app.test.get_by_key("offer_head").click()
    app.run()
    assert (app.value("layer"), app.value("head")) == (layer + 1, head + 1)
    assert "was chosen in another view" not in app.words


def test_the_head_of_an_example_is_no_leftover_of_another_sentence(app):
    app.open()
    other = next(example for example in examples()[1:] if example.head("minilm") == (4, 2))
    app.pick("text", other.text)
    assert "was chosen in another view" not in app.words


@pytest.mark.parametrize("scale", COLORSCALES)
def test_colours_are_a_choice(app, scale):
    app.open(scale=scale)
    assert app.value("scale") == scale
    first = component(app, "overview")["colours"]
    assert (first == component(type(app)().open(), "overview")["colours"]) is (scale == COLORSCALES[0])


def test_large_text_makes_everything_larger(app):
    app.open()
    small = app.figures()[0]["layout"]["xaxis"]["tickfont"]["size"]
    app.pick("large", True)
    assert app.figures()[0]["layout"]["xaxis"]["tickfont"]["size"] > 1.2 * small
    assert component(app, "strip")["text_scale"] == component(app, "overview")["text_scale"] == 1.4
    assert app.link["large"] == "on"


def test_back_makes_text_small_again_in_the_same_run(app, monkeypatch):
    def styles():
        return "".join(each.proto.body for each in app.test.get("html"))

    app.open(large="on")
    assert LARGE in styles()
    del app.test.query_params["large"]
    monkeypatch.setattr(links, "went_back", lambda: True)
    app.run()
    assert app.value("large") is False and LARGE not in styles()


# -- tabs ------------------------------------------------------------------------------------------------------------


def test_only_the_open_tab_is_computed(app):
    app.open(show="heads")
    assert len(app.figures()) == 2 and not app.test.dataframe
    app = type(app)().open(view="numbers")
    assert len(app.figures()) == 1 and len(app.test.dataframe) == 1


def test_rollout_follows_the_layers_up_to_the_chosen_one(app, trace):
    app.open(show="rollout")
    z = array(chart(app, "rollout_map")["data"][0]["z"])
    np.testing.assert_allclose(z, rollout(trace.attention, layers=4)[-1], atol=1e-6)
    assert "What it is not." in app.words and "0.32 in layer 1 to 0.71 in layer 6" in app.words


def test_numbers_name_the_chosen_head_its_patterns_and_its_likes(app):
    app.open(view="numbers", layer="1", head="3")
    (table,) = app.test.dataframe
    assert len(table.value) == 72 and table.value["name"].iloc[0] == "1-3"
    assert table.value["previous_mass"].iloc[0] == pytest.approx(1.0, abs=0.01)
    assert "previous word: Largest on previous 1.00 ≥ 0.9 over 9 rows (Voita et al. 2019, section 4)" in app.words
    assert "nearest: " in app.words and "farthest: " in app.words
    config = json.loads(table.proto.columns)
    assert config["entropy"]["help"] == METRICS["entropy"].definition


def test_no_clear_pattern_is_an_answer(app):
    app.open(view="numbers", layer="1", head="6")
    assert "no clear pattern: no number passes its threshold." in app.words


def test_the_table_follows_words(app):
    text = "Unbelievably, she re-read it."
    app.open(view="numbers", level="words", text=text)
    expected = head_metrics(by_words(load("minilm").trace(text)), ["entropy"])["entropy"]
    (table,) = app.test.dataframe
    row = table.value.set_index("name").loc["2-5"]
    assert row["entropy"] == pytest.approx(expected[1, 4])


# -- compare ---------------------------------------------------------------------------------------------------------


def difference(app):
    z = chart(app, "compare_difference")["data"][0]
    return array(z["z"]), z


@pytest.mark.parametrize(
    ("link", "other"),
    [
        ({"differs": "mask", "b_mask": "causal"}, (FIRST, "minilm", "causal", HEAD)),
        ({"differs": "mask", "b_mask": "window:2"}, (FIRST, "minilm", "window:2", HEAD)),
        ({"differs": "head", "b_head": "9"}, (FIRST, "minilm", "bidirectional", (3, 8))),
        ({"differs": "layer", "b_layer": "1"}, (FIRST, "minilm", "bidirectional", (0, 1))),
        ({"differs": "model", "b_model": "toy"}, (FIRST, "toy", "bidirectional", (1, 1))),
        (
            {"differs": "sentence", "b_text": "The doctor praised the students because they worked hard."},
            ("The doctor praised the students because they worked hard.", "minilm", "bidirectional", HEAD),
        ),
    ],
)
def test_a_beside_b_differs_in_what_was_chosen(app, trace, link, other):
    app.open(view="compare", **link)
    text, model, mask, head = other
    b = load(model).trace(text, mask)
    if model == "toy" and b.n_tokens != trace.n_tokens:
        assert any("can't be compared cell by cell" in error for error in app.errors)
        return
    found = compare(by_pieces(trace), by_pieces(b), HEAD, head)
    z, data = difference(app)
    np.testing.assert_allclose(np.nan_to_num(z), np.where(found.allowed_a | found.allowed_b, found.difference, 0))
    assert data["zmax"] == -data["zmin"] == pytest.approx(found.largest)
    maxima = [chart(app, f"compare_{letter}")["data"][0]["zmax"] for letter in "AB"]
    assert maxima[0] == maxima[1] == 1
    bars = chart(app, "compare_difference")["data"][-1]
    np.testing.assert_allclose(array(bars["x"]), found.row_distance, atol=1e-6)
    defaults = {"differs": "mask", "b_mask": "causal"}  # are left out of the link
    assert {name: app.link.get(name, defaults.get(name)) for name in link} == link


def test_minimal_pairs_are_laid_on_each_other(app):
    a, b = pairs()[0]
    app.open(view="compare", differs="sentence", text=a)
    assert app.value("b_text") == b
    labels = chart(app, "compare_difference")["layout"]["yaxis"]["ticktext"]
    assert "big | small" in labels and "trophy" in labels
    app.pick("pair", 2)
    assert (app.value("text"), app.value("b_text")) == pairs()[2]


def test_pairs_are_equally_long():
    model = load("minilm")
    for a, b in pairs():
        assert model.trace(a).n_tokens == model.trace(b).n_tokens


def test_sentences_of_unequal_length_are_refused_with_what_to_do(app):
    app.open(view="compare", differs="sentence", b_text="Too short.")
    assert len(app.errors) == 1 and "A has 12 tokens and B has 5" in app.errors[0]
    assert len(app.figures()) == 1  # the picture above stays


def test_a_wrong_mask_for_b_says_what_masks_there_are(app):
    app.test.session_state["b_mask"] = "sideways"  # as if typed: AppTest knows no new options
    app.open(view="compare")
    assert app.errors[0].startswith('There is no mask "sideways".')


# -- the link --------------------------------------------------------------------------------------------------------

BOUND = {
    "reading": list(READINGS)[1:],
    "level": list(LEVELS)[1:],
    "colour": list(METRICS),
    "scale": list(COLORSCALES[1:]),
    "large": ["on"],
    "view": ["numbers", "compare", "take"],
    "show": ["heads", "readings", "rollout"],
    "heads": ["2,9", "mean", "1,2,3,4,5,6,7,8,9,10,11,12"],
    "pinned": ["1", "12", "none"],
    "direction": ["looked_at_by"],
}
DEPENDENT = [
    {"reading": "norm", "rescale": "on"},
    {"reading": "log", "curve": "sqrt"},
    *({"view": "compare", "differs": kind} for kind in ("head", "layer", "sentence", "model")),
    {"view": "compare", "b_mask": "prefix:4"},
    {"view": "compare", "b_mask": "causal+window:3"},
    {"view": "compare", "b_mask": "matrix:12:" + "f" * 36},
    {"view": "compare", "differs": "head", "b_head": "7"},
    {"view": "compare", "differs": "layer", "b_layer": "6"},
]


# Each value once: choices that don't touch each other several in a link, the others alone.
ALONE = [{name: value} for name in ("view", "show", "pinned") for value in BOUND[name]]
TOGETHER = [
    {name: values[i] for name, values in BOUND.items() if {name: values[0]} not in ALONE and i < len(values)}
    for i in range(3)
]


@pytest.mark.parametrize("link", [*TOGETHER, *ALONE, *DEPENDENT], ids=str)
def test_every_choice_comes_from_the_link_and_stays_in_it(app, link):
    app.open(**link).run()
    assert {name: app.link.get(name) for name in link} == link
    assert not [error for error in app.errors if "compared cell by cell" not in error]


@pytest.mark.parametrize(
    "link",
    [
        *({name: "nonsense"} for name in BOUND),
        *({"view": "compare", name: "nonsense"} for name in ("differs", "b_mask")),
        *({"view": "compare", "differs": kind, f"b_{kind}": "nonsense"} for kind in ("head", "layer")),
        {"heads": "99"},
        {"heads": "1,,2"},
        {"pinned": "0"},
        {"pinned": "13"},
        {"pinned": "-1"},
        {"large": "1"},
        {"view": ""},
        {"view": "compare", "b_mask": "matrix:2:88"},
        {"view": "compare", "differs": "head", "b_head": "2"},
    ],
    ids=str,
)
def test_wrong_values_fall_back_quietly(app, link):
    app.open(**link).run()
    assert not app.errors
    assert (app.value("reading"), app.value("level"), app.value("scale")) == ("raw", "pieces", "Cividis")
    assert not {name for name, value in link.items() if app.link.get(name) == value} - {"view", "differs"}


def test_language_does_not_change_what_the_link_says(app):
    link = {"reading": "norm", "level": "words", "colour": "entropy", "view": "numbers", "lang": "zh"}
    app.open(**link).run()
    assert {name: app.link.get(name) for name in link} == link
    columns = json.loads(app.test.dataframe[0].proto.columns)
    assert columns["entropy"]["label"] == "熵"


# -- long and odd text -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "   "])
@pytest.mark.parametrize("view", ["heads", "compare"])
def test_no_text(app, text, view):
    assert app.open(view=view).pick("text", text).errors == ["There is no text to look at. Type a sentence."]


def test_repeated_words_keep_every_row(app):
    app.open(text="the the the the")
    assert ticks(app) == ["[CLS]", *["the"] * 4, "[SEP]"] and app.head_map().shape == (6, 6)


@pytest.mark.parametrize("text", ["המורה שיבח את התלמידים", "😀 🦜 ok", "<s> [MASK] [SEP]", "é" * 40])
@pytest.mark.parametrize("view", ["heads", "numbers", "compare", "take"])
def test_odd_text_in_every_tab(app, text, view):
    app.open(text=text, view=view)
    assert not app.errors


def test_only_special_tokens_left_says_so(app):
    app.open(text="[SEP]", reading="without_special")
    assert any("holds only special tokens" in error for error in app.errors)


@pytest.mark.parametrize("view", ["heads", "numbers", "compare", "take"])
def test_512_tokens_in_every_tab(app, view):
    app.open(view=view).pick("text", "word " * 600)
    assert not app.errors and component(app, "overview-maps")["step"] == [8, 8]
    assert "each cell: the largest of 8 × 8 weights" in component(app, "overview")["text"]["coarse"]


def test_csv_of_the_table_reads_back(app, trace):
    from analysis import csv_bytes, metrics_table, provenance

    table, source = read_csv(csv_bytes(metrics_table(by_pieces(trace)), provenance(trace)))
    assert len(table) == 72 and source["mask"] == "bidirectional"


def test_files_are_made_in_the_language_of_the_page(app, monkeypatch):
    """They are made when they are asked for, in a thread that knows no session, as here."""
    made = {}
    monkeypatch.setattr(st, "download_button", lambda label, make, **more: made.update({more["file_name"]: make}))
    app.open(lang="zh", text=FIRST, model="minilm", layer="4", head="2", view="take")
    title = translate("Head {name}", "zh").format(name="4-2")
    assert title != "Head 4-2" and f">{title}<" in made["headwork-4-2.svg"]().decode()
    assert '<html lang="zh' in made["headwork.html"]().decode()


def test_every_file_is_of_the_reading_without_the_first_token_and_says_so(app, monkeypatch, trace):
    made = {}
    monkeypatch.setattr(st, "download_button", lambda label, make, **more: made.update({more["file_name"]: make}))
    app.open(reading="without_first", view="take")
    rest = read(trace, hide_first=True, rescale=True).trace
    table, source = read_csv(made["headwork-4-2.csv"]())
    assert source["reading"] == "Without the first token, rows rescaled to 1"
    np.testing.assert_allclose(table["weight"].to_numpy().reshape(12, 12), rest.attention[HEAD], atol=1e-6)
    assert not table["allowed"][table["key"] == 0].any()
    svg, page = made["headwork-4-2.svg"]().decode(), made["headwork.html"]().decode()
    assert ">left out</text>" in svg and "Without the first token" in svg
    assert "masked, or left out here" in page and "Without the first token, rows rescaled to 1" in page
    assert made["headwork-4-2.png"]()[:4] == b"\x89PNG"
    with np.load(io.BytesIO(made["headwork.npz"]())) as arrays:  # raw weights, and what makes them the reading
        np.testing.assert_array_equal(arrays["attention"], trace.attention)
        made_of_raw = arrays["attention"][..., 1:] / (1 - arrays["removed"])[..., None]
        source = json.loads(str(arrays["provenance"]))
    np.testing.assert_allclose(made_of_raw, rest.attention[..., 1:], atol=1e-5)
    assert source["reading"] == "Raw weights" and source["shown"].startswith("Without the first token, rows rescaled")


# -- a decoder -------------------------------------------------------------------------------------------------------


def test_a_decoders_sink_is_told_and_one_press_shows_the_rest(app):
    app.open(model="smollm2-135m", text="The capital of France is Paris", layer="14", head="2")
    share = load("smollm2-135m").trace("The capital of France is Paris").attention[13, 1, 1:, 0].mean()
    assert share > 0.5 and f"Head 14-2 gives {share:.0%} of the weight to the first token, “The”." in app.words
    assert "[CLS]" not in app.words and "attention sink (Xiao et al. 2023)" in app.words
    app.test.get_by_key("offer_rest").click()
    app.run()
    assert app.value("reading") == "without_first" and app.link["reading"] == "without_first"
    assert f"{share:.0%} of the weight went to “The”." in app.words
    assert "offer_rest" not in {button.key for button in app.test.button}


def test_numbers_of_a_head_say_what_it_does_in_random_tokens(app):
    app.open(model="smollm2-135m", text="The capital of France is Paris", layer="19", head="7", view="numbers")
    assert "0.86 on the one that came after the same token earlier (induction; Olsson et al. 2022)." in app.words
    options = app.test.get_by_key("colour").options
    assert METRICS["previous_mass"].title in options
    assert not {METRICS[name].title for name in ("start_mass", "next_mass", "special_mass")}.intersection(options)
