"""What does each head look at? One head's map, large, beside all heads of its layer."""

import streamlit as st

from model import AttentionTrace
from ui import controls, loading, remarks
from ui.languages import _
from ui.shell import require_router
from viz.heatmaps import head_heatmap, layer_grid

require_router()


@st.fragment
def picture(trace: AttentionTrace) -> None:
    """The controls of this page and what they change: a choice here reruns nothing else."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="layer-head"):
        layer, head = controls.layer_head(trace)
        with st.popover(_("How to read this")):
            remarks.how_to_read()
    head_place, layer_place = st.columns([6, 5], gap="medium")
    name = f"{layer + 1}-{head + 1}"
    figure = head_heatmap(
        trace.attention[layer, head], trace.allowed, trace.tokens, title=_("Head {name}").format(name=name), t=_
    )
    head_place.plotly_chart(figure, key="head_map", config=remarks.CHART)
    grid = layer_grid(trace.attention[layer], trace.allowed, trace.tokens, layer=layer, selected=head, t=_)
    layer_place.plotly_chart(grid, key="layer_grid", config=remarks.CHART)
    remarks.status(trace, name)


st.title(_("What does each head look at?"))
st.markdown(
    _("Each row is a token that asks (query), each column a token it looks at (key); a row shares out a weight of 1.")
)
trace = loading.trace(controls.sentence(), controls.model(), controls.mask())
remarks.cut(trace)
remarks.cautions(trace)
picture(trace)
