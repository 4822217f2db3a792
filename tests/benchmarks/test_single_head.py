"""The task with few letters is what its name says, and the benchmark tells each case."""

import torch

from benchmarks import single_head
from model.tasks import TASKS
from model.training import Settings, Training


def test_few_letters_asks_for_the_two_neighbours_and_nothing_beyond_the_ends():
    task = single_head.few_letters()
    batch = task.batch(torch.Generator().manual_seed(0), 8)
    assert int(batch.ids.max()) < 10 and batch.keys[0].tolist()[:2] == [[-1, 1], [0, 2]]
    for query in range(1, 11):
        assert torch.equal(batch.targets[:, query, 0], batch.ids[:, query - 1])
        assert torch.equal(batch.targets[:, query, 1], batch.ids[:, query + 1])
    assert batch.targets[:, 0, 0].eq(-100).all() and batch.targets[:, 11, 1].eq(-100).all()


def test_every_case_is_told_with_its_spread(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["single_head", "--seeds", "2"])
    monkeypatch.setattr(single_head, "CASES", {"two heads": {"heads": 2, "steps": 2}})
    monkeypatch.setattr(single_head, "FEW_STEPS", (1, 2))
    monkeypatch.setattr(single_head, "SPARE", {"heads": 2, "steps": 2})
    monkeypatch.setattr(single_head, "TASKS", dict(TASKS))
    monkeypatch.setattr("model.training.settings.TASKS", single_head.TASKS)
    single_head.main()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 9 and "two heads" in said[1] and all("2 seeds" in line for line in (said[1], *said[3:5]))
    assert [line.split(":")[0].strip() for line in said[6:8]] == ["seed 0", "seed 1"]
    training = Training(Settings("neighbours", heads=2, steps=2))
    training.step(2)
    without, unharmed = training.switched_off()
    left = without[0] / unharmed  # (h, R)
    assert f"mean {left.mean():.3f}; without the head that matters most -2 {left[:, 0].min():.2f}" in said[6]
    assert "mean of 2 seeds" in said[8] and "of 8 relations" in said[8]
    assert "few letters" not in TASKS
