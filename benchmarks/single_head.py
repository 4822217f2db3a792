"""How far a single head gets with more steps, an FFN, a second layer or fewer letters, and what spare heads are needed
for: where the claim of "Watch heads learn" ends. `python -m benchmarks.single_head` prints the figures that the page
gives under "Limits of this result"; `--only spare` and `--only single` print a part of them.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace

import numpy as np
import torch

from model.tasks import NO_KEY, NOTHING_ASKED, TASKS, Batch, Relation
from model.training import Settings, Training

FEW = "abcdefghij"
N_LETTERS = 12
FEW_STEPS = (600, 4000)
CASES = {
    "one head, 800 steps": {},
    "one head, 4,000 steps": {"steps": 4000},
    "one head with an FFN": {"ffn": True},
    "one head in each of two layers": {"layers": 2},
    "two heads": {"heads": 2},
}
SPARE = {"heads": 8}  # two for each relation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=("single", "spare"))
    arguments = parser.parse_args()
    seeds = range(arguments.seeds)
    torch.set_num_threads(1)
    if arguments.only != "spare":
        _single_heads(seeds)
    if arguments.only != "single":
        _spare_heads(seeds)


def _single_heads(seeds: range) -> None:
    print("four neighbours, 26 letters, 800 steps unless said otherwise")
    for name, changes in CASES.items():
        _tell(name, [Settings("neighbours", **{"heads": 1, "seed": seed} | changes) for seed in seeds])
    TASKS["few letters"] = few_letters()
    print("left and right neighbour, 10 letters, one head")
    for steps in FEW_STEPS:
        _tell(f"{steps:,} steps", [Settings("few letters", heads=1, steps=steps, seed=seed) for seed in seeds])


def _spare_heads(seeds: range) -> None:
    """What of a relation's right answers is left when one head is off: the mean over heads, and the head that hurts it
    most."""
    print(f"four neighbours, 26 letters, {SPARE['heads']} heads, one of them off: share of right answers that is left")
    means, leasts = [], []
    for seed in seeds:
        training = Training(Settings("neighbours", **{"seed": seed} | SPARE))
        training.step(training.settings.steps)
        found = training.switched_off()
        left = found.without[0] / found.unharmed  # (h, R)
        relations = training.task.relations
        means.append(float(left.mean()))
        leasts.append(left.min(axis=0))
        each = ", ".join(f"{name.id} {least:.2f}" for name, least in zip(relations, leasts[-1], strict=True))
        print(f"  seed {seed}: mean {means[-1]:.3f}; without the head that matters most {each}", flush=True)
    least = np.array(leasts)
    print(
        f"  mean of {len(means)} seeds {statistics.mean(means):.3f}; the head that matters most leaves "
        f"{least.mean():.3f} of a relation [{least.min():.3f}, {least.max():.3f}], at most half of it in "
        f"{(least <= 0.5).sum()} of {least.size} relations",
        flush=True,
    )


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
        f"  {name:30} {statistics.mean(accuracies):.3f} ± {spread:.3f} [{min(accuracies):.3f}, {max(accuracies):.3f}], "
        f"{len(accuracies)} seeds; largest weight on a relation's key {max(shares):.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
