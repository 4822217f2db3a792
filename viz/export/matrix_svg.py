"""Small matrices with their numbers, and bars with their intervals, as SVG for paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from viz.export import fonts
from viz.export.layout import GROUND, INK, SOFT, Side, Words, printed
from viz.export.svg import begun, hatching, hexed, svg_words
from viz.style import luminance
from viz.theme import Translate, isolated, shortened, untranslated

WIDTH = 700.0  # pixels: the text of an A4 page
LARGEST, SMALLEST = 44.0, 15.0  # of a cell's width
NUMBERED = 34.0  # from this width on, numbers stand in the cells
APART = 28.0  # from one matrix to the next
FULL = np.array([29, 66, 110])  # the colour of weight 1; 0 is the paper, which saves ink
LESS, MORE = np.array([136, 108, 190]), np.array([232, 140, 50])  # of the largest negative and positive number
BOLD = 1.1  # bold text is so much wider
MIDDLE = 0.18  # luminance that is as far from black as from white
BAR, LINE = 16.0, 26.0  # height of a bar, and of its line
MOST_NAME = 40  # columns of a bar's name

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Matrix:
    """One matrix to be drawn.

    Attributes:
        cells: (R, C), NaN or −inf where masked.
        rows, columns: labels.
        name: above it.
        kind: "weights" from 0 to 1, "numbers" with their sign by colour, "plain" without colours.
        marked: cells with a frame.
        row: a row with a frame; None = none.
        texts: what stands in the cells in place of their numbers; () = the numbers.
    """

    cells: Floats
    rows: Sequence[str]
    columns: Sequence[str]
    name: str = ""
    kind: str = "weights"
    marked: Iterable[tuple[int, int]] = ()
    row: int | None = None
    texts: Sequence[Sequence[str]] = ()
    colours: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    @property
    def rgb(self) -> npt.NDArray[np.uint8]:
        """(R, C, 3)."""
        if self.colours.size:
            return self.colours
        cells = np.where(np.isfinite(self.cells), self.cells, 0.0)[..., None]
        if self.kind == "weights":
            share, full = np.clip(cells, 0, 1), FULL
        elif self.kind == "numbers":
            share, full = (
                np.abs(cells) / max(float(np.abs(cells).max(initial=0)), 1e-9),
                np.where(cells < 0, LESS, MORE),
            )
        else:
            share, full = np.zeros_like(cells), FULL
        found: npt.NDArray[np.uint8] = np.rint(255 - share * (255 - full)).astype(np.uint8)
        return found


def matrices_svg(matrices: Sequence[Matrix], *, title: str, t: Translate = untranslated, axes: bool = True) -> str:
    """Matrices of one size beside each other, in as many lines as they need.

    Args:
        matrices: at least one.
        title: read out to who can't see it.
        t: translates the line about axes.
        axes: whether rows are queries and columns keys, so that a line says so.
    """
    first = matrices[0]
    left = 10 + max(fonts.width(printed(label), 13) for label in first.rows)
    n_columns, beside = len(first.columns), min(len(matrices), 2)
    cell = min(LARGEST, max(SMALLEST, ((WIDTH + APART) / beside - left - APART) / n_columns))
    height = min(cell, 28.0)
    named = max(fonts.width(matrix.name, 14) * BOLD for matrix in matrices)
    wide = left + max(cell * n_columns, named) + APART
    a_line = max(1, int((WIDTH + APART) // wide))
    sides = [_columns(matrix.columns, cell) for matrix in matrices]
    fits = all(fonts.width(label, side.size) <= cell for side in sides for label, _ in side.labels)
    depth = (18 if fits else max(side.depth(fonts.width) for side in sides)) + 14
    top = 26.0
    tall = top + height * len(first.rows) + depth
    lines: list[str] = []
    for i, (matrix, side) in enumerate(zip(matrices, sides, strict=True)):
        x, y = left + (i % a_line) * wide, top + (i // a_line) * tall
        lines += _matrix(matrix, side, fits, x, y, cell, height)
    bottom = math.ceil(len(matrices) / a_line) * tall
    if axes:
        words = Words(t("query (row) looks at key (column)"), 4, bottom + 12, 12, colour=SOFT)
        lines.append(svg_words(words))
        bottom += 20
    least = fonts.width(t("query (row) looks at key (column)"), 12) + 12 if axes else 0
    width = max(min(a_line, len(matrices)) * wide - APART + 4, least)
    return _whole(width, bottom, title, lines)


def _matrix(matrix: Matrix, side: Side, fits: bool, x: float, y: float, cell: float, height: float) -> Iterator[str]:
    rgb, marked = matrix.rgb, set(matrix.marked)
    if matrix.name:
        yield svg_words(Words(matrix.name, x, y - 9, 14, bold=True))
    for (row, column), value in np.ndenumerate(matrix.cells):
        left, top = x + column * cell, y + row * height
        is_masked = not np.isfinite(value)
        fill = "url(#masked)" if is_masked else hexed(rgb[row, column])
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{cell:.1f}" height="{height:.1f}" fill="{fill}" '
            f'stroke="#D5D8D6" stroke-width="1" data-row="{row}" data-column="{column}"/>'
        )
        text = matrix.texts[row][column] if matrix.texts else f"{value:.2f}".replace("-", "−")
        if not is_masked and (cell >= NUMBERED or matrix.texts):
            ink = INK if luminance(rgb[row, column]) > MIDDLE else GROUND
            size = min(13.0, cell * 0.3 if not matrix.texts else cell * 0.5)
            yield svg_words(Words(text, left + cell / 2, top + height / 2 + 0.35 * size, size, "middle", colour=ink))
    for row, column in marked:
        yield _frame(x + column * cell, y + row * height, cell, height)
    if matrix.row is not None:
        yield _frame(x, y + matrix.row * height, cell * len(matrix.columns), height)
    for i, label in enumerate(matrix.rows):
        yield svg_words(Words(isolated(printed(label)), x - 6, y + (i + 0.5) * height + 4.5, 13, "end"))
    bottom = y + height * len(matrix.rows)
    flat = [Words(isolated(label), x + at, bottom + 16, side.size, "middle") for label, at in side.labels]
    yield from map(svg_words, flat if fits else side.below(x, bottom - 2))


def _frame(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="none" '
        f'stroke="{INK}" stroke-width="2.4"/>'
    )


def _columns(labels: Sequence[str], cell: float) -> Side:
    return Side([(printed(label), (i + 0.5) * cell) for i, label in enumerate(labels)], min(13.0, cell * 0.8))


@dataclass(frozen=True)
class Bar:
    """One bar: its name, its value with the text of it, its interval; the marked one is darker and has a ●."""

    name: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    is_marked: bool = False


def bars_svg(
    bars: Sequence[Bar], *, title: str, baseline: float | None = None, baseline_name: str = "", note: str = ""
) -> str:
    """Bars under each other, from 0.

    Args:
        bars: at least one.
        title: read out to who can't see it.
        baseline: a dashed line across all bars.
        baseline_name: what it is.
        note: one line below.
    """
    names = [("● " if bar.is_marked else "") + shortened(bar.name, MOST_NAME) for bar in bars]
    left = 14 + max(fonts.width(name, 14) for name in names)
    right = 16 + max(fonts.width(bar.text, 14) for bar in bars)
    values = [value for bar in bars for value in (bar.value, bar.low, bar.high) if value is not None]
    low, high = min(0.0, *values), max(0.0, *values, baseline or 0.0)
    scale = (WIDTH - left - right) / max(high - low, 1e-9)
    lines: list[str] = []
    for i, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y, start, end = 8 + i * LINE, left + (0 - low) * scale, left + (bar.value - low) * scale
        fill = "#3D5A80" if bar.is_marked else "#B4BECB"
        lines.append(svg_words(Words(name, left - 8, y + 13, 14, "end", bold=bar.is_marked)))
        lines.append(
            f'<rect x="{min(start, end):.1f}" y="{y:.1f}" width="{max(abs(end - start), 1):.1f}" height="{BAR:g}" '
            f'fill="{fill}" data-value="{bar.value:.6g}"/>'
        )
        reach = end
        if bar.low is not None and bar.high is not None:
            reach = left + (bar.high - low) * scale
            a, middle = left + (bar.low - low) * scale, y + BAR / 2
            d = f"M{a:.1f} {y + 3:.1f} v10 M{a:.1f} {middle} H{reach:.1f} M{reach:.1f} {y + 3:.1f} v10"
            lines.append(f'<path d="{d}" stroke="{GROUND}" stroke-width="5" fill="none"/>')
            lines.append(f'<path d="{d}" stroke="{INK}" stroke-width="1.8" fill="none"/>')
        lines.append(svg_words(Words(bar.text, max(reach, end, start) + 8, y + 13, 14)))
    bottom = 8 + LINE * len(bars)
    if baseline is not None:
        x = left + (baseline - low) * scale
        lines.append(
            f'<path d="M{x:.1f} 2 V{bottom:.1f}" stroke="{INK}" stroke-width="1.2" stroke-dasharray="4 3" fill="none"/>'
        )
        if baseline_name:
            near = x + fonts.width(baseline_name, 12) < WIDTH
            lines.append(svg_words(Words(baseline_name, x, bottom + 13, 12, "start" if near else "end", colour=SOFT)))
            bottom += 18
    if note:
        lines.append(svg_words(Words(note, 4, bottom + 14, 12, colour=SOFT)))
        bottom += 20
    return _whole(WIDTH, bottom, title, lines)


def _whole(width: float, height: float, title: str, lines: Sequence[str]) -> str:
    begin = begun(math.ceil(width), math.ceil(height + 4), title)
    return "\n".join([*begin, "<defs>", *hatching(), "</defs>", *lines, "</svg>\n"])
