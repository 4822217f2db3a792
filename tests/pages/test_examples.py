"""Examples, the lesson beneath them, the way out of [UNK], and opening in Chinese."""

import json

import numpy as np
import pytest

from analysis.evidence.agreement import ask
from model.catalogue import E5, reader_of_chinese
from model.weights.e5 import E5_HUB, e5_path
from tests.models import load
from tests.pages.test_explorer import array, chart, component
from ui.frame import examples
from ui.frame.unread import UNREADABLE

pytestmark = pytest.mark.skipif(
    e5_path() is None, reason="the package of multilingual-e5-small, 4-bit, is not installed"
)

COURSE = "小明把苹果递给了小红，因为她帮过他。"
SWAPPED = "小红把苹果递给了小明，因为她帮过他。"
ENGLISH = "Tom handed the apple to Mary because she had helped him."
LABEL = "multilingual-e5-small, 4-bit (Chinese and English)"


def choose(app, text):
    """Chooses an example as the menu shows it."""
    swapped = examples.of(text).is_swapped
    return app.pick("example", (examples.SWAPPED if swapped else "") + text)


def click(app, key):
    app.test.get_by_key(key).click()
    return app.run()


def keys(app):
    return [button.key for button in app.test.button]


def pinned(app):
    view = component(app, "strip")
    return view["tokens"]["labels"][view["pinned"]]


# -- what an example sets


def test_one_choice_sets_sentence_model_layer_head_and_the_token_to_look_at(app):
    app.open(pinned="3")
    choose(app, COURSE)
    assert (app.value("text"), app.value("model"), app.value("layer"), app.value("head")) == (COURSE, E5, 8, 1)
    assert app.value("example") is None and pinned(app) == "她" and "pinned" not in app.link
    strip = component(app, "strip")
    labels = strip["tokens"]["labels"]
    assert [labels[i] for i in strip["beside"]] == ["他"]
    weights = load(E5).trace(COURSE).attention[7, 0]
    np.testing.assert_array_equal(app.head_map(), weights)
    for query, right, wrong in (("她", "红", "明"), ("他", "明", "红")):
        row = weights[labels.index(query)]
        assert row[labels.index(right)] > 3 * row[labels.index(wrong)]


def test_every_example_opens_where_its_head_was_found(app):
    app.open()
    for example in examples.examples():
        choose(app, example.text)
        home = next(iter(example.heads))
        layer, head = example.heads[home]
        assert (app.value("text"), app.value("model")) == (example.text, home), example.text
        assert f"head {layer}-{head}" in app.words and pinned(app).lstrip("▁") == example.look


def test_the_token_beside_is_shown_only_with_the_token_to_look_at(app):
    app.open(text=COURSE, model=E5, layer="8", head="1")
    assert component(app, "strip")["beside"] == [14]
    other = type(app)().open(text=COURSE, model=E5, pinned="3")
    assert component(other, "strip")["pinned"] == 2 and component(other, "strip")["beside"] == []
    assert component(type(app)().open(), "strip")["beside"] == []


def test_what_a_mask_or_tab_was_stays_with_an_example(app):
    app.open(mask="window:9", view="numbers", reading="log")
    choose(app, COURSE)
    assert {name: app.link[name] for name in ("mask", "view", "reading")} == {
        "mask": "window:9",
        "view": "numbers",
        "reading": "log",
    }


# -- the model that a person chose


def test_an_example_says_that_it_brought_its_model_and_leads_back(app):
    app.open(layer="3", head="9")
    choose(app, COURSE)
    assert "This model came with the example." in app.words
    assert app.test.get_by_key("example_way").label == "↩ Back to MiniLM-L6 (built in)"
    click(app, "example_way")
    assert (app.value("model"), app.value("layer"), app.value("head")) == ("minilm", 3, 9)
    assert app.value("text") == COURSE and "example_way" not in keys(app)


def test_the_next_example_brings_its_own_model_again(app):
    app.open()
    choose(choose(app, COURSE), ENGLISH)
    assert (app.value("model"), app.value("layer"), app.value("head")) == ("minilm", 2, 4)
    assert f"Back to {LABEL}" in app.test.get_by_key("example_way").label


def test_a_model_chosen_by_hand_stays_if_it_reads_the_example(app):
    app.open().pick("model", E5)
    choose(app, ENGLISH)
    assert (app.value("model"), app.value("layer"), app.value("head")) == (E5, 8, 1)
    assert "example_way" not in keys(app)  # the example has a head for this model too


