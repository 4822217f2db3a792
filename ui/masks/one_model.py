"""One model under two masks: the controls, the maps, and the tabs below them."""

import streamlit as st

from ui.frame import controls, loading, remarks
from ui.frame.languages import _
from ui.frame.tabs import open_tab
from ui.masks import choice, future, gallery, padding, picture, steps, way

PICTURES = {"one": picture.one_head, "all": picture.all_heads, "split": picture.split}
TABS = {
    "steps": "Before the softmax",
    "future": "The future",
    "padding": "Padding",
    "flow": "Who may look at whom",
}


def show(shown: str) -> None:
    """The whole view.

    Args:
        shown: which of `picture.VIEWS`.
    """
    first = loading.trace(controls.sentence(), controls.model(), controls.mask())
    with st.container(horizontal=True, vertical_alignment="center", key="mask-choice"):
        way.switch()
        second = loading.trace(controls.sentence(), first.model_id, choice.second_mask(first))
        st.markdown(_("on the same sentence and weights"), width="content")
    with st.container(horizontal=True, vertical_alignment="bottom", key="mask-head"):
        layer, head = controls.layer_head(first.n_layers, first.n_heads)
    remarks.cut(first)
    PICTURES[shown](first, second, layer, head)
    picture.honest(first, second)
    picture.blocks(first)
    opened, place = open_tab(TABS, state="mask_tab")
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
