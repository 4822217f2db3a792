"""The page of learning: start, pause, step, reset and line, links, claims, files and the way to other pages."""

import base64
import json
import threading
import time
import tomllib
import zlib

import numpy as np
import pytest

from model.training import Settings, Training, saved
from model.weights import trained
from tests.pages.conftest import ROOT, App
from ui.frame import links
from ui.frame.jobs import Line
from ui.learn import export, seeds
from ui.learn import page as learn_page
from ui.learn import runs as learn_runs

SHORT = {"steps": "100"}


@pytest.fixture(autouse=True)
def one_place(monkeypatch):
    """A line of its own for each test, with one place. No thread is left over."""
    made = Line(1)
    monkeypatch.setattr(learn_runs, "line", lambda: made)
    monkeypatch.setattr("model.training.training.N_HELD_OUT", 16)  # a short run measures as often as a long one
    yield made
    until(lambda: not [thread for thread in threading.enumerate() if thread.name == "job"])


@pytest.fixture
def learn(app):
    """Opens the page with a link, in as many sessions as one asks for."""
    opened = []

    def open_with(**link):
        one = app if not opened else App()
        opened.append(one)
        return one.open_page("learn", **link)

    yield open_with
    for one in opened:
        for key in (learn_runs.RACE, learn_runs.TRIAL):
            if key in one.test.session_state:
                one.test.session_state[key].job.rest()


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def press(app, key):
    app.test.get_by_key(f"learn_{key}").click()
    return app.run()


def is_there(app, key):
    return any(button.key == f"learn_{key}" for button in app.test.button)


def race(app):
    return app.test.session_state[learn_runs.RACE]


def finished(app, key=learn_runs.RACE):
    """Waits until what trains has ended, and runs the page."""
    job = app.test.session_state[key].job
    until(lambda: not job.is_busy)
    assert job.state == "finished", job.error
    return app.run()


def messages(app):
    """What the picture's component is sent: (view, parts)."""
    sent = [json.loads(each.proto.json) for each in app.test.get("bidi_component")]
    sent = [each for each in sent if each.get("part") == "maps" or "networks" in each]
    return next(each for each in sent if "networks" in each), {
        each["id"]: each for each in sent if "networks" not in each
    }


def frames_sent(app, network=-1):
    view, parts = messages(app)
    return [step for name in view["networks"][network]["parts"] for step in parts[name]["steps"]]


def infos(app):
    return " ".join(info.value for info in app.test.info)


# -- the run -----------------------------------------------------------------------------------------------------


def test_one_head_and_four_train_to_the_end_and_the_page_says_what_it_showed(learn):
    app = learn(steps="200", view="off")
    assert app.test.get_by_key("learn_start").label == "Train 1 head and 4 heads"
    press(app, "start")
    assert race(app).job.is_busy and is_there(app, "pause") and not is_there(app, "start")
    finished(app)
    one, four = race(app).networks
    assert one.done and four.done and one.settings.seed == four.settings.seed
    assert four.curve[-1].accuracy > 0.9 and one.curve[-1].accuracy < 0.45
    view, parts = messages(app)
    assert [each["name"] for each in view["networks"]] == ["1 head", "4 heads"] and not view["live"]
    assert frames_sent(app) == [frame.step for frame in four.frames] and frames_sent(app)[-1] == 200
    last = parts[view["networks"][1]["parts"][-1]]
    codes = np.frombuffer(zlib.decompress(base64.b64decode(last["bytes"])), np.uint8).reshape(last["shape"])
    np.testing.assert_allclose(codes[-1] / 254, four.frames[-1].maps, atol=0.003)
    assert "Trained here in" in app.words and "heads 1 / 4 · layers 1 · attention only" in app.words
    z = app.figures()[0]["data"][0]["z"]
    shown = np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])
    found = four.switched_off()
    np.testing.assert_allclose(shown, np.vstack([found.unharmed, found.without[0], np.full((1, 4), 1 / 26)]), atol=1e-6)
    for relation, name in enumerate(("−2", "−1", "+1", "+2")):
        head = int(found.without[0, :, relation].argmin())
        assert f"{name} needs 1-{head + 1}: without it" in app.words


