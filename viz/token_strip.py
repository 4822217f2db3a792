"""The sentence as the instrument: a layer's maps and tokens, as the token strip in the browser takes them.

Two messages, so that a click resends little: the maps of the layer, and the view of them (tokens, what is pinned, the
words on screen). The strip computes nothing that isn't in the maps, save the mean over heads.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from analysis import UnitTrace
from viz.encoding import colours, curve, digest, encode, message
from viz.style import PLAIN, Style
from viz.theme import ACCENT, Translate, untranslated

Direction = Literal["looks_at", "looked_at_by"]
DIRECTIONS: tuple[Direction, ...] = ("looks_at", "looked_at_by")

MAX_EXACT = 128  # tokens; up to here weights travel in 16 bits (a layer of 12 heads: 300 KB), above in 8
# Twelve colours, each 3 : 1 on the light and on the dark ground, found by a search for the largest least difference:
# any two are 10 or more apart (CIEDE2000), for protan and deutan eyes too (Machado et al. 2009), and from the accent.
# Heads 13 and up repeat them with dashed edges.
HEAD_COLOURS = (
    "#1551FF",
    "#D67C0D",
    "#33A28B",
    "#D33B5A",
    "#409EAE",
    "#4C91FA",
    "#B23682",
    "#C9130A",
    "#37723C",
    "#F84F88",
    "#2D81B2",
    "#2B8367",
)


@dataclass(frozen=True)
class Line:
    """Another text that is looked at: its tokens stand in a line of their own above those of the queries.

    Attributes:
        labels: the N_k tokens as text.
        is_special: (N_k,) drawn as special; nothing = none.
        is_padding: (N_k,) drawn greyed; nothing = none.
    """

    labels: Sequence[str]
    is_special: Sequence[bool] = ()
    is_padding: Sequence[bool] = ()


@dataclass(frozen=True)
class LayerMaps:
    """What a strip shows: the maps of one layer between the tokens, or words, of a sentence.

    In cross-attention the keys are those of another text, `context`; then (N, N) reads (N_q, N_k).

    Attributes:
        attention: (h, N, N), head × query × key.
        allowed: (N, N); True = the query may attend to the key.
        labels: the N tokens as text, of the queries; the browser sets them as text, never as markup.
        layer: the layer's index from 0.
        is_special: (N,) drawn as special; nothing = none.
        is_padding: (N,) drawn greyed; nothing = none.
        is_written: (N,) written by the model, not by the person; nothing = none.
        surprise: (N,) how little each token was expected, from 0 to 1 of the largest, as a bar under it; None = no bar
            for this token. Nothing = no bars.
        context: the keys, in cross-attention; None = the queries themselves.
    """

    attention: npt.NDArray[np.floating]
    allowed: npt.NDArray[np.bool_]
    labels: Sequence[str]
    layer: int
    is_special: Sequence[bool] = ()
    is_padding: Sequence[bool] = ()
    is_written: Sequence[bool] = ()
    surprise: Sequence[float | None] = ()
    context: Line | None = None

    def __post_init__(self) -> None:
        n, n_keys = len(self.labels), len(self.keys)
        if self.attention.shape[1:] != (n, n_keys) or self.allowed.shape != (n, n_keys):
            raise ValueError(
                f"{n} labels of queries and {n_keys} of keys need maps (h, N_q, N_k) and a mask (N_q, N_k) with "
                f"N_q = {n} and N_k = {n_keys}; got {self.attention.shape} and {self.allowed.shape}."
            )
        each = (self.is_special, self.is_padding, self.is_written, self.surprise)
        of_keys = () if self.context is None else (self.context.is_special, self.context.is_padding)
        if any(len(flags) not in (0, n) for flags in each) or any(len(flags) not in (0, n_keys) for flags in of_keys):
            raise ValueError(f"{n} labels need as many flags for special tokens, padding and the like.")

    @property
    def keys(self) -> Sequence[str]:
        """The labels of the keys."""
        return self.labels if self.context is None else self.context.labels

    @property
    def n_tokens(self) -> int:
        """Of the strip: N, or N_q + N_k, the keys counted on after the queries."""
        return len(self.labels) + (0 if self.context is None else len(self.keys))


def layer_maps(
    trace: UnitTrace,
    layer: int,
    *,
    is_written: Sequence[bool] = (),
    surprise: Sequence[float | None] = (),
) -> LayerMaps:
    """What a strip shows of one layer of a trace, from 0; the rest as in `LayerMaps`."""
    queries, keys = trace.units, trace.context
    context = None if keys is None else Line(keys.labels, keys.is_special.tolist(), keys.of_kind("padding").tolist())
    return LayerMaps(
        trace.attention[layer],
        trace.allowed_in(layer),
        queries.labels,
        layer,
        is_special=queries.is_special.tolist(),
        is_padding=queries.of_kind("padding").tolist(),
        is_written=is_written,
        surprise=surprise,
        context=context,
    )


@dataclass(frozen=True)
class StripChoice:
    """What is chosen in a strip.

    Attributes:
        heads: indices from 0 of the heads shown; none = the layer's mean.
        pinned: index of the token that is shown while none is pointed at; of N_q queries and N_k keys of another text
            the keys have the numbers from N_q on.
        beside: tokens whose heaviest edges are shown together with those of `pinned`, to be compared.
        direction: what the pointed token looks at, or what looks at it. Of two texts the line of the token says it.
        asks_pair: a click on a second token doesn't pin it, but asks for the weight between the two.
        large: the page's large map, linked with the strip: the key of its figure, and the head that it shows.
    """

    heads: Sequence[int] = ()
    pinned: int | None = None
    beside: Sequence[int] = ()
    direction: Direction = "looks_at"
    asks_pair: bool = False
    large: tuple[str, int] | None = None


@dataclass(frozen=True)
class StripLook:
    """How a strip looks.

    Attributes:
        style: colours, what the last one stands for, and the size of text.
        tile: least width in pixels of the small map of each head; 0 = numbers only.
        height: largest height in pixels of the tokens; more lines scroll.
        sentence: False = the layer's maps alone. They follow what is pointed at in the page's strip of the same maps,
            take the maps from it, and mark in its sentence what is pointed at in them.
        names: of the two lines, queries and keys, where the keys are another text's.
        has_choices: False = no other heads and no other direction can be chosen.
    """

    style: Style = PLAIN
    tile: int = 64
    height: int = 300
    sentence: bool = True
    names: tuple[str, str] = ("query (looks)", "key (looked at)")
    has_choices: bool = True


def strip_maps(shown: LayerMaps, *, maximum: float = 1.0) -> dict[str, Any]:
    """The message with the maps of one layer; `maximum` is what the last colour stands for."""
    bits: Literal[8, 16] = 16 if len(shown.labels) * len(shown.keys) <= MAX_EXACT**2 else 8
    return message(encode(shown.attention, shown.allowed, bits=bits, maximum=maximum), maximum=maximum)


def strip_view(
    shown: LayerMaps, chosen: StripChoice, look: StripLook, *, maps: str, t: Translate = untranslated
) -> dict[str, Any]:
    """The message with tokens, choices and words of the strip.

    Args:
        shown: its maps don't travel in this message.
        chosen: what the page (a link, a selector) wants; a later choice in the strip counts until the page wants
            something else.
        look: colours and sizes.
        maps: the id of the maps shown (`strip_maps(…)["id"]`).
        t: translates the strip's own words.
    """
    style, keys = look.style, shown.context
    queries = _line(shown.labels, shown.is_special, shown.is_padding, shown.is_written, t(look.names[0]))
    above = None if keys is None else _line(keys.labels, keys.is_special, keys.is_padding, (), t(look.names[1]))
    return {
        "part": "view",
        "maps": maps,
        "tokens": queries | {"surprise": [None if share is None else round(share, 3) for share in shown.surprise]},
        "keys": above,  # None = the tokens themselves
        "id": digest([list(shown.labels), None if keys is None else list(keys.labels)]),
        "layer": shown.layer,
        "heads": [int(head) for head in chosen.heads],
        "pinned": chosen.pinned if chosen.pinned in range(shown.n_tokens) else None,
        "beside": [int(index) for index in chosen.beside] if keys is None else [],
        "direction": chosen.direction,
        "asks_pair": chosen.asks_pair,
        "large": chosen.large and {"key": chosen.large[0], "head": chosen.large[1]},
        "palette": list(HEAD_COLOURS),
        "accent": ACCENT,
        "colours": colours(style.colorscale),
        "curve": curve(style.curve),
        "tile": look.tile,
        "has_choices": look.has_choices,
        "height": look.height,
        "sentence": look.sentence,
        "text_scale": style.text_scale,
        "text": _words(t, look.sentence, keys is not None),
    }


def _line(
    labels: Sequence[str], special: Sequence[bool], padding: Sequence[bool], written: Sequence[bool], name: str
) -> dict[str, Any]:
    """One text of the strip, as the browser takes it."""
    flags = {"special": special, "padding": padding, "written": written}
    return {
        "labels": list(labels),
        **{of: [int(flag) for flag in each] or [0] * len(labels) for of, each in flags.items()},
        "dir": reading_direction(labels),
        "name": name,
    }


def reading_direction(labels: Sequence[str]) -> Literal["ltr", "rtl"]:
    """Right to left when most letters of the sentence are."""
    kinds = [unicodedata.bidirectional(character) for label in labels for character in label]
    n_right_to_left = sum(kind in ("R", "AL") for kind in kinds)
    return "rtl" if 2 * n_right_to_left > sum(kind in ("L", "R", "AL") for kind in kinds) else "ltr"


def _words(t: Translate, sentence: bool, of_two: bool) -> dict[str, str]:
    """What the strip says. {} are filled in the browser."""
    hint = t("Point at a token to see what it looks at. A click pins it, Escape or a second click unpins it.")
    if of_two:
        hint = t(
            "Point at a token: the lower line looks, the upper one is looked at. A click pins it, Escape unpins it."
        )
    if not sentence:
        hint = t("Point at a cell, or at a token of the sentence above: every map marks it.")
    return {
        "title": t("Two texts: point at a token") if of_two else t("The sentence: point at a token"),
        "hint": hint,
        "direction": t("Direction"),
        "looks_at": t("what it looks at"),
        "looked_at_by": t("what looks at it"),
        "says_looks_at": t("{heads}: “{token}” (query) looks at {list}"),
        "says_looked_at_by": t("{heads}: “{token}” (key) is looked at by {list}"),
        "says_beside": t("“{token}” looks at {list}"),
        "says_nothing": t("{heads}: “{token}” (query) may look at nothing"),
        "says_nobody": t("{heads}: nothing may look at “{token}” (key)"),
        "says_little": t("nothing with 0.01 or more"),
        "says_cell": t("{heads}: “{query}” (query) looks at “{key}” (key): {weight}"),
        "says_masked": t("{heads}: “{query}” (query) may not look at “{key}” (key)"),
        "token": t("{token}, {n} of {total}"),
        "special": t("special token"),
        "padding": t("padding"),
        "written": t("written by the model"),
        "head": t("head {name}"),
        "heads": t("heads {names}"),
        "mean": t("mean"),
        "mean_of": t("mean of layer {layer}"),
        "maps": t("Heads of layer {layer}"),
        "show_head": t("Show head {name} too, or hide it"),
        "also": t("Heads in the sentence"),
        "show_mean": t("Show the mean over the layer's heads"),
    }
