"""Whether a model knows order: a text and a shuffled copy of it through the same weights, positions on and off.

Attention treats its keys as a set: without positions, tokens in another order give the same vectors in that order
(permutation equivariance: Lee et al. 2019, section 3.1). Positions off: no position vector is added, no query and key
is turned, no distance is subtracted. Blocks run in float64 where the model is small enough, so that what is left isn't
rounding.
A causal mask tells order by itself (Haviv et al. 2022), which the same comparison shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from analysis.positions.layers import layers, runs_exactly
from model import AttentionModel, Mask
from model.errors import HeadworkError
from model.seeds import mixed_seed
from model.tokenizers.tokens import Tokens


@dataclass(frozen=True)
class Shuffled:
    """A text and its shuffled copy, as one model reads them.

    Attributes:
        labels: of the text's N tokens.
        order: (N,), order[i] = where the copy's token i stands in the text.
        maps: (h, N, N) of the text, in the layer that was asked for.
        copy_maps: (h, N, N) of the copy, in the copy's order.
        apart: (N,), for each token of the copy the largest difference between its output and the one that the same
            token has in the text.
        allowed: (N, N), who may attend to whom, by place: the same for the text and its copy.
        map_apart: largest difference between the copy's maps and the text's in any layer, put into the copy's order.
        scale: root mean square of the text's outputs, which `apart` is to be read against.
    """

    labels: tuple[str, ...]
    order: tuple[int, ...]
    maps: NDArray[np.float32]
    copy_maps: NDArray[np.float32]
    apart: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    map_apart: float
    scale: float

    @property
    def copy_labels(self) -> tuple[str, ...]:
        """The tokens of the copy."""
        return tuple(self.labels[i] for i in self.order)

    @property
    def largest(self) -> float:
        """The largest difference between two outputs of the same token."""
        return float(self.apart.max())

    @property
    def is_order_lost(self) -> bool:
        """Whether outputs and maps are the same, but for their order: what differs is rounding."""
        return max(self.largest / self.scale, self.map_apart) < ROUNDING


ROUNDING = 1e-4  # float32 sums of another order stay below 1e-5 here; one position moved is above 1e-2


def movable(tokens: Tokens) -> tuple[int, ...]:
    """The places whose tokens may change places: not those of special tokens, which frame the text."""
    return tuple(i for i, special in enumerate(tokens.is_special) if not special)


def shuffled_order(tokens: Tokens, seed: int) -> tuple[int, ...]:
    """A random order of a text's tokens in which special tokens stay; another than the text's, where there is one.

    Raises:
        HeadworkError: there are no two tokens that differ, so that every order is the same text.
    """
    places = movable(tokens)
    if len({tokens.ids[i] for i in places}) < 2:
        raise HeadworkError("Order needs two different words. Type one more.")
    generator = torch.Generator().manual_seed(mixed_seed(seed, len(places)))
    while True:
        order = list(range(len(tokens)))
        for place, of in zip(places, torch.randperm(len(places), generator=generator).tolist(), strict=True):
            order[place] = places[of]
        if any(tokens.ids[i] != tokens.ids[j] for i, j in enumerate(order)):
            return tuple(order)


def check_order(tokens: Tokens, order: tuple[int, ...]) -> None:
    """Raises HeadworkError unless `order` names every token once and leaves special tokens in place."""
    fixed = set(range(len(tokens))) - set(movable(tokens))
    if sorted(order) != list(range(len(tokens))) or any(order[i] != i for i in fixed):
        raise HeadworkError("This order doesn't fit the sentence: it must name each of its tokens once.")


def compare(
    model: AttentionModel, tokens: Tokens, order: tuple[int, ...], mask: Mask, *, layer: int = 0, placed: bool = True
) -> Shuffled:
    """The text and its copy through the model.

    Args:
        model: any.
        tokens: of the text, N of them.
        order: of the copy, see `Shuffled`.
        mask: under which both are read.
        layer: whose maps are kept, from 0.
        placed: False = positions are off.

    Raises:
        HeadworkError: the order, or the mask, doesn't fit the text.
    """
    check_order(tokens, order)
    ids = torch.tensor([tokens.ids, [tokens.ids[i] for i in order]])  # (2, N)
    allowed = mask.allowed(len(tokens), torch.tensor(tokens.is_padding))
    types = model.token_types(tokens)
    if types is not None:
        types = torch.cat([types, types[:, list(order)]])
    exactly, places, map_apart = runs_exactly(model.transformer, len(tokens)), list(order), 0.0
    run = layers(model.transformer, ids, allowed, types, placed=placed, exactly=exactly)
    for number, (output, attention) in enumerate(run):  # noqa: B007 (the last output is what is wanted)
        text, copy = attention  # (h, N, N) each
        map_apart = max(map_apart, float((copy - text[:, places][:, :, places]).abs().max()))
        if number == layer:
            maps, copy_maps = text.float().numpy(), copy.float().numpy()
    apart = (output[1] - output[0][places]).abs().amax(dim=-1)
    scale = float(output[0].square().mean().sqrt())
    return Shuffled(tokens.labels, order, maps, copy_maps, apart.float().numpy(), allowed.numpy(), map_apart, scale)


@dataclass(frozen=True)
class Broken:
    """What a model loses when its positions are switched off.

    Attributes:
        moved: (L, h), the share of each head's weight that then lies on other tokens, mean over rows but for padding.
        expected: of a decoder, the token it expects after the text, with positions and without: (label, probability)
            each; None for a model that predicts none.
    """

    moved: NDArray[np.float32]
    expected: tuple[tuple[str, float], tuple[str, float]] | None


@torch.inference_mode()
def broken(model: AttentionModel, tokens: Tokens, mask: Mask) -> Broken:
    """A text with positions and without them, in the model's own precision. Raises as `compare`."""
    ids, types = torch.tensor([tokens.ids]), model.token_types(tokens)
    allowed = mask.allowed(len(tokens), torch.tensor(tokens.is_padding))
    n = len(tokens) - sum(tokens.is_padding)
    runs = [layers(model.transformer, ids, allowed, types, placed=placed) for placed in (True, False)]
    moved, outputs = [], []
    for (output, on), (output_off, off) in zip(*runs, strict=True):
        moved.append((on - off)[0, :, :n].abs().sum(dim=-1).mean(dim=-1) / 2)  # (h,)
        outputs = [output, output_off]
    expected = None
    if model.has_output:
        found = [torch.softmax(model.transformer.logits(output[0, n - 1]), dim=-1).max(dim=-1) for output in outputs]
        labels = [(model.tokenizer.label_of(int(best.indices)), float(best.values)) for best in found]
        expected = labels[0], labels[1]
    return Broken(torch.stack(moved).numpy(), expected)
