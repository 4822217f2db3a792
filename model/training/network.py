"""The network that is trained: our own Transformer with a linear read-out on top, drawn from a generator of its own."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from model.blocks import LayerNorm
from model.checkpoints import NoInit
from model.positions import Embeddings
from model.transformer import Transformer, TransformerConfig, TransformerOutput


class Network(nn.Module):
    """A Transformer and a read-out that gives A logits for each of the relations that are asked."""

    def __init__(self, config: TransformerConfig, n_relations: int, n_answers: int) -> None:
        super().__init__()
        self.transformer = Transformer(config)
        self.readout = nn.Linear(config.d_model, n_relations * n_answers)
        self.n_answers = n_answers

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, gate: Tensor | None = None
    ) -> tuple[Tensor, TransformerOutput]:
        """Logits (B, N, relations asked, A) and what the Transformer made, from ids (B, N)."""
        output: TransformerOutput = self.transformer(ids, mask, gate=gate)
        logits = self.readout(output.hidden)  # (B, N, relations · A)
        return logits.unflatten(-1, (-1, self.n_answers)), output


def new_network(config: TransformerConfig, n_relations: int, n_answers: int, generator: torch.Generator) -> Network:
    """A network with random weights as torch's own modules draw them, from `generator` instead of the global one."""
    with torch.device("meta"), NoInit():
        network = Network(config, n_relations, n_answers)
    network.to_empty(device="cpu")
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Linear):  # U(−1/√d, 1/√d) for weight and bias
                bound = 1 / math.sqrt(module.in_features)
                for weight in module.parameters():
                    weight.uniform_(-bound, bound, generator=generator)
            elif isinstance(module, nn.Embedding):
                module.weight.normal_(generator=generator)
            elif isinstance(module, Embeddings) and module.position is not None:
                module.position.normal_(generator=generator)
            elif isinstance(module, LayerNorm):
                module.gamma.fill_(1.0)
                module.beta.zero_()
    return network.eval()  # there is no dropout to switch on