def test_while_it_trains_the_picture_is_live_and_the_bar_says_how_far_it_is(learn, monkeypatch):
    monkeypatch.setattr(learn_runs, "SLICE", 1)
    app = press(learn(**SHORT), "start")
    until(lambda: race(app).main.step_number > 12)
    app.run()
    view, _ = messages(app)
    assert view["live"] and view["networks"][1]["steps"] == 100
    (bar,) = app.test.get("progress")
    assert "Training: " in bar.proto.text and "left" in bar.proto.text and 0 < bar.proto.value < 100
    assert "Drawn when the training is paused" in infos(app)
    assert app.test.get_by_key("learn_step").disabled and app.test.get_by_key("learn_step").help == "Pause first."


def test_pause_ends_the_thread_step_goes_one_checkpoint_on_and_go_on_ends_where_an_unbroken_run_does(learn):
    app = press(learn(**SHORT), "start")
    until(lambda: race(app).main.step_number > 5)
    press(app, "pause")
    job = race(app).job
    until(lambda: job.state == "resting" and not job.thread.is_alive())
    app.run()
    assert "Paused at step" in app.words
    before = len(race(app).main.frames)
    press(app, "step")
    until(lambda: job.state == "resting" and not job.thread.is_alive())
    assert len(race(app).main.frames) - before >= 1 and not race(app).main.done
    app.run()
    press(app, "go_on")
    finished(app)
    straight = Training(race(app).settings)
    straight.step(100)
    assert [point.loss for point in straight.curve] == [point.loss for point in race(app).main.curve]


def test_step_begins_a_run_and_reset_lets_it_go(learn):
    app = press(learn(**SHORT), "step")
    job = race(app).job
    until(lambda: job.state == "resting" and job.share > 0)
    app.run()
    assert frames_sent(app)[0] == 0 and len(frames_sent(app)) >= 2
    press(app, "reset")
    assert learn_runs.RACE not in app.test.session_state
    assert app.test.get_by_key("learn_reset").disabled


def test_another_control_leaves_the_finished_run_and_says_that_it_is_another(learn):
    app = finished(press(learn(**SHORT), "start"))
    done = race(app)
    app.pick("learn_heads", "8")
    assert race(app) is done and messages(app)[0]["networks"][1]["name"] == "4 heads"
    assert "The run below has other settings than the controls" in app.words and "heads 1 / 4" in app.words
    assert app.test.get_by_key("learn_start").label == "Train 1 head and 8 heads"
    app.pick("learn_heads", "4")
    assert "other settings" not in app.words


def test_a_paused_run_is_still_there_beside_new_settings(learn):
    app = press(learn(**SHORT), "step")
    until(lambda: race(app).job.state == "resting" and race(app).job.share > 0)
    app.pick("learn_heads", "2")
    assert is_there(app, "start") and is_there(app, "go_on")
    kept = race(app)
    press(app, "go_on")
    assert race(app) is kept
    finished(app)
    assert race(app).settings.heads == 4


def test_a_fault_in_the_thread_is_told_and_the_page_goes_on(learn, monkeypatch):
    def broken(self, n=1):
        raise RuntimeError("in the thread")

    app = learn(**SHORT)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "step", broken)
        press(app, "start")
        until(lambda: not race(app).job.is_busy)
    app.run()
    assert any("stopped because of a fault in the app" in error for error in app.errors)
    finished(press(app, "start"))


# -- sessions ----------------------------------------------------------------------------------------------------


def test_two_sessions_share_the_line_and_nothing_else(learn, one_place, monkeypatch):
    monkeypatch.setattr(learn_runs, "SLICE", 1)
    first, second = learn(**SHORT), learn(seed="1", **SHORT)
    press(first, "start")
    press(second, "start")
    assert (race(first).job.state, race(second).job.state) == ("running", "waiting")
    (bar,) = second.test.get("progress")
    assert bar.proto.text == "In line: yours is next."
    third = press(learn(seed="2", **SHORT), "start")
    assert third.test.get("progress")[0].proto.text == "In line: 1 training before yours."
    assert frames_sent(second) == [0], "the first maps stand while one waits"
    press(first, "reset")
    until(lambda: one_place.n_running == 1 and race(second).job.state == "running")
    monkeypatch.setattr(learn_runs, "SLICE", 50)
    assert race(second).settings.seed == 1 and race(third).settings.seed == 2
    finished(second)
    finished(third)
    assert learn_runs.RACE not in first.test.session_state


