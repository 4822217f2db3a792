"""Pictures to be compared: side by side, and on a phone one of them under a switch."""

import math
from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.frame.captions import text_scale
from ui.frame.languages import _, plain
from viz.masks import MAP_HEIGHT, Panel

NARROW = 640  # pixels of the window: below, Streamlit puts columns under each other


def panel(title: str, query: int | None = None, height: int = 0) -> Panel:
    """One of the maps, in large text where that is asked for. `height`: of those in too narrow a place to grow."""
    scale = text_scale()
    return Panel(title, query, height or round(MAP_HEIGHT * math.sqrt(scale)), scale)


def beside(names: Sequence[str], *, key: str, widths: Sequence[float] = ()) -> list[DeltaGenerator]:
    """A place for each of the pictures.

    Args:
        names: what the switch calls them; as text.
        key: of the switch, unique on the page.
        widths: of the columns in proportion; nothing = all alike.
    """
    numbers = list(range(len(names)))
    if st.session_state.get(key) not in numbers:
        st.session_state[key] = 0
    with st.container(key=f"{key}-beside", gap="small"):
        shown = st.segmented_control(
            _("Show"),
            numbers,
            format_func=lambda number: plain(names[number]) if number in numbers else str(number),
            required=True,
            key=key,
            label_visibility="collapsed",
            wrap=True,
            persist_state="session",
        )
        others = f".st-key-{key}-beside .stColumn:not(:nth-child({(shown or 0) + 1}))"
        st.html(
            f"<style>@media (min-width: {NARROW + 1}px) {{ .st-key-{key} {{ display: none; }} }} "
            f"@media (max-width: {NARROW}px) {{ .st-key-{key}-beside {{ position: relative; }} "
            f"{others} {{ position: absolute; top: 0; visibility: hidden; }} }}</style>"  # drawn, at its full width
        )
        return list(st.columns(list(widths) or len(names), gap="small"))
