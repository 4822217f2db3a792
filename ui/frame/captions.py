"""The lines around a picture: the page's title, a caution, a small note; and how pictures behave under the pointer."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.frame.languages import plain
from viz.larger import larger

CHART: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False}
LARGE_TEXT = 1.4


def text_scale() -> float:
    """1 = normal text, more for the back row."""
    return LARGE_TEXT if st.session_state.get("large") else 1.0


def chart(
    figure: go.Figure, key: str, place: DeltaGenerator | None = None, *, grown: bool = False, **more: Any
) -> None:
    """Places a figure, in large text where that is asked for. Every figure of the app passes here.

    Args:
        figure: as a builder made it.
        key: unique on the page.
        place: where; None = here.
        grown: the builder was given `text_scale()` already.
        more: for `st.plotly_chart`.
    """
    shown = figure if grown else larger(figure, text_scale())
    (place or st).plotly_chart(shown, key=key, config=CHART, **more)


def page_title(question: str) -> DeltaGenerator:
    """The place beside the page's question, which stands at one place on all pages."""
    row = st.container(horizontal=True, vertical_alignment="center", key="page-title")
    row.title(question, anchor=False)
    return row


def caution(sentence: str) -> None:
    """A line about what to beware of."""
    st.markdown(f":primary[**▲**] {plain(sentence)}", width="content")


def titled(title: str, figure: go.Figure, key: str) -> None:
    """A figure with a legend under its title: inside the figure the two would meet where it is narrow."""
    st.markdown(f"**{plain(title)}**")
    chart(figure, key)


def small(text: str) -> None:
    """A note in small letters, as dark as all text."""
    st.markdown(f":small[{plain(text)}]")
