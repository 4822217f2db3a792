"""Five ways to give places: their tasks, their runs, and the runs that ship."""

import json

import pytest
import torch

from model.command_line import EXIT_STOPPED
from model.tasks import NO_KEY, NOTHING_ASKED
from model.training import lengths
from model.training.lengths import LENGTHS, WAYS, Trial, main, match, neighbour, shipped


def drawn(task, size=20):
    return task.batch(torch.Generator().manual_seed(0), size)


def test_the_answer_stands_two_places_back():
    ids, targets, keys = drawn(neighbour(6))
    assert (targets[:, :2] == NOTHING_ASKED).all() and (keys[:, :2] == NO_KEY).all()
    assert torch.equal(targets[:, 2:, 0], ids[:, :-2])


@pytest.mark.parametrize("n", [12, 96])
def test_each_letter_stands_twice_and_the_second_asks_for_the_first_ones_number(n):
    ids, targets, keys = drawn(match(n))
    letters, numbers = ids // lengths.N_NUMBERS, ids % lengths.N_NUMBERS
    for row in range(len(ids)):
        seen = {}
        for place, letter in enumerate(letters[row].tolist()):
            if letter in seen:
                assert keys[row, place] == seen[letter] and targets[row, place] == numbers[row, seen[letter]]
            else:
                assert targets[row, place] == NOTHING_ASKED and keys[row, place] == NO_KEY
                seen[letter] = place
        assert len(seen) == n // 2


def test_a_seed_gives_the_same_run_again():
    runs = []
    for _ in range(2):
        trial = Trial("neighbour", "alibi", 3, steps=4)
        torch.randn(5)  # the global generator is left alone
        assert list(trial.work()) == []
        runs.append(trial.run.accuracy)
    assert runs[0] == runs[1] and len(runs[0]) == len(LENGTHS)


def test_only_places_tell_two_back_and_only_letters_tell_the_match():
    """Trained from a fixed seed, not the full length: what the shipped runs say holds for a fresh one."""
    found = {}
    for task, way in (("neighbour", "none"), ("neighbour", "rotary"), ("match", "none"), ("match", "learned")):
        trial = Trial(task, way, 7, steps=250)
        for _share in trial.work():
            pass
        found[task, way] = trial.run.accuracy
    assert found["neighbour", "none"][0] < 0.6 < 0.95 < found["neighbour", "rotary"][0]
    assert found["match", "none"][-1] > 0.85 > 0.6 > found["match", "learned"][-1]


def test_the_shipped_runs_are_whole():
    runs = shipped()
    assert len(runs) == 5 * 2 * len(WAYS) and {run.seed for run in runs} == set(range(5))
    assert all(0 <= right <= 1 for run in runs for right in run.accuracy)
    about = json.loads(lengths.SHIPPED.read_text())["provenance"]
    assert about["steps"] == lengths.STEPS and about["lengths"] == list(LENGTHS)


def test_the_command_writes_what_it_prints(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lengths, "trials", lambda seeds: [Trial("match", "none", seed, steps=2) for seed in seeds])
    assert main(["--seeds", "2", "--json", str(tmp_path / "x.json")]) == 0
    runs = json.loads((tmp_path / "x.json").read_text())["runs"]
    assert [run["seed"] for run in runs] == [0, 1] and "match" in capsys.readouterr().out
    assert json.loads((tmp_path / "x.json").read_text())["complete"] is True


def test_stopped_by_hand_it_has_written_every_run_that_was_done(tmp_path, capsys, monkeypatch):
    class Stopped(Trial):
        def work(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(lengths, "trials", lambda seeds: [Trial("match", "none", 0, 2), Stopped("match", "none", 1)])
    assert main(["--json", str(tmp_path / "x.json")]) == EXIT_STOPPED
    result = json.loads((tmp_path / "x.json").read_text())
    assert [run["seed"] for run in result["runs"]] == [0] and result["complete"] is False


@pytest.mark.parametrize("option", ["--seed=-1", f"--seed={10**30}", "--seeds=0", "--seeds=101"])
def test_numbers_out_of_bounds_are_told_before_the_first_run(option, capsys, monkeypatch):
    monkeypatch.setattr(lengths, "trials", lambda *_: pytest.fail("it trained first"))
    with pytest.raises(SystemExit, match="2"):
        main([option])
    assert "is no whole number from" in capsys.readouterr().err