def test_going_to_another_page_ends_the_thread_and_coming_back_finds_the_run(learn):
    app = press(learn(**SHORT), "start")
    job = race(app).job
    until(lambda: race(app).main.step_number > 0)
    app.test.switch_page("pages/cost.py")
    app.run()
    until(lambda: job.state == "resting" and not job.thread.is_alive())
    assert job.left_alone and not race(app).main.done
    app.test.switch_page("pages/learn.py")
    app.run()
    assert "You were away." in app.words
    finished(press(app, "go_on"))


# -- links and controls --------------------------------------------------------------------------------------------


def test_a_link_restores_every_control_and_a_task_opens_with_what_suits_it(learn):
    link = {"task": "twins", "heads": "8", "layers": "2", "ffn": "on", "looks": "causal"}
    link |= {"steps": "300", "rate": "0.003", "seed": "7", "view": "seeds"}
    app = learn(**link)
    assert app.link == link
    app.pick("learn_task", "induction")
    assert [app.value(f"learn_{name}") for name in ("heads", "layers", "looks", "steps")] == ["1", "2", "causal", 800]
    assert app.link["task"] == "induction" and "heads" not in app.link and "looks" not in app.link
    assert app.test.get_by_key("learn_start").label == "Train 1 layer and 2 layers"


def test_back_turns_the_ffn_off_again(learn, monkeypatch):
    app = learn()
    app.pick("learn_ffn", True)
    assert app.link["ffn"] == "on"
    del app.test.query_params["ffn"]
    monkeypatch.setattr(links, "went_back", lambda: True)
    app.run()
    assert app.value("learn_ffn") is False and "ffn" not in app.link


@pytest.mark.parametrize(
    "link",
    [
        {"task": "<b>", "heads": "3", "layers": "99", "ffn": "maybe", "looks": "sideways", "view": "?"},
        {"steps": "-5", "rate": "nan", "seed": "1e9"},
        {"steps": "99999999999999999999", "rate": "0", "seed": "²"},
        {"heads": "", "steps": "", "seed": " "},
    ],
)
def test_wrong_values_in_the_link_fall_back_quietly(learn, link):
    app = learn(**link)
    assert not app.errors
    assert [app.value(f"learn_{name}") for name in ("task", "heads", "steps", "seed")] == ["neighbours", "4", 800, 0]
    assert set(app.link) <= {"lang"}


def test_a_task_without_a_run_shows_what_would_be_trained_before_any_step(learn):
    app = learn(task="twins", heads="8", view="take")
    assert frames_sent(app) == [0] and messages(app)[0]["networks"][1]["shape"] == [1, 8]
    assert "Not trained yet, the weights are random" in app.words and "Train first" in infos(app)
    app.pick("learn_heads", "2")
    assert messages(app)[0]["networks"][1]["shape"] == [1, 2] and learn_runs.RACE not in app.test.session_state


def test_the_page_opens_on_the_run_that_came_with_the_app(learn):
    app = learn()
    assert frames_sent(app)[-1] == 800 and len(app.figures()) == 2
    assert "Came with the app, trained on 2026-" in app.words
    assert "python -m model.training" not in app.words
    app.pick("learn_heads", "8")
    assert "The run below has other settings than the controls: Four neighbours · heads 1 / 4" in app.words


def test_the_command_of_the_run_that_came_with_the_app_stands_apart_where_it_is_exported(learn):
    codes = [code.value for code in learn(view="take").test.get("code")]
    assert codes == ["python -m model.training --task neighbours --record data/learning/neighbours.safetensors"]


def test_what_the_mask_hides_is_said(learn):
    app = press(learn(looks="causal", **SHORT), "step")
    assert "The mask hides the keys of +1, +2: that can only be guessed, 1 in 26 times right." in app.words


def test_one_head_alone_has_nothing_beside_it(learn):
    app = learn(heads="1", **SHORT)
    assert app.test.get_by_key("learn_start").label == "Train 1 head"
    finished(press(app, "start"))
    assert [each["name"] for each in messages(app)[0]["networks"]] == ["1 head"]


@pytest.mark.parametrize("view", ["curves", "off", "seeds", "take"])
def test_every_tab_opens_before_anything_is_trained_and_in_chinese(learn, view):
    app = learn(view=view, lang="zh")
    assert not app.errors and "各头会自己分工吗" in app.words


