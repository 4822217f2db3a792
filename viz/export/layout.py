"""Where everything of an exported map stands, in pixels: one layout for the SVG and the PNG, so that both agree."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viz.maps import Maps, cell_height, says_blocks
from viz.style import PLAIN, Style
from viz.theme import MAX_LABEL, Translate, is_upright, isolated, shortened, stacked, untranslated

PLOT = 620  # pixels of the longer side of the map
LABEL_SIZE = (8.0, 16.0)  # least and largest text of the tokens
STACK = 1.15  # of a text's size, from character to character downwards
MARGIN = 24.0
BAR_WIDTH = 14.0
FOOTER_COLUMNS = 90  # of the sentence below the picture
INK, SOFT, GROUND = "#1D2329", "#565D63", "#FFFFFF"
MASKED, HATCH = "#D9DBDA", "#8A8F8D"

Measure = Callable[[str, float], float]  # text and size → width


@dataclass(frozen=True)
class Words:
    """A line of text. `turn` in degrees, clockwise, about its anchor."""

    text: str
    x: float
    y: float
    size: float
    anchor: str = "start"
    turn: float = 0
    colour: str = INK
    bold: bool = False


@dataclass(frozen=True, eq=False)
class MapLayout:
    """A map ready to be drawn.

    Attributes:
        left, top: corner of the cells.
        cell: width and height of a cell.
        steps: how many queries and keys a cell stands for.
        weights: (rows, columns), NaN where masked.
        rgb: (rows, columns, 3).
        words: every text of the picture.
        bar: left, top and height of the colour bar.
        bar_rgb: (256, 3), from the first colour to the last.
        source: where the map comes from; written into the file.
    """

    width: float
    height: float
    left: float
    top: float
    cell: tuple[float, float]
    steps: tuple[int, int]
    weights: npt.NDArray[np.float32]
    rgb: npt.NDArray[np.uint8]
    words: tuple[Words, ...]
    bar: tuple[float, float, float]
    bar_rgb: npt.NDArray[np.uint8]
    source: dict[str, str]

    @property
    def has_masked(self) -> bool:
        """Whether some cell is hatched, so that the picture has to say why."""
        return bool(np.isnan(self.weights).any())


@dataclass(frozen=True)
class Side:
    """The labels of one side: text, distance from the corner along the map, and size."""

    labels: Sequence[tuple[str, float]]
    size: float

    def beside(self, left: float, top: float) -> list[Words]:
        """Left of the rows."""
        drop = self.size * 0.35  # from a cell's middle to the text's baseline
        return [Words(isolated(label), left - 8, top + at + drop, self.size, "end") for label, at in self.labels]

    def below(self, left: float, bottom: float) -> list[Words]:
        """Under the columns: Latin turned, Chinese character under character."""
        words = []
        for label, at in self.labels:
            x, y = left + at, bottom + 8
            if is_upright(label):
                letters = stacked(label).split("<br>")
                lines = [y + (i + 0.9) * self.size * STACK for i in range(len(letters))]
                words += [Words(one, x, line, self.size, "middle") for one, line in zip(letters, lines, strict=True)]
            else:
                words.append(Words(isolated(label), x + self.size * 0.35, y, self.size, "end", turn=-90))
        return words

    def depth(self, measure: Measure) -> float:
        """Of the labels under the columns."""
        return max(
            self.size * STACK * (1 + stacked(label).count("<br>")) if is_upright(label) else measure(label, self.size)
            for label, _ in self.labels
        )


def map_layout(
    shown: Maps,
    style: Style = PLAIN,
    *,
    title: str,
    source: Mapping[str, str],
    measure: Measure,
    t: Translate = untranslated,
) -> MapLayout:
    """Places a head's map with its axis titles, its scale and the line that says where it comes from.

    Args:
        shown: (N_q, N_k) weights with their tokens.
        style: colours and what the last one stands for.
        title: above the map.
        source: `analysis.provenance`; model, mask and app are printed, all of it goes into the file.
        measure: the width of a text at a size.
        t: translates the picture's own words.
    """
    shown = shown.in_blocks()
    weights, (n_rows, n_columns) = shown.visible(), shown.shape
    tall = cell_height(n_rows, n_columns)
    wide = PLOT / max(n_rows * tall, n_columns)
    high = wide * tall
    queries, keys = _side(shown.queries[:: shown.step[0]], high), _side(shown.keys[:: shown.step[1]], wide)
    left = MARGIN + 32 + max(measure(label, queries.size) for label, _ in queries.labels)
    top, depth = MARGIN + 62, keys.depth(measure)
    right, bottom = left + wide * n_columns, top + high * n_rows
    middle = (left + right) / 2, (top + bottom) / 2
    bar = (right + 26, top, PLOT * 0.6)
    words = [
        Words(title, left, MARGIN + 18, 20, bold=True),
        Words(t("query (row) looks at key (column)"), left, MARGIN + 42, 13, colour=SOFT),
        Words(t("key (looked at)"), middle[0], bottom + 8 + depth + 26, 15, "middle"),
        *_side_title(t("query (looks)"), middle[1]),
        *queries.beside(left, top),
        *keys.below(left, bottom),
        *_bar_words(bar, style, bool(np.isnan(weights).any()), t),
    ]
    y = max(bottom + depth + 66, top + PLOT * 0.6 + 80)
    for line in _footer(source, shown.step, t):
        words.append(Words(line, MARGIN, y, 12, colour=SOFT))
        y += 18
    widest = max(_right_edge(line, measure) for line in words)
    return MapLayout(
        width=math.ceil(max(right + 120, widest + MARGIN)),
        height=math.ceil(y + MARGIN - 12),
        left=left,
        top=top,
        cell=(wide, high),
        steps=shown.step,
        weights=weights,
        rgb=style.colours(weights),
        words=tuple(words),
        bar=bar,
        bar_rgb=style.colours(_weights_at(style)),
        source=dict(source),
    )


def _side(labels: Sequence[str], cell: float) -> Side:
    """As large as the cells let them be; only every k-th where cells are lower than text."""
    size = min(max(cell * 0.8, LABEL_SIZE[0]), LABEL_SIZE[1])
    every = math.ceil(size * 1.05 / cell)
    return Side([(printed(labels[i]), (i + 0.5) * cell) for i in range(0, len(labels), every)], size)


def _side_title(text: str, middle: float) -> list[Words]:
    """Beside the rows: Latin turned, Chinese upright."""
    if not is_upright(text):
        return [Words(text, MARGIN + 12, middle, 15, "middle", turn=-90)]
    letters = stacked(text).split("<br>")
    first = middle - 15 * STACK * (len(letters) / 2 - 0.8)
    return [Words(one, MARGIN + 12, first + i * 15 * STACK, 15, "middle") for i, one in enumerate(letters)]


def _bar_words(bar: tuple[float, float, float], style: Style, has_masked: bool, t: Translate) -> list[Words]:
    x, top, height = bar
    words = [Words(style.quantity or t("attention weight"), x, top - 12, 13)]
    for tick in style.ticks():
        place = float(style.places(np.array([tick]))[0])
        words.append(Words(f"{tick:g}", x + BAR_WIDTH + 6, top + height * (1 - place) + 5, 13))
    if has_masked:
        words.append(Words(t("masked"), x + BAR_WIDTH + 6, top + height + 32, 13))
    return words


def _footer(source: Mapping[str, str], step: tuple[int, int], t: Translate) -> list[str]:
    text, context = (shortened(source.get(name, ""), FOOTER_COLUMNS) for name in ("text", "context"))
    texts = [f"{t('sentence')}: {text}"]
    if context:
        texts = [f"{t('query (looks)')}: {text}", f"{t('key (looked at)')}: {context}"]
    lines = [
        " · ".join(f"{t(name)}: {source[key]}" for key, name in PRINTED.items() if source.get(key)),
        *texts,
        f"sha256 {source.get('weights_sha256', '')} · {source.get('app', '')}",
    ]
    return [*lines, blocks] if (blocks := says_blocks(step, t)) else lines


PRINTED = {"model": "model", "maps": "maps", "head": "head", "mask": "mask", "reading": "reading", "level": "between"}


def _weights_at(style: Style) -> npt.NDArray[np.float64]:
    """256 weights whose colours are evenly spaced along the scale."""
    places = np.linspace(0, 1, 256)
    if style.curve == "sqrt":
        return style.maximum * places**2
    if style.curve == "log":
        return style.maximum * 10.0 ** (3 * (places - 1))
    return style.maximum * places


def _right_edge(line: Words, measure: Measure) -> float:
    if line.turn:
        return line.x
    width = measure(line.text, line.size)
    return line.x + (width if line.anchor == "start" else width / 2 if line.anchor == "middle" else 0)


def printed(label: str) -> str:
    """A token's label as files have it: shortened, white space as its sign."""
    short = shortened(label, MAX_LABEL)
    return short if short.strip() else "␣"
