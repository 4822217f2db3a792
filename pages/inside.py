"""Where does the map come from? Every step of multi-head attention and of the block, with shapes, numbers and code."""

from analysis.blocks.pair import Pair
from ui.frame.captions import page_title
from ui.frame.languages import _
from ui.frame.shell import require_router
from ui.frame.tabs import open_tab
from ui.inside import architectures, attention, cell, controls, tabs

require_router()

page_title(_("Where does the map come from?"))
shown = controls.shown()
if isinstance(shown, Pair):
    opened, place = open_tab(
        {"architectures": "Three architectures", "cross": "Cross-attention, step by step"}, state="inside_pair_tab"
    )
    with place:
        (architectures.steps if opened == "cross" else architectures.side_by_side)(shown)
else:
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
        {"steps": attention.steps, "cell": cell.cell, "block": tabs.block, "layers": tabs.layers}[opened](shown)
