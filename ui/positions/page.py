"""The page Positions put together: its question, and a tab for each answer."""

import streamlit as st

from ui.frame import controls
from ui.frame.captions import page_title
from ui.frame.faults import told
from ui.frame.languages import _
from ui.frame.tabs import open_tab
from ui.positions import heads, longer, order, ways
from ui.positions.words import HOW_TO_READ

TABS = {
    "order": "Order lost and kept",
    "ways": "Five ways",
    "longer": "Longer than trained",
    "heads": "What heads do with it",
}
SHARED = {"order": ("sentence", "model", "mask"), "ways": ("model",), "heads": ("sentence", "model", "mask")}


def show() -> None:
    """The whole page."""
    title = page_title(_("How does attention know where a token stands?"))
    with title.popover(_("How to read this"), icon=":material/help:"):
        st.markdown(_(HOW_TO_READ))
    opened, place = open_tab(TABS, state="positions_tab")
    controls.show(*SHARED.get(opened, ()))
    with place, told():
        {"order": order.show, "ways": ways.show, "longer": longer.show, "heads": heads.show}[opened]()
