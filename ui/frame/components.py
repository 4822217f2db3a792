"""The browser components on a page: registered once, mounted with a few arrays, read back as plain values.

Each is mounted twice: a part that only keeps the maps, and the part that is seen. So what a click changes travels
without the maps. Pointing makes no message at all.
"""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

import viz
from ui.frame.languages import _
from viz.encoding import Curve
from viz.overview import Metric, overview_maps, overview_view, parse_head
from viz.theme import COLORSCALE
from viz.token_strip import DIRECTIONS, Direction, strip_maps, strip_view

FILES = Path(viz.__file__).parent / "components"
MOST_KEPT = 64  # messages with maps, at most 0.5 MB each

Source = Hashable  # what names the maps: (model id, text, mask, …). None = build them each time


def _register(name: str, scripts: Sequence[str]) -> Callable[..., Any]:
    def read(files: Sequence[str]) -> str:
        return "\n".join((FILES / file).read_text(encoding="utf-8") for file in files)

    return st.components.v2.component(
        f"headwork.{name}", html=read([f"{name}.html"]), css=read(["base.css", f"{name}.css"]), js=read(scripts)
    )


_strip = _register(
    "token_strip", ["wire.js", "layer_maps.js", "sentences.js", "pointing.js", "arcs.js", "tiles.js", "token_strip.js"]
)
_overview = _register("overview", ["wire.js", "overview.js"])


def token_strip(
    attention: npt.NDArray[np.floating],
    allowed: npt.NDArray[np.bool_],
    labels: Sequence[str],
    *,
    layer: int,
    heads: Sequence[int],
    key: str,
    source: Source = None,
    is_special: Sequence[bool] = (),
    is_padding: Sequence[bool] = (),
    pinned: int | None = None,
    beside: Sequence[int] = (),
    direction: Direction = "looks_at",
    scale: Curve = "linear",
    maximum: float = 1.0,
    tile: int = 64,
    height: int = 300,
    sentence: bool = True,
    text_scale: float = 1.0,
    on_pinned: Callable[[int | None], None] | None = None,
    on_heads: Callable[[tuple[int, ...]], None] | None = None,
    on_direction: Callable[[Direction], None] | None = None,
) -> None:
    """The sentence as the instrument, with the layer's heads as small maps below it.

    `pinned`, `heads` and `direction` are what the page (a link, a selector) wants; a later choice in the strip counts
    until the page wants something else. The callbacks run before the page's script, as those of widgets do: let them
    keep the choice where the next run reads what it wants.

    Args:
        attention: (h, N, N), the maps of the layer, of pieces or of words.
        allowed: (N, N).
        labels: the N tokens or words as text.
        layer: the layer's index from 0.
        heads: indices from 0; empty = the layer's mean.
        key: of the component, unique on the page.
        source: names the maps for the cache of what is sent: model id, text, mask, reading. The layer is added here.
        is_special: (N,) drawn as special.
        is_padding: (N,) drawn greyed.
        pinned: the token that is shown while none is pointed at.
        beside: tokens whose heaviest arcs are shown together with those of `pinned`.
        direction: what the pointed token looks at, or what looks at it.
        scale: how colours grow with weights.
        maximum: what the last colour stands for.
        tile: least width in pixels of a head's small map; 0 = numbers only.
        height: largest height in pixels of the tokens; more lines scroll.
        sentence: False = the layer's maps alone. They follow what is pointed at in the page's strip of the same maps,
            take the maps from it, and mark in its sentence what is pointed at in them.
        text_scale: 1 = normal text, 1.4 = for the back row.
        on_pinned: hears the index of the token pinned, or None when it is freed.
        on_heads: hears the heads chosen; empty = the layer's mean.
        on_direction: hears the direction chosen.
    """
    maps = _kept(
        ("strip", source, layer, maximum, attention.shape), lambda: strip_maps(attention, allowed, maximum=maximum)
    )
    view = strip_view(
        labels,
        maps=maps["id"],
        layer=layer,
        heads=heads,
        is_special=is_special,
        is_padding=is_padding,
        pinned=pinned,
        beside=beside,
        direction=direction,
        scale=scale,
        tile=tile,
        height=height,
        sentence=sentence,
        text_scale=text_scale,
        t=_,
    )
    n_heads, n_tokens = attention.shape[0], len(labels)

    def pin() -> None:
        index = _said(key, "pinned", of=view["tokens"]["id"])
        if on_pinned and (index is None or (isinstance(index, int) and 0 <= index < n_tokens)):
            on_pinned(index)

    def show() -> None:
        shown = _said(key, "heads", of=layer)
        if on_heads and isinstance(shown, list) and all(head in range(n_heads) for head in shown):
            on_heads(tuple(shown))

    def turn() -> None:
        way = _said(key, "direction")
        if on_direction and way in DIRECTIONS:
            on_direction(way)

    with st.container(gap=None, key=f"{key}-strip"):
        if sentence:
            _strip(key=f"{key}-maps", data=maps)
        _strip(key=key, data=view, on_pinned_change=pin, on_heads_change=show, on_direction_change=turn)


