"""Where does the map come from? Every step of multi-head attention and of the block, with shapes, numbers and code."""

import streamlit as st

from ui import inside_attention, inside_controls, inside_tabs
from ui.languages import _
from ui.shell import require_router

require_router()

st.title(_("Where does the map come from?"))
record = inside_controls.record()
names = [_("Attention, step by step"), _("One cell"), _("The block"), _("Heads and layers")]
attention, cell, block, layers = st.tabs(names, key="inside_tab", on_change="rerun")
if attention.open:
    with attention:
        inside_attention.steps(record)
if cell.open:
    with cell:
        inside_attention.cell(record)
if block.open:
    with block:
        inside_tabs.block(record)
if layers.open:
    with layers:
        inside_tabs.layers(record)
