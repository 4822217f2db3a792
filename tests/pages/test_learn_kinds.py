"""Watch heads learn: Translate, Peek and depth open from records, say what was measured, train, open elsewhere."""

import json

import numpy as np
import pytest

from model.tasks import PEEK, TRANSLATIONS
from model.training.depth import DEPTHS, VARIANTS, DepthRun
from model.training.peek import Peeking
from model.training.record import FOLDER, read_record
from model.training.translate import Translating
from tests.pages.test_explorer import component
from tests.pages.test_learn import finished, press, until
from ui.frame.jobs import Line
from ui.learn import depth, peek, translate
from ui.learn import runs as learn_runs


@pytest.fixture(autouse=True)
def one_place(monkeypatch):
    """A line of its own for each test; trainings look at few sentences."""
    made = Line(1)
    for room in (learn_runs, depth):
        monkeypatch.setattr(room, "line", lambda: made)
    for room in ("translate", "peek"):
        monkeypatch.setattr(f"model.training.{room}.N_HELD_OUT", 8)
    return made


def view(app):
    """What the picture is told."""
    sent = [json.loads(part.proto.json) for part in app.test.get("bidi_component") if part.proto.json]
    return next(data for data in sent if isinstance(data, dict) and data.get("part") == "view" and "gold" in data)


def said(app):
    return "\n".join(each.value for each in (*app.test.markdown, *app.test.caption))


@pytest.mark.parametrize("task", list(TRANSLATIONS))
def test_translate_opens_with_its_record_the_true_alignment_outlined(app, task):
    app.open_page("learn", task=task)
    record = read_record(FOLDER / f"{task}.safetensors", Translating)
    run = record.trainings[-1]
    shown = view(app)
    assert shown["labels"] == list(run.source) and shown["rows"] == list(run.rows)
    assert shown["gold"] == list(run.links)
    of_class = np.array(shown["keys"])
    assert (of_class.max(axis=1) == np.array(run.links)).all()  # each linked row belongs to exactly one word class
    assert record.date in said(app)


def test_translate_says_the_errors_that_were_measured(app):
    app.open_page("learn", task="translate-en")
    for run in read_record(FOLDER / "translate-en.safetensors", Translating).trainings:
        name = "1 head" if run.settings.heads == 1 else f"{run.settings.heads} heads"
        assert translate.network_says(name, run.test()) in said(app).replace("\\", "")


def test_a_sentence_of_ones_own_is_translated_beside_the_truth_and_others_are_refused(app):
    app.open_page("learn", task="translate-en")
    app.pick("learn_try_translate-en", "old cats hate dogs")
    codes = [code.value for code in app.test.get("code")]
    assert "Written: kato olda dogo ne lovi\nTrue: kato olda dogo ne lovi" in codes
    app.pick("learn_try_translate-en", "old <b>cats</b>")
    assert len(app.errors) == 1 and "no word" in app.errors[0].replace("\\", "")


@pytest.mark.parametrize(
    ("by_class", "verdict"),
    [
        ([[1, 1, 1, 1], [0.96, 1, 1, 1]], "Every head"),
        ([[1, 1, 1, 0.99], [0.5, 1, 1, 1]], "1-1 alone would do"),
        ([[1, 0.2, 1, 0.1], [0.1, 1, 0.1, 1]], "No head is near the best"),
    ],
)
def test_whether_heads_split_the_word_classes_is_what_was_measured(by_class, verdict):
    found = read_record(FOLDER / "translate-en.safetensors", Translating).trainings[-1].test()
    alignment = type(found.alignment)(
        error=np.zeros((1, 2)), share=np.zeros((1, 2)), by_class=np.array([by_class], dtype=np.float32)
    )
    assert verdict in translate.division_says(found._replace(alignment=alignment))


def test_a_head_that_no_class_needs_is_not_called_needed():
    rest = np.full((1, 2, 4), 0.99, dtype=np.float32)
    rest[0, 1, 2] = 0.4
    says = translate.off_says(
        translate.WithoutHead(rest, np.ones(4, dtype=np.float32)), ["noun", "adj", "verb", "split"]
    )
    assert "needs no single head" in says[0] and says[2] == "verb: without 1-2 40 % right, with every head 100 %."


