"""`python -m analysis.effects`: the JSON, a run that is killed and goes on, and what can be typed wrongly."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from analysis.effects import __main__ as command_line
from analysis.effects.report import Record
from analysis.evidence.resume import Store
from model.command_line import EXIT_INPUT, EXIT_MODEL, EXIT_OUTPUT, EXIT_STOPPED
from tests.models import tiny_decoder

ROOT = Path(__file__).parents[3]
LINES = "".join(f"the cat {i} sat on the m | a | b\n" for i in range(12))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def prompts(tmp_path):
    """Questions of a model that reads bytes, where a space before an answer would be a token of its own."""
    path = tmp_path / "prompts.jsonl"
    lines = [
        {"prompt": f"the cat {'sat ' * (i % 2)}on the m{i}", "right": "a", "wrong": "b", "cue": "cat"}
        for i in range(12)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(command_line, "load", lambda *_, **__: tiny_decoder())


def run(*arguments):
    return command_line.main([str(each) for each in arguments])


def test_the_json_has_what_a_program_asks_for(prompts, tiny, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run(prompts, "--model", "tiny", "--json", out) == 0
    found = json.loads(out.read_text())
    assert found["model"] == "tiny" and found["sha256"] is None and found["off"] == "zero"
    assert found["n"] == len(found["prompts"]) == 12 and found["prompts"][0]["right"] == "a"
    assert set(found["base"]) >= {"logit_difference", "accuracy"}
    assert [(each["layer"], each["head"]) for each in found["heads"]] == [
        (i, j) for i in (1, 2, 3) for j in range(1, 7)
    ]
    for each in found["heads"]:
        low, high = each["interval"]
        assert low <= each["effect"] <= high and 0 <= each["attention_to_answer"] <= 1
        assert isinstance(each["direct"], float) and len(each["each"]) == 12
    assert -1 <= found["rank_correlation"] <= 1 and len(found["rank_correlation_interval"]) == 2
    assert len(found["ffns"]) == len(found["layers"]) == 3 and found["looked_at"] == "cue"
    parts = found["parts"]
    total = parts["embedding"] + parts["heads"] + sum(parts["ffns"]) + parts["biases"]
    assert total == pytest.approx(found["base"]["logit_difference"], abs=1e-3)
    assert Record.read(out).n == 12
    assert str(Record.read(out).ranked()[0]) in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "prompts.jsonl"]


def test_other_ways_to_switch_off_give_other_numbers(prompts, tiny, tmp_path):
    found = []
    for off in ("zero", "mean", "position"):
        assert run(prompts, "--off", off, "--parts", "heads", "--json", tmp_path / off) == 0
        found.append([each["effect"] for each in json.loads((tmp_path / off).read_text())["heads"]])
    assert found[0] != found[1] != found[2]


def test_a_model_that_predicts_nothing_says_how_far_its_vectors_turn(prompts, tmp_path, capsys):
    out = tmp_path / "out.json"
    assert run(prompts, "--model", "toy", "--json", out) == 0
    found = json.loads(out.read_text())
    assert found["measure"] == "cosine distance" and all(each["effect"] >= 0 for each in found["heads"])
    assert "predicts no token" in capsys.readouterr().out


@pytest.mark.parametrize("model", ["tiny", "toy"])
def test_without_the_heads_only_the_rest_is_listed(model, prompts, tiny, tmp_path, monkeypatch, capsys, recwarn):
    if model == "toy":
        monkeypatch.undo()
    out = tmp_path / "out.json"
    assert run(prompts, "--model", model, "--parts", "ffns", "--json", out) == 0
    found, printed = json.loads(out.read_text()), capsys.readouterr().out
    assert found["heads"] == [] and found["ffns"] and "layers" not in found
    strongest = max(found["ffns"], key=lambda each: abs(each["effect"]))
    assert f"FFNs off: {strongest['layer']} (" in printed and "off: zero" not in printed
    assert not [warning for warning in recwarn if warning.category is RuntimeWarning]


def test_a_killed_run_goes_on_to_the_same_bytes(tiny, tmp_path, monkeypatch):
    """Killed hard, in a process of its own; what was finished is kept and not computed again."""
    prompts = tmp_path / "prompts.jsonl"
    lines = [{"prompt": f"{i} cats sat", "right": "a", "wrong": "b"} for i in range(90)]
    prompts.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out, straight, kept = tmp_path / "out.json", tmp_path / "straight.json", tmp_path / "out.json.partial"
    slow = (
        "import sys, time\n"
        "from analysis.effects import __main__ as command_line\n"
        "from analysis.effects.sweep import Sweep\n"
        "from tests.models import tiny_decoder\n"
        "command_line.load = lambda *_, **__: tiny_decoder()\n"
        "unit = Sweep._unit\n"
        "Sweep._unit = lambda self, *each: (time.sleep(0.3), unit(self, *each))[1]\n"
        "command_line.main(sys.argv[1:])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, prompts, "--json", out, "--workers", "2"], cwd=ROOT, stderr=-3
    )
    until = time.monotonic() + 100
    while time.monotonic() < until and len(list(kept.glob("batch-*.npz"))) < 5:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    n_kept = len(list(kept.glob("batch-*.npz")))
    assert n_kept >= 5 and not out.exists()

    saved = []
    save = Store.save
    monkeypatch.setattr(Store, "save", lambda self, *each: saved.append(each[0]) or save(self, *each))
    assert run(prompts, "--json", straight) == 0
    n_all = len(saved)
    saved.clear()
    assert run(prompts, "--json", out, "--resume") == 0
    assert len(saved) == n_all - n_kept
    assert out.read_bytes() == straight.read_bytes() and not kept.exists()


def test_ctrl_c_says_how_to_go_on(prompts, tiny, tmp_path, monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line.Progress, "__call__", stop)
    assert run(prompts, "--json", tmp_path / "out.json") == EXIT_STOPPED
    assert capsys.readouterr().err == "error: stopped. The same command with --resume goes on from here.\n"
    assert list((tmp_path / "out.json.partial").iterdir())
    monkeypatch.undo()
    monkeypatch.setattr(command_line, "load", lambda *_, **__: tiny_decoder())
    assert run(prompts, "--json", tmp_path / "out.json", "--resume") == 0


@pytest.mark.parametrize(
    ("content", "arguments", "code", "said"),
    [
        (None, [], EXIT_INPUT, "prompts.jsonl can't be read: No such file or directory."),
        ("", [], EXIT_INPUT, "prompts.jsonl holds no question: it is empty."),
        ("nothing\n", [], EXIT_INPUT, "holds no question. line 1: It has 1 of three parts"),
        (LINES, ["--mask", "sideways"], EXIT_INPUT, "sideways"),
        (LINES, ["--resume"], EXIT_INPUT, "--resume goes on with what is kept beside a file"),
        (LINES, ["--json", "missing/out.json"], EXIT_OUTPUT, "missing/out.json can't be written"),
        ("a | several | tokens\n", [], EXIT_INPUT, "The answer ' several' is 8 tokens of this model"),
    ],
)
def test_what_is_wrong_is_one_line(content, arguments, code, said, tmp_path, tiny, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("prompts.jsonl").write_text(content)
    assert run("prompts.jsonl", *arguments) == code
    error = capsys.readouterr().err.splitlines()
    assert said in error[-1] and error[-1].startswith("error: ")


def test_lines_left_out_are_told_and_kept_in_the_json(prompts, tiny, tmp_path, capsys):
    with prompts.open("a") as stream:
        stream.write("broken\n" + json.dumps({"prompt": "the cat", "right": "aa", "wrong": "b"}) + "\n")
    assert run(prompts, "--json", tmp_path / "out.json") == 0
    left_out = json.loads((tmp_path / "out.json").read_text())["left_out"]
    error = capsys.readouterr().err
    assert [each[:8] for each in left_out] == ["line 13:", "line 14:"]
    assert all(f"skipped: {each}" in error for each in left_out)


def test_two_thousand_prompts_are_bounded_and_said(tiny, tmp_path, monkeypatch, capsys):
    path = tmp_path / "many.jsonl"
    path.write_text((json.dumps({"prompt": "cat", "right": "a", "wrong": "b"}) + "\n") * 2000)
    assert run(path, "--parts", "heads", "--json", tmp_path / "out.json") == 0
    assert "left out: 1744 questions beyond the first 256" in capsys.readouterr().err
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["n"] == 256 and found["n_left_out"] == 1744


def test_a_model_that_isnt_there_is_told_after_the_prompts(prompts, capsys):
    assert run(prompts, "--model", "nonesuch") == EXIT_MODEL
    assert "nonesuch" in capsys.readouterr().err
