"""What does a mask change? Two masks on the same sentence and weights, and why they differ."""

import streamlit as st

from ui import (
    controls,
    loading,
    mask_choice,
    mask_future,
    mask_gallery,
    mask_padding,
    mask_picture,
    mask_steps,
    remarks,
)
from ui.languages import _
from ui.shell import require_router
from ui.tabs import open_tab

require_router()

with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="mask-title"):
    st.title(_("What does a mask change?"), width="content")
    with st.container(horizontal=True, width="content", vertical_alignment="center"):
        shown = mask_picture.view()
        with st.popover(_("How to read this")):
            mask_picture.how_to_read()
first = loading.trace(controls.sentence(), controls.model(), controls.mask())
with st.container(horizontal=True, vertical_alignment="center", key="mask-choice"):
    second = loading.trace(controls.sentence(), first.model_id, mask_choice.second_mask(first))
    st.markdown(_("on the same sentence and weights"), width="content")
with st.container(horizontal=True, vertical_alignment="bottom", key="mask-head"):
    layer, head = controls.layer_head(first)
remarks.cut(first)
mask_picture.honest(first, second)
{"one": mask_picture.one_head, "all": mask_picture.all_heads, "split": mask_picture.split}[shown](
    first, second, layer, head
)
mask_picture.blocks(first)

opened, place = open_tab(
    {
        "steps": "Before the softmax",
        "future": "The future",
        "padding": "Padding",
        "flow": "Who may look at whom",
    },
    state="mask_tab",
)
with place:
    if opened == "steps":
        mask_steps.steps(first if second.allowed.all() else second, layer, head)
    elif opened == "future":
        mask_future.leak_test(first, second)
        mask_future.reveal(first, layer, head)
    elif opened == "padding":
        mask_padding.padding(first, layer, head)
    else:
        mask_gallery.who_may_look(second)
