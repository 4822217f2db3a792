"""`python -m model.training`: its JSON, its files, and a sentence for whatever can be typed wrongly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from model import HeadworkError, load
from model.training import Settings, Training, read_record
from model.training.__main__ import main
from model.training.runs import write
from model.training.translate import TranslateSettings, Translating

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def one_thread():
    """The command line sets torch's threads for its process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_json_is_as_documented(tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["--task", "neighbours", "--heads", "2", "--steps", "20", "--seeds", "2", "--seed", "3"]
    assert main([*command, "--json", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["task"] == "neighbours" and result["complete"] is True
    assert [list(run) for run in result["runs"]] == [["heads", "seed", "accuracy", "seconds", "share_per_head"]] * 2
    assert [(run["heads"], run["seed"]) for run in result["runs"]] == [(2, 3), (2, 4)]
    training = Training(Settings.of("neighbours", heads=2, steps=20, seed=3))
    training.step(20)
    run = result["runs"][0]
    assert run["accuracy"] == round(training.test()[0], 4) and 0 < run["seconds"] < 60
    assert run["share_per_head"] == pytest.approx(training.frames[-1].share[0], abs=1e-4)  # (h, R)
    about = result["provenance"]
    assert about["steps"] == 20 and about["relations"] == ["-2", "-1", "+1", "+2"] and about["torch"]
    said = capsys.readouterr().out
    assert "seed 3: accuracy" in said and "right without one head: 1-1 -2 " in said and "2 seeds: accuracy" in said
    assert not list(tmp_path.glob("*.part"))


def test_layers_follow_each_other_in_the_shares(tmp_path):
    assert main(["--task", "induction", "--heads", "2", "--steps", "2", "--json", str(tmp_path / "o.json")]) == 0
    (run,) = json.loads((tmp_path / "o.json").read_text())["runs"]
    training = Training(Settings.of("induction", heads=2, steps=2))
    training.step(2)
    assert run["share_per_head"] == pytest.approx(training.frames[-1].share.reshape(4, 2), abs=1e-4)


def test_the_saved_model_is_the_last_one(tmp_path, capsys):
    saved = tmp_path / "m.safetensors"
    assert main(["--task", "twins", "--steps", "5", "--seeds", "2", "--save", str(saved)]) == 0
    model = load(str(saved))
    assert model.label == "Neighbour and twin, 2 heads, seed 1 (file)"
    proposed = next(line for line in capsys.readouterr().out.splitlines() if "python -m model " in line)
    sentence = proposed.split('"')[1]
    assert model.trace(sentence).n_tokens == 12


def test_a_record_can_be_read_again(tmp_path, capsys):
    path = tmp_path / "r.safetensors"
    assert main(["--task", "twins", "--steps", "8", "--mask", "causal", "--seed", "2", "--record", str(path)]) == 0
    found = read_record(path)
    assert found.command.startswith("python -m model.training --task twins --mask causal --steps 8 --seed 2 --record ")
    assert [training.settings.heads for training in found.trainings] == [1, 2] and found.seed == 2
    training = Training(Settings.of("twins", mask="causal", steps=8, seed=2))
    training.step(8)
    recorded = found.trainings[1]
    assert recorded.settings == training.settings and recorded.test()[0] == training.test()[0]  # the weights are whole
    assert [frame.step for frame in recorded.frames] == [frame.step for frame in training.frames]
    assert recorded.frames[-1].maps == pytest.approx(training.frames[-1].maps, abs=5e-4)  # float16
    assert recorded.curve[-1].loss == pytest.approx(training.curve[-1].loss, abs=1e-4)
    recorded.step()
    assert recorded.step_number == 8


def test_foreign_records_are_refused(tmp_path):
    for name, data in (("none", None), ("empty", b""), ("text", b"hello, hello, hello")):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(HeadworkError, match=rf"{name} can't be read"):
            read_record(path)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--task", "spelling"], 2, "no task 'spelling'"),
        (["--heads", "3"], 2, "can't be split over 3 heads"),
        (["--steps", "0"], 2, "steps is 0"),
        (["--seeds", "0"], 2, "--seeds is 0"),
        (["--seed", "-1"], 2, "seed is -1"),
        (["--mask", "diagonal"], 2, "no mask"),
        (["--learning-rate", "nan"], 2, "learning rate is nan"),
        (["--json", "/nowhere/out.json"], 4, "/nowhere/out.json can't be written"),
        (["--save", "/nowhere/m.safetensors"], 4, "can't be written"),
        (["--record", "/nowhere/r.safetensors"], 4, "can't be written"),
        (["--record", "r", "--heads", "2"], 2, "doesn't go together with an option"),
    ],
)
def test_what_is_wrong_is_told_before_any_work(arguments, code, said, capsys, monkeypatch):
    monkeypatch.setattr(Training, "step", lambda *_: pytest.fail("it trained first"))
    assert main(arguments) == code
    assert said in capsys.readouterr().err


