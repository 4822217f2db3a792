"""The mask lab: every control, what it changes, what is claimed on screen, and what happens when something is wrong."""

import base64
import re

import numpy as np
import pytest
import torch

from model import Mask, parse_mask
from tests.models import load
from ui.frame.examples import examples
from ui.masks import grid as mask_grid
from ui.masks import runs

FIRST = examples()[0].text
TABS = {"future": "The future", "padding": "Padding", "flow": "Who may look at whom"}


@pytest.fixture
def lab(app, monkeypatch):
    """Opens the lab, at a tab, with a link."""
    runs._results.clear()

    def open_at(tab: str = "", **link: str):
        if tab:
            app.test.session_state["mask_tab_tabs_en"] = TABS[tab]
        return app.open_page("masks", **{"compare": "masks"} | link)  # one model under two masks

    return open_at


def cells(figure, trace=0):
    z = figure["data"][trace]["z"]
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def title(figure):
    notes = figure["layout"].get("annotations", [])
    return re.sub("</?b>", "", notes[0]["text"]) if notes else ""


def figure(app, words):
    (found,) = [one for one in app.figures() if title(one) == words]
    return found


def test_opens_with_bidirectional_beside_causal_and_their_difference(lab):
    app = lab()
    first, second, change = app.figures()[:3]
    assert [title(one) for one in (first, second, change)] == ["bidirectional", "causal", "change"]
    both, causal = load("minilm").trace(FIRST), load("minilm").trace(FIRST, "causal")
    np.testing.assert_array_equal(cells(first), both.attention[3, 1])
    np.testing.assert_array_equal(cells(second), np.where(causal.allowed, causal.attention[3, 1], np.nan))
    np.testing.assert_allclose(cells(change), causal.attention[3, 1] - both.attention[3, 1], atol=1e-6)
    assert (first["data"][0]["zmin"], first["data"][0]["zmax"]) == (
        second["data"][0]["zmin"],
        second["data"][0]["zmax"],
    )
    assert change["data"][0]["zmin"] == -change["data"][0]["zmax"]
    hidden = np.triu(both.attention[3, 1], 1).sum(-1).mean()
    assert f"bidirectional puts {hidden:.0%} of its weight on keys that causal hides" in app.words


def test_says_that_a_causal_mask_is_outside_the_models_training(lab):
    words = lab().words
    assert "causal: outside this model's training, which was bidirectional." in words
    assert "This shows what the mask does, not how a trained decoder attends." in words


def test_a_window_that_hides_nothing_of_this_sentence_is_not_outside_its_training(lab):
    app = lab(text="Two cats.", **{"mask": "bidirectional", "with": "window:9"})
    assert "outside this model's training" not in app.words
    assert "window 1: outside this model's training" in app.pick("with_window", 1).words


def test_says_that_the_toy_is_untrained(lab):
    words = lab(model="toy").words
    assert "Untrained model" in words and "outside this model's training" not in words


def test_layer_and_head_change_the_maps(lab):
    app = lab()
    app.pick("layer", 1).pick("head", 5)
    np.testing.assert_array_equal(cells(app.figures()[0]), load("minilm").trace(FIRST).attention[0, 4])


def test_the_sidebars_mask_is_the_first_of_the_two(lab):
    app = lab(mask="window:1")
    assert [title(one) for one in app.figures()[:2]] == ["window 1", "causal"]
    app.pick("mask_base", "causal")
    assert "Both masks are the same" in app.words
    assert not np.nan_to_num(cells(app.figures()[2])).any()


@pytest.mark.parametrize(
    ("link", "kind", "named"),
    [
        ("window:3", "window", "window 3"),
        ("prefix:5", "prefix", "prefix 5"),
        ("bidirectional", "bidirectional", "bidirectional"),
    ],
)
def test_the_second_mask_comes_from_the_link_and_goes_back_into_it(lab, link, kind, named):
    app = lab(**{"with": link})
    assert app.value("with_kind") == kind and title(app.figures()[1]) == named
    assert app.link["with"] == link
    app.pick("with_kind", "causal")
    assert "with" not in app.link


