"""A number for each head as SVG and PNG, and effects as one HTML file that opens without internet."""

import html
import json
import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from viz.effects import SIGNS, Floats, Marked, Scale, number
from viz.encoding import scale_table
from viz.export.layout import BAR_WIDTH, GROUND, INK, MARGIN, PLOT, SOFT, MapLayout, Measure, Words
from viz.style import DIFFERENCE_SCALE, luminance
from viz.theme import COLORSCALE, Translate, untranslated

CELL = 26  # pixels at most
COLUMNS = 58  # letters of a line below the picture
MIDDLE = 0.18  # luminance that is as far from black as from white


def grid_layout(
    values: Floats,
    colours: Scale,
    marked: Marked,
    *,
    title: str,
    notes: Sequence[str],
    source: Mapping[str, str],
    measure: Measure,
    t: Translate = untranslated,
) -> MapLayout:
    """Places layers × heads with their scale, the signs of heads, and lines that say what it is.

    Args:
        values: (L, h).
        colours: of the numbers.
        marked: heads with a sign.
        title: above the cells.
        notes: lines below them.
        source: written into the file.
        measure: the width of a text at a size.
        t: translates the picture's own words.
    """
    n_layers, n_heads = values.shape
    cell = min(PLOT / max(n_layers, n_heads), CELL)
    left, top = MARGIN + 34, MARGIN + 62
    right, bottom = left + cell * n_heads, top + cell * n_layers
    size = min(12.0, 0.8 * cell)
    bar = (right + 26, top, max(min(0.6 * PLOT, bottom - top), 60))
    low = -colours.limit if colours.is_signed else 0.0
    places = (np.nan_to_num(values) - low) / max(colours.limit - low, 1e-9)
    table = scale_table(DIFFERENCE_SCALE if colours.is_signed else COLORSCALE)
    rgb = table[np.rint(255 * places).clip(0, 255).astype(np.uint8)]
    notes = _lines(notes)
    words = [
        Words(title, MARGIN, MARGIN + 18, 20, bold=True),
        Words(t("layer ↓ head →"), MARGIN, MARGIN + 42, 13, colour=SOFT),
        *(Words(str(i + 1), left - 8, top + (i + 0.5) * cell + 0.35 * size, size, "end") for i in range(n_layers)),
        *(Words(str(i + 1), left + (i + 0.5) * cell, bottom + size + 4, size, "middle") for i in range(n_heads)),
        *_signs(marked, rgb, left, top, cell),
        Words(colours.name, bar[0], top - 12, 13),
        *(
            Words(
                number(value, plus=colours.is_signed) if value else "0",
                bar[0] + BAR_WIDTH + 6,
                top + bar[2] * (1 - place) + 5,
                13,
            )
            for value, place in ((low, 0.0), ((low + colours.limit) / 2, 0.5), (colours.limit, 1.0))
        ),
        *(Words(line, MARGIN, bottom + 48 + 18 * i, 12, colour=SOFT) for i, line in enumerate(notes)),
    ]
    widest = max(measure(line.text, line.size) for line in words if line.anchor == "start")
    return MapLayout(
        width=math.ceil(max(right + 130, MARGIN + widest + MARGIN)),
        height=math.ceil(bottom + 48 + 18 * len(notes) + MARGIN),
        left=left,
        top=top,
        cell=(cell, cell),
        steps=(1, 1),
        weights=np.nan_to_num(values).astype(np.float32),
        rgb=rgb,
        words=tuple(words),
        bar=bar,
        bar_rgb=table[np.arange(256)],
        source=dict(source),
    )


def _signs(marked: Marked, rgb: npt.NDArray[np.uint8], left: float, top: float, cell: float) -> list[Words]:
    """◆ and ○ in their cells, dark on what is light and light on what is dark."""
    size, words = 0.75 * cell, []
    for symbol, (layer, head) in marked.signs().items():
        x, y = left + (head + 0.5) * cell, top + (layer + 0.5) * cell + 0.35 * size
        ink = INK if luminance(rgb[layer, head]) > MIDDLE else GROUND
        words.append(Words(SIGNS[symbol], x, y, size, "middle", colour=ink, bold=True))
    return words


def _lines(notes: Sequence[str]) -> list[str]:
    """The notes in lines that aren't wider than the picture has to be."""
    return [line for note in notes for line in textwrap.wrap(note, COLUMNS)]


def figures_html(title: str, claim: str, figures: Sequence[tuple[str, go.Figure]], source: Mapping[str, str]) -> str:
    """One page with the claim, the figures as they are in the app, and where they come from.

    Args:
        title: of the page.
        claim: the sentence above the figures.
        figures: each with its title.
        source: shown below, and held in the page as JSON.
    """
    parts = "\n".join(
        f"<figure><figcaption>{html.escape(name)}</figcaption>"
        f"{figure.to_html(full_html=False, include_plotlyjs=False, config={'displayModeBar': False})}</figure>"
        for name, figure in figures
    )
    rows = "\n".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in source.items())
    held = json.dumps(dict(source), ensure_ascii=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)} · Headwork</title>
<style>
body {{ font: 16px/1.4 sans-serif; margin: 1.5rem; color: #1D2329; background: #FCFCFA; }}
main {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }}
figure {{ margin: 0; }} figcaption {{ font-weight: 600; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; font-size: 0.85rem; }}
dd {{ margin: 0; }}
</style>
<script>{get_plotlyjs()}</script>
</head>
<body>
<h1>{html.escape(title)}</h1>
<p>{html.escape(claim)}</p>
<main>{parts}</main>
<dl>{rows}</dl>
<script type="application/json" id="provenance">{held}</script>
</body>
</html>
"""
