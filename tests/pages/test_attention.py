"""The Attention page: every control, what it changes, what the link says, and what happens when something is wrong."""

import json

import numpy as np
import pytest
import torch

from model import Mask
from model.tokenizers.tokens import MAX_CHARACTERS
from tests.models import load
from ui.frame.examples import examples

FIRST = examples()[0]
DRAWN = str(Mask.matrix(torch.ones(12, 12, dtype=torch.bool).triu(-1)))


def test_opens_on_a_head_in_which_something_can_be_seen(app):
    app.open(show="heads")
    assert (app.value("text"), app.value("layer"), app.value("head")) == (FIRST.text, 4, 2)
    head, grid = app.figures()
    ticks = head["layout"]["xaxis"]["ticktext"]
    assert app.head_map()[ticks.index("they"), ticks.index("students")] == pytest.approx(0.92, abs=0.01)
    assert grid["layout"]["title"]["text"] == "Layer 4, all heads"
    assert app.link.keys() <= {"layer", "head", "show"}


def test_the_map_is_the_one_that_the_model_computed(app):
    app.open(layer="3", head="9")
    trace = load("minilm").trace(FIRST.text)
    np.testing.assert_array_equal(app.head_map(), trace.attention[2, 8])


def test_layer_and_head_do_not_run_the_model_again(app, forwards):
    app.open()
    assert len(forwards) == 1
    before = app.head_map()
    app.pick("layer", 1).pick("head", 12)
    assert not np.array_equal(app.head_map(), before)
    assert len(forwards) == 1


def test_a_new_sentence_or_mask_runs_it_once_and_going_back_not_at_all(app, forwards):
    app.open()
    app.pick("text", "A big dog.").pick("mask_base", "causal")
    assert len(forwards) == 3
    app.pick("mask_base", "bidirectional").pick("text", FIRST.text)
    assert len(forwards) == 3


def test_two_visitors_share_one_forward(app, forwards):
    app.open()
    type(app)().open()
    assert len(forwards) == 1


def test_the_line_under_the_picture_says_model_head_mask_size_and_what_was_measured(app):
    app.open(mask="causal")
    (line,) = [text for text in app.words.splitlines() if "N = 12" in text]
    for part in (
        "MiniLM-L6 (built in)",
        "head 4-2",
        "mask causal",
        "rows sum to 1 (max error ",
        "masked cells exactly 0",
    ):
        assert part in line


@pytest.mark.parametrize(
    "mask",
    [
        *("causal", "window:3", "causal+window:2", "prefix:4", "padding:16", "causal+padding:20"),
        # What the choices in the sidebar can't express:
        *("window:2+prefix:4", "window:2+prefix:4+padding:16", "window:512", "window:9999+padding:14"),
        *(DRAWN, f"causal+{DRAWN}", f"padding:12+{DRAWN}"),
    ],
)
def test_every_mask_comes_from_the_link_is_drawn_and_stays_in_the_link(app, mask):
    app.open(mask=mask)
    trace = load("minilm").trace(FIRST.text, mask)
    np.testing.assert_array_equal(np.isnan(app.head_map()), ~trace.allowed)
    app.run()
    assert app.link["mask"] == mask


@pytest.mark.parametrize(
    ("base", "number", "spelled"),
    [("causal", None, "causal"), ("window", ("window", 1), "window:1"), ("prefix", ("prefix", 6), "prefix:6")],
)
def test_every_mask_control_changes_the_mask_and_the_link(app, base, number, spelled):
    app.open().pick("mask_base", base)
    if number:
        app.pick(f"mask_{number[0]}", number[1])
    assert app.link["mask"] == spelled and f"mask {spelled}" in app.words


def test_padding_combines_with_every_mask(app):
    app.open().pick("mask_base", "causal+window").pick("mask_pads", True).pick("mask_padding", 14)
    assert app.link["mask"] == "causal+window:2+padding:14"
    assert app.head_map().shape == (14, 14)
    app.pick("mask_pads", False).pick("mask_base", "bidirectional")
    assert "mask" not in app.link


