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

names = [_("Before the softmax"), _("The future"), _("Padding"), _("Who may look at whom")]
steps, future, padding, flow = st.tabs(names, key="mask_tab", on_change="rerun")
if steps.open:
    with steps:
        mask_steps.steps(first if second.allowed.all() else second, layer, head)
if future.open:
    with future:
        mask_future.leak_test(first, second)
        mask_future.reveal(first, layer, head)
if padding.open:
    with padding:
        mask_padding.padding(first, layer, head)
if flow.open:
    with flow:
        mask_gallery.who_may_look(second)
