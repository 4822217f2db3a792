"""What a training run is: task, sizes, mask, budget and seed, within bounds that keep a server alive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from model.attention import check_heads
from model.errors import HeadworkError, check_whole_numbers, shown
from model.masks import Mask, parse_mask
from model.tasks import TASKS, Task, find_task
from model.transformer import TransformerConfig

D_FF = 64  # twice d_model: 13,192 parameters for four neighbours
BOUNDS: dict[str, tuple[int, int]] = {
    "heads": (1, 16),
    "layers": (1, 4),
    "steps": (1, 10_000),
    "seed": (0, 2**31 - 1),
    "d_model": (4, 128),
    "batch": (1, 256),
}
LEARNING_RATES = (1e-5, 1.0)


def check_rate(rate: object) -> None:
    """Raises HeadworkError unless it is a learning rate within LEARNING_RATES."""
    least, most = LEARNING_RATES
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not least <= rate <= most:
        raise HeadworkError(
            "The learning rate is {value}: it must be a number from {least} to {most}.",
            value=shown(rate),
            least=least,
            most=most,
        )


@dataclass(frozen=True)
class Settings:
    """One training run. Two runs with equal settings are equal, number by number, on one machine.

    Attributes:
        task: id of one of model.tasks.TASKS.
        ffn: a feed-forward network of 64 units after attention, each with a layer normalisation before it (pre-LN);
            without it a block is attention and its residual.
        mask: its spelling; see model.masks.
        learning_rate: the highest of the cycle.
        batch: sentences a step.

    Raises:
        HeadworkError: an unknown task, a number out of bounds, heads that don't divide d_model, an unfitting mask.
    """

    task: str
    heads: int = 4
    layers: int = 1
    ffn: bool = False
    mask: str = "bidirectional"
    steps: int = 800
    learning_rate: float = 1e-2
    seed: int = 0
    d_model: int = 32
    batch: int = 64

    def __post_init__(self) -> None:
        """Checks everything, and brings the mask into its one spelling."""
        task = find_task(TASKS, self.task)
        check_whole_numbers(self, BOUNDS)
        check_rate(self.learning_rate)
        check_heads(self.d_model, self.heads)
        mask = parse_mask(self.mask)
        if mask.padded_length is not None:
            raise HeadworkError("Sentences of a task are never padded: choose a mask without padding.")
        mask.allowed(task.n_tokens)  # a drawn mask must have the task's size
        object.__setattr__(self, "mask", str(mask))

    @classmethod
    def of(cls, task: str, **changes: Any) -> Settings:
        """The run that a task is best watched with, its larger network, with some settings changed."""
        defaults = find_task(TASKS, task).defaults
        largest = defaults.compare[-1]
        chosen: dict[str, Any] = {
            "heads": largest.heads,
            "layers": largest.layers,
            "mask": defaults.mask,
            "steps": defaults.steps,
            "learning_rate": defaults.learning_rate,
        }
        return cls(task, **(chosen | changes))

    @property
    def rule(self) -> Task:
        """The task itself."""
        return TASKS[self.task]

    @property
    def allowed(self) -> Mask:
        """The mask itself."""
        return parse_mask(self.mask)

    @property
    def config(self) -> TransformerConfig:
        """The Transformer that is trained. The read-out is a linear layer beside it."""
        return TransformerConfig(
            vocab_size=len(self.rule.vocabulary),
            d_model=self.d_model,
            num_heads=self.heads,
            num_layers=self.layers,
            d_ff=D_FF if self.ffn else 0,
            max_tokens=self.rule.n_tokens,
            norm="pre" if self.ffn else "none",
            embedding_norm=False,
            layer_norm_eps=1e-5,
            dropout=0.0,
        )
