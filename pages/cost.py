"""What does a Transformer weigh, and what does it cost? Every parameter and every FLOP, by formula and by count."""

import streamlit as st

from ui import cost_controls, cost_tabs
from ui.languages import _
from ui.shell import require_router

require_router()

st.title(_("What does it weigh, and what does it cost?"))
config, pooler = cost_controls.config()
ledger = cost_tabs.headline(config, pooler)
names = [_("Parameters"), _("One head or several"), _("Longer sentences"), _("What the paper measured")]
parameters, heads, growth, paper = st.tabs(names, key="cost_tab", on_change="rerun")
if parameters.open:
    with parameters:
        cost_tabs.parameters(ledger, config)
if heads.open:
    with heads:
        cost_tabs.heads(config)
if growth.open:
    with growth:
        cost_tabs.growth(config)
if paper.open:
    with paper:
        cost_tabs.paper()
