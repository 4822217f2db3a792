"""The page Does it matter? put together: the question, the pictures, and tabs with the single measures."""

import streamlit as st

from ui.effects import choices, data, export, measuring, runs, states
from ui.effects.choices import View
from ui.effects.head import head_tab
from ui.effects.parts import parts_tab
from ui.effects.patching import patching_tab
from ui.effects.picture import picture
from ui.effects.question import question
from ui.effects.several import several_tab
from ui.effects.words import HOW_TO_READ, LIMITS
from ui.frame import controls
from ui.frame.captions import page_title
from ui.frame.faults import told
from ui.frame.languages import _, _n
from ui.frame.tabs import open_tab

TABS = {
    "head": "One head",
    "several": "Several heads off",
    "parts": "Every part",
    "patching": "Patching",
}


STYLE = """<style>
.st-key-effects-question .stProgress { min-width: 10rem; }
@media (min-width: 641px) { [data-testid="stLayoutWrapper"]:has(> .st-key-effects-whole) { display: none; } }
@media (max-width: 640px) {  /* controls in pairs, so that the picture stands on a phone's first screen */
  :is(.st-key-effects-controls, .st-key-effects-question) { gap: 0.5rem; }
  .st-key-effects-whole { margin-top: -0.75rem; }
  .st-key-effects-controls > * { flex: 1 1 30%; min-width: 0; width: auto !important; }
  .st-key-effects-controls > :first-child { flex-basis: 60%; }
  .st-key-effects-question > * { flex: 1 1 40%; min-width: 0; width: auto !important; }
  .st-key-effects-question > :first-child { flex-basis: 100%; }
  .st-key-effects-question .stProgress { min-width: 0; }
  .st-key-effects-controls .stSelectbox [data-testid="stWidgetLabel"] { display: none; }
}
</style>"""


def show() -> None:
    """The whole page."""
    st.html(STYLE)
    with page_title(_("Does it matter what a head looks at?")):
        with st.popover(_("How to read this"), icon=":material/help:"):
            st.markdown(_(HOW_TO_READ))
        export_place = st.container(width="content")
    model_id = choices.model()
    controls.show("model")
    if not data.predicts(model_id):
        states.show(model_id, export_place)
        _limits()
        return
    view = choices.read(model_id)
    if view is None:
        return
    question(view)
    if view.measured is None:
        measuring.panel(*runs.of_heads(view.asked), _about(view))
        return
    picture(view.measured, view.head)
    with export_place:
        export.popover(view.measured, view.head)
    _tabs(view)
    _limits()


def _limits() -> None:
    """Whose measures these are, and what they can't show: folded, below everything."""
    with st.expander(_("Sources, and what this can't show")):
        st.markdown(_(LIMITS))


def _tabs(view: View) -> None:
    """Only the open tab is computed."""
    assert view.measured is not None
    opened, place = open_tab(TABS, state="effects_view", link="view")
    with place, told():
        {"head": head_tab, "several": several_tab, "parts": parts_tab, "patching": patching_tab}[opened](
            view, view.measured
        )


def _about(view: View) -> str:
    n_layers, n_heads = choices.shape_of(view.asked.model_id, None)
    n = len(view.asked.questions)
    said = _n("Each of {heads} heads is switched off here.", "Each of {heads} heads is switched off on {n} prompts.", n)
    return said.format(heads=n_layers * n_heads, n=n)
