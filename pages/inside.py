"""Where does the map come from? Every step of multi-head attention and of the block, with shapes, numbers and code."""

from ui.frame.captions import page_title
from ui.frame.languages import _
from ui.frame.shell import require_router
from ui.frame.tabs import open_tab
from ui.inside import attention, cell, controls, tabs

require_router()

page_title(_("Where does the map come from?"))
record = controls.record()
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
        attention.steps(record)
    elif opened == "cell":
        cell.cell(record)
    elif opened == "block":
        tabs.block(record)
    else:
        tabs.layers(record)
