"""Settings from the environment: what is read, and the sentence for what makes no sense, wherever it is read."""

import pytest

from analysis.__main__ import main as analyse
from model import HeadworkError
from model.__main__ import main as trace
from model.settings import cache_bytes, threads, trainings


@pytest.mark.parametrize(("value", "n"), [(None, 1), ("", 1), (" ", 1), ("1", 1), (" 4 ", 4), ("64", 64)])
def test_threads_are_read(monkeypatch, value, n):
    monkeypatch.delenv("HEADWORK_THREADS", raising=False)
    if value is not None:
        monkeypatch.setenv("HEADWORK_THREADS", value)
    assert threads() == n


@pytest.mark.parametrize("value", ["auto", "0", "-1", "1.5", "2 threads", "²", "٣", "9" * 5000, "1".zfill(9) + "0" * 9])
def test_threads_that_make_no_sense_are_named_with_what_would_do(monkeypatch, value):
    monkeypatch.setenv("HEADWORK_THREADS", value)
    with pytest.raises(HeadworkError, match=r"^HEADWORK_THREADS is '.*a whole number from 1") as told:
        threads()
    assert value[:59] in str(told.value) and len(str(told.value)) < 200


@pytest.mark.parametrize(
    ("cpus", "value", "n"), [(1, None, 1), (2, "", 1), (8, None, 4), (64, None, 4), (None, None, 1), (2, "3", 3)]
)
def test_trainings_at_a_time_are_read_or_come_from_the_number_of_cpus(monkeypatch, cpus, value, n):
    monkeypatch.setattr("os.cpu_count", lambda: cpus)
    monkeypatch.delenv("HEADWORK_TRAININGS", raising=False)
    if value is not None:
        monkeypatch.setenv("HEADWORK_TRAININGS", value)
    assert trainings() == n
    monkeypatch.setenv("HEADWORK_TRAININGS", "none")
    with pytest.raises(HeadworkError, match=r"^HEADWORK_TRAININGS is 'none'.*Leave it out for"):
        trainings()


@pytest.mark.parametrize(("value", "n"), [(None, 256e6), ("", 256e6), ("0", 0), ("0.5", 5e5), (" 64 ", 64e6)])
def test_the_size_of_the_cache_is_read(monkeypatch, value, n):
    monkeypatch.delenv("HEADWORK_CACHE_MB", raising=False)
    if value is not None:
        monkeypatch.setenv("HEADWORK_CACHE_MB", value)
    assert cache_bytes() == n


@pytest.mark.parametrize("value", ["256MB", "-1", "nan", "inf", "lots", "1e300"])
def test_a_size_that_makes_no_sense_is_named_with_what_would_do(monkeypatch, value):
    monkeypatch.setenv("HEADWORK_CACHE_MB", value)
    with pytest.raises(HeadworkError, match=f"^HEADWORK_CACHE_MB is '{value}'.*without a unit"):
        cache_bytes()


@pytest.mark.parametrize(("main", "arguments"), [(trace, ["The cat sat."]), (analyse, ["nowhere.conllu"])])
def test_the_command_lines_say_so_and_stop(monkeypatch, capsys, main, arguments):
    monkeypatch.setenv("HEADWORK_THREADS", "auto")
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("error: HEADWORK_THREADS is 'auto', but it takes a whole number")
