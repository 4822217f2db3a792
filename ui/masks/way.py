"""What the page Masks compares: a trained encoder with a trained decoder, or one model under two masks.

The first is shown where both models can be: the sidebar's, and a built-in one of the other kind. It is the honest
comparison, since each model runs under the mask of its training. The link keeps the choice as `compare=`; a link
about masks opens on one model.
"""

from contextlib import suppress

import streamlit as st

from analysis.words.chinese import n_chinese
from model import HeadworkError
from model.catalogue import DEFAULT_MODEL, SMOLLM2, resolve
from model.entry import Entry
from model.weights.minilm import minilm_folder
from model.weights.smollm2 import smollm2_path
from ui.frame import controls, links, loading
from ui.frame.choose import translated
from ui.frame.languages import _

WAYS = {"models": "two models", "masks": "two masks"}
KEY = "mask_way"  # session state: the way that is chosen
ABOUT_MASKS = ("with", "picture", "tab", "mask")  # parameters of links that are about one model under two masks


def pair() -> tuple[str, str] | None:
    """The ids of a trained encoder and a trained decoder, one of them the sidebar's; None where there is no pair."""
    with st.spinner(_("Loading the model and reading the sentence…")):
        model = loading.load_model(controls.model())
    entry = model.entry
    if not entry.trained or entry.source in ("toy", "trained here"):
        return None
    is_decoder = model.default_mask.is_causal
    other = _built_in(DEFAULT_MODEL if is_decoder else SMOLLM2)
    if other is None or not all(_reads(each) for each in (entry, other)):
        return None
    return (other.id, entry.id) if is_decoder else (entry.id, other.id)


def chosen() -> tuple[str, str] | None:
    """The pair of models that is compared; None where one model under two masks is."""
    found = pair()
    if found is None:
        return None
    if KEY not in st.session_state:
        at_first = "masks" if set(ABOUT_MASKS) & set(st.query_params) else "models"
        st.session_state[KEY] = links.read("compare", links.one_of(list(WAYS)), at_first, key=KEY)
    shown = str(st.session_state[KEY])
    if shown == "models":
        for name in ("with", "picture", "tab"):  # the session keeps them
            st.query_params.pop(name, None)
    links.write("compare", shown, "masks" if "mask" in st.query_params else "models")
    return found if shown == "models" else None


def switch() -> None:
    """The choice, where there is one."""
    if KEY not in st.session_state or pair() is None:
        return
    names = translated(WAYS)
    st.segmented_control(
        _("Compare"),
        list(WAYS),
        required=True,
        format_func=lambda way: names.get(way, way),
        key=KEY,
        label_visibility="collapsed",
        persist_state="session",
    )


def _built_in(model_id: str) -> Entry | None:
    """A model that comes as a package, if it is installed and this server offers it."""
    with suppress(HeadworkError):
        entry = resolve(model_id)
        if model_id == SMOLLM2:
            return entry if smollm2_path() is not None else None
        minilm_folder()
        return entry
    return None


def _reads(entry: Entry) -> bool:
    """Whether a model reads the sentence's language, as far as is known."""
    return (
        not entry.languages or "mul" in entry.languages or "zh" in entry.languages or not n_chinese(controls.sentence())
    )