def overview(
    attention: npt.NDArray[np.floating],
    allowed: npt.NDArray[np.bool_],
    *,
    selected: tuple[int, int] | None,
    key: str,
    source: Source = None,
    metric: Metric | None = None,
    scale: Curve = "linear",
    colorscale: str = COLORSCALE,
    maximum: float = 1.0,
    text_scale: float = 1.0,
    on_pick: Callable[[int, int], None] | None = None,
) -> int:
    """All layers × all heads; a click picks a head.

    Args:
        attention: (L, h, N, N).
        allowed: (N, N).
        selected: layer and head to outline, from 0.
        key: of the component, unique on the page.
        source: names the maps for the cache of what is sent: model id, text, mask, reading.
        metric: colours each head by a number in place of its map.
        scale: how colours grow with weights.
        colorscale: a Plotly scale, for maps.
        maximum: what the last colour stands for.
        text_scale: 1 = normal text, 1.4 = for the back row.
        on_pick: hears the layer and head picked, from 0, before the page's script runs.

    Returns:
        How many tokens a side a cell of a thumbnail stands for; above 1 it is the largest weight of its block.
    """
    n_layers, n_heads = attention.shape[:2]
    maps = _kept(
        ("overview", source, maximum, attention.shape), lambda: overview_maps(attention, allowed, maximum=maximum)
    )
    view = overview_view(
        maps=maps["id"],
        step=maps["step"],
        n_layers=n_layers,
        n_heads=n_heads,
        selected=selected,
        metric=metric,
        scale=scale,
        colorscale=colorscale,
        text_scale=text_scale,
        t=_,
    )

    def picked() -> None:
        head = parse_head(_said(key, "head"), n_layers, n_heads)
        if head is not None and on_pick is not None:
            on_pick(*head)

    with st.container(gap=None, key=f"{key}-overview"):
        _overview(key=f"{key}-maps", data=maps)
        _overview(key=key, data=view, on_head_change=picked)
    return int(maps["step"])


_NOTHING = object()  # None is a thing to say: nothing is pinned


def _said(key: str, name: str, *, of: Any = None) -> Any:
    """A choice that came from the browser, if it is about what is shown now (`of`): its sentence, its layer."""
    entry = (st.session_state.get(key) or {}).get(name)
    if not isinstance(entry, dict) or "value" not in entry or (of is not None and entry.get("of") != of):
        return _NOTHING
    return entry["value"]


def _kept(name: tuple[Any, ...], build: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return build() if name[1] is None else _cached(name, build)


@st.cache_resource(max_entries=MOST_KEPT, show_spinner=False)
def _cached(name: tuple[Any, ...], _build: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return _build()