def test_a_mask_that_only_a_link_can_say_stays_until_another_is_chosen_and_can_be_had_again(app):
    app.open(mask="window:2+prefix:4+padding:16")
    assert app.test.get_by_key("mask_base").options[-1] == "from the link: window:2+prefix:4"
    assert (app.value("mask_pads"), app.value("mask_padding")) == (True, 16)
    app.pick("text", "A big dog.").pick("lang", "zh")
    assert app.link["mask"] == "window:2+prefix:4+padding:16"
    app.pick("mask_base", "causal").pick("mask_pads", False)
    assert app.link["mask"] == "causal"
    app.pick("mask_base", "link")
    assert app.link["mask"] == "window:2+prefix:4"


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        ("matrix:1:8", "This mask was drawn for 1 tokens, but the sentence has 12. Draw it again for this sentence."),
        ("padding:600", "padding:600 is too long"),
        ("window:2+padding:9999", "padding:9999 is too long"),
    ],
)
def test_a_mask_from_the_link_that_does_not_fit_is_told_and_can_be_changed(app, mask, told):
    app.open(mask=mask)
    assert len(app.errors) == 1 and told in app.errors[0] and app.link["mask"] == mask
    assert not app.pick("mask_base", "causal").errors and app.link["mask"] == "causal"


def test_a_mask_keeps_its_numbers_while_another_is_chosen(app):
    app.open().pick("mask_base", "window").pick("mask_window", 5)
    app.pick("mask_base", "causal").pick("mask_base", "window")
    assert app.value("mask_window") == 5 and app.link["mask"] == "window:5"
    app.pick("mask_pads", True).pick("mask_padding", 20).pick("mask_pads", False).pick("mask_pads", True)
    assert app.link["mask"] == "window:5+padding:20"


def test_a_plus_that_a_mail_program_turned_into_a_space_is_understood(app):
    assert app.open(mask="causal padding:16").link["mask"] == "causal+padding:16"


def test_padding_too_short_for_the_sentence_says_what_to_do(app):
    app.open(mask="padding:5")
    assert app.errors == ["padding:5 is too short: this sentence has 12 tokens. Choose 12 or more."]
    assert not app.figures()


@pytest.mark.parametrize(
    "link",
    [
        {"layer": "99", "head": "0"},
        {"layer": "four", "head": "-1"},
        {"mask": "sideways"},
        {"mask": "window:99999999"},
        {"mask": "matrix:1:88"},
        {"mask": ""},
        {"model": "no-such-model"},
        {"model": "../nowhere"},
        {"model": "toy:heads=3,d_model=32"},
        {"lang": "xx"},
        {"unheard": "of"},
    ],
)
def test_wrong_values_in_a_link_fall_back_quietly(app, link):
    app.open(**link).run()
    assert not app.errors
    assert (app.value("layer"), app.value("head"), app.value("model")) == (4, 2, "minilm")
    assert "mask bidirectional" in app.words and "What does each head look at?" in app.words


def test_the_link_restores_every_setting(app):
    settings = {
        "text": "Two cats slept.",
        "model": "toy:d_model=16,heads=2,layers=3,seed=7",
        "mask": "prefix:2",
        "lang": "zh",
    }
    app.open(**settings, layer="2", head="1")
    assert app.link == {**settings, "layer": "2", "head": "1"}
    assert [app.value(f"toy_{name}") for name in ("d_model", "heads", "layers", "seed")] == [16, 2, 3, 7]
    trace = load(settings["model"]).trace("Two cats slept.", "prefix:2")
    np.testing.assert_array_equal(app.head_map(), np.where(trace.allowed, trace.attention[1, 0], np.nan))


