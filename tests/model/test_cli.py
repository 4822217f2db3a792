"""python -m model: what it writes, prints and answers when something is wrong."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from model import __main__ as command
from model import files
from model.__main__ import main
from model.command_line import EXIT_CLOSED, EXIT_INPUT, EXIT_MODEL, EXIT_OUTPUT, EXIT_STOPPED

ROOT = Path(__file__).resolve().parents[2]


def test_causal_maps_as_npz(tmp_path, capsys):
    assert main(["The cat sat on the mat.", "--mask", "causal", "--npz", str(tmp_path / "x.npz")]) == 0
    with np.load(tmp_path / "x.npz") as arrays:
        attention, tokens, mask = arrays["attention"], arrays["tokens"], arrays["mask"]
    assert tokens.tolist() == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", ".", "[SEP]"]
    assert attention.shape == (6, 12, 9, 9)
    assert attention.dtype == np.float32
    assert (np.triu(attention, 1) == 0).all()
    assert np.abs(attention.sum(-1) - 1).max() < 1e-6
    assert (mask == np.tril(np.ones((9, 9), bool))).all()
    assert "masked cells exactly 0" in capsys.readouterr().out


def test_the_file_has_exactly_the_name_that_was_asked_for(tmp_path):
    assert main(["One.", "--npz", str(tmp_path / "maps")]) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["maps"]


def test_json(capsys):
    assert main(["猫 吃 鱼", "--model", "toy:d_model=8,heads=2,layers=1,seed=42", "--json", "--mask", "window:1"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["tokens"] == ["猫", "吃", "鱼"]
    assert printed["mask"] == "window:1"
    assert printed["shapes"] == {"attention": [1, 2, 3, 3], "mask": [3, 3]}
    assert printed["model"]["trained"] is False
    assert printed["check"]["masked_is_zero"] is True
    entropy = np.array(printed["entropy_nats"])
    assert entropy.shape == (1, 2)
    assert ((entropy > 0) & (entropy <= np.log(3))).all()


def test_entropy_leaves_out_special_tokens_and_padding(capsys):
    def entropy(mask):
        assert main(["The cat sat.", "--json", "--mask", mask]) == 0
        return np.array(json.loads(capsys.readouterr().out)["entropy_nats"])

    np.testing.assert_allclose(entropy("padding:20"), entropy("bidirectional"), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["  "], EXIT_INPUT, "no text"),
        (["a", "--mask", "sideways"], EXIT_INPUT, 'no mask "sideways"'),
        (["a b c", "--mask", "padding:2"], EXIT_INPUT, "padding:2 is too short"),
        (["a", "--mask", "matrix:2:f"], EXIT_INPUT, "drawn for 2 tokens, but the sentence has 3"),
        (["a", "--model", "no such model"], EXIT_MODEL, "no model"),
        (["a", "--model", "./nowhere"], EXIT_MODEL, "no folder"),
        (["a", "--model", "toy:d_model=10,heads=4"], EXIT_MODEL, "10 can't be split over 4 heads"),
        (["a", "--npz", "/nowhere/x.npz"], EXIT_OUTPUT, "/nowhere/x.npz can't be written"),
        (["a", "--npz", "/dev"], EXIT_OUTPUT, "/dev can't be written"),
        (["a", "--pair", " "], EXIT_INPUT, "no text"),
        (["a", "--pair", "b", "--model", "toy"], EXIT_INPUT, "reads one text"),
    ],
)
def test_errors_are_one_sentence_and_an_exit_code(arguments, code, message, capsys):
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_text_that_was_cut_or_not_understood_is_reported(capsys):
    assert main(["word " * 600]) == 0
    assert "90 tokens" in capsys.readouterr().out
    assert main(["\U0001f98a 狐 \U00012000"]) == 0
    assert "unknown to this model" in capsys.readouterr().out


def test_as_a_process_reading_standard_input_without_importing_transformers_or_streamlit():
    program = (
        "import sys; from model.__main__ import main; code = main(['-', '--json']); "
        "late = {'transformers', 'streamlit', 'sentence_transformers', 'huggingface_hub'} & set(sys.modules); "
        "assert not late, late; sys.exit(code)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        input="The cat sat.",
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONUTF8": "1"},
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["tokens"] == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]


def test_help_and_wrong_options_end_with_argparses_codes():
    for arguments, code in ((["--help"], 0), (["a", "--nonsense"], 2), ([], 2)):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == code


def test_a_pair(capsys):
    assert main(["Cats purr.", "--pair", "Dogs bark.", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["tokens"] == ["[CLS]", "cats", "pu", "##rr", ".", "[SEP]", "dogs", "bark", ".", "[SEP]"]
    assert printed["segments"] == [0] * 6 + [1] * 4
    assert main(["Cats purr.", "--pair", "Dogs bark."]) == 0
    assert "read as a pair" in capsys.readouterr().out


def test_a_full_disk_leaves_the_old_file_whole_and_is_told_with_its_name(tmp_path, monkeypatch, capsys):
    def full(_descriptor):
        raise OSError(28, "No space left on device")

    file = tmp_path / "x.npz"
    assert main(["One.", "--npz", str(file)]) == 0
    before = file.read_bytes()
    monkeypatch.setattr(files.os, "fsync", full)
    assert main(["Two words.", "--npz", str(file)]) == EXIT_OUTPUT
    assert f"error: {file} can't be written: No space left" in capsys.readouterr().err
    assert file.read_bytes() == before and [path.name for path in tmp_path.iterdir()] == ["x.npz"]


def test_an_output_that_cant_be_written_is_told_before_the_model_is_loaded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "load", lambda *_, **__: pytest.fail("it loaded the model first"))
    for file in ("/dev/full", str(tmp_path), str(tmp_path / "missing" / "x.npz")):
        assert main(["One.", "--npz", file]) == EXIT_OUTPUT
        assert f"{file} can't be written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_the_model_loads_is_one_line(monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "load", stopped)
    assert main(["One."]) == EXIT_STOPPED == 130
    assert capsys.readouterr().err == "error: stopped.\n"


@pytest.mark.parametrize(("output", "code"), [("/dev/full", EXIT_OUTPUT), ("closed pipe", EXIT_CLOSED)])
def test_a_full_or_closed_output_is_no_traceback(output, code):
    if output == "closed pipe":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(output, os.O_WRONLY)
    command_line = [sys.executable, "-m", "model", "a b", "--model", "toy", "--json"]
    ended = subprocess.run(command_line, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    os.close(writer)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr and ended.stderr.count("\n") <= 1


def test_bytes_that_are_no_text_are_read_as_far_as_they_are(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one \xff two"), encoding="utf-8"))
    assert main(["-", "--model", "toy"]) == 0
    assert "one \ufffd two" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", None)  # closed: `<&-`
    assert main(["-", "--model", "toy"]) == EXIT_INPUT
