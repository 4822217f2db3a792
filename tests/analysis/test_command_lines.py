"""Every command line of the analysis: what can be typed wrongly, Ctrl-C, full disks, closed outputs, torn batches."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import __main__ as analysis
from analysis.evidence import measure, resume
from analysis.evidence.scoring import Runner
from analysis.sentences import gender, grammar, handwritten
from model import command_line, files
from model.command_line import EXIT_CLOSED, EXIT_OUTPUT, EXIT_STOPPED, command
from model.training import __main__ as training
from model.training import depth, lengths

ROOT = Path(__file__).parents[2]
LINE = {"words": ["a", "dog", "saw", "it"], "heads": [1, 2, -1, 2], "deprels": ["det", "nsubj", "root", "obj"]}


@pytest.fixture
def corpus(tmp_path):
    file = tmp_path / "c.jsonl"
    file.write_text("\n".join(json.dumps(LINE | {"words": [f"a{i}", "dog", "saw", "it"]}) for i in range(40)))
    return str(file)


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def what_is_there(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lines_of(out):
    """Each command line that writes a file, with that file."""
    hand = "data/corpus/hand_zh.txt"
    return {
        "analysis": lambda: analysis.main(["c.jsonl", "--model", "toy", "--json", out]),
        "measure": lambda: measure.main(["own-trained", "--out", out]),
        "grammar": lambda: grammar.main(["--n", "3", "--out", out]),
        "gender": lambda: gender.main(["--language", "zh", "--out", out]),
        "handwritten": lambda: handwritten.main([str(ROOT / hand), "--out", out]),
        "training": lambda: training.main(["--steps", "1", "--json", out]),
        "training --save": lambda: training.main(["--steps", "1", "--save", out]),
        "training --record": lambda: training.main(["--steps", "1", "--record", out]),
        "depth": lambda: depth.main(["--depths", "1", "--steps", "1", "--json", out]),
        "lengths": lambda: lengths.main(["--json", out]),
    }


@pytest.mark.parametrize("name", lines_of(""))
@pytest.mark.parametrize("out", ["missing/out.json", "folder", "/dev/full"])
def test_an_output_that_cant_be_written_is_told_before_the_work_and_nothing_is_left(
    name, out, corpus, tmp_path, monkeypatch, capsys
):
    if name == "measure" and out != "missing/out.json":
        pytest.skip("--out is a folder here")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    before = what_is_there(tmp_path)
    for module in (analysis, measure):
        monkeypatch.setattr(module, "load", lambda *_, **__: pytest.fail("it loaded the model first"))
    monkeypatch.setattr(training, "new_run", lambda *_: pytest.fail("it trained first"))
    monkeypatch.setattr(depth, "experiment", lambda *_, **__: pytest.fail("it trained first"))
    monkeypatch.setattr(lengths, "trials", lambda *_: pytest.fail("it trained first"))
    assert lines_of(out)[name]() == EXIT_OUTPUT
    said = capsys.readouterr().err
    assert out in said and "can't be written" in said and len(said.splitlines()) == 1
    assert what_is_there(tmp_path) == before and sorted(p.name for p in tmp_path.iterdir()) == ["c.jsonl", "folder"]


def test_a_pipe_gets_the_whole_result_and_nothing_else(corpus, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    assert analysis.main([corpus, "--model", "toy", "--json", str(pipe)]) == 0
    assert json.loads(reader.communicate(timeout=60)[0])["provenance"]["n_sentences"] == 40
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.jsonl", "pipe"]


def test_a_folder_for_batches_that_cant_be_made_is_told_too(corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(analysis, "load", lambda *_, **__: pytest.fail("it loaded the model first"))
    for folder in (tmp_path / "missing" / "batches", Path(corpus)):
        assert analysis.main([corpus, "--resume", str(folder)]) == EXIT_OUTPUT
        assert str(folder) in capsys.readouterr().err
    assert not (tmp_path / "missing").exists()


def test_a_disk_that_fills_up_leaves_the_old_file_whole_and_names_it(corpus, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.json"
    out.write_text("old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    assert gender.main(["--language", "zh", "--out", str(out)]) == EXIT_OUTPUT
    assert f"{out} can't be written: No space left on device" in capsys.readouterr().err
    assert analysis.main([corpus, "--model", "toy", "--json", str(out)]) == EXIT_OUTPUT
    assert "batch-000000" in capsys.readouterr().err
    assert out.read_text() == "old" and not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("main", "arguments", "said"),
    [
        (analysis.main, ["c.jsonl", "--seed", "-1"], "-1 is no whole number from 0"),
        (analysis.main, ["c.jsonl", "--seed", "9" * 5000], "is no whole number from 0"),
        (grammar.main, ["--out", "o", "--seed", "-1"], "-1 is no whole number from 0"),
        (grammar.main, ["--out", "o", "--n", "1000000000"], "is no whole number from 1"),
        (measure.main, ["own-sideways"], "own-sideways is no record of minilm"),
    ],
)
def test_numbers_and_names_out_of_bounds_get_a_sentence(main, arguments, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"\xff", b"[obj the"])
def test_a_source_that_cant_be_read_gets_a_sentence(content, tmp_path, capsys):
    source = tmp_path / "hand_en.txt"
    for make in (lambda: None, lambda: source.write_bytes(content)):
        make()
        assert handwritten.main([str(source), "--out", str(tmp_path / "o")]) == 2
        assert "hand_en.txt" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("damage", ["", "cut", "other", "none"])
def test_a_damaged_batch_is_computed_again_to_the_same_bytes(damage, corpus, tmp_path, monkeypatch):
    out, straight, kept = tmp_path / "out.json", tmp_path / "straight.json", tmp_path / "kept"
    kept.mkdir()
    arguments = [corpus, "--model", "toy", "--json"]
    assert analysis.main([*arguments, str(straight)]) == 0
    monkeypatch.setattr(resume.Store, "remove", lambda self: None)
    assert analysis.main([*arguments, str(out), "--resume", str(kept)]) == 0
    batches = sorted(kept.glob("batch-*.npz"))
    whole = batches[0].read_bytes()
    assert len(batches) == 3
    batches[0].write_bytes(
        {"": b"", "cut": whole[: len(whole) // 2], "other": whole[:-3] + b"abc", "none": whole}[damage]
    )
    runs = []
    run = Runner.run
    monkeypatch.setattr(Runner, "run", lambda self, *each: runs.append(1) or run(self, *each))
    assert analysis.main([*arguments, str(out), "--resume", str(kept)]) == 0
    assert out.read_bytes() == straight.read_bytes() and len(runs) == (damage != "none")


def test_batches_of_another_run_are_never_taken(corpus, tmp_path, monkeypatch):
    """Not even where a power cut left them beside what the present run wrote."""
    kept, arguments = tmp_path / "kept", [corpus, "--model", "toy"]
    kept.mkdir()
    monkeypatch.setattr(resume.Store, "remove", lambda self: None)
    assert analysis.main([*arguments, "--mask", "causal", "--resume", str(kept)]) == 0
    old = {path: path.read_bytes() for path in kept.iterdir()}
    assert analysis.main([*arguments, "--json", str(tmp_path / "a.json"), "--resume", str(kept)]) == 0
    for path, content in old.items():
        path.write_bytes(content)
    assert analysis.main([*arguments, "--json", str(tmp_path / "b.json"), "--resume", str(kept)]) == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("where", ["load", "score", "Scores"])
def test_ctrl_c_while_loading_scoring_or_drawing_intervals_is_one_line(where, corpus, monkeypatch, capsys):
    class Stopped:
        def __call__(self, *_, **__):
            raise KeyboardInterrupt

        of = __call__

    monkeypatch.setattr(analysis, where, Stopped())
    assert analysis.main([corpus, "--model", "toy"]) == EXIT_STOPPED == 130
    assert capsys.readouterr().err.splitlines()[-1] == "error: stopped."


@pytest.mark.parametrize(
    "module", ["analysis", "analysis.evidence.measure", "analysis.sentences.gender", "model.training"]
)
def test_ctrl_c_while_modules_are_imported_is_quiet(module):
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", module, "--help"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stderr is not None
        while "numpy.version" not in (line := process.stderr.readline()):
            assert line, "numpy is imported no more"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said and "error: stopped." in said


def shell(line):
    environment = os.environ | {"PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("$PYTHON -m model.training --help | true", 0, ""),
        ("$PYTHON -m model.training --steps 1 --seeds 3 | head -1", EXIT_CLOSED, ""),
        (
            "$PYTHON -m model.training --steps 1 > /dev/full",
            EXIT_OUTPUT,
            "error: The output can't be written: No space",
        ),
        ("$PYTHON -m model.training --steps 1 >&-", 0, ""),
        ("$PYTHON -m analysis data/corpus/hand_zh.jsonl --model toy 2>&- >/dev/null", 0, ""),
        ("$PYTHON -m analysis.sentences.gender --language zh --out /dev/stdout | head -1 | wc -l", EXIT_CLOSED, ""),
    ],
)
def test_a_closed_or_full_output_makes_no_traceback(line, code, said):
    found = shell(line)
    assert found.returncode == code
    assert found.stderr.startswith(said) and len(found.stderr.splitlines()) == bool(said)


def test_what_a_main_raises_becomes_a_code_and_the_rest_is_a_fault():
    def main(_arguments):
        raise KeyError("a fault of ours")

    with pytest.raises(KeyError):
        command(main)()
    assert command_line.fail("x", 7) == 7


def test_what_is_written_first_takes_no_name_of_somebody_elses_file(tmp_path):
    mine = tmp_path / "out.json.part"
    mine.write_text("mine")
    files.check_writable(tmp_path / "out.json")
    files.write_whole(tmp_path / "out.json", "{}")
    assert mine.read_text() == "mine" and sorted(path.name for path in tmp_path.iterdir()) == ["out.json", mine.name]


@pytest.mark.parametrize("option", ["--seed=--", "--json=--", "--task=--"])
def test_two_dashes_where_a_value_should_stand_are_told(option, capsys):
    """argparse hands an empty list to the program: `--seed=--` would end in a traceback."""
    assert training.main([option]) == 2
    assert f"{option} gives no value" in capsys.readouterr().err
