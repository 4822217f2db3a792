"""What a training task is: sentences without end from a rule, and what must be answered where.

Letters used in every shape comment: B sentences of a batch, N tokens, R relations, A answers. See also model.attention.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from model.errors import HeadworkError
from model.masks import Mask

NOTHING_ASKED = -100  # as cross_entropy ignores it
NO_KEY = -1


class Batch(NamedTuple):
    """Sentences, their right answers, and where each answer lies.

    Attributes:
        ids: (B, N), numbers in the task's vocabulary.
        targets: (B, N, R), numbers in the task's answers; NOTHING_ASKED where nothing is asked.
        keys: (B, N, R), the key that the relation leads the query to; NO_KEY where it leads nowhere.
    """

    ids: Tensor
    targets: Tensor
    keys: Tensor


@dataclass(frozen=True)
class Relation:
    """One look that a task demands.

    Attributes:
        id: short name for a column, such as "-2".
        title: the same in words.
        asked: whether the network must answer it; if not, only looking counts (a step on the way to an answer).
    """

    id: str
    title: str
    asked: bool = True


@dataclass(frozen=True)
class Size:
    """One of the networks to compare."""

    heads: int
    layers: int = 1


@dataclass(frozen=True)
class Defaults:
    """What a task is best watched with."""

    compare: tuple[Size, ...]  # the smaller first
    mask: str = "bidirectional"
    steps: int = 800
    learning_rate: float = 1e-2


Found = TypeVar("Found")


@dataclass(frozen=True)
class Task:
    """A task for a small Transformer whose solution needs several looks at once.

    Attributes:
        id: its name on the command line and in links.
        about: one sentence: what the network must answer.
        note: what the task shows and what it doesn't.
        n_tokens: N, the same in every sentence.
        vocabulary: the words; a token id is a place in it.
        answers: what can be answered; the same for every relation.
        relations: R of them.
        chance: the share right by chance, the baseline.
        make: draws sentences; use `batch`.
        parts: for words made of two parts, how many of each: word i is made of parts i // parts[1] and i % parts[1],
            and its vector is the sum of theirs. None = every word has a vector of its own.
        hidden_is_chance: whether what can't be seen can only be guessed blindly.
    """

    id: str
    title: str
    about: str
    note: str
    n_tokens: int
    vocabulary: tuple[str, ...]
    answers: tuple[str, ...]
    relations: tuple[Relation, ...]
    chance: float
    defaults: Defaults
    make: Callable[[torch.Generator, int], Batch]
    parts: tuple[int, int] | None = None
    hidden_is_chance: bool = True

    def batch(self, generator: torch.Generator, size: int) -> Batch:
        """`size` sentences drawn from `generator`, which is moved on; torch's global one is left alone."""
        return self.make(generator, size)

    @property
    def asked(self) -> tuple[int, ...]:
        """The relations that must be answered, by number."""
        return tuple(number for number, relation in enumerate(self.relations) if relation.asked)

    def words(self, ids: Tensor) -> tuple[str, ...]:
        """The words of one sentence, from ids (N,)."""
        return tuple(self.vocabulary[number] for number in ids.tolist())

    def ceiling(self, mask: Mask, layers: int = 1) -> tuple[float, tuple[float, ...]] | None:
        """The accuracy that no network can exceed under a mask: of all answers, and of each relation that is asked.

        What lies where no path of `layers` looks leads can only be guessed. None where more could be inferred.
        """
        if not self.hidden_is_chance:
            return None
        hidden, counts = (numbers[list(self.asked)] for numbers in self._hidden(mask, layers))
        best = 1 - hidden / counts * (1 - self.chance)
        return float((best * counts).sum() / counts.sum()), tuple(best.tolist())

    def hidden_shares(self, mask: Mask, layers: int = 1) -> tuple[float, ...]:
        """For each relation the share of its keys to which no path of `layers` looks leads; 1 = none can be seen."""
        hidden, counts = self._hidden(mask, layers)
        return tuple((hidden / counts).tolist())

    def _hidden(self, mask: Mask, layers: int) -> tuple[Tensor, Tensor]:
        """Keys out of reach and keys in all, each (R,), in 4,096 sentences."""
        allowed = mask.allowed(self.n_tokens) | torch.eye(self.n_tokens, dtype=torch.bool)  # the residual stays
        reached = torch.linalg.matrix_power(allowed.double(), layers) > 0  # (N, N)
        keys = self.batch(torch.Generator().manual_seed(0), 4096).keys
        leads = keys != NO_KEY  # (B, N, R)
        is_seen = reached[torch.arange(self.n_tokens)[:, None], keys.clamp(min=0)]
        return (leads & ~is_seen).sum(dim=(0, 1)).double(), leads.sum(dim=(0, 1)).double()

    @property
    def sample(self) -> str:
        """One sentence of the task, always the same."""
        return " ".join(self.words(self.batch(torch.Generator().manual_seed(0), 1).ids[0]))


def find_task(tasks: dict[str, Found], task_id: str) -> Found:
    """The task of that name.

    Raises:
        HeadworkError: there is none.
    """
    if task_id not in tasks:
        raise HeadworkError(
            "There is no task {task}. Choose one of {choices}.", task=repr(task_id[:60]), choices=", ".join(tasks)
        )
    return tasks[task_id]
