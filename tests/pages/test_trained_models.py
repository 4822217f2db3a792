"""A model trained in this app on every page: few tokens, few heads, no special tokens, perhaps no FFN or LayerNorm."""

from functools import cache

import numpy as np
import pytest

from analysis.blocks.block_steps import boxes as block_boxes
from analysis.blocks.ledger import ledger
from model.training import Settings, Training, saved
from model.weights import trained
from tests.models import load
from ui.cost import several
from ui.inside import runs

KINDS = {
    "four heads": {"task": "neighbours"},
    "one head": {"task": "neighbours", "heads": 1},
    "with FFN": {"task": "twins", "ffn": True},
    "two layers, causal": {"task": "induction"},
    "Chinese": {"task": "agreement-zh"},
}


@cache
def file(kind):
    training = Training(Settings.of(**KINDS[kind], steps=30))
    training.step(30)
    return saved.to_bytes(training)


@pytest.fixture
def opened(app):
    """Opens a page with a model that this session trained, and a sentence of its task under its mask."""
    runs.records.clear()

    def open_page(page, kind, **more):
        about = saved.about(file(kind))
        model_id = trained.put(file(kind))
        link = {"model": model_id, "text": about.sample, "mask": about.settings.mask} | more
        app.open(**link)
        if page != "attention":
            app.test.switch_page(f"pages/{page}.py")
            for name, value in link.items():
                app.test.query_params[name] = value
            app.run()
        return app

    return open_page


@pytest.mark.parametrize("kind", KINDS)
def test_attention_shows_its_map(opened, kind):
    app = opened("attention", kind)
    about = saved.about(file(kind))
    expected = trained.from_bytes(file(kind)).trace(about.sample, about.settings.mask).attention
    found = app.head_map()
    assert any(np.allclose(np.nan_to_num(found), expected[layer, head], atol=0.01) for layer, head in _heads(expected))
    assert not app.errors
    assert about.label in app.words and "rows sum to 1" in app.words
    assert "words' weight to [CLS]" not in app.words  # it has none
    assert "outside its training" not in app.words and "Write “" not in app.words


def _heads(attention):
    return np.ndindex(*attention.shape[:2])


@pytest.mark.parametrize("view", ["numbers", "compare", "take"])
@pytest.mark.parametrize("kind", ["one head", "two layers, causal"])
def test_every_tab_of_attention_opens(opened, kind, view):
    app = opened("attention", kind, view=view)
    assert not app.errors


@pytest.mark.parametrize(
    ("kind", "own", "other"),
    [("two layers, causal", "causal", "bidirectional"), ("four heads", "bidirectional", "causal")],
)
def test_another_mask_than_its_own_is_out_of_its_training(opened, kind, own, other):
    assert f"trained under the mask {own}." in opened("attention", kind, mask=other).words


@pytest.mark.parametrize("tab", ["steps", "future", "padding", "flow"])
def test_masks(opened, tab):
    app = opened("masks", "four heads", tab=tab)
    assert not app.errors and "knows only its words" not in app.words  # what the page proposes to type is known
    if tab == "padding":
        assert "no padding token" in app.words
    elif tab == "future":
        assert "nothing before the edit moves" in app.words


def test_masks_knows_the_mask_of_its_training(opened):
    app = opened("masks", "two layers, causal", **{"with": "causal"})
    assert "outside this model's training" not in app.words  # causal beside causal
    app.pick("mask_base", "bidirectional")
    assert "bidirectional: outside this model's training, which was causal." in app.words


@pytest.mark.parametrize(
    ("kind", "boxes"),
    [
        ("four heads", ["input", "attention", "attention_sum"]),
        ("with FFN", ["input", "attention_norm", "attention", "attention_sum", "ffn_norm", "ffn", "ffn_sum"]),
    ],
)
def test_inside_a_block_draws_the_boxes_that_it_has(opened, kind, boxes):
    app = opened("inside", kind, source="model", tab="block", box=boxes[0])
    record = runs.trained(*_asked(kind), 0)
    assert [found.key for found in block_boxes(record)] == boxes
    for box in boxes:
        app.test.session_state["inside_box"] = box
        app.run()
        assert not app.errors and app.test.session_state["inside_box"] == box


def _asked(kind):
    about = saved.about(file(kind))
    return about.sample, trained.model_id(file(kind)), about.settings.allowed


def test_a_box_of_another_block_in_the_link_opens_attention(opened):
    app = opened("inside", "four heads", source="model", tab="block", box="ffn")
    assert app.test.session_state["inside_box"] == "attention"


@pytest.mark.parametrize("tab", ["steps", "cell", "layers"])
@pytest.mark.parametrize("kind", ["one head", "two layers, causal"])
def test_inside_every_other_tab_opens(opened, kind, tab):
    app = opened("inside", kind, source="model", tab=tab)
    assert not app.errors
    if tab == "layers" and kind == "one head":
        assert "This layer has one head" in app.words and "1 heads" not in app.words


@pytest.mark.parametrize(("kind", "total"), [("four heads", 5_440), ("with FFN", 18_912)])
def test_parameters_and_cost_count_it_to_the_last_parameter(opened, kind, total):
    """Four heads: 26 and 12 rows of 32, and 4 · 32² + 4 · 32. The read-out beside the Transformer is not in it."""
    app = opened("cost", kind)
    app.pick("cost_preset", trained.model_id(file(kind)))
    model = load(trained.model_id(file(kind)))
    assert total == sum(parameter.numel() for parameter in model.transformer.parameters()) == ledger(model.config).total
    assert f"Formula and count agree to the last parameter: {total:,}." in app.words
    (table,) = [frame.value for frame in app.test.dataframe]
    assert ("FFN" in set(table["part"])) == (kind == "with FFN")
    assert ("LayerNorms of a block" in set(table["part"])) == (kind == "with FFN")
    assert "LayerNorm of the embeddings" not in set(table["part"]) and "pooler" not in set(table["part"])


@pytest.mark.parametrize("tab", ["heads", "growth"])
def test_cost_without_a_feed_forward_network(opened, tab, monkeypatch):
    measured = several.time_heads
    monkeypatch.setattr(several, "time_heads", lambda *sizes: measured(*sizes, longest=0.02))
    several.measure.clear()
    app = opened("cost", "four heads")
    app.pick("cost_preset", trained.model_id(file("four heads")))
    app.test.session_state["cost_tab_tabs_en"] = {"heads": "One head or several", "growth": "Longer sentences"}[tab]
    app.run()
    assert not app.errors


def test_heads_at_work_says_that_no_corpus_can_score_it(opened):
    app = opened("heads", "four heads")
    assert not app.errors and "no corpus can score it" in app.words
    assert not app.test.get("button")


def test_a_sentence_of_other_words_is_told_with_one_to_try(opened):
    app = opened("attention", "Chinese", text="The cat sat.")
    assert any("knows only its words, not The, cat, sat." in said for said in app.errors)


def test_a_forgotten_model_is_told(app):
    app.open(model="trained:0123456789ab", text="a b c")
    assert any("no longer kept on this server" in said for said in app.errors)
