"""The records of Translate and Peek that ship: runs of this code, with the claims that the page makes of them."""

import numpy as np
import pytest

from model.errors import HeadworkError
from model.tasks import PEEK, TRANSLATIONS
from model.training.kinds import new_run, recorded_settings
from model.training.peek import Peeking, PeekSettings
from model.training.record import read_record, shipped, write_record
from model.training.translate import TranslateSettings, Translating


@pytest.mark.parametrize("task", [*TRANSLATIONS, PEEK.id])
def test_a_record_is_a_run_of_this_code(task):
    """The same first weights, to the precision of the frames; whole runs are made anew in the tests of claims."""
    recorded = read_record(shipped(task), Peeking if task == PEEK.id else Translating)
    assert recorded.command == f"python -m model.training --task {task} --record data/learning/{task}.safetensors"
    assert shipped(task).stat().st_size < 350_000 and recorded.seed == 0
    assert [run.settings for run in recorded.trainings] == recorded_settings(task)
    for run in recorded.trainings:
        fresh = new_run(run.settings)
        name = "maps" if task == PEEK.id else "cross"
        first, anew = getattr(run.frames[0], name), getattr(fresh.frames[0], name)
        np.testing.assert_allclose(first, anew, atol=5e-4)  # float16
        assert [point.step for point in run.curve] == [frame.step for frame in run.frames] and run.done
        assert run.curve[0].loss == pytest.approx(fresh.curve[0].loss, abs=1e-3)


@pytest.mark.parametrize("task", TRANSLATIONS)
def test_the_recorded_translators_are_right_and_their_best_heads_aligned(task):
    one, four = read_record(shipped(task), Translating).trainings
    for run in (one, four):
        found, last = run.test(), run.frames[-1]
        assert found.accuracy >= 0.99 and run.curve[-1].accuracy >= 0.99 and last.written == run.rows[:-1]
        assert found.alignment.best_error < 0.01 and last.alignment.best_error < 0.01
        assert run.frames[0].alignment.best_error > 0.7 and found.straight_across > 0.8
        cells = [last.cross[last.alignment.best][row, link] for row, link in enumerate(run.links[:-1])]
        assert min(cells) > 0.5  # the example's map is its true alignment
    assert four.test().alignment.error.max() > 0.1  # not every head: spare ones look elsewhere


def test_the_recorded_cheat_has_no_loss_and_can_not_write():
    causal, cheat, prefix = read_record(shipped("peek"), Peeking).trainings
    assert cheat.test().loss < 0.001 and cheat.test().teacher_forced > 0.999
    assert cheat.test().generating < 0.2 and cheat.test().loss_alone > 5
    for honest in (causal, prefix):
        assert honest.test().loss == pytest.approx(PEEK.floor, abs=0.01) and honest.test().generating > 0.99


def test_a_record_of_short_runs_is_read_as_it_was_written(tmp_path):
    runs = [Translating(TranslateSettings(heads=2, steps=2)), Translating(TranslateSettings(heads=1, steps=2))]
    for run in runs:
        run.step(2)
    path = tmp_path / "r.safetensors"
    write_record(path, runs, date="2026-01-02", command="c", versions="v")
    found = read_record(path, Translating)
    assert (found.date, found.command, found.versions) == ("2026-01-02", "c", "v")
    for run, read in zip(runs, found.trainings, strict=True):
        assert read.settings == run.settings and read.test().accuracy == run.test().accuracy
        assert [frame.written for frame in read.frames] == [frame.written for frame in run.frames]
        np.testing.assert_allclose(read.frames[-1].alignment.error, run.frames[-1].alignment.error, atol=5e-4)
        assert read.curve[-1] == pytest.approx(run.curve[-1], abs=1e-4)


def test_a_record_of_another_kind_is_refused(tmp_path):
    with pytest.raises(HeadworkError, match=r"peek.safetensors can't be read: its runs are of another task"):
        read_record(shipped("peek"), Translating)
    with pytest.raises(HeadworkError, match="another task"):
        read_record(shipped("translate-en"))
    run = Peeking(PeekSettings(steps=1))
    run.step()
    write_record(tmp_path / "p.safetensors", [run], date="", command="", versions="")
    assert read_record(tmp_path / "p.safetensors", Peeking).trainings[0].settings.mask == "causal"
