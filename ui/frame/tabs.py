"""Tabs of which only the open one is computed; which one it is stands in the link, whatever the language."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.frame import links
from ui.frame.languages import _


def open_tab(titles: dict[str, str], *, state: str, link: str = "tab") -> tuple[str, DeltaGenerator]:
    """Draws the tabs and says which one is open.

    Args:
        titles: name in the link → title, in English; the first is open at first.
        state: where the session keeps the name of the open one.
        link: its parameter in the link.

    Returns:
        The name of the open tab, and where its content goes.
    """
    names, key = list(titles), tabs_key(state)
    labels = {name: _(title) for name, title in titles.items()}
    if st.session_state.get(state) not in names:
        st.session_state[state] = links.read(link, links.one_of(names), names[0], key=state)
        if links.went_back():
            st.session_state[key] = labels[st.session_state[state]]
    # Another default would make it another widget, which forgets the click: it stays what it was at first.
    first = st.session_state.setdefault(f"first_{key}", st.session_state[state])
    places = st.tabs(list(labels.values()), default=labels[first], key=key, on_change="rerun")
    opened, place = next(
        ((name, place) for name, place in zip(names, places, strict=True) if place.open), (names[0], places[0])
    )
    st.session_state[state] = opened
    links.write(link, opened, names[0])
    return opened, place


def tabs_key(state: str) -> str:
    """The widget's key: Streamlit remembers a tab by its label, so each language has a widget of its own."""
    return f"{state}_tabs_{st.session_state.get('lang', 'en')}"
