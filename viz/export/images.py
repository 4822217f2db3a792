"""A head's map as SVG and as PNG, written here: no browser is needed on the server.

Both carry title, axis titles, colour bar, the hatching of masked cells and a line about the model; and, for programs,
all of the provenance as JSON: in the SVG's `<metadata>`, in the PNG's text chunk "headwork".
"""

import io
import json

import numpy as np
from PIL import Image, ImageDraw, PngImagePlugin

from viz.export import fonts
from viz.export.layout import BAR_WIDTH, GROUND, HATCH, MASKED, MapLayout, Words
from viz.export.svg import HATCH_STEP, begun, channels, hatching, hexed, svg_words

PNG_SCALE = 2  # pixels of the PNG for each of the layout: sharp in print and on a projector
PNG_CHUNK = "headwork"


def svg_text(layout: MapLayout) -> str:
    """The map as SVG: a rectangle for each cell, with data-query, data-key (from 0) and data-weight."""
    parts = [
        *begun(layout.width, layout.height, layout.words[0].text, layout.source),
        "<defs>",
        *hatching(),
        '<linearGradient id="scale" x1="0" y1="1" x2="0" y2="0">',
        *(f'<stop offset="{i / 255:.4f}" stop-color="{hexed(layout.bar_rgb[i])}"/>' for i in range(0, 256, 15)),
        "</linearGradient>",
        "</defs>",
        f'<rect width="100%" height="100%" fill="{GROUND}"/>',
        f'<g class="cells" data-tokens-per-cell="{layout.steps[0]} {layout.steps[1]}" shape-rendering="crispEdges">',
        *_cells(layout),
        "</g>",
        *_svg_bar(layout),
        *(svg_words(words) for words in layout.words),
        "</svg>\n",
    ]
    return "\n".join(parts)


def png_bytes(layout: MapLayout) -> bytes:
    """The map as PNG at twice the size of the layout."""
    scale = PNG_SCALE
    image = Image.new("RGB", (round(layout.width * scale), round(layout.height * scale)), GROUND)
    left, top, right, bottom = (round(v * scale) for v in square(layout))
    lines = _hatching(right - left, bottom - top)
    cells = Image.fromarray(layout.rgb).resize(lines.size, Image.Resampling.NEAREST)
    masked = Image.fromarray(np.isnan(layout.weights)).resize(lines.size, Image.Resampling.NEAREST)
    cells.paste(lines, mask=masked)
    image.paste(cells, (left, top))
    x, bar_top, height = layout.bar
    bar = Image.fromarray(layout.bar_rgb[::-1, None, :]).resize((round(BAR_WIDTH * scale), round(height * scale)))
    image.paste(bar, (round(x * scale), round(bar_top * scale)))
    key = (round(x * scale), round((bar_top + height + 20) * scale))
    if layout.has_masked:
        image.paste(_hatching(round(BAR_WIDTH * scale), round(BAR_WIDTH * scale)), key)
    for words in layout.words:
        _write(image, words, scale)
    info = PngImagePlugin.PngInfo()
    info.add_itxt(PNG_CHUNK, json.dumps(layout.source, ensure_ascii=False))
    stream = io.BytesIO()
    image.save(stream, "PNG", pnginfo=info)
    return stream.getvalue()


def square(layout: MapLayout) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the cells."""
    (n_rows, n_columns), (width, height) = layout.weights.shape, layout.cell
    return layout.left, layout.top, layout.left + width * n_columns, layout.top + height * n_rows


def _cells(layout: MapLayout) -> list[str]:
    lines, (width, height) = [], layout.cell
    for (query, key), weight in np.ndenumerate(layout.weights):
        x, y = layout.left + key * width, layout.top + query * height
        is_masked = bool(np.isnan(weight))
        fill = "url(#masked)" if is_masked else hexed(layout.rgb[query, key])
        value = "masked" if is_masked else np.format_float_positional(weight, unique=True, trim="0")
        lines.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" fill="{fill}" '
            f'data-query="{query}" data-key="{key}" data-weight="{value}"/>'
        )
    return lines


def _svg_bar(layout: MapLayout) -> list[str]:
    x, top, height = layout.bar
    bar = f'<rect x="{x:g}" y="{top:g}" width="{BAR_WIDTH:g}" height="{height:g}" fill="url(#scale)"/>'
    place = f'x="{x:g}" y="{top + height + 20:g}" width="{BAR_WIDTH:g}" height="{BAR_WIDTH:g}"'
    return [bar, f'<rect {place} fill="url(#masked)"/>'] if layout.has_masked else [bar]


def _write(image: Image.Image, words: Words, scale: int) -> None:
    """One line of text, turned about its anchor."""
    size = round(words.size * scale)
    runs = fonts.runs(words.text, size)
    width = sum(font.getlength(piece) for piece, font in runs)
    shift = {"start": 0.0, "middle": -width / 2, "end": -width}[words.anchor]
    x, y = words.x * scale, words.y * scale
    stroke = 1 if words.bold else 0
    if not words.turn:
        _draw(ImageDraw.Draw(image), runs, x + shift, y, words.colour, stroke)
        return
    sheet = Image.new("L", (int(width) + 4, 2 * size), 0)
    _draw(ImageDraw.Draw(sheet), runs, 2, 1.4 * size, 255, stroke)
    turned = sheet.rotate(-words.turn, expand=True)  # by quarters only: nothing is resampled
    # After a quarter turn to the left the baseline runs upwards, 1.4 sizes from the sheet's left edge.
    place = (round(x - 1.4 * size), round(y - shift - turned.height + 2))
    image.paste(Image.new("RGB", turned.size, words.colour), place, turned)


def _draw(
    pen: ImageDraw.ImageDraw, runs: list[tuple[str, fonts.Font]], x: float, y: float, colour: str | int, stroke: int
) -> None:
    for piece, font in runs:
        pen.text((x, y), piece, fill=colour, font=font, anchor="ls", stroke_width=stroke, stroke_fill=colour)
        x += font.getlength(piece)


def _hatching(width: int, height: int) -> Image.Image:
    """Grey with diagonal lines."""
    step = HATCH_STEP * PNG_SCALE
    rows, columns = np.indices((height, width))
    is_line = (rows + columns) % step < 2 * PNG_SCALE
    rgb = np.where(is_line[..., None], channels(HATCH), channels(MASKED)).astype(np.uint8)
    return Image.fromarray(rgb)