def test_a_text_too_long_for_a_link_is_left_out_of_it(app):
    app.open().pick("text", "A short one.")
    assert app.link["text"] == "A short one."
    assert "text" not in app.pick("text", "word " * 400).link


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n"])
def test_empty_text_is_answered_with_what_to_do(app, text):
    app.open().pick("text", text)
    assert app.errors == ["There is no text to look at. Type a sentence."]
    assert "What does each head look at?" in app.words


@pytest.mark.parametrize("text", ["cat", "。", "🦜", "<s>", "é", "x" * 3000])
def test_one_word_or_one_sign_is_enough(app, text):
    app.open(show="heads").pick("text", text)
    assert len(app.figures()) == 2


def test_text_beyond_the_limits_is_cut_and_the_page_says_how_much(app):
    app.open().pick("text", "word " * 600)
    trace = load("minilm").trace("word " * 600)
    assert trace.n_tokens == 512
    blocks = trace.attention[3, 1].reshape(128, 4, 128, 4).max(axis=(1, 3))  # no more cells than pixels
    np.testing.assert_allclose(app.head_map(), blocks, atol=1e-6)
    assert "This model reads 512 tokens: the last 90 tokens of the text were cut." in app.words
    app.pick("text", "word " * (MAX_CHARACTERS // 5) + "tail " * 20)
    assert "its last 100 characters were left out" in app.words


def test_the_sidebar_says_when_a_text_is_too_long_for_the_link(app):
    said = "Longer than 1,500 characters: the link leaves this text out, and a reload loses it."
    app.open().pick("text", "a cat " * 250)
    assert app.link["text"] == "a cat " * 250 and said not in app.words
    app.pick("text", "a cat " * 250 + "s")
    assert "text" not in app.link and said in app.words


def test_what_the_model_cannot_read_is_counted(app):
    app.open(text="老师表扬了学生，因为他们很努力。")
    assert "11 of 18 tokens are [UNK]" in app.words


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({}, False),
        ({"mask": "padding:16"}, False),
        ({"mask": "causal"}, True),
        ({"mask": "window:2"}, True),
        ({"mask": "prefix:2+padding:16"}, True),
        ({"mask": "causal", "model": "toy"}, False),
    ],
)
def test_a_mask_outside_the_training_is_said_where_it_is_shown(app, link, said):
    assert ("This model was trained without this mask." in app.open(**link).words) is said


def test_the_toy_is_called_untrained_and_its_sizes_are_controls(app):
    app.open(show="heads").pick("model", "toy")
    assert "Untrained model" in app.words and "Toy (untrained)" in app.words
    before = app.head_map()
    app.pick("toy_seed", 1)
    assert not np.array_equal(app.head_map(), before) and "Toy 32/4/2, seed 1 (untrained)" in app.words
    app.pick("toy_layers", 5).pick("toy_heads", 8)
    assert app.link["model"] == "toy:d_model=32,heads=8,layers=5,seed=1"
    assert len(app.figures()[1]["layout"]["annotations"]) == 8
    app.pick("toy_heads", 5)
    assert len(app.errors) == 1 and app.errors[0].startswith("d_model 32 can't be split over 5 heads")


def test_a_larger_model_shows_the_chosen_layer_and_head_again(app):
    app.open(layer="6", head="12")
    app.pick("model", "toy")
    assert (app.value("layer"), app.value("head")) == (2, 4)
    app.pick("model", "minilm")
    assert (app.value("layer"), app.value("head")) == (6, 12)
    app.pick("model", "toy").pick("head", 3).pick("model", "minilm")
    assert (app.value("layer"), app.value("head")) == (6, 3)  # what was chosen since counts


def test_a_smaller_model_clamps_layer_and_head(app):
    app.open().pick("layer", 6).pick("head", 12)
    app.pick("model", "toy")
    assert (app.value("layer"), app.value("head")) == (2, 4)
    assert "head 2-4" in app.words


