"""What does a mask change? A trained encoder beside a decoder, or one model under two masks, and why they differ."""

import streamlit as st

from ui.frame import controls
from ui.frame.captions import page_title
from ui.frame.languages import _
from ui.frame.shell import require_router
from ui.masks import one_model, picture, two_models, way

require_router()

with page_title(_("What does a mask change?")):
    pair = way.chosen()
    shown = picture.view() if pair is None else ""
    with st.popover(_("How to read this"), icon=":material/help:"):
        (picture if pair is None else two_models).how_to_read()
if pair is None:
    controls.show("sentence", "model", "mask")
    one_model.show(shown)
else:
    controls.show("sentence", "model")
    two_models.show(pair)
