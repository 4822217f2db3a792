"""Order lost and kept: the sentence and a shuffled copy through the same weights, positions off or on."""

import numpy as np
import streamlit as st

from analysis.maps.masking import largest
from analysis.positions.order import Broken, Shuffled, broken, compare, shuffled_order
from model import AttentionModel, Mask
from model.head_id import HeadId
from ui.frame import controls, links
from ui.frame.beside import beside, panel
from ui.frame.captions import caution, chart, titled
from ui.frame.choose import choose, translated
from ui.frame.languages import _, plain
from ui.frame.loading import load_model, named
from ui.frame.remarks import scientific
from viz.block import bars
from viz.maps import Maps
from viz.masks import difference_map, weight_map
from viz.theme import percent

SEED = "positions_shuffle"  # session state
MOST_SEED = 9999


def show() -> None:
    """The picture, and the sentence that follows from its numbers."""
    loaded = load_model(controls.model())
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        seed = _seed()
        placed = choose(
            _("Positions"), "positions", translated({"off": "off", "on": "on"}), "off", key="positions_on", wide=True
        )
        layer, head = controls.layer_head(loaded.n_layers, loaded.n_heads, menus=True)
    found = _compare(
        named(loaded.id), controls.model(), controls.sentence(), str(controls.mask()), seed, layer, placed == "on"
    )
    _maps(found, layer, head)
    _says(found, placed == "on", controls.mask())
    if not found.is_order_lost:
        title = _("How far each output is from the same token's output in the sentence")
        titled(title, bars(found.apart, found.copy_labels), "positions_apart")
    if placed == "off":
        _what_breaks(loaded)


def _seed() -> int:
    if SEED not in st.session_state:
        st.session_state[SEED] = links.read("shuffle", _number, 1, key=SEED)

    def again() -> None:
        st.session_state[SEED] = st.session_state[SEED] % MOST_SEED + 1

    st.button(_("Shuffle"), icon=":material/shuffle:", on_click=again, key="positions_again")
    seed = int(st.session_state[SEED])
    links.write("shuffle", str(seed), "1")
    return seed


def _number(text: str) -> int:
    return int(links.one_of([str(n) for n in range(1, MOST_SEED + 1)])(text))


@st.cache_data(max_entries=64, show_spinner=False)
def _compare(name: str, model_id: str, text: str, mask: str, seed: int, layer: int, placed: bool) -> Shuffled:
    """Kept under the model's name and version."""
    del name  # only tells versions of a model apart
    loaded, chosen = load_model(model_id), Mask.of(mask)
    tokens = loaded.tokens(text, chosen)
    return compare(loaded, tokens, shuffled_order(tokens, seed), chosen, layer=layer, placed=placed)


def _maps(found: Shuffled, layer: int, head: int) -> None:
    """The text's map, the copy's, and what is left between them once the copy is put back into the text's order."""
    text, copy = found.maps[head], found.copy_maps[head]
    back = np.argsort(found.order)
    difference = copy[back[:, None], back[None, :]] - text
    names = [_("the sentence"), _("the shuffled copy"), _("copy put back, minus sentence")]
    left, middle, right = beside(names, key="positions_map")
    everything = np.ones(text.shape, dtype=bool)
    chart(weight_map(Maps(text, found.allowed, found.labels), panel(names[0]), t=_), "order_text", left, grown=True)
    shown = Maps(copy, found.allowed, found.copy_labels)
    chart(weight_map(shown, panel(names[1]), t=_), "order_copy", middle, grown=True)
    limit = max(largest(difference), 0.005)  # rounding stays without colour
    shown = Maps(difference, everything, found.labels)
    chart(difference_map(shown, panel(names[2]), limit=limit, t=_), "order_rest", right, grown=True)
    moved = np.abs(difference).sum(axis=-1).mean() / 2
    said = _("Head {head}: put back into the sentence's order, {share} of a row's weight lies on other tokens.")
    st.markdown(plain(said.format(head=str(HeadId(layer, head)), share=percent(float(moved)))))


def _what_breaks(loaded: AttentionModel) -> None:
    found = _broken(named(loaded.id), loaded.id, controls.sentence(), str(controls.mask()))
    most = np.unravel_index(found.moved.argmax(), found.moved.shape)
    said = _("Without positions {share} of all weight of this model lies elsewhere, of head {head} {most}.")
    numbers = {
        "share": percent(float(found.moved.mean())),
        "head": str(HeadId(int(most[0]), int(most[1]))),
        "most": percent(float(found.moved.max())),
    }
    parts = [said.format(**numbers)]
    if found.expected is not None:
        (on, p_on), (off, p_off) = found.expected
        said = _("It expects “{on}” next ({p_on}) with positions, “{off}” ({p_off}) without.")
        parts.append(said.format(on=on, p_on=percent(p_on), off=off, p_off=percent(p_off)))
    st.markdown(plain(" ".join(parts)))


@st.cache_data(max_entries=64, show_spinner=False)
def _broken(name: str, model_id: str, text: str, mask: str) -> Broken:
    del name  # only tells versions of a model apart
    loaded, chosen = load_model(model_id), Mask.of(mask)
    return broken(loaded, loaded.tokens(text, chosen), chosen)


def _says(found: Shuffled, placed: bool, mask: Mask) -> None:
    numbers = {
        "output": scientific(found.largest),
        "scale": f"{found.scale:.2f}",
        "map": scientific(found.map_apart),
    }
    if found.is_order_lost:
        said = _(
            "Order is lost: the copy's outputs are the same vectors in another order (largest difference {output}, for "
            "vectors whose numbers are about {scale}), and every head's map is the same map (largest difference {map})."
        )
    elif placed:
        said = _(
            "Order counts: the same token has another output in the copy (largest difference {output}, for vectors "
            "whose numbers are about {scale}), and maps differ by up to {map}."
        )
    else:
        said = _(
            "Order counts although positions are off: outputs differ by up to {output} (their numbers are about "
            "{scale}), maps by up to {map}."
        )
    st.markdown(plain(said.format(**numbers)))
    if not placed and not found.is_order_lost and mask.hides_later_tokens:
        caution(_("The mask tells order: each token sees the keys before it, so the first one sees only itself."))
