"""The sentence with arcs from one token, as SVG: what the token strip shows, written here without a browser.

The shapes are those of components/edges.js and painting.js: an edge ends in an arrowhead at the key that is looked at,
its width grows with the weight; one head tints the tokens, and each token carries its weight with two decimals.
Where another text is looked at, its tokens stand above; all are counted as one row of places, the keys last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viz.export import fonts
from viz.export.layout import GROUND, INK, MARGIN, SOFT, Words, printed
from viz.export.svg import Rgb, begun, channels, hexed, svg_words
from viz.style import PLAIN, Style, luminance
from viz.theme import Translate, isolated, untranslated
from viz.token_strip import HEAD_COLOURS, LayerMaps, StripChoice, reading_direction

WIDTH = 720.0  # pixels of a line of tokens
SIZE, SMALL = 17.0, 13.0  # of tokens, and of the weights below them
HEIGHT, BELOW = 28.0, 18.0  # of a token, and of its weight
LEAST_WIDTH, INSIDE, BETWEEN = 36.0, 7.0, 4.0  # of a token, at both its sides, and from one to the next
LEAST_NAMED = 58.0  # of a token whose number names its head
ABOVE, BETWEEN_LINES = 56.0, 30.0  # room for edges over the only line, and over each of several
BETWEEN_TEXTS, NAME = 40.0, 20.0  # room for edges from text to text, and for what a text is called
TALLEST, LOW = 46.0, 22.0  # of an edge, likewise
LEAST_EDGE, LEAST_NUMBER = 0.02, 0.005
TINT = 0.9  # of a head's colour in the token with weight 1
DARK = 0.3  # luminance of a token below which its text is light


@dataclass(frozen=True)
class Box:
    """A token: its middle, its top and the line it stands in."""

    x: float
    top: float
    width: float
    line: int

    @property
    def bottom(self) -> float:
        """Where the token ends."""
        return self.top + HEIGHT

    @property
    def foot(self) -> float:
        """Where its weight ends; edges from line to line keep clear of it."""
        return self.bottom + BELOW


def strip_svg(
    shown: LayerMaps,
    chosen: StripChoice,
    style: Style = PLAIN,
    *,
    title: str = "",
    source: Mapping[str, str] | None = None,
    width: float = WIDTH,
    marked: Sequence[int] = (),
    t: Translate = untranslated,
) -> str:
    """The picture.

    Args:
        shown: the maps of a layer and their tokens.
        chosen: its heads, the pinned token from which edges go, and their direction; nothing pinned = no edges. Of two
            texts the pinned token's own says the direction.
        style: what the full width of an edge stands for.
        title: above the sentence; "" = none.
        source: `analysis.provenance`: model and mask are printed below, all of it goes into the file; None = neither.
        width: of a line of tokens; longer sentences take several.
        marked: tokens with a frame, such as the right answer.
        t: translates the picture's own words.
    """
    top = MARGIN + 22 if title else 4.0
    least = LEAST_NAMED if len(chosen.heads) > 1 else LEAST_WIDTH
    labels = [*shown.labels, *(shown.keys if shown.context else ())]  # of all places
    over = ABOVE if len(chosen.heads) > 1 else None
    boxes, n_lines = _two_texts(shown, least, width, top) if shown.context else _boxes(labels, least, width, top, over)
    weights = _weights(shown, chosen)  # (heads, N)
    colours = [_colour(head) for head in chosen.heads] or [channels(INK)]
    right = max(box.x + box.width / 2 for box in boxes)
    bottom = max(box.foot for box in boxes)
    words = [Words(title, 4, MARGIN, 18, bold=True)] if title else []
    if shown.context:
        bottom += NAME
        words.append(Words(t("key (looked at)"), 4, top + NAME - 6, SMALL, colour=SOFT))
        words.append(Words(t("query (looks)"), 4, bottom - 4, SMALL, colour=SOFT))
    if source:
        line = " · ".join(f"{t(name)}: {source[name]}" for name in ("model", "head", "mask") if source.get(name))
        words.append(Words(line, 4, bottom + 20, 12, colour=SOFT))
        bottom += 26
    said = title or " ".join(labels)
    size = max(right, *(fonts.width(each.text, each.size) for each in words), 0) + 6, bottom + 6
    parts = [
        *begun(math.ceil(size[0]), math.ceil(size[1]), said, source),
        f'<rect width="100%" height="100%" fill="{GROUND}"/>',
        *_tokens(labels, _special(shown), chosen, boxes, weights, colours, style, set(marked)),
        *_edges(shown, chosen, boxes, weights, colours, style, n_lines == 1),
        *_numbers(chosen, boxes, weights),
        *map(svg_words, words),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _two_texts(shown: LayerMaps, least: float, width: float, top: float) -> tuple[list[Box], int]:
    """Where the queries stand, and above them the keys; and how many lines there are."""
    keys, n_keys = _boxes(shown.keys, least, width, top + NAME, 0)
    lowest = max(box.foot for box in keys)
    queries, n_queries = _boxes(shown.labels, least, width, lowest + BETWEEN_TEXTS, 0, n_keys)
    return [*queries, *keys], n_keys + n_queries


def _boxes(
    labels: Sequence[str], least: float, width: float, top: float, over: float | None, first: int = 0
) -> tuple[list[Box], int]:
    """Where tokens stand, line by line, and how many lines there are; from the right where the text is read so.

    Args:
        labels: the tokens.
        least: width of a token.
        width: of a line.
        top: where the room for edges begins.
        over: that room; None = as much as one line needs, or several.
        first: the number of the first line.
    """
    widths = [max(least, fonts.width(printed(label), SIZE) + 2 * INSIDE) for label in labels]
    places: list[tuple[float, int]] = []
    x, line = 2.0, 0
    for each in widths:
        if x + each > width and x > 2:
            x, line = 2.0, line + 1
        places.append((x + each / 2, line))
        x += each + BETWEEN
    if over is None:
        over = ABOVE if line == 0 else BETWEEN_LINES
    step = HEIGHT + BELOW + BETWEEN_LINES
    if reading_direction(labels) == "rtl":
        edge = max(x + each / 2 for (x, _), each in zip(places, widths, strict=True)) + 2
        places = [(edge - x, line) for x, line in places]
    return [
        Box(x, top + over + line * step, each, first + line) for (x, line), each in zip(places, widths, strict=True)
    ], line + 1


def _weights(shown: LayerMaps, chosen: StripChoice) -> npt.NDArray[np.float64]:
    """(heads, places): the row of the pinned token, or its column; NaN where masked, and in its own of two texts.

    No head = the mean of all.
    """
    if chosen.pinned is None:
        return np.full((1, shown.n_tokens), np.nan)
    heads = np.asarray(shown.attention, dtype=np.float64)
    heads = heads[list(chosen.heads)] if chosen.heads else heads.mean(axis=0, keepdims=True)
    maps = np.where(shown.allowed, heads, np.nan)
    looks, keys_from = _looks(shown, chosen), _keys_from(shown)
    found = np.asarray(maps[:, chosen.pinned] if looks else maps[:, :, chosen.pinned - keys_from])
    if not keys_from:
        return found
    places = np.full((len(heads), shown.n_tokens), np.nan)
    places[:, slice(keys_from, None) if looks else slice(keys_from)] = found
    return places


def _keys_from(shown: LayerMaps) -> int:
    """The place of the first key."""
    return len(shown.labels) if shown.context else 0


def _looks(shown: LayerMaps, chosen: StripChoice) -> bool:
    """Whether the pinned token is a query."""
    if shown.context and chosen.pinned is not None:
        return chosen.pinned < _keys_from(shown)
    return chosen.direction == "looks_at"


def _special(shown: LayerMaps) -> list[bool]:
    """Of all places."""
    both = [(shown.labels, shown.is_special)]
    if shown.context:
        both.append((shown.context.labels, shown.context.is_special))
    return [bool(flag) for labels, flags in both for flag in (flags or [False] * len(labels))]


def _tokens(
    labels: Sequence[str],
    special: Sequence[bool],
    chosen: StripChoice,
    boxes: Sequence[Box],
    weights: npt.NDArray[np.float64],
    colours: Sequence[Rgb],
    style: Style,
    marked: set[int],
) -> Iterator[str]:
    for i, (label, box) in enumerate(zip(labels, boxes, strict=True)):
        here = weights[:, i]
        best = -1 if np.isnan(here).all() else int(np.nanargmax(here))
        share = float(style.places(np.array([here[0]]))[0]) if len(here) == 1 and best == 0 else 0.0
        fill = _mixed(channels(GROUND), colours[0], TINT * share)
        ink = GROUND if luminance(fill) < DARK else INK
        edge, thick = (INK, 2.2) if i in marked else (INK, 1.4) if i == chosen.pinned else ("#B9BEC2", 0.8)
        dash = ' stroke-dasharray="4 3"' if i == chosen.pinned and i not in marked else ""
        yield (
            f'<rect x="{box.x - box.width / 2:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{HEIGHT:g}" '
            f'rx="4" fill="{hexed(fill)}" stroke="{edge}" stroke-width="{thick:g}"{dash} data-token="{i}"/>'
        )
        faint = SOFT if special[i] and ink == INK else ink
        yield svg_words(Words(isolated(printed(label)), box.x, box.top + HEIGHT * 0.69, SIZE, "middle", colour=faint))


def _numbers(chosen: StripChoice, boxes: Sequence[Box], weights: npt.NDArray[np.float64]) -> Iterator[str]:
    """The largest weight of each token, over a ground that parts it from the edges between lines."""
    yield f'<g stroke="{GROUND}" stroke-width="3" paint-order="stroke">'
    for box, here in zip(boxes, weights.T, strict=True):
        best = -1 if np.isnan(here).all() else int(np.nanargmax(here))
        if best >= 0 and here[best] >= LEAST_NUMBER:
            name = f" ({chosen.heads[best] + 1})" if len(here) > 1 else ""
            yield svg_words(Words(f"{here[best]:.2f}{name}", box.x, box.bottom + 14, SMALL, "middle", colour=INK))
    yield "</g>"


def _edges(
    shown: LayerMaps,
    chosen: StripChoice,
    boxes: Sequence[Box],
    weights: npt.NDArray[np.float64],
    colours: Sequence[Rgb],
    style: Style,
    is_one_line: bool,
) -> Iterator[str]:
    if chosen.pinned is None:
        return
    looks, keys_from = _looks(shown, chosen), _keys_from(shown)
    spread = min(4.0, 26 / len(weights)) if len(weights) > 1 else 0.0
    for k, row in enumerate(weights):
        shift = spread * (k - (len(weights) - 1) / 2)
        for other, weight in enumerate(row):
            if not weight >= LEAST_EDGE:  # NaN is not
                continue
            query, key = (chosen.pinned, other - keys_from) if looks else (other, chosen.pinned - keys_from)
            dashed = bool(chosen.heads) and chosen.heads[k] >= len(HEAD_COLOURS)
            share = min(1.0, float(weight) / style.maximum)
            about = f'data-query="{query}" data-key="{key}" data-weight="{weight:.6g}"'
            yield from _edge(
                boxes[query], boxes[keys_from + key], share, shift, hexed(colours[k]), dashed, is_one_line, about
            )


def _edge(
    start: Box, end: Box, share: float, shift: float, colour: str, dashed: bool, is_one_line: bool, about: str
) -> Iterator[str]:
    """The line and its arrowhead, as in components/edges.js."""
    width = 1.2 + 5 * share
    tip = 3 + 0.8 * width
    down = True
    if start == end:
        y, r = start.top, 9 + abs(shift)
        left, right, high = start.x - 0.6 * r, start.x + 0.6 * r, y - 2.6 * r
        d = f"M{left:.1f} {y:.1f} C{start.x - 1.5 * r:.1f} {high:.1f} {start.x + 1.5 * r:.1f} {high:.1f} "
        d += f"{right:.1f} {y - tip:.1f}"
        x, y = right, start.top
    elif start.line == end.line:
        a, b = start.x + shift, end.x + shift
        most = TALLEST if is_one_line else LOW
        height = min(most, 14 + 0.12 * abs(a - b) + 0.6 * abs(shift))
        high = start.top - height / 0.75
        d = f"M{a:.1f} {start.top:.1f} C{a:.1f} {high:.1f} {b:.1f} {high:.1f} {b:.1f} {end.top - tip:.1f}"
        x, y = b, end.top
    else:
        down = start.line < end.line
        a, b = start.x + shift, end.x + shift
        first, last = (start.foot, end.top - tip) if down else (start.top, end.foot + tip)
        bend = (last - first) / 2
        d = f"M{a:.1f} {first:.1f} C{a:.1f} {first + bend:.1f} {b:.1f} {last - bend:.1f} {b:.1f} {last:.1f}"
        x, y = b, end.top if down else end.foot
    back = y + (-1.6 if down else 1.6) * tip
    dash = ' stroke-dasharray="6 3"' if dashed else ""
    opacity = 0.6 + 0.4 * min(1.0, 2 * share)
    yield (
        f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width:.1f}" '
        f'stroke-opacity="{opacity:.2f}"{dash} {about}/>'
    )
    yield f'<path d="M{x:.1f} {y:.1f} L{x - tip:.1f} {back:.1f} L{x + tip:.1f} {back:.1f} Z" fill="{colour}"/>'


def _colour(head: int) -> Rgb:
    return channels(HEAD_COLOURS[head % len(HEAD_COLOURS)])


def _mixed(ground: Rgb, colour: Rgb, share: float) -> Rgb:
    return np.rint(ground * (1 - share) + colour * share).astype(np.uint8)
