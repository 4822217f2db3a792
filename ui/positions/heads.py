"""What heads do with positions: mean weight by offset, beside what positions alone would give."""

import streamlit as st

from analysis.positions.offsets import Offsets, offsets
from model import Mask
from model.head_id import HeadId
from ui.frame import components, controls
from ui.frame.captions import chart, small, titled
from ui.frame.languages import _, plain
from ui.frame.loading import load_model, named, trace
from viz.overview import Metric
from viz.positions import layer_offsets_figure, offsets_figure
from viz.theme import percent

CLEAR = 0.3  # of the weight by offset: below, words change little


def show() -> None:
    """One head large, its layer small, and all heads as a map to choose from."""
    model_id, mask = controls.model(), controls.mask()
    loaded = load_model(model_id)
    found = _offsets(named(model_id), model_id, controls.sentence(), str(mask))
    with st.container(horizontal=True, gap="small"):
        layer, head = controls.layer_head(loaded.n_layers, loaded.n_heads, menus=True)
    left, right = st.columns([7, 5], gap="medium")
    with left:
        name = str(HeadId(layer, head))
        names = (_("with these words"), _("with {token} in every place").format(token=found.repeated))
        figure = offsets_figure(found.offsets, found.words[layer, head], found.places[layer, head], names=names, t=_)
        titled(_("Head {head}").format(head=name), figure, "positions_head")
        apart = float(found.apart()[layer, head])
        said = _("Head {head}: {share} of its weight by offset differs from what places alone give.")
        said = said.format(share=percent(apart), head=name)
        said += " " + (_("Here it follows places.") if apart < CLEAR else _("Here places alone don't explain it."))
        st.markdown(plain(said))
        heads = [str(HeadId(layer, h)) for h in range(loaded.n_heads)]
        figure = layer_offsets_figure(
            found.offsets, found.words[layer], found.places[layer], names=heads, selected=head
        )
        chart(figure, "positions_layer")
    with right:
        _overview(found, layer, head)
        small(_("One sentence: a habit in it, not a head's role. Special tokens are left out of these means."))


def _overview(found: Offsets, layer: int, head: int) -> None:
    def pick(layer: int, head: int) -> None:
        st.session_state["wanted"] = {"layer": layer + 1, "head": head + 1}

    shown = trace(controls.sentence(), controls.model(), controls.mask())
    metric = Metric(_("differs from places alone"), found.apart(), 0.0, 1.0)
    components.overview(
        shown.attention,
        shown.allowed,
        selected=(layer, head),
        key="positions_overview",
        source=(shown.model_id, shown.text, str(shown.mask)),
        metric=metric,
        on_pick=pick,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def _offsets(name: str, model_id: str, text: str, mask: str) -> Offsets:
    del name  # only tells versions of a model apart
    loaded, chosen = load_model(model_id), Mask.of(mask)
    return offsets(loaded, loaded.tokens(text, chosen), chosen)
