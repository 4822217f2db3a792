"""The page of heads put together: controls, the main picture, four tabs."""

import streamlit as st

from model import HeadworkError, Mask
from ui import heads_choices, heads_data, heads_main, links
from ui.heads_card import card_tab
from ui.heads_corpus import corpus_tab
from ui.heads_labour import labour_tab
from ui.heads_sentence import sentence_tab
from ui.languages import _, explain
from ui.loading import load_model

TABS = {
    "labour": "Who does what",
    "sentence": "In a sentence",
    "card": "Head card",
    "corpus": "Your corpus",
}
title = heads_main.title


def show(model_id: str, text: str, mask: Mask) -> None:
    """Everything below the title.

    Args:
        model_id: of the sidebar.
        text: the sidebar's sentence.
        mask: the sidebar's.
    """
    for key, value in st.session_state.pop("heads_next", {}).items():
        st.session_state[key] = value
    if not heads_data.corpora(model_id):
        label = load_model(model_id).label
        heads_main.no_record(label)
        st.session_state.setdefault("heads_upload_source", "en")  # so that one click is enough
        corpus_tab(model_id, label)
        return
    view = heads_choices.read_controls(model_id)
    heads_main.picture(view)
    _tabs(view, model_id, text, mask)


def _tabs(view: heads_choices.View, model_id: str, text: str, mask: Mask) -> None:
    """Only the open tab is computed; which one it is stands in the link."""
    titles = {name: _(title) for name, title in TABS.items()}
    now = heads_choices.kept("view", list(TABS), "labour")
    key = f"heads_tabs_{st.session_state.get('lang', 'en')}"  # Streamlit remembers labels: a language has its own
    # Another default would make it another widget, which forgets the click: it stays what it was at first.
    first = st.session_state.setdefault(f"first_{key}", now)
    places = st.tabs(list(titles.values()), default=titles[first], key=key, on_change="rerun")
    opened = next((name for name, place in zip(titles, places, strict=True) if place.open), "labour")
    st.session_state["heads_view"] = opened
    links.write("view", opened, "labour")
    with places[list(titles).index(opened)]:
        try:
            if opened == "labour":
                labour_tab(view)
            elif opened == "sentence":
                sentence_tab(view, model_id, text, mask)
            elif opened == "card":
                card_tab(view)
            else:
                corpus_tab(model_id, load_model(model_id).label)
        except HeadworkError as error:
            st.error(explain(error), icon="✋")
