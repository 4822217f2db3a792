"""`python -m analysis`: what it prints and writes, its exit codes, and that killing it loses nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis import __main__ as cli

ROOT = Path(__file__).resolve().parents[3]
WORDS = ["the", "big", "dog", "saw", "a", "cat", "and", "the", "small", "bird", "sang"]
HEADS = [2, 2, 3, -1, 5, 3, 10, 9, 9, 10, 3]
DEPRELS = ["det", "amod", "nsubj", "root", "det", "obj", "cc", "det", "amod", "nsubj", "conj"]


def write(path, n, broken=0):
    lines = [
        json.dumps({"words": [*WORDS, *["yes"] * (i % 12)], "heads": [*HEADS, *[3] * (i % 12)],
                    "deprels": [*DEPRELS, *["discourse"] * (i % 12)], "doc": f"d{i % 20}"})
        for i in range(n)
    ]  # fmt: skip
    path.write_text("\n".join(["{}"] * broken + lines) + "\n", encoding="utf-8")
    return path


def test_the_json_has_the_structure_that_others_build_on(tmp_path, capsys):
    out = tmp_path / "out.json"
    assert cli.main([str(write(tmp_path / "c.jsonl", 40, broken=2)), "--json", str(out)]) == 0
    result = json.loads(out.read_text(encoding="utf-8"))
    assert set(result) == {"provenance", "dependencies", "other_arrows", "coreference", "skipped"}
    first = result["dependencies"][0]
    assert {"relation", "direction", "n", "accuracy", "offset", "held_out"} <= set(first)
    assert {"heads", "accuracy", "interval", "baseline", "gain", "gain_interval"} <= set(first["held_out"])
    det = next(d for d in result["dependencies"] if (d["relation"], d["direction"]) == ("det", "dep>head"))
    assert det["n"] == 120 and len(det["accuracy"]) == 6 and len(det["accuracy"][0]) == 12
    assert det["offset"] == {"best": 2, "accuracy": pytest.approx(2 / 3, abs=1e-4)}
    assert det["held_out"]["heads"][0].count("-") == 1 and len(det["held_out"]["interval"]) == 2
    assert len(det["head_intervals"]["gain"]["low"]) == 6 and det["stable"] is False and "ties" in det
    assert result["skipped"]["count"] == 2
    assert result["skipped"]["problems"][0]["line"] == 1 and result["skipped"]["problems"][0]["file"] == "c.jsonl"
    assert result["provenance"]["model"]["id"] == "minilm" and result["provenance"]["n_sentences"] == 40
    captured = capsys.readouterr()
    assert "det, dep>head" in captured.out and "2 skipped" in captured.out
    assert "skipped: c.jsonl, line 1" in captured.err and "40 of 40" in captured.err
    assert list(tmp_path.glob("out.json.*")) == []


def test_coreference_in_the_json(tmp_path):
    line = {
        "words": ["Ann", "met", "Tom", "because", "he", "liked", "her"],
        "pronoun": 4,
        "candidates": [0, 2],
        "antecedents": [2],
    }
    file, out = tmp_path / "p.jsonl", tmp_path / "out.json"
    file.write_text("\n".join(json.dumps(line) for _ in range(4)), encoding="utf-8")
    assert (
        cli.main([str(file), "--json", str(out), "--model", "toy", "--mask", "causal", "--control", "untrained"]) == 0
    )
    result = json.loads(out.read_text(encoding="utf-8"))
    (score,) = result["coreference"]
    assert (score["subset"], score["n"]) == ("all", 4)
    assert score["baselines"] == {"nearest": 1.0, "first": 0.0, "same word": 1.0}
    assert result["dependencies"] == [] and result["provenance"]["mask"] == "causal"
    assert result["provenance"]["control"] == "untrained, seed 0"


def test_a_balanced_set_is_told_with_what_was_chosen_where(tmp_path, capsys):
    out = tmp_path / "out.json"
    assert cli.main(["data/corpus/gender_zh.jsonl", "--model", "toy", "--json", str(out)]) == 0
    said = capsys.readouterr().out
    assert "gender, gender_zh.jsonl: n 432, 12 pairs of nouns, 9 templates, chance 50.0%" in said
    assert "other nouns, new templates" in said and "of 432" in said and "rarer nouns" in said
    assert "nouns swapped, the arrow goes along" in said and "coreference" not in said
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["provenance"]["words"] == "written" and len(result["gender"]) == 1
    assert result["gender"][0]["held_out"]["rarer_nouns"]["n"] == 144


def test_words_that_share_a_piece_are_told(tmp_path, capsys):
    line = {"words": ["we", "can", "not", "go"], "heads": [3, 3, 3, -1], "deprels": ["nsubj", "aux", "advmod", "root"]}
    file = tmp_path / "c.jsonl"
    file.write_text(json.dumps(line | {"space_after": [1, 0, 1, 0]}), encoding="utf-8")
    assert cli.main([str(file), "--words", "written"]) == 0
    assert "2 of 4 words share a piece with another; 2 of 3 arcs left out" in capsys.readouterr().out
    assert cli.main([str(file)]) == 0
    assert "share a piece" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["missing.jsonl"], 2, "missing.jsonl can't be read"),
        (["c.jsonl", "--mask", "sideways"], 2, "sideways"),
        (["c.jsonl", "--restrict", "sideways"], 2, "sideways"),
        (["c.jsonl", "--model", "no-such-model"], 3, "no-such-model"),
        (["broken.jsonl"], 2, "no sentence"),
        (["c.jsonl", "--model", "toy", "--json", "no/such/folder/out.json"], 4, "can't be written"),
    ],
)
def test_errors_have_exit_codes_and_say_what_is_wrong(arguments, code, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "c.jsonl", 2)
    (tmp_path / "broken.jsonl").write_text("{}\n")
    (tmp_path / "no").write_text("a file where a folder is wanted")
    assert cli.main(arguments) == code
    assert said in capsys.readouterr().err


def run(arguments, **options):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "analysis", *arguments], cwd=ROOT, env=environment, **options)


def test_a_file_whose_name_is_no_utf8(tmp_path):
    file, out = write(tmp_path / os.fsdecode(b"\xff.jsonl"), 3), tmp_path / "out.json"
    assert cli.main([str(file), "--model", "toy", "--json", str(out)]) == 0
    assert json.loads(out.read_bytes())["provenance"]["files"][0]["name"] == file.name


def test_a_killed_run_goes_on_and_writes_the_same_bytes(tmp_path, monkeypatch):
    file, out, straight = write(tmp_path / "c.jsonl", 240), tmp_path / "out.json", tmp_path / "straight.json"
    arguments = [str(file), "--json", str(out)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = run(arguments, **quiet)
    partial = tmp_path / "out.json.partial"
    deadline = time.monotonic() + 120
    while len(list(partial.glob("batch-*.npz"))) < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    assert 3 <= len(list(partial.glob("batch-*.npz"))) < 15  # 240 sentences in batches of 16

    monkeypatch.setenv("HEADWORK_THREADS", "1")
    assert cli.main(arguments) == 0
    assert cli.main([str(file), "--json", str(straight)]) == 0
    assert out.read_bytes() == straight.read_bytes()
    assert not partial.exists()
