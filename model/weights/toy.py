"""Toys: random weights from a seed, in sizes that a person chooses."""

from __future__ import annotations

import re

import torch
from torch import nn

from model.attention import check_heads
from model.entry import Entry
from model.errors import HeadworkError, shown
from model.positions import Positions
from model.tokenizers.toy import ToyTokenizer
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig

# Bounds that keep a server alive: the largest toy has 9.5 million weights, and as many maps as BERT-base.
TOY_DEFAULTS = {"d_model": 32, "heads": 4, "layers": 2, "seed": 0}
TOY_BOUNDS = {"d_model": (1, 256), "heads": (1, 64), "layers": (1, 12), "seed": (0, 2**31 - 1)}
TOY_POSITIONS: tuple[Positions, ...] = (
    "sinusoidal",
    "rotary",
    "alibi",
    "none",
)  # learned ones would be learned by none
TOY_MOST_MAPS = 144


def load(entry: Entry) -> AttentionModel:
    """The toy of an entry. Drawn from a generator of its own: torch's global one is shared by all users of a server."""
    transformer = Transformer(toy_config(entry.id))
    generator = torch.Generator().manual_seed(transformer.config.seed)
    with torch.no_grad():
        for module in transformer.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                if module.bias is not None:
                    module.bias.zero_()
    return AttentionModel(entry, transformer, ToyTokenizer(), sha256=None)


def toy_config(model_id: str) -> TransformerConfig:
    """The sizes of a toy. Raises HeadworkError as `toy_sizes`."""
    sizes = toy_sizes(model_id)
    return TransformerConfig(
        vocab_size=0,
        d_model=sizes["d_model"],
        num_heads=sizes["heads"],
        num_layers=sizes["layers"],
        d_ff=4 * sizes["d_model"],
        positions=toy_positions(model_id),
        seed=sizes["seed"],
    )


def toy_id(d_model: int, heads: int, layers: int, seed: int, positions: str = TOY_POSITIONS[0]) -> str:
    """The canonical id of a toy: plain "toy" for the usual sizes, and no word about the usual positions."""
    sizes = {"d_model": d_model, "heads": heads, "layers": layers, "seed": seed}
    settings = [f"{name}={value}" for name, value in sizes.items()] if sizes != TOY_DEFAULTS else []
    settings += [f"positions={positions}"] if positions != TOY_POSITIONS[0] else []
    return "toy" + (":" + ",".join(settings) if settings else "")


def canonical(model_id: str) -> str:
    """The one id of a toy that is spelled in some way. Raises HeadworkError as `toy_sizes` and `toy_positions`."""
    return toy_id(**toy_sizes(model_id), positions=toy_positions(model_id))


def toy_positions(model_id: str) -> Positions:
    """How a toy's tokens get their places: "toy:positions=rotary"; sinusoidal where nothing is said.

    Raises:
        HeadworkError: there is no such way.
    """
    asked = _settings(model_id).get("positions", TOY_POSITIONS[0])
    for way in TOY_POSITIONS:
        if way == asked:
            return way
    raise HeadworkError(
        "A toy's positions are {choices}, not {positions}.",
        choices=", ".join(TOY_POSITIONS),
        positions=shown(asked),
    )


def _settings(model_id: str) -> dict[str, str]:
    parts = (part.partition("=") for part in model_id.partition(":")[2].split(",") if part.strip())
    return {name.strip(): value.strip() for name, _, value in parts}


def toy_sizes(model_id: str) -> dict[str, int]:
    """d_model, heads, layers and seed of "toy" or "toy:d_model=32,heads=4,layers=2,seed=0"; any may be left out.

    Raises:
        HeadworkError: an unknown name, no whole number, beyond the bounds, or a d_model that the heads don't divide.
    """
    sizes = dict(TOY_DEFAULTS)
    for name, value in _settings(model_id).items():
        if name == "positions":
            continue
        if name not in sizes or not re.fullmatch(r"[+-]?[0-9]{1,12}", value):
            raise HeadworkError(
                "A toy model is written {example}; {setting} is not part of that.",
                example="toy:" + ",".join(f"{key}={default}" for key, default in TOY_DEFAULTS.items()),
                setting=shown(f"{name}={value}" if value else name),
            )
        sizes[name] = int(value)
    for name, (least, most) in TOY_BOUNDS.items():
        if not least <= sizes[name] <= most:
            raise HeadworkError(
                "{name} is {value}, but a toy model takes {least} to {most}.",
                name=name,
                value=sizes[name],
                least=least,
                most=most,
            )
    check_heads(sizes["d_model"], sizes["heads"])
    if sizes["layers"] * sizes["heads"] > TOY_MOST_MAPS:
        raise HeadworkError(
            "{layers} layers of {heads} heads make {maps} maps; a toy model has up to {most}. "
            "Try {fewer} layers, or fewer heads.",
            layers=sizes["layers"],
            heads=sizes["heads"],
            maps=sizes["layers"] * sizes["heads"],
            most=TOY_MOST_MAPS,
            fewer=TOY_MOST_MAPS // sizes["heads"],
        )
    return sizes
