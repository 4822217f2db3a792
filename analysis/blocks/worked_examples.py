"""What the page "Inside a block" runs: the worked examples of the course, and small untrained models in any sizes.

Random numbers come from a generator of their own in the order in which torch draws them, so that they equal those of
`torch.manual_seed(seed)` followed by the module's constructor, whatever else the server is drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn

from model.attention import check_heads
from model.blocks import Activation, NormPlace, TransformerBlock
from model.errors import HeadworkError
from model.norms import LayerNorm
from model.positions import Embeddings, HashedEmbedding

LABELS = ("猫", "吃", "鱼")
# What the page can draw and a server can make at once. "Parameters and cost" takes any size.
BOUNDS = {
    "N": (1, 512),
    "d_model": (1, 512),
    "h": (1, 64),
    "d_ff": (1, 2048),
    "layers": (1, 12),
    "seed": (0, 2**31 - 1),
}


@dataclass(frozen=True)
class Sizes:
    """The sizes and choices of a stack of blocks. Hashable: it is part of the key of a cache."""

    d_model: int = 8
    heads: int = 2
    d_ff: int = 32
    layers: int = 2
    norm: NormPlace = "post"
    activation: Activation = "relu"
    bias: bool = True
    seed: int = 42


EXAMPLES = {
    "cat": Sizes(),
    "wide": Sizes(d_model=512, heads=8, d_ff=2048),
}


def example_code(sizes: Sizes) -> str:
    """The lines of Python that make the numbers of a worked example. A test runs them."""
    return (
        "import torch\n"
        "from model import MultiHeadAttention, TransformerBlock\n\n"
        f"torch.manual_seed({sizes.seed})\n"
        f"x = torch.randn(1, {len(LABELS)}, {sizes.d_model})  # {' '.join(LABELS)}\n"
        f"mha = MultiHeadAttention({sizes.d_model}, {sizes.heads})  # default initialisation\n"
        "output, attention = mha(x)\n\n"
        "# The whole block: the same seed draws the same attention first, then the FFN.\n"
        f"torch.manual_seed({sizes.seed})\n"
        f"x = torch.randn(1, {len(LABELS)}, {sizes.d_model})\n"
        f"blocks = [TransformerBlock({sizes.d_model}, {sizes.heads}, {sizes.d_ff}).eval() "
        f"for _ in range({sizes.layers})]"
    )


def check_sizes(sizes: Sizes, n_tokens: int = 1) -> None:
    """Refuses sizes that make no model, or one that is too large to be drawn.

    Raises:
        HeadworkError: says which size, why, and what would do.
    """
    values = {
        "N": n_tokens,
        "d_model": sizes.d_model,
        "h": sizes.heads,
        "d_ff": sizes.d_ff,
        "layers": sizes.layers,
        "seed": sizes.seed,
    }
    for name, (least, most) in BOUNDS.items():
        if values[name] < least:
            raise HeadworkError(
                "{name} is {value}, which makes no model: it must be at least {least}.",
                name=name,
                value=values[name],
                least=least,
            )
        if values[name] > most:
            raise HeadworkError(
                "{name} is {value}, which is too large for this page: it draws every number. Use {most} or less.",
                name=name,
                value=values[name],
                most=most,
            )
    check_heads(sizes.d_model, sizes.heads)
    if sizes.norm not in get_args(NormPlace) or sizes.activation not in get_args(Activation):
        raise HeadworkError(
            "There is no block with {norm}-LN and {activation}.", norm=sizes.norm, activation=sizes.activation
        )


def worked_example(sizes: Sizes) -> tuple[Tensor, Iterator[TransformerBlock]]:
    """The input x (1, 3, d_model) and the blocks, as `example_code` makes them."""
    check_sizes(sizes, len(LABELS))
    generator = torch.Generator().manual_seed(sizes.seed)
    x = torch.randn(1, len(LABELS), sizes.d_model, generator=generator)
    return x, _blocks(sizes, generator)


def sentence_example(ids: Tensor, sizes: Sizes) -> tuple[Tensor, Iterator[TransformerBlock]]:
    """The input x (1, N, d_model) for ids (1, N): a random vector a word, plus sinusoidal positions. And the blocks."""
    check_sizes(sizes, ids.size(1))
    embeddings = Embeddings(
        HashedEmbedding(sizes.d_model, sizes.seed), sizes.d_model, ids.size(1), positions="sinusoidal"
    ).eval()
    return embeddings(ids), _blocks(sizes, torch.Generator().manual_seed(sizes.seed))


def _blocks(sizes: Sizes, generator: torch.Generator) -> Iterator[TransformerBlock]:
    """One block at a time: only the one whose steps are kept stays in memory."""
    for _ in range(sizes.layers):
        with torch.device("meta"):
            block = TransformerBlock(
                sizes.d_model,
                sizes.heads,
                sizes.d_ff,
                norm=sizes.norm,
                activation=sizes.activation,
                bias=sizes.bias,
            )
        block = block.to_empty(device="cpu")
        for module in block.modules():
            if isinstance(module, nn.Linear):
                _draw(module, generator)
            elif isinstance(module, LayerNorm):
                nn.init.ones_(module.gamma)
                nn.init.zeros_(module.beta)
        yield block.eval().requires_grad_(False)


def _draw(linear: nn.Linear, generator: torch.Generator) -> None:
    """nn.Linear's own initialisation (torch 2: Kaiming uniform with a = √5; bias within 1/√fan_in)."""
    with torch.no_grad():
        nn.init.kaiming_uniform_(linear.weight, a=math.sqrt(5), generator=generator)
        if linear.bias is not None:
            bound = 1 / math.sqrt(linear.in_features)
            linear.bias.uniform_(-bound, bound, generator=generator)