@pytest.mark.parametrize(("mask", "kind"), [("window:511", "window"), ("prefix:512", "prefix")])
def test_the_largest_numbers_are_those_of_the_sidebar(lab, mask, kind):
    app = lab(mask=mask, **{"with": mask})
    number = int(mask.partition(":")[2])
    assert app.value("mask_base") == app.value("with_kind") == kind
    assert app.value(f"mask_{kind}") == app.value(f"with_{kind}") == number
    assert app.test.get_by_key(f"mask_{kind}").max == app.test.get_by_key(f"with_{kind}").max == number


@pytest.mark.parametrize("mask", ["window:512", "prefix:513"])
def test_numbers_beyond_them_are_a_mask_of_the_link_in_both(lab, mask):
    app = lab(mask=mask, **{"with": mask})
    assert app.value("mask_base") == app.value("with_kind") == "link"


@pytest.mark.parametrize(("n_words", "step"), [(126, 1), (127, 2), (600, 4)])
def test_a_long_sentence_is_drawn_in_blocks_and_the_page_says_so(lab, n_words, step):
    app = lab(text="cat " * n_words)
    n = min(n_words + 2, 512)
    said = f"shows the largest of {step} × {step} weights, and of the change the one farthest from 0."
    assert (said in app.words) == (step > 1)
    causal = load("minilm").trace("cat " * n_words, "causal").attention[3, 1]
    shown = cells(app.figures()[1])
    assert shown.shape == (-(-n // step), -(-n // step))
    assert shown[9, 3] == causal[9 * step : 10 * step, 3 * step : 4 * step].max()


def test_the_number_of_a_mask_can_be_changed(lab):
    app = lab(**{"with": "window:3"})
    app.pick("with_window", 1)
    assert app.link["with"] == "window:1"
    np.testing.assert_array_equal(~np.isnan(cells(app.figures()[1])), Mask.window(1).allowed(12).numpy())


@pytest.mark.parametrize("wrong", ["window:x", "matrix:9:zz", "<script>alert(1)</script>", ""])
def test_a_link_that_says_something_else_opens_on_causal(lab, wrong):
    app = lab(picture="nonsense", **{"with": wrong})
    assert app.value("with_kind") == "causal" and app.value("mask_view") == "one"


@pytest.mark.parametrize("mask", ["causal+window:2", "window:2+prefix:4", "window:600", "causal+matrix"])
def test_a_mask_that_only_a_link_can_say_is_compared_with(lab, mask):
    mask = mask.replace("matrix", str(Mask.matrix(torch.ones(12, 12, dtype=torch.bool).triu(-1))))
    app = lab(**{"with": mask})
    assert app.value("with_kind") == "link" and app.link["with"] == mask
    np.testing.assert_array_equal(~np.isnan(cells(app.figures()[1])), parse_mask(mask).allowed(12).numpy())
    assert app.pick("with_kind", "bidirectional").link["with"] == "bidirectional"
    assert app.pick("with_kind", "link").link["with"] == mask


def test_padding_of_the_mask_compared_with_is_left_to_the_sidebar(lab):
    app = lab(**{"with": "window:3+padding:16"})
    assert (app.value("with_kind"), app.value("with_window"), app.link["with"]) == ("window", 3, "window:3")


def test_a_padded_sentence_is_padded_under_both_masks(lab):
    app = lab(mask="padding:16")
    assert [title(one) for one in app.figures()[:2]] == ["padding", "causal + padding"]
    assert cells(app.figures()[0]).shape == cells(app.figures()[1]).shape == (16, 16)


def test_all_heads_stand_side_by_side_on_one_scale(lab):
    app = lab(picture="all")
    first, second, change = app.figures()[:3]
    assert [one["layout"]["title"]["text"] for one in (first, second)] == ["<b>bidirectional</b>", "<b>causal</b>"]
    both, causal = load("minilm").trace(FIRST).attention[3], load("minilm").trace(FIRST, "causal").attention[3]
    tiles = cells(change)
    for head in range(12):
        row, column = divmod(head, 4)
        tile = tiles[row * 13 :, column * 13 :][:12, :12]
        np.testing.assert_allclose(tile, causal[head] - both[head], atol=1e-6)
    share = np.abs(causal - both).sum(-1).mean(-1) / 2
    assert f"most in head 4-{share.argmax() + 1} ({share.max():.0%})" in app.words


@pytest.mark.parametrize("layer", [1, 4])
def test_the_split_adds_up_on_screen_and_says_how_well_layer_1_is_cut_and_rescale(lab, layer):
    app = lab(picture="split")
    app.pick("layer", layer)
    parts = [figure(app, name) for name in ("change", "= cut and rescale", "+ changed input")]
    change, by_mask, by_input = (cells(one) for one in parts)
    np.testing.assert_allclose(by_mask + by_input, change, atol=1e-6)
    assert len({(one["data"][0]["zmin"], one["data"][0]["zmax"]) for one in parts}) == 1
    assert (np.abs(by_input).max() < 1e-6) == (layer == 1)
    error = float(re.search(r"largest error over all heads (\S+)\.", app.words)[1])
    assert error < 1e-6


def test_a_second_mask_that_shows_more_is_not_called_a_cut(lab):
    app = lab(picture="split", mask="causal", **{"with": "bidirectional"})
    assert figure(app, "= other mask") and "more than a cut" in app.words


def test_the_steps_are_those_of_the_model_and_the_wrong_order_falls_short(lab):
    app = lab()
    names = ["S = QKᵀ / √d_k", "M: 0, hatched −∞", "S + M", "softmax(S + M)"]
    scores, _, masked, right = (figure(app, name) for name in names)
    causal = load("minilm").trace(FIRST, "causal")
    np.testing.assert_allclose(np.nan_to_num(cells(right)), causal.attention[3, 1], atol=1e-6)
    np.testing.assert_array_equal(np.isnan(cells(masked)), ~causal.allowed)
    np.testing.assert_array_equal(cells(masked)[causal.allowed], cells(scores)[causal.allowed])
    app.pick("query", 2)
    (table,) = [frame.value for frame in app.test.dataframe if "softmax(S + M)" in frame.value]
    assert table["softmax(S + M)"][0] == "1.00" and float(table["wrong"][0]) < 1
    assert table["M"].tolist() == ["", "0", "0", "0", *["−∞"] * 9]
    scores = runs.scores_of(causal, 3).scores[1].astype(float)
    sums = np.tril(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)).sum(-1)
    n_short = (sums < 1 - 1e-6).sum()
    assert (
        f"Right: rows sum to 1.00. Wrong: {n_short} of 12 rows sum to less, the lowest to {sums.min():.2f}" in app.words
    )
    assert f"row “{causal.tokens[2]}” to {table['wrong'][0]}" in app.words


def test_the_leak_test_says_0_for_causal_and_more_for_bidirectional(lab):
    app = lab("future")
    assert "**causal**: nothing before the edit moves (largest change 0)." in app.words
    moved = float(re.search(r"\*\*bidirectional\*\*: before the edit, states move by up to (\S+) ", app.words)[1])
    assert moved > 0.5
    app.pick("edit", 3)
    assert "**causal**: nothing before the edit moves" in app.words
    app.pick("into", "adored and praised")
    assert "**causal**: nothing before the edit moves" in app.words
    assert "rounding" in app.words or "largest change 0)" in app.words


def test_edits_that_edit_nothing_say_so(lab):
    app = lab("future")
    app.pick("into", " ")
    assert "Type the word to put in place of “hard”." in app.words
    app.pick("into", "hard")
    assert "already stands there" in app.words
    app.pick("into", "later").pick("edit", 0)
    assert "before the edit" in app.words


def test_time_reveals_tokens_and_causal_rows_stay(lab):
    app = lab("future")
    app.pick("time", 8)
    causal = load("minilm").trace(FIRST, "causal")
    shown = [one for one in app.figures()[3:] if title(one) == "causal" and "zmin" in one["data"][0]][-1]
    seen = cells(shown)
    np.testing.assert_allclose(np.nan_to_num(seen[:8, :8]), causal.attention[3, 1, :8, :8], atol=1e-6)
    assert np.isnan(seen[8:]).all() and np.isnan(seen[:, 8:]).all()
    change = float(
        re.search(r"\*\*causal\*\*: the arrival of “they” changes the rows above it by at most (\S+)\.", app.words)[1]
    )
    assert change < 1e-5
    change = float(re.search(r"\*\*bidirectional\*\*: the arrival of “they” changes .* at most (\S+)\.", app.words)[1])
    assert change > 0.01


def padding_table(app):
    (table,) = [frame.value for frame in app.test.dataframe if "weight on padding" in frame.value]
    return table.set_index("mask")


def test_padding_takes_weight_without_its_mask_and_nothing_with_it(lab):
    app = lab("padding")
    table = padding_table(app)
    assert table["weight on padding"]["none"] != "0%" and float(table["outputs move"]["none"]) > 0.1
    for mask in ("padding", "causal + padding"):
        assert table["weight on padding"][mask] == "0%" and float(table["outputs move"][mask]) < 1e-5
    without, with_ = (cells(figure(app, name)) for name in ("no padding mask", "padding mask"))
    assert without.shape == with_.shape == (12, 12)
    assert np.isnan(with_[:, 6:]).all() and not np.isnan(without).any()


def test_on_the_left_causal_does_not_hide_padding(lab):
    app = lab("padding")
    assert padding_table(app)["weight on padding"]["causal"] == "0%"
    app.pick("pad_side", "left").pick("pad_base", "causal")
    assert padding_table(app)["weight on padding"]["causal"] != "0%"
    assert figure(app, "causal, no padding mask") and "A causal mask is not a padding mask." in app.words
    assert "On the left, causal alone leaves up to" in app.words


def test_sentences_of_one_length_and_an_empty_one_say_what_to_do(lab):
    app = lab("padding")
    app.pick("other", FIRST)
    assert "nothing to pad" in app.words
    app.pick("other", "")
    assert "There is no text" in app.words


def test_the_gallery_shows_a_mask_its_reach_and_its_graph(lab):
    app = lab("flow")
    app.pick("shown_kind", "window")
    app.pick("shown_window", 1).pick("deep", 2)
    np.testing.assert_array_equal(
        ~np.isnan(cells(figure(app, "one layer: 1 = may look"))), Mask.window(1).allowed(12).numpy()
    )
    np.testing.assert_array_equal(
        ~np.isnan(cells(figure(app, "known after 2 layers"))), Mask.window(2).allowed(12).numpy()
    )
    assert "at most 2 tokens back and 2 ahead" in app.words and "reaches 2 × 1 = 2 tokens" in app.words
    app.pick("asks", 0)
    assert figure(app, "what can reach “[CLS]”")


@pytest.mark.parametrize("kind", ["bidirectional", "causal", "prefix", "padding"])
def test_every_mask_of_the_gallery_can_be_looked_at(lab, kind):
    app = lab("flow")
    app.pick("shown_kind", kind)
    assert figure(app, "known after 3 layers")


def grid(app):
    (found,) = [one for one in app.test.get("bidi_component") if "Draw a mask" in one.proto.json]
    return found


def test_a_drawn_mask_starts_causal_and_follows_its_link(lab):
    app = lab("flow")
    app.pick("with_kind", "drawn")
    assert parse_mask(app.link["with"]) == Mask.matrix(Mask.causal().allowed(12))
    assert '"cells": "1000' in grid(app).proto.json.replace('":"', '": "')


def test_rows_of_a_drawn_mask_that_see_nothing_are_named_and_give_0(lab):
    rows = np.tril(np.ones((12, 12), dtype=bool))
    rows[3] = False
    mask = Mask.matrix(rows.tolist())
    app = lab("flow", **{"with": str(mask)})
    assert app.value("with_kind") == "drawn" and app.link["with"] == str(mask)
    assert "Rows that see nothing: 1 (praised)" in app.words
    assert np.isnan(cells(app.figures()[1])[3]).all()
    assert not load("minilm").trace(FIRST, mask).attention[:, :, 3].any()


def test_a_drawing_for_another_sentence_waits_until_it_fits_again(lab):
    mask = Mask.matrix(np.eye(12, dtype=bool).tolist())
    app = lab(**{"with": str(mask)})
    app.pick("text", "A cat.")
    assert app.link["with"] == str(Mask.matrix(Mask.causal().allowed(5)))
    app.pick("text", FIRST)
    assert app.link["with"] == str(mask)


def test_no_mask_is_drawn_for_a_long_sentence(lab):
    app = lab(text="cat " * 40)
    app.pick("with_kind", "drawn")
    assert app.errors == [
        "A mask can be drawn for up to 24 tokens; this sentence has 42. Shorten it, or choose another mask."
    ]


@pytest.mark.parametrize("tab", ["", *TABS])
@pytest.mark.parametrize("text", ["x", "🙂", "<script>alert(1)</script>", "![x](http://a.b/c.png) $y$", "cat " * 600])
def test_any_text_works_in_every_tab(lab, tab, text):
    app = lab(tab, text=text[:1400])
    assert not app.errors and app.figures()


@pytest.mark.parametrize("tab", ["", *TABS])
@pytest.mark.parametrize("text", ["x", "x y"])
def test_one_and_two_tokens_work_in_every_tab(lab, tab, text):
    app = lab(tab, model="toy", text=text)
    assert not app.errors and app.figures()


def test_an_empty_sentence_says_so_and_keeps_the_frame(lab):
    app = lab(text=" ")
    assert app.errors == ["There is no text to look at. Type a sentence."]


def test_the_table_of_libraries_is_there(lab):
    app = lab("flow")
    (table,) = [frame.value for frame in app.test.table if "may look" in frame.value]
    assert any("nn.MultiheadAttention" in name for name in table["library and argument"])


def test_what_was_computed_is_kept_for_everybody(lab, forwards):
    app = lab("future")
    n = len(forwards)
    app.pick("head", 7).pick("time", 6)
    app.pick("time", 5)
    assert len(forwards) == n + 2  # the first 6 tokens, under two masks; 5 and 4 were there


def test_layer_1_says_in_the_first_picture_how_exactly_it_is_cut_and_rescale(lab):
    app = lab()
    assert "In layer 1 the input is the same" not in app.words
    app.pick("layer", 1)
    assert float(re.search(r"largest error over all heads (\S+)\.", app.words)[1]) < 1e-6


def test_the_picture_can_be_switched_and_the_link_keeps_it(lab):
    app = lab()
    app.pick("mask_view", "all")
    assert app.link["picture"] == "all" and app.figures()[0]["layout"]["title"]["text"] == "<b>bidirectional</b>"
    app.pick("mask_view", "one")
    assert "picture" not in app.link


def test_a_drawing_in_the_gallery_can_be_made_the_second_mask(lab):
    app = lab("flow")
    app.pick("shown_kind", "drawn")
    assert app.value("with_kind") == "causal"
    (button,) = [one for one in app.test.button if one.label == "Compare with this mask"]
    button.click()
    app.run()
    assert app.value("with_kind") == "drawn" and app.link["with"].startswith("matrix:12:")
    assert "The maps at the top follow what you draw." in app.words


@pytest.mark.parametrize(
    "sent",
    [
        None,
        {},
        {"id": 12},
        {"id": 5, "edit": 1, "cells": "1" * 25},
        {"id": 12, "edit": "x", "cells": "0"},
        {"id": 12, "edit": 1, "cells": "2" * 144},
    ],
)
def test_what_the_browser_sends_about_something_else_or_garbled_is_ignored(monkeypatch, sent):

    monkeypatch.setattr(mask_grid.st, "session_state", {"grid": {"drawn": sent}})
    mask_grid._take("grid", 12)
    assert mask_grid.drawn(12) == Mask.matrix(Mask.causal().allowed(12))


def test_what_the_browser_sends_is_kept(monkeypatch):

    monkeypatch.setattr(mask_grid.st, "session_state", {"grid": {"drawn": {"id": 2, "edit": 1, "cells": "0110"}}})
    mask_grid._take("grid", 2)
    assert mask_grid.drawn(2) == Mask.matrix([[False, True], [True, False]])