# -- tabs --------------------------------------------------------------------------------------------------------


def test_large_text_reaches_the_picture(learn):
    assert messages(learn().pick("large", True))[0]["text_scale"] == 1.4


def test_curves_and_entropy_are_those_of_the_run(learn):
    app = finished(press(learn(**SHORT), "start"))
    relations, entropy = app.figures()
    assert [trace["name"] for trace in entropy["data"]] == ["1-1", "1-2", "1-3", "1-4"]
    y = entropy["data"][3]["y"]
    np.testing.assert_allclose(
        np.frombuffer(base64.b64decode(y["bdata"]), y["dtype"]), race(app).main.entropy[:, 0, 3], atol=1e-6
    )
    assert [trace["name"] for trace in relations["data"] if trace["showlegend"]] == [
        "1 head",
        *("−2", "−1", "+1", "+2"),
    ]


def test_several_seeds_are_run_one_after_another_and_summed_up(learn, monkeypatch):
    monkeypatch.setattr(learn_runs, "SEED_HEADS", (1, 4))
    monkeypatch.setattr(seeds, "NUMBERS", (1, 2, 3))
    app = learn(view="seeds", **SHORT)
    assert app.test.get_by_key("learn_seeds_start").label == "Train 1 head, 4 heads: 4 runs"
    press(app, "seeds_start")
    finished(app, learn_runs.TRIAL)
    runs = app.test.session_state[learn_runs.TRIAL].runs
    assert [(run.seed, run.size) for run in runs] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    straight = Training(Settings("neighbours", heads=4, steps=100, seed=1))
    straight.step(100)
    assert runs[3].accuracy == straight.test()[0]
    four = 100 * np.array([runs[1].accuracy, runs[3].accuracy])
    assert f"4 heads: {four.mean():.1f} % ± {four.std(ddof=1):.1f} right in 2 runs" in app.words
    assert f"lowest {four.min():.1f}, highest {four.max():.1f}; each relation" in app.words
    marks, _curves = app.figures()
    assert [trace["name"] for trace in marks["data"]] == ["1 head", "mean", "4 heads", "mean"]


def test_seeds_can_be_stopped_and_what_is_finished_stays(learn, monkeypatch):
    monkeypatch.setattr(learn_runs, "SEED_HEADS", (1,))
    app = press(learn(view="seeds", **SHORT), "seeds_start")
    trial = app.test.session_state[learn_runs.TRIAL]
    until(lambda: len(trial.runs) >= 1)
    press(app, "seeds_stop")
    until(lambda: not trial.job.is_busy and not trial.job.thread.is_alive())
    app.run()
    assert 1 <= len(trial.runs) < trial.n_runs and "1 head: " in app.words
    assert is_there(app, "seeds_go_on") and is_there(app, "seeds_start")


@pytest.mark.parametrize("view", ["curves", "seeds"])
def test_while_seeds_train_every_tab_gives_a_sign_of_life_and_asks_again(learn, monkeypatch, view):
    asked = []
    run = learn_page._head_in_line
    monkeypatch.setattr(learn_page, "_head_in_line", lambda *args: asked.append(args) or run(*args))
    monkeypatch.setattr(learn_runs, "SLICE", 1)
    app = press(learn(view="seeds", **SHORT), "seeds_start")
    job = app.test.session_state[learn_runs.TRIAL].job
    app.test.session_state["learn_view"] = view
    asked.clear()
    job._last_seen = -1e9
    app.run()
    assert asked and not job.is_left_alone()


def test_seeds_that_rested_while_one_was_away_say_so_and_go_on(learn, monkeypatch):
    monkeypatch.setattr(learn_runs, "SEED_HEADS", (1,))
    app = press(learn(view="seeds", **SHORT), "seeds_start")
    trial = app.test.session_state[learn_runs.TRIAL]
    trial.job.rest(left_alone=True)
    until(lambda: not trial.job.is_busy)
    app.run()
    assert f"{len(trial.runs)} of 5 networks trained · You were away" in app.words
    press(app, "seeds_go_on")
    finished(app, learn_runs.TRIAL)
    assert len(trial.runs) == 5 and "You were away" not in app.words