def test_a_model_of_the_hub_is_offered_and_not_fetched(app, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody answers there
    app.open(model="bert-base-chinese")
    assert "bert-base-chinese is not on this computer yet." in app.words
    (button,) = app.test.button
    assert button.label == "Download 412 MB" and not app.errors
    button.click()
    app.run()
    assert len(app.errors) == 1 and "http://127.0.0.1:9" in app.errors[0]


def test_a_model_that_does_not_exist_is_named_with_what_to_do(app):
    app.test.session_state["model"] = "![x](http://example.org/x.png)"  # as if typed: AppTest knows no new options
    app.open()
    (error,) = app.test.error
    assert (
        error.value.startswith("There is no model") and "\\!\\[x\\]" in error.value
    )  # shown as typed, not as an image


def test_a_server_can_limit_the_models(app, monkeypatch):
    monkeypatch.setenv("HEADWORK_MODELS", "minilm,toy")
    app.open(model="bert-base-uncased")
    assert app.value("model") == "minilm"
    assert app.test.get_by_key("model").options == ["MiniLM-L6 (built in)", "Toy (untrained)"]
    assert not app.test.get_by_key("model").proto.accept_new_options


def test_chinese_is_the_same_page_in_chinese(app):
    app.open().pick("lang", "zh")
    assert app.link["lang"] == "zh"
    assert "每个注意力头在看什么？" in app.words and "每行之和为 1" in app.words
    assert app.figures()[0]["layout"]["xaxis"]["title"]["text"] == "键（被看）"
    app.pick("text", " ")
    assert app.errors == ["还没有文本。请输入一个句子。"]


def test_what_a_person_typed_never_becomes_markup(app):
    app.open(text="<b>bold</b> ![i](http://x.org/i.png) $x$ <s>")
    ticks = app.figures()[0]["layout"]["xaxis"]["ticktext"]
    assert "&lt;" in ticks and "<" not in "".join(ticks)
    assert "x.org" not in "".join(element.value for kind in ("markdown", "caption") for element in app.test.get(kind))


def test_a_fault_of_the_app_shows_a_sentence_and_no_traceback(app, monkeypatch):
    monkeypatch.setattr("ui.frame.loading.load_model", lambda model_id: 1 / 0)
    app.test.run()
    assert not app.test.exception
    assert app.errors[0].startswith("Something went wrong")


def test_a_page_that_runs_without_the_app_starts_over_with_it(app, monkeypatch):
    app.open(mask="causal", layer="2", show="heads")
    monkeypatch.undo()  # from here on the page file runs first, as on a server that was just started
    app.run()
    assert (app.value("mask_base"), app.value("layer")) == ("causal", 2) and len(app.figures()) == 2


def test_two_texts_are_read_as_a_pair_and_the_map_between_them_can_be_chosen(app):
    pair = ("Cats purr.", "The dogs barked.")
    trace = load("minilm").trace(pair)
    app.open(text=" [SEP] ".join(pair), layer="3", head="9", view="numbers")
    assert "read as a pair" in app.words
    np.testing.assert_array_equal(app.head_map(), trace.attention[2, 8])

    def between():
        """The figures that say A → B and the like."""
        return [figure for figure in app.figures() if "→" in json.dumps(figure["layout"], ensure_ascii=False)]

    share = trace.attention[2, 8, :6, 6:].sum(axis=-1).mean()
    assert f"Head 3-9 gives {share:.0%} of the weight of text A to text B." in app.words
    (figure,) = between()
    assert figure["layout"]["yaxis"]["ticktext"][:2] == ["[CLS]", "cats"]
    assert figure["layout"]["xaxis"]["ticktext"][:2] == ["the", "dogs"]
    app.pick("part", "ba")
    assert app.link["part"] == "ba"
    share = trace.attention[2, 8, 6:, :6].sum(axis=-1).mean()
    assert f"Head 3-9 gives {share:.0%} of the weight of text B to text A." in app.words
    app.pick("text", "Cats purr.")
    assert "read as a pair" not in app.words and not between()
