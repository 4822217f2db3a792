"""Where does the map come from? Every step of multi-head attention and of the block, with shapes, numbers and code."""

import streamlit as st

from ui import inside_attention, inside_controls, inside_tabs
from ui.languages import _
from ui.shell import require_router
from ui.tabs import open_tab

require_router()

st.title(_("Where does the map come from?"))
record = inside_controls.record()
opened, place = open_tab(
    {
        "steps": "Attention, step by step",
        "cell": "One cell",
        "block": "The block",
        "layers": "Heads and layers",
    },
    state="inside_tab",
)
with place:
    if opened == "steps":
        inside_attention.steps(record)
    elif opened == "cell":
        inside_attention.cell(record)
    elif opened == "block":
        inside_tabs.block(record)
    else:
        inside_tabs.layers(record)
