"""One HTML file with the sentence, the maps of all heads and the scripts to look at them: opens without internet.

It holds the app's own components (token strip and overview) with the data they get in the app, and a large map of the
chosen head. Tokens are data in a JSON block and are set as text.
"""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis import UnitTrace
from viz.overview import overview_maps, overview_view
from viz.style import PLAIN, Style
from viz.theme import Translate, untranslated
from viz.token_strip import strip_maps, strip_view

FILES = Path(__file__).parents[1] / "components"
STRIP = ("wire.js", "layer_maps.js", "sentences.js", "pointing.js", "arcs.js", "tiles.js", "token_strip.js")
OVERVIEW = ("wire.js", "overview.js")
MOST_BYTES = 6_000_000  # of the layers' maps as text; above, only the chosen layer is exact and the page says so


def page_html(
    trace: UnitTrace,
    source: Mapping[str, str],
    *,
    layer: int,
    head: int,
    style: Style = PLAIN,
    t: Translate = untranslated,
) -> str:
    """The page.

    Args:
        trace: every head's map, in the reading that is shown.
        source: `analysis.provenance`; shown below the maps and held in the page as JSON.
        layer: shown first, from 0.
        head: shown first, from 0.
        style: colours and what the last one stands for.
        t: translates the page's words.
    """
    data = _data(trace, layer, head, style, t)
    title = t("Head {name}").format(name=f"{layer + 1}-{head + 1}") + " · Headwork"
    strip = _read("token_strip.html"), _module(STRIP, "strip")
    overview = _read("overview.html"), _module(OVERVIEW, "overview")
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
{_read("base.css")}
{_read("token_strip.css")}
{_read("overview.css")}
{_read("export_page.css")}
</style>
</head>
<body>
<h1>{html.escape(t("What does each head look at?"))}</h1>
<div id="strip">{strip[0]}</div>
<main><figure id="large"><figcaption></figcaption><div class="map"></div><p class="cell"></p></figure>
<div id="overview">{overview[0]}</div></main>
<dl>{rows}</dl>
<script type="application/json" id="data">{_json(data)}</script>
<script type="application/json" id="provenance">{_json(dict(source))}</script>
<script type="module">{strip[1]}</script>
<script type="module">{overview[1]}</script>
<script type="module">
{_read("export_page.js")}
</script>
</body>
</html>
"""


def _data(trace: UnitTrace, layer: int, head: int, style: Style, t: Translate) -> dict[str, Any]:
    small = overview_maps(trace.attention, trace.allowed, maximum=style.maximum)
    wanted = [strip_maps(trace.attention[layer], trace.allowed, maximum=style.maximum)]
    if len(wanted[0]["bytes"]) * trace.n_layers <= MOST_BYTES:
        layers = [strip_maps(maps, trace.allowed, maximum=style.maximum) for maps in trace.attention]
    else:
        layers = [wanted[0] if i == layer else {} for i in range(trace.n_layers)]
    return {
        "layer": layer,
        "head": head,
        "layers": layers,
        "overview": small,
        "strip_view": strip_view(
            trace.labels,
            maps="",
            layer=layer,
            heads=[head],
            is_special=list(trace.is_special),
            is_padding=list(trace.units.of_kind("padding")),
            scale=style.curve,
            tile=0,
            height=260,
            t=t,
        ),
        "overview_view": overview_view(
            maps=small["id"],
            step=small["step"],
            n_layers=trace.n_layers,
            n_heads=trace.n_heads,
            selected=(layer, head),
            scale=style.curve,
            colorscale=style.colorscale,
            t=t,
        ),
        "quantity": style.quantity or t("attention weight"),
        "text": {
            "head": t("Head {name}"),
            "axes": t("query (row) looks at key (column)"),
            "cell": t("query '{query}' → key '{key}': {weight}"),
            "masked": t("query '{query}' → key '{key}': masked: may not attend"),
            "left_out": t("This file holds only layer {layer} exactly; other layers are seen in the small maps."),
        },
    }


def _module(files: tuple[str, ...], name: str) -> str:
    """A component's scripts as one module that leaves its entry under `window.headwork`."""
    script = "\n".join(_read(file) for file in files)
    entry = "export default function"
    if script.count(entry) != 1:
        raise ValueError(f"The scripts of {name} need exactly one default export.")
    body = script.replace(entry, "const entry = function")
    return f"(window.headwork ??= {{}}).{name} = (() => {{\n{body}\nreturn entry;\n}})();"


def _read(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def _json(data: Any) -> str:
    """JSON that can stand in a script element: no token can end it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
