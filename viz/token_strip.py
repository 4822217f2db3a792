"""The sentence as the instrument: a layer's maps and tokens, as the token strip in the browser takes them.

Two messages, so that a click resends little: the maps of the layer, and the view of them (tokens, what is pinned, the
words on screen). The strip computes nothing that isn't in the maps, save the mean over heads.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from viz.encoding import Curve, colours, curve, digest, encode, message
from viz.theme import ACCENT, Translate, untranslated

Direction = Literal["looks_at", "looked_at_by"]
DIRECTIONS: tuple[Direction, ...] = ("looks_at", "looked_at_by")

MAX_EXACT = 128  # tokens; up to here weights travel in 16 bits (a layer of 12 heads: 300 KB), above in 8
# Twelve colours that stay apart for protanopes, deuteranopes and tritanopes (Krzywinski, mk.bcgsc.ca/colorblind).
# The browser shifts their lightness to 3 : 1 against the ground; heads 13 and up repeat them with dashed arcs.
HEAD_COLOURS = (
    "#008DF9",
    "#E20134",
    "#009F81",
    "#FFC33B",
    "#8400CD",
    "#FF6E3A",
    "#00C2F9",
    "#FF5AAF",
    "#9F0162",
    "#00FCCF",
    "#A40122",
    "#FFB2FD",
)


def strip_maps(
    attention: npt.NDArray[np.floating], allowed: npt.NDArray[np.bool_], *, maximum: float = 1.0
) -> dict[str, Any]:
    """The maps of one layer.

    Args:
        attention: (h, N, N), head × query × key: weights of pieces or of words.
        allowed: (N, N); True = the query may attend to the key.
        maximum: what the last colour stands for.
    """
    n_tokens = attention.shape[-1]
    if attention.ndim != 3 or attention.shape[1:] != allowed.shape or allowed.shape != (n_tokens, n_tokens):
        raise ValueError(
            f"A layer's maps are (h, N, N) and its mask (N, N); got {attention.shape} and {allowed.shape}."
        )
    bits: Literal[8, 16] = 16 if n_tokens <= MAX_EXACT else 8
    return message(encode(attention, allowed, bits=bits, maximum=maximum), maximum=maximum)


def strip_view(
    labels: Sequence[str],
    *,
    maps: str,
    layer: int,
    heads: Sequence[int],
    is_special: Sequence[bool] = (),
    is_padding: Sequence[bool] = (),
    pinned: int | None = None,
    beside: Sequence[int] = (),
    direction: Direction = "looks_at",
    scale: Curve = "linear",
    tile: int = 64,
    height: int = 300,
    sentence: bool = True,
    text_scale: float = 1.0,
    t: Translate = untranslated,
) -> dict[str, Any]:
    """Tokens, choices and words of the strip.

    Args:
        labels: the N tokens (or words) as text; the browser sets them as text, never as markup.
        maps: the id of the maps shown (`strip_maps(…)["id"]`).
        layer: the layer's index from 0, for the heads' names.
        heads: indices from 0 of the heads shown at first; none = the layer's mean.
        is_special: (N,) drawn as special; nothing = none.
        is_padding: (N,) drawn greyed; nothing = none.
        pinned: index of the token that is shown while none is pointed at.
        beside: tokens whose heaviest arcs are shown together with those of `pinned`, to be compared.
        direction: what the pointed token looks at, or what looks at it.
        scale: how colours grow with weights.
        tile: least width in pixels of the small map of each head; 0 = numbers only.
        height: largest height in pixels of the tokens; more lines scroll.
        sentence: False = the layer's maps alone, which follow the strip of the same maps on the page.
        text_scale: 1 = normal text, 1.4 = for the back row.
        t: translates the strip's own words.
    """
    special = [int(flag) for flag in is_special] or [0] * len(labels)
    padding = [int(flag) for flag in is_padding] or [0] * len(labels)
    if len(special) != len(labels) or len(padding) != len(labels):
        raise ValueError(f"{len(labels)} labels need as many flags for special tokens and padding.")
    return {
        "part": "view",
        "maps": maps,
        "tokens": {
            "labels": list(labels),
            "special": special,
            "padding": padding,
            "id": digest(list(labels)),
            "dir": reading_direction(labels),
        },
        "layer": layer,
        "heads": [int(head) for head in heads],
        "pinned": pinned if pinned is not None and 0 <= pinned < len(labels) else None,
        "beside": [int(index) for index in beside],
        "direction": direction,
        "palette": list(HEAD_COLOURS),
        "accent": ACCENT,
        "colours": colours(),
        "curve": curve(scale),
        "tile": tile,
        "height": height,
        "sentence": sentence,
        "text_scale": text_scale,
        "text": _words(t, sentence),
    }


def reading_direction(labels: Sequence[str]) -> Literal["ltr", "rtl"]:
    """Right to left when most letters of the sentence are."""
    kinds = [unicodedata.bidirectional(character) for label in labels for character in label]
    n_right_to_left = sum(kind in ("R", "AL") for kind in kinds)
    return "rtl" if 2 * n_right_to_left > sum(kind in ("L", "R", "AL") for kind in kinds) else "ltr"


def _words(t: Translate, sentence: bool) -> dict[str, str]:
    """What the strip says. {} are filled in the browser."""
    return {
        "title": t("The sentence: point at a token"),
        "hint": t("Point at a token to see what it looks at. A click pins it, Escape or a second click frees it.")
        if sentence
        else t("Point at a cell, or at a token of the sentence above: every map marks it."),
        "direction": t("Direction"),
        "looks_at": t("what it looks at"),
        "looked_at_by": t("what looks at it"),
        "says_looks_at": t("{heads}: “{token}” (query) looks at {list}"),
        "says_looked_at_by": t("{heads}: “{token}” (key) is looked at by {list}"),
        "says_beside": t("“{token}” looks at {list}"),
        "says_nothing": t("{heads}: “{token}” (query) may look at nothing"),
        "says_nobody": t("{heads}: nothing may look at “{token}” (key)"),
        "says_little": t("nothing by 0.01 or more"),
        "says_cell": t("{heads}: “{query}” (query) looks at “{key}” (key): {weight}"),
        "says_masked": t("{heads}: “{query}” (query) may not look at “{key}” (key)"),
        "token": t("{token}, {n} of {total}"),
        "special": t("special token"),
        "padding": t("padding"),
        "head": t("head {name}"),
        "heads": t("heads {names}"),
        "mean": t("mean"),
        "mean_of": t("mean of layer {layer}"),
        "maps": t("Heads of layer {layer}"),
        "show_head": t("Show head {name} too, or hide it"),
        "show_mean": t("Show the mean over the layer's heads"),
    }
