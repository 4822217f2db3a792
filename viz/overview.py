"""All layers × all heads at once: every map as a thumbnail on one canvas, or every head coloured by one number.

Two messages, as for the token strip: the maps, sent once a sentence, and the small view of them.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from model.head_id import HeadId
from viz.encoding import coarsen, colours, curve, encode, message
from viz.maps import says_blocks
from viz.style import PLAIN, Style
from viz.theme import ACCENT, COLORSCALE, Translate, untranslated

MAX_CELLS = 64  # of a thumbnail, along one side
MAX_BYTES = 450_000  # the budget is 500 KB for 144 heads; the rest of the data takes a few


@dataclass(frozen=True)
class Metric:
    """One number for each head, with the range its colours span.

    Attributes:
        label: what the number is, in words.
        values: (L, h); NaN = this head has no such number.
        low, high: what the first and the last colour stand for.
        decimals: shown of each value.
        colorscale: a Plotly scale; a diverging one for numbers around 0.
    """

    label: str
    values: npt.NDArray[np.floating]
    low: float
    high: float
    decimals: int = 2
    colorscale: str = COLORSCALE


def overview_maps(
    attention: npt.NDArray[np.floating],
    allowed: npt.NDArray[np.bool_],
    *,
    maximum: float = 1.0,
    max_bytes: int = MAX_BYTES,
) -> dict[str, Any]:
    """The message with every head's map, in one byte a cell, small enough to send.

    Above 64 tokens, or when there are so many heads that more than `max_bytes` would have to travel, a cell of a
    thumbnail is the largest weight of a block; `step`, how many queries and keys it spans, stands in the message for
    the page to say it.

    Args:
        attention: (L, h, N_q, N_k), layer × head × query × key.
        allowed: (N_q, N_k), or (L, N_q, N_k); True = the query may attend to the key.
        maximum: what the last colour stands for.
        max_bytes: most bytes of the maps as text.
    """
    if attention.shape[2:] != allowed.shape[-2:]:
        raise ValueError(
            f"Maps are (L, h, N_q, N_k) and the mask (N_q, N_k); got {attention.shape} and {allowed.shape}."
        )
    sides = attention.shape[2:]
    of_layers = np.broadcast_to(allowed, (len(attention), *sides))
    for more in itertools.count():
        step = tuple(min(math.ceil(n / MAX_CELLS) + more, n) for n in sides)
        # Layer by layer: at 512 tokens a copy of all maps would take as much again as the maps.
        codes = (encode(*each, bits=8, maximum=maximum) for each in zip(attention, of_layers, strict=True))
        layers = [coarsen(of_layer, step) for of_layer in codes]
        sent = message(np.stack(layers).astype(np.uint8), maximum=maximum, step=list(step))
        if len(sent["bytes"]) <= max_bytes or step == sides:
            break
    return sent


def overview_view(
    maps: Mapping[str, Any],
    *,
    selected: tuple[int, int] | None,
    metric: Metric | None = None,
    style: Style = PLAIN,
    has_scale: bool = True,
    n_key_heads: int = 0,
    t: Translate = untranslated,
) -> dict[str, Any]:
    """The message with what is chosen and how heads are coloured.

    Args:
        maps: what `overview_maps` made.
        selected: layer and head to outline, from 0.
        metric: colours each head by a number; None = by its map.
        style: colours of maps, and the size of text.
        has_scale: False where the same scale of weights stands beside another map of the page.
        n_key_heads: heads of keys and values in a layer, fewer than query heads in grouped-query attention (Ainslie et
            al. 2023): then those that share them stand together. 0 = each has its own.
        t: translates the overview's own words.
    """
    n_layers, n_heads = maps["shape"][:2]
    if metric is not None and metric.values.shape != (n_layers, n_heads):
        raise ValueError(f"A metric needs a number for {n_layers} × {n_heads} heads; got {metric.values.shape}.")
    return {
        "part": "view",
        "maps": maps["id"],
        "n_layers": n_layers,
        "n_heads": n_heads,
        "group": n_heads // n_key_heads if n_key_heads else 1,  # query heads of one key head
        "selected": None if selected is None else [int(index) for index in selected],
        "metric": None if metric is None else _metric(metric),
        "accent": ACCENT,
        "colours": colours(style.colorscale),
        "curve": curve(style.curve),
        "has_scale": has_scale,
        "text_scale": style.text_scale,
        "text": _words(t, tuple(maps["step"])),
    }


def parse_head(name: Any, n_layers: int, n_heads: int) -> HeadId | None:
    """The head of that name; None for anything that isn't a head of such a model."""
    try:
        return HeadId.parse(name, (n_layers, n_heads))
    except ValueError:
        return None


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "label": metric.label,
        "values": _numbers(metric.values.tolist(), metric.decimals),
        "low": metric.low,
        "high": metric.high,
        "decimals": metric.decimals,
        "colours": colours(metric.colorscale),
    }


def _numbers(rows: Sequence[Sequence[float]], decimals: int) -> list[list[float | None]]:
    """NaN is no JSON: None in its place."""
    return [[round(value, decimals + 2) if math.isfinite(value) else None for value in row] for row in rows]


def _words(t: Translate, step: tuple[int, int]) -> dict[str, str]:
    return {
        "title": t("All heads of all layers"),
        "layers": t("layer"),
        "heads": t("head"),
        "head": t("head {name}"),
        "shares": t("same keys and values as {names}"),
        "weight": t("attention weight"),
        "masked": t("masked"),
        "no_value": t("no value"),
        "coarse": says_blocks(step, t),
        "pick": t("Click or press Enter to choose this head."),
    }
