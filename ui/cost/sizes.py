"""What the controls on "Parameters and cost" stand for: a model's sizes as plain numbers and choices, and back."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from analysis.blocks.known_configs import Known, known, published, taken_apart
from model import HeadworkError, TransformerConfig
from model.catalogue import entries

LARGEST = 10**12  # parameters


@dataclass(frozen=True)
class Fields:
    """What the controls say. The first values are those of bert-base-uncased."""

    d_model: int = 768
    heads: int = 12
    key_heads: int = 0  # 0 = as many as heads
    head_width: int = 0  # 0 = d_model / heads
    d_ff: int = 3072
    layers: int = 12
    vocabulary: int = 30522
    positions: int = 512  # 0 = none to learn
    types: int = 2
    norms: str = "layer"
    attention_bias: str = "all"
    output: str = "none"
    swiglu: bool = False
    ffn_bias: bool = True
    qk_norm: bool = False
    embedding_norm: bool = True
    final_norm: bool = False


FIRST = Fields()
CHOICES = {
    "norms": ("layer", "rms", "none"),
    "attention_bias": ("all", "qkv", "none"),
    "output": ("none", "tied", "own"),
}


def config_of(sizes: Fields) -> TransformerConfig:
    """The config of a model of these sizes.

    Raises:
        HeadworkError: impossible sizes.
    """
    for name in ("positions", "key_heads", "head_width"):
        if getattr(sizes, name) < 0:
            raise HeadworkError("{name} is {value}: it can't be below 0.", name=name, value=getattr(sizes, name))
    choices: dict[str, Any] = {
        "norm": "none" if sizes.norms == "none" else "pre" if sizes.final_norm else "post",
        "norm_kind": "layer" if sizes.norms == "none" else sizes.norms,
        "attention_bias": sizes.attention_bias,
        "output": sizes.output,
    }
    config = TransformerConfig(
        vocab_size=sizes.vocabulary,
        d_model=sizes.d_model,
        num_heads=sizes.heads,
        num_key_heads=sizes.key_heads,
        head_width=sizes.head_width,
        num_layers=sizes.layers,
        d_ff=sizes.d_ff,
        max_tokens=sizes.positions or 512,
        n_token_types=sizes.types,
        activation="swiglu" if sizes.swiglu else "gelu",
        positions="learned" if sizes.positions else "sinusoidal",
        embedding_norm=sizes.embedding_norm,
        final_norm=sizes.final_norm,
        bias=sizes.ffn_bias,
        qk_norm=sizes.qk_norm,
        **choices,
    )
    width = config.num_heads * config.d_k
    about = sizes.layers * sizes.d_model * (4 * width + 3 * sizes.d_ff) + 2 * sizes.vocabulary * sizes.d_model
    if about > LARGEST:
        raise HeadworkError(
            "These sizes make about {billions} billion parameters, more than any model this page is meant for. "
            "Try fewer layers or a smaller d_model.",
            billions=f"{about / 1e9:,.0f}",
            yi=f"{about / 1e8:,.0f}",  # Chinese counts large numbers in hundreds of millions
        )
    return config


def fields_of(config: TransformerConfig) -> Fields:
    """What the controls say for a model."""
    h = config.num_heads
    return Fields(
        d_model=config.d_model,
        heads=h,
        key_heads=0 if config.num_key_heads == h else config.num_key_heads,
        head_width=0 if config.head_width * h == config.d_model else config.head_width,
        d_ff=config.d_ff,
        layers=config.num_layers,
        vocabulary=config.vocab_size,
        positions=config.max_tokens + config.position_offset if config.positions == "learned" else 0,
        types=config.n_token_types,
        norms="none" if config.norm == "none" else config.norm_kind,
        attention_bias=config.attention_bias or ("all" if config.bias else "none"),
        output=config.output,
        swiglu=config.activation == "swiglu",
        ffn_bias=config.bias,
        qk_norm=config.qk_norm,
        embedding_norm=config.embedding_norm,
        final_norm=config.final_norm,
    )


def presets(chosen: str | None) -> dict[str, Known]:
    """Models whose config is here: the catalogue's, those published, and `chosen`, which the sidebar names."""
    ids = [entry.id for entry in entries()] + ([chosen] if chosen else [])
    found: dict[str, Known] = {}
    for model_id in dict.fromkeys(ids):
        with suppress(HeadworkError):  # on the hub, and its config isn't here
            found[model_id] = known(model_id)
    for model_id, raw in published().items():
        with suppress(HeadworkError):
            config = taken_apart(raw)
            if config.config.output != "none" and config.config not in [each.config for each in found.values()]:
                found[model_id] = config  # decoders that the catalogue doesn't have: their sizes alone
    return found
