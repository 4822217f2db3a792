"""Tasks on rows of random letters: four neighbours; neighbour and twin; induction."""

from __future__ import annotations

import string

import torch

from model.tasks.task import NO_KEY, NOTHING_ASKED, Batch, Defaults, Relation, Size, Task

LETTERS = tuple(string.ascii_lowercase)
OFFSETS = (-2, -1, 1, 2)
N_NEIGHBOURS = 12  # letters in a row
N_PAIRS, N_NUMBERS = 6, 26  # each of 6 letters stands twice, each time with a number from 0 to 25
TWIN_LETTERS = LETTERS[:12]
INDUCTION_LETTERS = LETTERS[:8]
N_INDUCTION = 16


def neighbours(generator: torch.Generator, size: int) -> Batch:
    """Every position names the letters at offsets −2, −1, +1 and +2; beyond the ends nothing is asked."""
    ids = torch.randint(len(LETTERS), (size, N_NEIGHBOURS), generator=generator)  # (B, N)
    places = torch.arange(N_NEIGHBOURS)[:, None] + torch.tensor(OFFSETS)  # (N, R)
    inside = (places >= 0) & (places < N_NEIGHBOURS)
    keys = places.masked_fill(~inside, NO_KEY).expand(size, -1, -1)  # (B, N, R)
    targets = ids[:, places.clamp(0, N_NEIGHBOURS - 1)].masked_fill(~inside, NOTHING_ASKED)  # (B, N, R)
    return Batch(ids, targets, keys)


def twins(generator: torch.Generator, size: int) -> Batch:
    """Every position names the number of its left neighbour, and of the other word with its letter."""
    n_tokens = 2 * N_PAIRS
    letters = torch.rand(size, len(TWIN_LETTERS), generator=generator).argsort(dim=-1)[:, :N_PAIRS]  # all different
    places = torch.rand(size, n_tokens, generator=generator).argsort(dim=-1)
    letters = letters.repeat(1, 2).gather(1, places)  # (B, N)
    numbers = torch.randint(N_NUMBERS, (size, n_tokens), generator=generator)  # (B, N)

    same = (letters[:, :, None] == letters[:, None, :]) & ~torch.eye(n_tokens, dtype=torch.bool)  # (B, N, N)
    twin = same.int().argmax(dim=-1)  # (B, N): the only one
    left = torch.arange(-1, n_tokens - 1).expand(size, -1)  # (B, N); −1 = NO_KEY for the first
    keys = torch.stack([left, twin], dim=-1)  # (B, N, R)
    return Batch(letters * N_NUMBERS + numbers, _at(keys, numbers), keys)


def induction(generator: torch.Generator, size: int) -> Batch:
    """Every position names the letter that followed its own letter the last time; nothing where there was no such time.

    The previous token is a relation too, which is looked for and not asked: without it no head can find the match.
    """
    ids = torch.randint(len(INDUCTION_LETTERS), (size, N_INDUCTION), generator=generator)  # (B, N)
    place = torch.arange(N_INDUCTION)
    seen = (ids[:, :, None] == ids[:, None, :]) & (place < place[:, None])  # (B, query, key)
    last = torch.where(seen, place, NO_KEY).amax(dim=-1)  # (B, N)
    match = torch.where(last == NO_KEY, NO_KEY, last + 1)
    keys = torch.stack([(place - 1).expand(size, -1), match], dim=-1)  # (B, N, R)
    targets = _at(keys, ids)
    targets[..., 0] = NOTHING_ASKED
    return Batch(ids, targets, keys)


def _at(keys: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """The answers (B, N) that stand at the keys (B, N, R); NOTHING_ASKED where there is no key."""
    found = answers[:, :, None].expand(-1, -1, keys.size(-1)).gather(1, keys.clamp(min=0))
    return found.masked_fill(keys == NO_KEY, NOTHING_ASKED)


NEIGHBOURS = Task(
    id="neighbours",
    title="Four neighbours",
    about="Each position must name four letters: the two to its left and the two to its right, each at its offset.",
    note="All four answers are wanted at every position, so one row of weights can't serve them all. That holds for "
    "attention alone and for this budget: a feed-forward network can read unequal weights apart. With more heads than "
    "offsets, spare ones copy in part.",
    n_tokens=N_NEIGHBOURS,
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
TWINS = Task(
    id="twins",
    title="Neighbour and twin",
    about="Each word is a letter and a number, and each letter stands twice. Name the number of the left neighbour, "
    "and of the twin: the other word with the same letter.",
    note="One look goes by place, the other by content. A word's vector is the sum of one for its letter and one for "
    "its number, so that letters can be compared at once; real models have to learn what words have in common.",
    n_tokens=2 * N_PAIRS,
    vocabulary=tuple(f"{letter}{number}" for letter in TWIN_LETTERS for number in range(N_NUMBERS)),
    answers=tuple(str(number) for number in range(N_NUMBERS)),
    relations=(Relation("left", "left neighbour"), Relation("twin", "the other word with this letter")),
    chance=1 / N_NUMBERS,
    defaults=Defaults(compare=(Size(1), Size(2))),
    make=twins,
    parts=(len(TWIN_LETTERS), N_NUMBERS),
)
INDUCTION = Task(
    id="induction",
    title="Induction",
    about="Each position must name the letter that followed this same letter the last time.",
    note="It takes two layers: a head of the first notes each token's predecessor, and a head of the second looks for "
    "the token whose predecessor is the present one. Such pairs have been found in large language models too "
    "(Olsson et al. 2022), where more goes on beside them.",
    n_tokens=N_INDUCTION,
    vocabulary=INDUCTION_LETTERS,
    answers=INDUCTION_LETTERS,
    relations=(Relation("previous", "previous token", asked=False), Relation("match", "what followed last time")),
    chance=1 / len(INDUCTION_LETTERS),
    defaults=Defaults(compare=(Size(1, layers=1), Size(1, layers=2)), mask="causal"),
    make=induction,
)
