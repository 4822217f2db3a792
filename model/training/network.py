"""The network that is trained: our own Transformer with a linear read-out on top, drawn from a generator of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from model.attention import MultiHeadAttention
from model.blank import NoInit
from model.norms import LayerNorm
from model.positions import Embeddings
from model.tasks import Task
from model.training.softmax import filled_softmax
from model.transformer import Transformer, TransformerConfig, TransformerOutput

Drawn = TypeVar("Drawn", bound=nn.Module)


class SummedEmbedding(nn.Module):
    """The vector of a word made of two parts, i // n_second and i % n_second for word i: the sum of theirs."""

    def __init__(self, n_first: int, n_second: int, d_model: int) -> None:
        super().__init__()
        self.first = nn.Embedding(n_first, d_model)
        self.second = nn.Embedding(n_second, d_model)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, N) → (B, N, d_model)."""
        n_second = self.second.num_embeddings
        return self.first(ids // n_second) + self.second(ids % n_second)  # type: ignore[no-any-return]

    def table(self) -> Tensor:
        """The vector of every word, (n_first · n_second, d_model): the same as one plain embedding."""
        return (self.first.weight[:, None] + self.second.weight).flatten(0, 1)


class Network(nn.Module):
    """A Transformer and a read-out that gives A logits for each of the relations that are asked."""

    def __init__(self, config: TransformerConfig, task: Task) -> None:
        super().__init__()
        self.transformer = Transformer(config)
        if task.parts is not None:
            self.transformer.embeddings.token = SummedEmbedding(*task.parts, config.d_model)
        self.readout = nn.Linear(config.d_model, len(task.asked) * len(task.answers))
        self.n_answers = len(task.answers)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, head_mask: Tensor | None = None
    ) -> tuple[Tensor, TransformerOutput]:
        """Logits (B, N, relations asked, A) and what the Transformer made, from ids (B, N)."""
        output: TransformerOutput = self.transformer(ids, mask, head_mask=head_mask)
        logits = self.readout(output.hidden)  # (B, N, relations · A)
        return logits.unflatten(-1, (-1, self.n_answers)), output


def new_network(config: TransformerConfig, task: Task, generator: torch.Generator) -> Network:
    """A network with random weights."""
    return fresh(lambda: Network(config, task), generator)


def fresh(make: Callable[[], Drawn], generator: torch.Generator) -> Drawn:
    """What `make` makes, ready to be trained: weights from `generator`, not torch's global one, and a fast softmax."""
    with NoInit():  # nothing is drawn from the global generator, and every number is set below
        module = make()
    for part in module.modules():
        if isinstance(part, MultiHeadAttention):
            part.softmax = filled_softmax
    return draw_weights(module, generator)


def draw_weights(module: Drawn, generator: torch.Generator) -> Drawn:
    """Sets every weight as torch's own modules draw them, one after another; the module itself, in eval mode."""
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.Linear):  # U(−1/√d, 1/√d) for weight and bias
                bound = 1 / math.sqrt(part.in_features)
                for weight in part.parameters():
                    weight.uniform_(-bound, bound, generator=generator)
            elif isinstance(part, nn.Embedding):
                part.weight.normal_(generator=generator)
            elif isinstance(part, Embeddings) and part.position is not None:
                part.position.normal_(generator=generator)
            elif isinstance(part, LayerNorm):
                part.gamma.fill_(1.0)
                part.beta.zero_()
    return module.eval()  # there is no dropout to switch on
