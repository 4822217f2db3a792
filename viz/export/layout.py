"""Where everything of an exported map stands, in pixels: one layout for the SVG and the PNG, so that both agree."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viz.pooling import coarsen
from viz.style import PLAIN, Style
from viz.theme import MAX_LABEL, Translate, shortened, untranslated

MOST_CELLS = 128  # along one side: above, a cell is the largest weight of a block, and the picture says so
PLOT = 620  # pixels of the square
LABEL_SIZE = (8.0, 16.0)  # least and largest text of the tokens
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
        left, top: corner of the square of cells.
        cell: side of a cell.
        step: how many tokens a side a cell stands for.
        weights: (cells, cells), NaN where masked.
        rgb: (cells, cells, 3).
        words: every text of the picture.
        bar: left, top and height of the colour bar.
        bar_rgb: (256, 3), from the first colour to the last.
        source: where the map comes from; written into the file.
    """

    width: float
    height: float
    left: float
    top: float
    cell: float
    step: int
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

    @property
    def n_cells(self) -> int:
        """Cells a side."""
        return len(self.weights)


def map_layout(
    attention: npt.NDArray[np.floating],
    allowed: npt.NDArray[np.bool_],
    labels: Sequence[str],
    *,
    title: str,
    source: Mapping[str, str],
    measure: Measure,
    style: Style = PLAIN,
    t: Translate = untranslated,
) -> MapLayout:
    """Places a head's map with its axis titles, its scale and the line that says where it comes from.

    Args:
        attention: (N, N), query × key.
        allowed: (N, N); False = hatched grey.
        labels: the N tokens.
        title: above the map.
        source: `analysis.provenance`; model, mask and app are printed, all of it goes into the file.
        measure: the width of a text at a size.
        style: colours and what the last one stands for.
        t: translates the picture's own words.
    """
    step = math.ceil(len(labels) / MOST_CELLS)
    weights = coarsen(np.where(allowed, attention, np.nan).astype(np.float32), step)
    n = len(weights)
    names = [_label(label) for label in labels[::step]]
    cell = PLOT / n
    size = min(max(cell * 0.8, LABEL_SIZE[0]), LABEL_SIZE[1])
    every = math.ceil(size * 1.05 / cell)  # only every k-th label where rows are lower than text
    shown = range(0, n, every)
    room = max(measure(names[i], size) for i in shown)
    left, top = MARGIN + 24 + room + 8, MARGIN + 62
    bottom = top + PLOT
    right = left + PLOT
    middle = PLOT / 2
    words = [
        Words(title, left, MARGIN + 18, 20, bold=True),
        Words(t("query (row) looks at key (column)"), left, MARGIN + 42, 13, colour=SOFT),
        Words(t("key (looked at)"), left + middle, bottom + 8 + room + 26, 15, "middle"),
        Words(t("query (looks)"), MARGIN + 12, top + middle, 15, "middle", turn=-90),
    ]
    for i in shown:
        at = (i + 0.5) * cell + size * 0.35
        words.append(Words(names[i], left - 8, top + at, size, "end"))
        words.append(Words(names[i], left + at, bottom + 8, size, "end", turn=-90))
    bar = (right + 26, top, PLOT * 0.6)
    has_masked = bool(np.isnan(weights).any())
    words += _bar_words(bar, style, has_masked, t)
    y = bottom + room + 66
    for line in _footer(source, step, t):
        words.append(Words(line, MARGIN, y, 12, colour=SOFT))
        y += 18
    widest = max(_right_edge(line, measure) for line in words)
    return MapLayout(
        width=math.ceil(max(right + 120, widest + MARGIN)),
        height=math.ceil(y + MARGIN - 12),
        left=left,
        top=top,
        cell=cell,
        step=step,
        weights=weights,
        rgb=style.colours(weights),
        words=tuple(words),
        bar=bar,
        bar_rgb=style.colours(_weights_at(style)),
        source=dict(source),
    )


def _bar_words(bar: tuple[float, float, float], style: Style, has_masked: bool, t: Translate) -> list[Words]:
    x, top, height = bar
    words = [Words(style.quantity or t("attention weight"), x, top - 12, 13)]
    for tick in style.ticks():
        place = float(style.places(np.array([tick]))[0])
        words.append(Words(f"{tick:g}", x + BAR_WIDTH + 6, top + height * (1 - place) + 5, 13))
    if has_masked:
        words.append(Words(t("masked"), x + BAR_WIDTH + 6, top + height + 32, 13))
    return words


def _footer(source: Mapping[str, str], step: int, t: Translate) -> list[str]:
    text = shortened(source.get("text", ""), FOOTER_COLUMNS)
    lines = [
        " · ".join(f"{t(name)}: {source[key]}" for key, name in PRINTED.items() if source.get(key)),
        f"{t('sentence')}: {text}",
        f"sha256 {source.get('weights_sha256', '')} · {source.get('app', '')}",
    ]
    if step > 1:
        lines.append(t("each cell: the largest of {step} × {step} weights").format(step=step))
    return lines


PRINTED = {"model": "model", "head": "head", "mask": "mask", "reading": "reading", "level": "between"}


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


def _label(label: str) -> str:
    short = shortened(label, MAX_LABEL)
    return short if short.strip() else "␣"
