"""The page Does it matter?: shipped sets, every choice in the link, prompts of one's own, encoders."""

import re
import time

import numpy as np
import pytest

from analysis.effects import sets
from model.catalogue import SMOLLM2
from tests.models import tiny_decoder
from ui.effects import choices, data, runs
from ui.frame import loading
from ui.frame.jobs import Line

RECORD = sets.record("indirect_object", SMOLLM2)
OWN = """{"prompt": "the cat sat", "right": "a", "wrong": "b"}
{"prompt": "the dog sat", "right": "b", "wrong": "a"}"""  # a token of the tiny model is a byte


@pytest.fixture(autouse=True)
def one_line(monkeypatch):
    made = Line(1)
    monkeypatch.setattr(runs, "line", lambda: made)
    monkeypatch.setattr(runs, "WORKERS", 1)
    runs._kept.clear()
    runs._begun.clear()
    data.results.clear()
    data.encoded.clear()


@pytest.fixture
def tiny(monkeypatch):
    """A small random decoder over bytes in SmolLM2's place: quick, and measured by nobody before."""
    model = tiny_decoder()
    monkeypatch.setattr(loading, "load_model", lambda model_id: model)
    monkeypatch.setattr(data, "shipped", lambda *names: None)
    return model


@pytest.fixture
def effects(app):
    """Opens the page with a link."""

    def open_with(**link: str):
        return app.open_page("effects", **link)

    return open_with


def test_opens_on_a_decoder_and_says_that_looking_isnt_mattering_with_the_records_numbers(effects):
    app = effects()
    assert app.value("model") == SMOLLM2
    said = app.words
    matters = RECORD.ranked()[0]
    looks = divmod(int(np.nanargmax(RECORD.attention)), RECORD.shape[1])
    assert matters != looks
    assert "The head that looks most isn't the one that matters most." in said
    assert f"◆ {matters} looks at it with {RECORD.attention[matters]:.2f}" in said
    assert f"{RECORD.effect[looks]:+.2f}" in said and f"{RECORD.effect[matters]:.2f}".replace("-", "−") in said
    assert f"rank correlation {RECORD.rank_correlation.value:+.2f}".replace("-", "−") in said
    assert app.value("effects_at") == str(matters)
    titles = [figure["data"][0].get("type") for figure in app.figures()[:3]]
    assert titles == ["heatmap", "heatmap", "scatter"]


def test_other_pages_keep_their_model(effects):
    app = effects()
    app.test.switch_page("pages/masks.py")
    assert app.run().value("model") == "minilm"


def test_a_model_chosen_by_hand_stays_on_this_page_and_on_the_next(effects):
    app = effects().pick("model", "minilm")
    assert app.value("model") == "minilm" and "predicts no next token" in app.words
    app.test.switch_page("pages/masks.py")
    assert app.run().value("model") == "minilm"


def test_the_strongest_is_also_chosen_on_one_half_and_measured_on_the_other(effects):
    said = effects().words
    first = [each for each in RECORD.held_out if each.rank == 1]
    assert len(first) == 2
    for each in first:
        assert f"{each.head} {each.effect:+.2f}".replace(" -", " −") in said


def test_a_click_on_a_cell_or_a_point_chooses_its_head(effects, monkeypatch):
    app = effects()
    for key, at in (("effects_grid", 24 * 9 + 4), ("effects_points", 3)):
        monkeypatch.setattr(choices.st, "session_state", {key: {"selection": {"points": [{"point_index": at}]}}})
        choices.clicked(key, 9)
        assert choices.st.session_state["effects_at"] == {24 * 9 + 4: "25-5", 3: "1-4"}[at]
        monkeypatch.undo()
    app.pick("effects_at", "25-5")
    assert app.link["at"] == "25-5" and "Without head 25-5" in app.words