def test_peek_opens_with_both_losses_and_the_floor(app):
    app.open_page("learn", task="peek")
    shown = view(app)
    assert [network["name"] for network in shown["networks"]] == ["causal", "bidirectional"]
    assert shown["floor"] == pytest.approx(np.log(2)) and shown["opens_on"] == "loss"
    assert shown["gold"] == [*range(1, len(shown["labels"])), -1]  # the line above the diagonal
    causal, peeking = (
        run for run in read_record(FOLDER / "peek.safetensors", Peeking).trainings if "prefix" not in run.settings.mask
    )
    for name, run in (("causal", causal), ("bidirectional", peeking)):
        assert peek.says(name, run.test()) in said(app).replace("\\", "")
    assert "read off" in peek.says("bidirectional", peeking.test()) and "at the floor" in peek.says("x", causal.test())


def test_peek_beside_a_prefix_shows_that_record(app):
    app.open_page("learn", task="peek", looks="prefix:5")
    assert [network["name"] for network in view(app)["networks"]] == ["causal", "prefix of 5"]


def test_what_the_grammar_forbids_gets_a_cross():
    subject, verb, thing, stop = PEEK.words(PEEK.sentences[0])
    assert peek.marked((subject, verb, thing, stop)) == f"{subject} {verb} {thing} {stop}"
    assert peek.marked((verb, subject)) == f"{verb} ✕ {subject} ✕"


@pytest.mark.parametrize("task", ["translate-zh", "peek"])
def test_trains_in_the_session_and_is_shown(app, task):
    app.open_page("learn", task=task, steps="100")
    press(app, "start")
    finished(app)
    held = app.test.session_state[learn_runs.RACE]
    assert all(run.done and len(run.frames) == len(run.curve) for run in held.networks)
    assert "Trained here" in said(app)
    for tab in ("off", "seeds", "take") if task != "peek" else ("seeds", "take"):
        app.test.session_state["learn_view"] = tab
        app.open_page("learn", task=task, steps="100", view=tab)
        assert not app.errors


def test_a_trained_translator_opens_on_attention_as_encoder_and_decoder(app):
    app.open_page("learn", task="translate-en", view="take")
    keys = [button.key for button in app.test.button]
    assert "learn_open_run_attention" in keys and "learn_open_run_masks" not in keys
    press(app, "open_run_attention")
    assert app.test.session_state["model"].startswith("trained:")
    assert app.test.session_state["text"] == TRANSLATIONS["translate-en"].sample
    app.test.switch_page("pages/attention.py")
    app.run()
    assert not app.errors
    strip = component(app, "strip")
    assert strip["tokens"]["labels"][0] == "<s>"
    assert strip["keys"]["labels"] == TRANSLATIONS["translate-en"].sample.split()


def _run(layers, residual, loss, ratio=1.0):
    return DepthRun(layers, "pre", residual, 50, (ratio, *[1.0] * (layers - 1)), 3.5, loss, 0.1)


def test_depth_says_only_what_follows_from_its_numbers():
    floor, guess = 0.7, 2.8
    says = depth.says([_run(8, True, 0.9), _run(8, False, 2.8, 0.01)], 8, floor, guess)
    assert "better than word frequencies alone (2.80 nats): pre-LN, residual (0.90)" in says[0]
    assert "no better" in says[1] and "pre-LN, no residual (2.80)" in says[1]
    assert "less than a tenth" in says[-1]
    says = depth.says([_run(4, False, 2.8, 0.7), _run(8, True, 0.9), _run(8, False, 2.8, 0.01)], 8, floor, guess)
    assert "isn't the whole reason: 4 layers" in says[-1]
    says = depth.says([_run(8, True, 0.9), _run(8, False, 1.0)], 8, floor, guess)
    assert len(says) == 2 and not any("no better" in each for each in says)


def test_depth_is_measured_when_asked_and_stops(app, monkeypatch):
    done = [_run(layers, residual, 1.0) for layers in DEPTHS for _norm, residual in VARIANTS]
    monkeypatch.setattr(depth, "experiment", lambda **_: iter(done))
    app.open_page("learn", task="depth")
    assert app.test.info and not app.figures()
    app.test.get_by_key("depth_start").click()
    app.run()
    held = app.test.session_state[learn_runs.DEPTH]
    until(lambda: not held.job.is_busy)
    app.run()
    assert held.job.state == "finished" and len(held.done) == len(done)
    assert len(app.figures()) == 2


@pytest.mark.parametrize(
    "link", [{"task": "nonsense"}, {"task": "peek", "looks": "window:2"}, {"task": "translate-en", "heads": "3"}]
)
def test_links_that_make_no_sense_open_what_is_there(app, link):
    app.open_page("learn", **link)
    assert not app.errors
