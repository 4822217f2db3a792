"""Tasks on rows of random letters: four neighbours; neighbour and twin; induction."""

from __future__ import annotations

import string

import torch

from model.tasks.task import NO_KEY, NOTHING_ASKED, Batch, Defaults, Relation, Size, Task

LETTERS = tuple(string.ascii_lowercase)
OFFSETS = (-2, -1, 1, 2)
N_LETTERS = 12  # in a row


def neighbours(generator: torch.Generator, size: int) -> Batch:
    """Every position names the letters at offsets −2, −1, +1 and +2; beyond the ends nothing is asked."""
    ids = torch.randint(len(LETTERS), (size, N_LETTERS), generator=generator)  # (B, N)
    keys = torch.arange(N_LETTERS)[:, None] + torch.tensor(OFFSETS)  # (N, R)
    inside = (keys >= 0) & (keys < N_LETTERS)
    arcs = keys.masked_fill(~inside, NO_KEY).expand(size, -1, -1)  # (B, N, R)
    targets = ids[:, keys.clamp(0, N_LETTERS - 1)].masked_fill(~inside, NOTHING_ASKED)  # (B, N, R)
    return Batch(ids, targets, arcs)


NEIGHBOURS = Task(
    id="neighbours",
    title="Four neighbours",
    about="Each position must name four letters: the two to its left and the two to its right, each at its offset.",
    note="26 letters and one attention layer without a feed-forward network. With fewer letters and much longer "
    "training a single head finds a way round, and a feed-forward network can read unequal weights: the gap is one at "
    "the same budget.",
    n_tokens=N_LETTERS,
    vocabulary=LETTERS,
    answers=LETTERS,
    relations=(
        Relation("-2", "two to the left"),
        Relation("-1", "left neighbour"),
        Relation("+1", "right neighbour"),
        Relation("+2", "two to the right"),
    ),
    chance=1 / len(LETTERS),
    defaults=Defaults(compare=(Size(1), Size(4))),
    make=neighbours,
)
