"""What does a mask change? Two masks on the same sentence and weights, and why they differ."""

import streamlit as st

from ui.frame import controls, loading, remarks
from ui.frame.captions import page_title
from ui.frame.languages import _
from ui.frame.shell import require_router
from ui.frame.tabs import open_tab
from ui.masks import choice, future, gallery, padding, picture, steps

require_router()

with page_title(_("What does a mask change?")):
    shown = picture.view()
    with st.popover(_("How to read this"), icon=":material/help:"):
        picture.how_to_read()
controls.show("sentence", "model", "mask")
first = loading.trace(controls.sentence(), controls.model(), controls.mask())
with st.container(horizontal=True, vertical_alignment="center", key="mask-choice"):
    second = loading.trace(controls.sentence(), first.model_id, choice.second_mask(first))
    st.markdown(_("on the same sentence and weights"), width="content")
with st.container(horizontal=True, vertical_alignment="bottom", key="mask-head"):
    layer, head = controls.layer_head(first.n_layers, first.n_heads)
remarks.cut(first)
{"one": picture.one_head, "all": picture.all_heads, "split": picture.split}[shown](first, second, layer, head)
picture.honest(first, second)
picture.blocks(first)

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
        steps.steps(first if second.allowed.all() else second, layer, head)
    elif opened == "future":
        future.leak_test(first, second)
        future.reveal(first, layer, head)
    elif opened == "padding":
        padding.padding(first, layer, head)
    else:
        gallery.who_may_look(second)