def test_a_link_restores_set_head_and_tab(effects):
    app = effects(set="agreement", at="3-2", view="parts", prompt="5")
    assert (app.value("effects_set"), app.value("effects_at"), app.value("effects_prompt")) == ("agreement", "3-2", 5)
    assert "Written towards the answer" in app.words
    assert "the word that decides" in app.words


def test_direct_effects_add_up_to_the_mean_logit_difference(effects):
    said = effects(view="parts").words
    assert f"together the logit difference, {RECORD.logit_difference:+.2f}" in said


def test_another_set_opens_on_a_prompt_and_a_head_of_its_own(effects):
    app = effects(prompt="5", at="1-1")
    app.pick("effects_set", "agreement")
    record = sets.record("agreement", SMOLLM2)
    best = record.ranked()[0]
    assert app.value("effects_at") == str(best)
    assert app.value("effects_prompt") == int(np.argmin(record.each[(slice(None), *best)])) + 1


def test_own_prompts_are_measured_in_the_background_kept_and_shown(effects, tiny):
    app = effects(set="own", own=OWN)
    assert "18 heads is switched off on 2 prompts" in app.words
    app.test.get_by_key("effects_measure").click()
    app.run()
    until(lambda: not runs_of(app).job.is_busy)
    assert runs_of(app).job.state == "finished", runs_of(app).job.error
    app.run()
    assert "mean of 2 prompts" in app.words and len(app.figures()) >= 3
    again = effects(set="own", own=OWN)  # another visitor of the same server
    assert "mean of 2 prompts" in again.words


def runs_of(app):
    return app.test.session_state[runs.RUN]


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def test_a_head_switched_off_shows_both_probabilities_before_and_after(effects, tiny):
    app = effects(set="own", own=OWN, at="2-3")
    bars = [bar.proto.text for bar in app.test.get("progress")]
    assert len(bars) == 2 and not any("→" in bar for bar in bars)
    app.pick("effects_switched", True)
    bars = [bar.proto.text for bar in app.test.get("progress")]
    assert all("→" in bar for bar in bars) and app.link["switched"] == "on"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("the cat sat on the | cat | b", "tokens of this model"),
        ('{"prompt": "the cat", "right": "a", "wrong": "a"}', "Both answers are"),
        ("the cat | a", "2 of three parts"),
        ("| a | b", "There is no prompt"),
        ("the cat | | b", "The right answer is missing"),
        ('{"prompt": "the cat ", "right": "a", "wrong": "b"}', "ends in a space"),
    ],
)
def test_a_line_that_cant_be_asked_is_told_why_and_the_others_are_asked(effects, tiny, line, why):
    app = effects(set="own", own=f"{line}\n{OWN}")
    told = "\n".join(warning.value for warning in app.test.warning).replace("\\", "")
    assert re.search(why, told), told
    assert "on 2 prompts" in app.words


def test_answers_of_several_tokens_are_shortened_on_request(effects, tiny):
    app = effects(set="own", own='{"prompt": "the cat sat", "right": "cat", "wrong": "dog"}')
    assert "first tokens that differ" in "\n".join(each.value for each in app.test.warning)
    app.pick("effects_shorten", True)
    assert not app.test.warning and "switched off here" in app.words and app.link["shorten"] == "on"


def test_two_thousand_prompts_are_bounded_and_it_is_said(effects, tiny):
    app = effects(set="own", own="")
    app.pick("effects_own", "\n".join([OWN] * 1000))
    assert "1744 lines beyond the first 256 are left out" in "\n".join(each.value for each in app.test.warning)


def test_an_encoder_is_measured_by_how_far_its_vectors_turn(effects):
    app = effects(model="minilm")
    assert "This model predicts no next token" in app.words and "turns by" in app.words
    assert len(app.figures()) >= 3
    app.pick("effects_turns", "sentence")
    assert "the sentence's vector turns by" in app.words and app.link["turns"] == "sentence"


def test_chinese(effects):
    said = effects(lang="zh", model=SMOLLM2).words
    assert "看得最多的头，并不是影响最大的头。" in said and "秩相关" in said