def test_a_model_that_knows_no_language_stays_and_the_other_one_is_offered(app):
    app.open().pick("model", "toy").pick("layer", 1).pick("head", 3)
    choose(app, COURSE)
    assert (app.value("model"), app.value("layer"), app.value("head")) == ("toy", 1, 3)
    assert "The example was found in another model, head 8-1." in app.words
    assert app.test.get_by_key("example_way").label == f"→ Open it in {LABEL}"
    click(app, "example_way")
    assert (app.value("model"), app.value("layer"), app.value("head")) == (E5, 8, 1)


def test_a_model_chosen_by_hand_that_cannot_read_the_example_gives_way_and_can_be_had_back(app):
    app.open().pick("model", "toy").pick("model", "minilm")
    choose(app, COURSE)
    assert app.value("model") == E5
    assert click(app, "example_way").value("model") == "minilm"


@pytest.mark.parametrize(("link", "by_hand"), [({"model": E5}, True), ({"model": E5, "text": COURSE}, False)])
def test_a_model_from_a_link_counts_as_chosen_unless_the_sentence_brought_it(app, link, by_hand):
    app.open(**link)
    choose(app, ENGLISH)
    assert app.value("model") == (E5 if by_hand else "minilm")


def test_what_was_told_goes_with_the_next_edit(app):
    choose(app.open(), COURSE)
    assert "example_way" in keys(app)
    assert "example_way" not in keys(app.pick("text", "另一句话。"))


def test_without_the_package_an_example_leaves_the_model_alone(app, monkeypatch):
    monkeypatch.setattr("ui.frame.examples.e5_path", lambda: None)
    choose(app.open(), COURSE)
    assert (app.value("text"), app.value("model")) == (COURSE, "minilm") and "example_way" not in keys(app)


# -- the lesson


def bars(app):
    """Head → [(label, length)] of the figure, a pair of bars for each question."""
    figure = chart(app, "agreement")
    names = [note["text"] for note in figure["layout"]["annotations"] if "</b>" in note["text"]]
    return {
        name: list(zip(data["text"], array(data["x"]).tolist(), strict=True))
        for name, data in zip(names, figure["data"], strict=True)
    }


def test_the_lesson_shows_both_heads_in_both_orders_from_the_models_own_maps(app):
    app.open(text=COURSE, model=E5, layer="8", head="1")
    model = load(E5)
    answers = ask(model.trace(COURSE), model.trace(SWAPPED), examples.of(COURSE).agreement.questions)
    shown = bars(app)
    assert list(shown) == ["<b><u>8-1</u></b>  4/4", "<b>12-5</b>  2/4"]
    for found, head in zip(shown.values(), ((7, 0), (11, 4)), strict=True):
        np.testing.assert_allclose([length for _, length in found], answers.weights[head].ravel(), rtol=1e-6)
    texts = [[text for text, _ in found] for found in shown.values()]
    assert texts[0][::2] == ["● 红 0.34", "● 明 0.23", "● 红 0.30", "● 明 0.26"]
    assert texts[1] == [
        *("● 红 0.36", "明 0.01", "明 0.01", "✕ 红 0.39"),
        *("● 红 0.37", "明 0.01", "明 0.01", "✕ 红 0.37"),
    ]
    assert "◆ 8-1: each pronoun gives more to the noun of its gender, in either order." in app.words
    assert "12-5 only seems to: “她” finds “红” in either order, but so does “他”." in app.words
    n = int((answers.n_right() == 4).sum())
    assert f"not understanding. And 4 questions prove little: {n} of 144 heads get all 4 right" in app.words


def test_one_click_leads_to_the_false_friend_and_back_and_one_swaps_the_nouns(app):
    app.open(text=COURSE, model=E5, layer="8", head="1")
    click(app, "lesson_12-5")
    assert (app.value("layer"), app.value("head")) == (12, 5) and "◆ 12-5 only seems to" in app.words
    click(app, "swap")
    assert (app.value("text"), app.value("layer"), app.value("head")) == (SWAPPED, 12, 5) and pinned(app) == "她"
    click(app, "lesson_8-1")
    assert (app.value("layer"), app.value("head")) == (8, 1)
    labels = component(app, "strip")["tokens"]["labels"]
    assert (labels.index("红"), labels.index("明")) == (2, 8)  # they changed places, and so did the arrows
    weights = app.head_map()
    assert weights[labels.index("她")].argmax() == 2
    assert weights[labels.index("他"), 8] > 3 * weights[labels.index("他"), 2]
    assert click(app, "swap").value("text") == COURSE


