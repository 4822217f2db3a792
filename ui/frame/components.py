"""The browser components on a page: registered once, mounted with a few arrays, read back as plain values.

Each is mounted twice: a part that only keeps the maps, and the part that is seen. So what a click changes travels
without the maps. Pointing makes no message at all.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from ui.frame.languages import translator
from viz import browser
from viz.overview import Metric, overview_maps, overview_view, parse_head
from viz.style import PLAIN, Style
from viz.theme import Translate
from viz.token_strip import DIRECTIONS, Direction, LayerMaps, StripChoice, StripLook, strip_maps, strip_view

MOST_CACHED = 64  # messages with maps, at most 0.5 MB each

Source = Hashable  # what names the maps: (model id, text, mask, …). None = build them each time


def register(name: str) -> Callable[..., Any]:
    """The browser component of this name in viz/components. It is drawn as soon as the page has its `library`."""
    return st.components.v2.component(f"headwork.{name}", js=browser.loader(name))


_library = st.components.v2.component("headwork.library", js=browser.library())
_strip, _overview = register("token_strip"), register("overview")


def library() -> None:
    """The scripts of all components, on every page and outside its fragments: so they are sent once a session.

    Streamlit sends a component's own script with each of its messages; this message stays as it is, and is kept.
    """
    _library(key="library", data={"part": "library"})


def token_strip(
    shown: LayerMaps,
    chosen: StripChoice,
    look: StripLook,
    *,
    key: str,
    source: Source = None,
    t: Translate | None = None,
    on_pinned: Callable[[int | None], None] | None = None,
    on_pair: Callable[[int, int], None] | None = None,
    on_heads: Callable[[tuple[int, ...]], None] | None = None,
    on_direction: Callable[[Direction], None] | None = None,
) -> None:
    """The sentence as the instrument, with the layer's heads as small maps below it.

    The callbacks run before the page's script, as those of widgets do: let them keep the choice where the next run
    reads what it wants.

    Args:
        shown: the maps of a layer and their tokens.
        chosen: what the page wants (a link, a selector); a later choice in the strip counts until that changes.
        look: colours and sizes.
        key: of the component, unique on the page.
        source: names the maps for the cache of messages: model id, text, mask, reading. The layer is added here.
        t: translates the strip's words; None = as the session does.
        on_pinned: called with the index of the token pinned (`StripChoice.pinned`), or None when it is freed.
        on_pair: called with query and key, where the strip asks for a pair.
        on_heads: called with the heads chosen; empty = the layer's mean.
        on_direction: called with the direction chosen.
    """
    maximum, layer = look.style.maximum, shown.layer
    n_heads, n_tokens = len(shown.attention), shown.n_tokens  # the session keeps what callbacks hold: no maps
    n_queries, n_keys = shown.allowed.shape
    name = ("strip", source, layer, maximum, n_heads, n_queries, n_keys)
    maps = _message(name, lambda: strip_maps(shown, maximum=maximum))
    view = strip_view(shown, chosen, look, maps=maps["id"], t=t or translator())

    def pin() -> None:
        index = _browser_choice(key, "pinned", of=view["id"])
        if on_pinned and (index is None or (isinstance(index, int) and 0 <= index < n_tokens)):
            on_pinned(index)

    def pair() -> None:
        tokens = _browser_choice(key, "pair", of=view["id"])
        is_pair = _are_indices(tokens, n_tokens) and len(tokens) == 2
        if on_pair and is_pair and tokens[0] < n_queries and tokens[1] < n_keys:
            on_pair(*tokens)

    def show() -> None:
        heads = _browser_choice(key, "heads", of=layer)
        if on_heads and _are_indices(heads, n_heads):
            on_heads(tuple(heads))

    def turn() -> None:
        way = _browser_choice(key, "direction")
        if on_direction and way in DIRECTIONS:
            on_direction(way)

    with st.container(gap=None, key=f"{key}-strip"):
        if look.sentence:
            _strip(key=f"{key}-maps", data=maps)
        calls = {"on_pinned_change": pin, "on_pair_change": pair, "on_heads_change": show, "on_direction_change": turn}
        _strip(key=key, data=view, **calls)


def _are_indices(sent: Any, n: int) -> bool:
    """Whether the browser sent a list of places below n."""
    return isinstance(sent, list) and all(isinstance(place, int) and 0 <= place < n for place in sent)


def overview(
    attention: npt.NDArray[np.floating],
    allowed: npt.NDArray[np.bool_],
    *,
    selected: tuple[int, int] | None,
    key: str,
    source: Source = None,
    metric: Metric | None = None,
    style: Style = PLAIN,
    has_scale: bool = True,
    n_key_heads: int = 0,
    t: Translate | None = None,
    on_pick: Callable[[int, int], None] | None = None,
) -> None:
    """All layers × all heads; a click picks a head.

    Args:
        attention: (L, h, N_q, N_k).
        allowed: (N_q, N_k), or (L, N_q, N_k) where layers have masks of their own.
        selected: layer and head to outline, from 0.
        key: of the component, unique on the page.
        source: names the maps for the cache of messages: model id, text, mask, reading.
        metric: colours each head by a number in place of its map.
        style: colours of maps, what the last one stands for, and the size of text.
        has_scale: False where the same scale of weights stands beside another map of the page.
        n_key_heads: of a layer in grouped-query attention; 0 = each query head has keys of its own.
        t: translates the overview's words; None = as the session does.
        on_pick: called with the layer and head picked, from 0, before the page's script runs.

    """
    n_layers, n_heads = attention.shape[:2]
    maps = _message(
        ("overview", source, style.maximum, attention.shape),
        lambda: overview_maps(attention, allowed, maximum=style.maximum),
    )
    view = overview_view(
        maps,
        selected=selected,
        metric=metric,
        style=style,
        has_scale=has_scale,
        n_key_heads=n_key_heads,
        t=t or translator(),
    )

    def picked() -> None:
        head = parse_head(_browser_choice(key, "head"), n_layers, n_heads)
        if head is not None and on_pick is not None:
            on_pick(*head)

    with st.container(gap=None, key=f"{key}-overview"):
        _overview(key=f"{key}-maps", data=maps)
        _overview(key=key, data=view, on_head_change=picked)


_NONE_MADE = object()  # None is a choice: nothing is pinned


def _browser_choice(key: str, name: str, *, of: Any = None) -> Any:
    """A choice made in the browser, if it is about what is shown now (`of`): its sentence, its layer."""
    entry = (st.session_state.get(key) or {}).get(name)
    if not isinstance(entry, dict) or "value" not in entry or (of is not None and entry.get("of") != of):
        return _NONE_MADE
    return entry["value"]


def _message(name: tuple[Any, ...], build: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The message with the maps of this name: encoded once for all sessions, or each time where no source is named."""
    return build() if name[1] is None else _encoded(name, build)


@st.cache_resource(max_entries=MOST_CACHED, show_spinner=False)
def _encoded(name: tuple[Any, ...], _build: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    return _build()
