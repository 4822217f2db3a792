"""Effects as files: what stands in the cells, the signs of heads, and where the numbers come from."""

import html
import io
import json
import re

import numpy as np
from PIL import Image

from viz.effects import Marked, Scale, head_grid
from viz.export import fonts
from viz.export.grids import figures_html, grid_layout
from viz.export.images import png_bytes, svg_text

EFFECT = np.array([[-2.0, 0.5], [0.0, 2.0]])
SOURCE = {"model": "<Tiny>", "off": "zero"}


def layout():
    colours = Scale("change", 2.0)
    marked = Marked((0, 0), matters=(0, 0), looks=(1, 1))
    return grid_layout(EFFECT, colours, marked, title="Effect", notes=["a note"], source=SOURCE, measure=fonts.width)


def test_the_svg_has_every_number_both_signs_and_its_source():
    text = svg_text(layout())
    weights = [float(value) for value in re.findall(r'data-weight="([^"]+)"', text)]
    assert weights == EFFECT.ravel().tolist()
    assert "◆" in text and "○" in text and "a note" in text and "−2.0" in text
    assert json.loads(html.unescape(re.search(r"<metadata>(.*)</metadata>", text)[1])) == SOURCE


def test_less_is_purple_more_is_orange_and_nothing_is_between_in_the_png():
    of = layout()
    image = Image.open(io.BytesIO(png_bytes(of))).convert("RGB")
    corner = [round(2 * (edge + 3)) for edge in (of.left, of.top)]  # off the middle, where signs stand
    less = image.getpixel(tuple(corner))
    more = image.getpixel((corner[0] + round(2 * of.cell[0]), corner[1] + round(2 * of.cell[0])))
    none = image.getpixel((corner[0], corner[1] + round(2 * of.cell[0])))
    assert less[2] > less[1] and more[0] > more[2] and min(none) > 235
    assert json.loads(image.info.get("headwork") or Image.open(io.BytesIO(png_bytes(of))).text["headwork"]) == SOURCE


def test_the_page_holds_claim_figures_and_source_and_asks_nobody_for_anything():
    figure = head_grid(EFFECT, Scale("change", 2.0), Marked((0, 0)), [["", ""]] * 2, height=200)
    page = figures_html("Effect", "1-1 < 2-2", [("A & B", figure)], SOURCE)
    assert "1-1 &lt; 2-2" in page and "A &amp; B" in page and "<dd>&lt;Tiny&gt;</dd>" in page
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="http', page)
    assert page.count('class="plotly-graph-div"') == 1