def test_a_fault_in_one_of_several_seeds_is_told(learn, monkeypatch):
    def broken(self, n=1):
        raise RuntimeError("in the thread")

    app = learn(view="seeds", **SHORT)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "step", broken)
        press(app, "seeds_start")
        until(lambda: not app.test.session_state[learn_runs.TRIAL].job.is_busy)
    app.run()
    assert any("stopped because of a fault in the app" in error for error in app.errors)
    assert is_there(app, "seeds_start") and not is_there(app, "seeds_go_on")


# -- files and other pages -----------------------------------------------------------------------------------------


def take_to(app, key, page):
    """Presses a button that leads to another page; AppTest itself doesn't follow it there."""
    press(app, key)
    app.test.switch_page(f"pages/{page}.py")
    return app.run()


@pytest.mark.parametrize(("where", "title"), [("attention", "What does each head look at?"), ("inside", "Where does")])
def test_the_network_opens_on_another_page_as_a_model_of_this_session(learn, where, title):
    app = finished(press(learn(looks="causal", view="take", **SHORT), "start"))
    take_to(app, f"open_run_{where}", where)
    model_id = app.test.session_state["model"]
    opened = trained.from_bytes(trained.get(model_id)).transformer.state_dict()
    own = race(app).main.network.transformer.state_dict()
    assert all(bool((opened[name] == own[name]).all()) for name in own)
    chosen = app.test.session_state  # a page whose worked example needs no sentence keeps it unseen
    assert chosen["text"] == race(app).main.task.sample and chosen["mask_base"] == "causal"
    assert title in app.test.title[0].value and not app.errors
    if chosen["page"] == "inside":
        app.pick("inside_source", "model")
    assert "Four neighbours, 4 heads, 1 layer, seed 0 (trained here)" in app.test.get_by_key("model").options


def test_the_smaller_network_can_be_opened_too_and_its_maps_are_those_of_its_weights(learn):
    app = finished(press(learn(view="take", **SHORT), "start"))
    app.pick("learn_export_network", 0)
    take_to(app, "open_run_attention", "attention")
    weights = app.head_map()
    model = trained.from_bytes(saved.to_bytes(race(app).networks[0]))
    np.testing.assert_allclose(weights, model.trace(app.value("text")).attention[0, 0], atol=1e-6)


class Upload:
    def __init__(self, name, content):
        self.name, self.content = name, content

    def getvalue(self):
        return self.content


@pytest.fixture
def upload(learn, monkeypatch):
    def with_file(content, name="mine.safetensors"):
        monkeypatch.setattr(export.st, "file_uploader", lambda *args, **kwargs: Upload(name, content))
        return learn(view="take")

    return with_file


def test_saved_weights_open_again(upload):
    training = Training(Settings("twins", heads=2, steps=10))
    training.step(10)
    app = upload(content := saved.to_bytes(training))
    assert "Neighbour and twin, 2 heads, 1 layer, seed 0 (from a file). The file says: " in app.words
    assert "right after 10 steps" in app.words and "trained here" not in app.words
    take_to(app, "open_file_masks", "masks")
    assert "Neighbour and twin, 2 heads, 1 layer, seed 0 (from a file)" in app.test.get_by_key("model").options
    assert app.test.session_state["model"] == trained.model_id(content) and not app.errors


def test_as_much_can_be_uploaded_as_can_be_read(learn, monkeypatch):
    given = {}
    monkeypatch.setattr(export.st, "file_uploader", lambda label, **kwargs: given.update(kwargs, label=label))
    learn(view="take")
    assert given["max_upload_size"] * 10**6 == saved.MOST_BYTES and "up to 4 MB" in given["label"]
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] == given["max_upload_size"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a file",
        b"\x80\x04]q\x00.",
        b"\xff" * 64,
        saved.to_bytes(Training(Settings("neighbours", steps=1)))[:900],
    ],
)
def test_broken_files_get_a_sentence(upload, content):
    app = upload(content, "<b>*x*.safetensors")
    (error,) = app.errors
    assert error.startswith("<b>*x*.safetensors: ") and not is_there(app, "open_file_masks")


def test_a_training_that_went_wrong_is_told_when_it_is_taken_away(learn):
    app = finished(press(learn(view="take", **SHORT), "start"))
    race(app).main.network.transformer.blocks[0].attention.W_q.weight.data.fill_(float("nan"))
    press(app, "open_run_attention")
    assert any("grow beyond float32" in error for error in app.errors)
