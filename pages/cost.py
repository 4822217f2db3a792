"""What does a Transformer weigh, and what does it cost? Every parameter and every FLOP, by formula and by count."""

import streamlit as st

from ui import cost_controls, cost_tabs
from ui.languages import _
from ui.shell import require_router
from ui.tabs import open_tab

require_router()

st.title(_("What does it weigh, and what does it cost?"))
config, pooler = cost_controls.config()
ledger = cost_tabs.headline(config, pooler)
opened, place = open_tab(
    {
        "parameters": "Parameters",
        "heads": "One head or several",
        "growth": "Longer sentences",
        "paper": "What the paper measured",
    },
    state="cost_tab",
)
with place:
    if opened == "parameters":
        cost_tabs.parameters(ledger, config)
    elif opened == "heads":
        cost_tabs.heads(config)
    elif opened == "growth":
        cost_tabs.growth(config)
    else:
        cost_tabs.paper()
