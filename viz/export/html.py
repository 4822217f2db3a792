"""One HTML file with the sentence, the maps of all heads and the scripts to look at them: opens without internet.

It holds the app's own components (token strip and overview) with the data they get in the app, and a large map of the
chosen head. Tokens are data in a JSON block and are set as text.
"""

import html
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analysis import UnitTrace
from model.head_id import HeadId
from viz import browser
from viz.overview import overview_maps, overview_view
from viz.style import PLAIN, Style
from viz.theme import Translate, untranslated
from viz.token_strip import StripChoice, StripLook, layer_maps, strip_maps, strip_view

MOST_BYTES = 6_000_000  # of the layers' maps as text; above, only the chosen layer is exact and the page says so


def page_html(
    trace: UnitTrace,
    source: Mapping[str, str],
    *,
    layer: int,
    head: int,
    pinned: int | None = None,
    style: Style = PLAIN,
    t: Translate = untranslated,
) -> str:
    """The page.

    Args:
        trace: every head's map, in the reading that is shown.
        source: `analysis.provenance`; shown below the maps and held in the page as JSON.
        layer: shown first, from 0.
        head: shown first, from 0.
        pinned: the token that is shown while none is pointed at (`StripChoice.pinned`).
        style: colours and what the last one stands for.
        t: translates the page's words.
    """
    data = _data(trace, layer, StripChoice([head], pinned), style, t)
    title = t("Head {name}").format(name=str(HeadId(layer, head))) + " · Headwork"
    rows = "\n".join(
        f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in source.items() if value
    )
    return f"""<!doctype html>
<html lang="{html.escape(t("en"))}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:">
<title>{html.escape(title)}</title>
<style>
{browser.read("base.css", "token_strip.css", "overview.css", "export_page.css")}
</style>
</head>
<body>
<h1>{html.escape(t("What does each head look at?"))}</h1>
<div id="strip">{browser.read("token_strip.html")}</div>
<main><figure id="large"><figcaption></figcaption><div class="map"></div><p class="cell"></p></figure>
<div id="overview">{browser.read("overview.html")}</div></main>
<dl>{rows}</dl>
<script type="application/json" id="data">{_json(data)}</script>
<script type="application/json" id="provenance">{_json(dict(source))}</script>
<script type="module">
{browser.parts("token_strip", "overview")}
{browser.read("export_page.js")}
</script>
</body>
</html>
"""


def _data(trace: UnitTrace, layer: int, chosen: StripChoice, style: Style, t: Translate) -> dict[str, Any]:
    look = replace(style, text_scale=1.0)  # the page has its own size of text
    small = overview_maps(trace.attention, trace.allowed, maximum=style.maximum)
    of_layers = [layer_maps(trace, i) for i in range(trace.n_layers)]
    wanted = strip_maps(of_layers[layer], maximum=style.maximum)
    if len(wanted["bytes"]) * trace.n_layers <= MOST_BYTES:
        layers = [strip_maps(maps, maximum=style.maximum) for maps in of_layers]
    else:
        layers = [wanted if i == layer else {} for i in range(trace.n_layers)]
    return {
        "layer": layer,
        "head": chosen.heads[0],
        "layers": layers,
        "overview": small,
        "strip_view": strip_view(of_layers[layer], chosen, StripLook(look, tile=0, height=260), maps="", t=t),
        "overview_view": overview_view(small, selected=(layer, chosen.heads[0]), style=look, t=t),
        "quantity": style.quantity or t("attention weight"),
        "text": {
            "head": t("Head {name}"),
            "axes": t("query (row) looks at key (column)"),
            "cell": t("query '{query}' → key '{key}': {weight}"),
            "masked": t("query '{query}' → key '{key}': masked: may not attend"),
            "blocks": t("each cell: the largest of {rows} × {columns} weights"),
            "left_out": t("This file holds only layer {layer} exactly; other layers are seen in the small maps."),
        },
    }


def _json(data: Any) -> str:
    """JSON that can stand in a script element: no token can end it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