def test_a_path_that_can_be_written_is_left_as_it_was(tmp_path):
    out = tmp_path / "old.json"
    out.write_text("old")
    assert main(["--heads", "3", "--json", str(out)]) == 2
    assert out.read_text() == "old" and main(["--steps", "1", "--json", str(tmp_path)]) == 4


def test_a_link_is_written_through_not_replaced(tmp_path):
    (tmp_path / "real").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", {"runs": []})
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "real").read_text()) == {"runs": []}


def test_stopped_by_hand_leaves_whole_json(tmp_path):
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "model.training", "--steps", "40", "--seeds", "1000", "--json", str(out)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whatever a shell in the background hands on: it has its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 90
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and b"of 1000 runs" in errors
    result = json.loads(out.read_text())
    assert result["complete"] is False and 1 <= len(result["runs"]) < 1000


def test_a_translation_tells_accuracy_and_alignment_error(tmp_path, capsys):
    out = tmp_path / "o.json"
    command = ["--task", "translate-zh", "--heads", "2", "--steps", "3", "--seeds", "2"]
    assert main([*command, "--json", str(out), "--save", str(tmp_path / "m.safetensors")]) == 0
    result = json.loads(out.read_text())
    assert result["complete"] and [(run["heads"], run["seed"]) for run in result["runs"]] == [(2, 0), (2, 1)]
    training = Translating(TranslateSettings("translate-zh", heads=2, steps=3, seed=1))
    training.step(3)
    run, found = result["runs"][1], training.test()
    assert run["accuracy"] == round(found.accuracy, 4) and run["words"] == pytest.approx(found.words, abs=1e-4)
    assert (
        run["alignment_error"]
        == min(run["alignment_error_per_head"])
        == pytest.approx(found.alignment.best_error, abs=1e-4)
    )
    assert run["right_by_class_per_head"] == pytest.approx(found.alignment.by_class[0], abs=1e-4)
    assert result["provenance"]["classes"] == ["noun", "adjective", "verb", "split verb"]
    said = capsys.readouterr().out
    assert "alignment error of the best head" in said and "2 seeds: accuracy" in said
    assert load(str(tmp_path / "m.safetensors")).is_encoder_decoder


def test_peek_has_one_run_for_each_mask(tmp_path, capsys):
    out = tmp_path / "o.json"
    assert main(["--task", "peek", "--steps", "3", "--seeds", "2", "--json", str(out)]) == 0
    runs = json.loads(out.read_text())["runs"]
    assert [(run["mask"], run["seed"]) for run in runs] == [
        (mask, seed) for seed in (0, 1) for mask in ("causal", "bidirectional", "prefix:5")
    ]
    for run in runs:
        assert run["floor"] == 0.6931 and run["loss"] > 0 and 0 <= run["generating"] <= 1
        assert 0 <= run["teacher_forced"] <= run["teacher_forced_allowed"] <= 1 and len(run["written"]) == 3
    assert "2 seeds, bidirectional: loss" in capsys.readouterr().out
    assert main(["--task", "peek", "--mask", "window:2", "--steps", "2", "--json", str(out)]) == 0
    assert [run["mask"] for run in json.loads(out.read_text())["runs"]] == ["window:2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--task", "translate-en", "--mask", "causal"], "translate-en has no option mask. It takes heads, layers"),
        (["--task", "translate-en", "--ffn"], "has no option ffn"),
        (["--task", "peek", "--mask", "padding:4"], "padded as they need"),
        (["--task", "peek", "--mask", "causal", "--record", "r"], "doesn't go together"),
        (["--task", "translate-en", "--heads", "2", "--record", "r"], "doesn't go together"),
    ],
)
def test_options_that_a_task_has_not_are_told(arguments, said, capsys):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
