"""The page of heads put together: controls, the main picture, four tabs."""

import streamlit as st

from analysis.words.chinese import is_chinese
from model import HeadworkError, Mask
from ui.frame import controls
from ui.frame.languages import _, explain, plain
from ui.frame.loading import load_model
from ui.frame.tabs import open_tab
from ui.heads import choices, data, main
from ui.heads.card import card_tab
from ui.heads.corpus import corpus_tab
from ui.heads.labour import labour_tab
from ui.heads.sentence import sentence_tab

TABS = {
    "labour": "Who does what",
    "sentence": "In a sentence",
    "card": "Head card",
    "corpus": "Your corpus",
}


def show(model_id: str, text: str, mask: Mask) -> None:
    """The whole page.

    Args:
        model_id: of the sidebar.
        text: the sidebar's sentence.
        mask: the sidebar's.
    """
    main.title(data.n_heads(model_id))
    for key, value in st.session_state.pop("heads_next", {}).items():
        st.session_state[key] = value
    if not data.corpora(model_id):
        label, entry = load_model(model_id).label, load_model(model_id).entry
        if entry.source == "trained here":
            said = _(
                "{model} knows only the words of its task, so no corpus can score it. What its heads do is measured on "
                "the page Watch heads learn, while it is trained."
            )
            st.info(plain(said.format(model=label)))
            return
        main.no_record(label)
        st.session_state.setdefault("heads_upload_source", "en")  # so that one click is enough
        corpus_tab(model_id, label)
        return
    view = choices.read_controls(model_id, "zh" if is_chinese(text) else "en")
    main.picture(view)
    _tabs(view, model_id, text, mask)


def _tabs(view: choices.View, model_id: str, text: str, mask: Mask) -> None:
    """Only the open tab is computed."""
    opened, place = open_tab(TABS, state="heads_view", link="view")
    with place:
        try:
            if opened == "labour":
                labour_tab(view)
            elif opened == "sentence":
                controls.show("sentence", "mask")
                sentence_tab(view, model_id, text, mask)
            elif opened == "card":
                card_tab(view)
            else:
                corpus_tab(model_id, load_model(model_id).label)
        except HeadworkError as error:
            st.error(explain(error), icon="✋")
