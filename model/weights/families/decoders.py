"""What the config.json of several decoders say in the same words: rotary positions, windows, the output matrix."""

from __future__ import annotations

from typing import Any

from model.errors import HeadworkError, clipped
from model.rotary import RotaryScaling
from model.transformer import OutputMatrix

MOST_LAYERS = 512  # as TransformerConfig bounds them: no tuple is made for a billion


def refuse(raw: dict[str, Any], **harmless: Any) -> None:
    """Raises HeadworkError where config.json sets one of these to anything but the value that changes nothing."""
    for name, value in harmless.items():
        if raw.get(name) not in (None, value):
            raise not_supported("config.json", name, raw[name])


def not_supported(file: str, name: str, value: Any) -> HeadworkError:
    """The error for an entry of a file that asks for what isn't done here."""
    return HeadworkError(
        "{file} sets {name} to {value}, which is not supported.", file=file, name=name, value=clipped(value)
    )


def output_matrix(raw: dict[str, Any], *, tied: bool = False) -> OutputMatrix:
    """Whether the token embedding is the output matrix as well. `tied`: what holds where config.json doesn't say."""
    return "tied" if raw.get("tie_word_embeddings", tied) else "own"


def rotary_entries(raw: dict[str, Any]) -> dict[str, Any]:
    """What is said of rotary positions: in `rope_parameters`; by older versions in `rope_theta` and `rope_scaling`."""
    said = {"rope_theta": raw["rope_theta"]} if "rope_theta" in raw else {}
    said |= (raw.get("rope_scaling") or {}) | (raw.get("rope_parameters") or {})
    if any(isinstance(value, dict) for value in said.values()):
        raise HeadworkError("Rotary positions of another kind in each layer are not supported.")
    return said


def rotary_scaling(said: dict[str, Any]) -> RotaryScaling | None:
    """How the positions were stretched, from `rotary_entries`; None = they weren't."""
    kind = said.get("rope_type", said.get("type", "default"))
    if kind == "default":
        return None
    if kind == "linear":
        return RotaryScaling("linear", said["factor"])
    if kind == "llama3":
        return RotaryScaling(
            "llama3",
            said["factor"],
            said["low_freq_factor"],
            said["high_freq_factor"],
            said["original_max_position_embeddings"],
        )
    raise HeadworkError(
        "Rotary positions scaled as {kind} are not supported. These are: {kinds}.",
        kind=clipped(kind),
        kinds="linear, llama3",
    )


def n_layers(raw: dict[str, Any]) -> int:
    """How many layers a tuple is made for: 0 where that is no number of layers, as TransformerConfig says then."""
    n = raw["num_hidden_layers"]
    return n if isinstance(n, int) and 0 < n <= MOST_LAYERS else 0


def windows_by_layer(raw: dict[str, Any]) -> tuple[int, ...]:
    """The sliding window of each layer, as Qwen has it: `layer_types`, or all from `max_window_layers` on."""
    window = (raw.get("sliding_window") or 0) if raw.get("use_sliding_window", False) else 0
    n = n_layers(raw)
    types = raw.get("layer_types")
    if types is None:
        first = raw.get("max_window_layers", 28)  # as transformers has it where nothing is said
        return tuple(window if i >= first else 0 for i in range(n)) if window else ()
    known = ("full_attention", "sliding_attention") if window else ("full_attention",)
    if len(types) != n or not all(kind in known for kind in types):
        raise not_supported("config.json", "layer_types", next((kind for kind in types if kind not in known), types))
    return tuple(window if kind == "sliding_attention" else 0 for kind in types) if window else ()
