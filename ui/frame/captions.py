"""The lines around a picture: the page's title, a caution, a small note; and how pictures behave under the pointer."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.frame.languages import plain

CHART: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False}


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
    st.plotly_chart(figure, key=key, config=CHART)


def small(text: str) -> None:
    """A note in small letters, as dark as all text."""
    st.markdown(f":small[{plain(text)}]")
