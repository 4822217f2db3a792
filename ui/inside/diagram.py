"""The diagram of a block: a browser component whose boxes open their tensors, and which box is open."""

import streamlit as st

from analysis.blocks.block_steps import Box, BoxKey, arrows, boxes, branches, skips
from analysis.blocks.record import Record
from ui.frame import components, links
from ui.frame.languages import _

OPEN = "inside_box"  # session state: the box that is open
FIRST: BoxKey = "attention"
_diagram = components.register("block_diagram")


def block_diagram(record: Record, *, key: str) -> Box:
    """Draws the block and returns the box that is open."""
    found = boxes(record)
    keys = [box.key for box in found]
    if OPEN not in st.session_state:
        st.session_state[OPEN] = links.read("box", str, str(FIRST), key=OPEN)
    if st.session_state[OPEN] not in keys:
        st.session_state[OPEN] = FIRST
    chosen = st.session_state[OPEN]

    def opened() -> None:
        said = (st.session_state.get(key) or {}).get("box")
        if said in keys:
            st.session_state[OPEN] = said

    n_tokens, d_model = found[0].after.shape
    _diagram(
        key=key,
        data={
            "title": _("A block: choose a box to open it"),
            "residual": _("residual"),
            "selected": chosen,
            "arrows": arrows(record),
            "skips": skips(record),
            "branches": branches(record),
            "boxes": [
                {
                    "key": name,
                    "name": box_name(name, record),
                    "shape": f"(1, {n_tokens}, {d_model})",
                    "is_sum": name.endswith("_sum"),
                }
                for name in keys
            ],
        },
        on_box_change=opened,
    )
    links.write("box", chosen, FIRST)
    return next(box for box in found if box.key == chosen)


RMS_NAMES: dict[BoxKey, str] = {"attention_norm": "RMSNorm 1", "ffn_norm": "RMSNorm 2"}
NAMES: dict[BoxKey, str] = {
    "input": "x",
    "attention_norm": "LayerNorm 1",
    "attention": "Multi-head attention",
    "attention_sum": "Sum after attention",
    "ffn_norm": "LayerNorm 2",
    "ffn": "FFN",
    "ffn_sum": "Sum after the FFN",
}


def box_name(key: BoxKey, record: Record) -> str:
    """What a box is called in this model."""
    if key == "ffn_sum" and branches(record):
        return _("Sum of x, attention and FFN")
    is_rms = key in ("attention_norm", "ffn_norm") and record.steps.attention_norm.mean is None
    return _(RMS_NAMES[key]) if is_rms else _(NAMES[key])
