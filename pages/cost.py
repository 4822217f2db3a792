"""What does a Transformer weigh, and what does it cost? Every parameter and every FLOP, by formula and by count."""

from ui.cost import controls, tabs
from ui.cost.growth import growth
from ui.cost.several import heads
from ui.frame.captions import page_title
from ui.frame.languages import _
from ui.frame.shell import require_router
from ui.frame.tabs import open_tab

require_router()

page_title(_("How many parameters, and how much computation?"))
config, pooler = controls.config()
ledger = tabs.headline(config, pooler)
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
        tabs.parameters(ledger, config)
    elif opened == "heads":
        heads(config)
    elif opened == "growth":
        growth(config)
    else:
        tabs.paper()