def test_any_other_head_stands_beside_them(app):
    app.open(text=COURSE, model=E5, layer="1", head="6")
    assert [name.split("  ")[0] for name in bars(app)] == ["<b>8-1</b>", "<b>12-5</b>", "<b><u>1-6</u></b>"]
    assert {"lesson_8-1", "lesson_12-5"} <= set(keys(app))
    assert "◆ 1-6 is right in one order and wrong in the other: it looks at a position." in app.words


def test_the_lesson_is_there_in_english_too_and_in_the_other_model(app):
    app.open(text=ENGLISH, layer="2", head="4")
    assert [name.split("  ")[1] for name in bars(app)] == ["4/4", "2/4"]
    assert "6-5 only seems to: “she” finds “Mary” in either order, but so does “him”." in app.words
    app.pick("model", E5)
    assert [name.split("  ")[0] for name in bars(app)][:2] == ["<b>8-1</b>", "<b>12-5</b>"]


@pytest.mark.parametrize("model", ["toy", "minilm"])
def test_a_model_without_known_heads_shows_the_chosen_one_or_says_why_not(app, model):
    app.open(text=COURSE, model=model)
    if model == "toy":
        assert len(bars(app)) == 1
    else:
        assert "MiniLM-L6 (built in) can't read “她”, so its heads can't be asked about it." in app.words


def test_a_mask_that_hides_a_noun_is_told_in_the_figure(app):
    app.open(text=COURSE, model=E5, layer="8", head="1", mask="window:3")
    assert "◆ 8-1: this mask hides a noun from a pronoun." in app.words
    assert any("masked" in text for text, _ in bars(app)["<b><u>8-1</u></b>  0/4"])


def test_no_other_sentence_has_a_lesson(app):
    app.open()
    assert "swap" not in keys(app) and "agreement" not in [c.proto.id for c in app.test.get("plotly_chart")]
    assert "swap" not in keys(app.pick("text", COURSE[:-1]))


# -- [UNK]

UNKNOWN = "老师表扬了学生，因为他们很努力。"


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("attention", {"view": "numbers", "reading": "log", "layer": "6", "head": "12", "mask": "causal"}),
        ("masks", {"tab": "padding", "with": "window:3", "mask": "causal"}),
        ("inside", {"source": "model", "tab": "cell", "mask": "causal"}),
        ("heads", {"view": "sentence", "source": "own", "mask": "causal"}),
    ],
)
def test_unreadable_text_is_told_with_numbers_and_one_click_reads_it_and_keeps_all_else(app, name, link):
    app.open(text=UNKNOWN, **({} if name != "attention" else link))
    if name != "attention":
        app.test.switch_page(f"pages/{name}.py")
        app.open(text=UNKNOWN, **link)
    assert "11 of 18 tokens are [UNK]: pieces of text that MiniLM-L6 (built in) can't read." in app.words
    assert app.test.get_by_key("read_with").label.replace("\\", "") == f"Read it with {LABEL}"
    before = app.link
    click(app, "read_with")
    assert app.value("model") == E5 and "[UNK]" not in app.words and not app.errors
    assert app.link.items() >= {**before, "model": E5}.items()  # on the page of heads, this model knows other tasks


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (UNKNOWN, True),
        ("The word 苹 means apple, and that is all that one has to know here.", False),  # 1 of 17 pieces
        ("🦜", False),  # no letters: another model reads it no better
        ("ภาษาไทย", True),
    ],
)
def test_the_model_is_offered_from_a_quarter_of_unknown_pieces_on(app, text, offered):
    app.open(text=text)
    assert ("read_with" in keys(app)) is offered
    tokens = load("minilm").trace(text).tokenized
    share = tokens.n_unknown / sum(not special for special in tokens.is_special)
    assert tokens.n_unknown and (share >= UNREADABLE or not offered)


def test_padding_does_not_count_as_text(app):
    assert "11 of 18 tokens are [UNK]" in app.open(text=UNKNOWN, mask="padding:64").words


