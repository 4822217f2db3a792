"""How far a single head gets with more steps, an FFN, a second layer or fewer letters: where the claim of "Watch heads
learn" ends. `python -m benchmarks.single_head` prints the figures that the page gives under "How far this goes".
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace

import torch

from model.tasks import NO_KEY, NOTHING_ASKED, TASKS, Batch, Relation
from model.training import Settings, Training

FEW = "abcdefghij"
N_LETTERS = 12
FEW_STEPS = (600, 4000)
CASES = {
    "800 steps": {},
    "4,000 steps": {"steps": 4000},
    "with an FFN": {"ffn": True},
    "two layers": {"layers": 2},
    "two heads": {"heads": 2},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    torch.set_num_threads(1)
    print("four neighbours, 26 letters, one head")
    for name, changes in CASES.items():
        _tell(name, [Settings("neighbours", **{"heads": 1, "seed": seed} | changes) for seed in seeds])
    TASKS["few letters"] = few_letters()
    print("left and right neighbour, 10 letters, one head")
    for steps in FEW_STEPS:
        _tell(f"{steps:,} steps", [Settings("few letters", heads=1, steps=steps, seed=seed) for seed in seeds])


def few_letters():
    """The task of neighbours with 10 letters and two offsets."""

    def make(generator: torch.Generator, size: int) -> Batch:
        ids = torch.randint(len(FEW), (size, N_LETTERS), generator=generator)  # (B, N)
        keys = torch.arange(N_LETTERS)[:, None] + torch.tensor([-1, 1])  # (N, R)
        inside = (keys >= 0) & (keys < N_LETTERS)
        targets = ids[:, keys.clamp(0, N_LETTERS - 1)].masked_fill(~inside, NOTHING_ASKED)
        return Batch(ids, targets, keys.masked_fill(~inside, NO_KEY).expand(size, -1, -1))

    relations = (Relation("-1", "left neighbour"), Relation("+1", "right neighbour"))
    letters = tuple(FEW)
    return replace(
        TASKS["neighbours"],
        id="few letters",
        n_tokens=N_LETTERS,
        vocabulary=letters,
        answers=letters,
        relations=relations,
        chance=1 / len(letters),
        make=make,
    )


def _tell(name: str, runs: list[Settings]) -> None:
    accuracies, shares = [], []
    for settings in runs:
        training = Training(settings)
        training.step(settings.steps)
        accuracies.append(training.test()[0])
        shares.append(float(training.frames[-1].share.max()))
    spread = statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0
    print(
        f"  {name:12} {statistics.mean(accuracies):.3f} ± {spread:.3f} [{min(accuracies):.3f}, {max(accuracies):.3f}], "
        f"{len(accuracies)} seeds; largest weight on a relation's key {max(shares):.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