def test_where_the_package_is_absent_a_model_of_the_hub_is_offered_with_its_size(app, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr("model.catalogue.e5_path", lambda: None)
    assert reader_of_chinese().id == E5_HUB
    app.open(text=UNKNOWN)
    label = app.test.get_by_key("read_with").label.replace("\\", "")
    assert label == f"Read it with {E5_HUB} (488 MB to download)"
    click(app, "read_with")
    assert "is not on this computer yet." in app.words and app.value("model") == E5_HUB


@pytest.mark.parametrize(
    ("offers", "reader"),
    [("minilm,toy", None), (f"minilm,{E5}", E5), ("minilm,bert-base-chinese", "bert-base-chinese")],
)
def test_a_limited_server_offers_only_what_it_has(app, monkeypatch, tmp_path, offers, reader):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HEADWORK_MODELS", offers)
    app.open(text=UNKNOWN)
    assert "11 of 18 tokens are [UNK]" in app.words
    assert ("read_with" in keys(app)) is (reader is not None)
    if reader:
        assert click(app, "read_with").value("model") == reader


def test_the_other_side_of_a_comparison_is_told_without_a_button(app):
    app.open(view="compare", differs="sentence", b_text=UNKNOWN)
    assert "11 of 18 tokens are [UNK]" in app.words and "read_with" not in keys(app)


# -- opening in Chinese


def test_opening_in_chinese_starts_on_the_courses_sentence(app):
    app.open(lang="zh")
    assert (app.value("text"), app.value("model"), app.value("layer"), app.value("head")) == (COURSE, E5, 8, 1)
    assert pinned(app) == "她" and "哪个头总能分清“红”和“明”" in app.words
    assert app.link == {"lang": "zh", "text": COURSE, "model": E5, "layer": "8", "head": "1"}
    again = type(app)().open(**app.link)
    assert (again.value("text"), again.value("model"), again.value("layer")) == (COURSE, E5, 8)


def test_a_chinese_browser_opens_the_app_in_chinese(app):
    app.test.context["locale"] = "zh-CN"
    app.open()
    assert app.link["lang"] == "zh" and app.value("text") == COURSE
    app.pick("lang", "en")
    assert app.link["lang"] == "en"  # or the next load would be Chinese again


@pytest.mark.parametrize("locale", ["zh-CN", "en-GB"])
def test_a_link_that_says_more_than_the_language_means_the_same_to_everyone(app, locale):
    app.test.context["locale"] = locale
    app.open(layer="3", head="9")
    assert (app.value("text"), app.value("model")) == (examples.examples()[0].text, "minilm")
    assert (app.value("layer"), app.value("head")) == (3, 9) and app.value("lang") == locale[:2]


def test_changing_the_language_changes_nothing_else(app):
    app.open().pick("lang", "zh")
    assert (app.value("text"), app.value("model")) == (examples.examples()[0].text, "minilm")
    assert app.link == {
        "lang": "zh",
        "text": examples.examples()[0].text,
    }  # or the next load would bring the Chinese sentence


@pytest.mark.parametrize("reason", ["package", "server"])
def test_where_no_such_model_is_opening_in_chinese_starts_in_english(app, monkeypatch, reason):
    if reason == "package":
        monkeypatch.setattr("ui.frame.examples.e5_path", lambda: None)
    else:
        monkeypatch.setenv("HEADWORK_MODELS", "minilm,toy")
    app.open(lang="zh")
    assert (app.value("text"), app.value("model")) == (examples.examples()[0].text, "minilm")
    assert app.link == {"lang": "zh"} or "text" not in app.link


def test_a_server_with_another_model_opens_on_a_head_of_that_model(app, monkeypatch):
    monkeypatch.setenv("HEADWORK_MODELS", E5)
    app.open()
    assert (app.value("text"), app.value("model")) == (examples.examples()[0].text, E5)
    assert (app.value("layer"), app.value("head")) == (10, 6) and pinned(app) == "▁they"


def test_examples_in_the_language_of_the_page_come_first(app):
    menu = json.loads(json.dumps(app.open().test.get_by_key("example").options))
    assert menu[0].startswith("The teacher") and COURSE in menu[:7]  # as many as the list shows without scrolling
    chinese = type(app)().open(lang="zh").test.get_by_key("example").options
    assert chinese[:2] == [COURSE, examples.SWAPPED + SWAPPED] and sorted(menu) == sorted(chinese)
