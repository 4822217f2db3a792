"""The frame around every page: the list of pages, the shared sidebar, and what happens when something goes wrong."""

from contextvars import ContextVar
from pathlib import Path

import pandas  # noqa: F401  # before any page: plotly stumbles over one that another visitor is still importing
import streamlit as st

from ui.frame import components, controls, faults, languages
from ui.frame.languages import _
from ui.learn import runs

ROOT = Path(__file__).parents[2]
SIDEBAR_WIDTH = 280  # pixels: leaves 1000 of 1280 to the picture

# What Streamlit has no setting for: the side padding of a wide page (5rem a side, a sixth of a laptop's screen) and the
# padding of a title.
STYLE = """<style>
.stHeading h1 { padding: 0 0 0.35rem; }
.st-key-library { display: none; }
.stMainBlockContainer { padding-left: clamp(1rem, 2.5vw, 2.5rem); padding-right: clamp(1rem, 2.5vw, 2.5rem); }
</style>"""

_routed: ContextVar[bool] = ContextVar("routed", default=False)


def build_pages() -> list[st.Page]:
    """All pages, in the order of the menu. Absolute paths, so that the app runs from any folder."""
    return [
        st.Page(ROOT / "pages" / "attention.py", title=_("Attention"), default=True),
        st.Page(ROOT / "pages" / "masks.py", title=_("Masks")),
        st.Page(ROOT / "pages" / "heads.py", title=_("Heads at work")),
        st.Page(ROOT / "pages" / "inside.py", title=_("Inside a block")),
        st.Page(ROOT / "pages" / "cost.py", title=_("Parameters and cost")),
        st.Page(ROOT / "pages" / "learn.py", title=_("Watch heads learn")),
    ]


def run_app() -> None:
    """One run of the app: the frame, then the page that the address asks for."""
    _leave_the_pages_folder()
    st.set_page_config(page_title="Headwork", page_icon="🔎", layout="wide", initial_sidebar_state=SIDEBAR_WIDTH)
    st.html(STYLE)
    components.library()
    with st.sidebar:
        controls_place, language_place = st.container(), st.container()
    with language_place:
        languages.switch()
    page = st.navigation(build_pages())
    languages.keep()
    token = _routed.set(True)
    try:
        with faults.told():
            with controls_place:
                controls.sidebar()
            if page.url_path != "learn":
                runs.leave()
            page.run()
    finally:
        _routed.reset(token)


def _leave_the_pages_folder() -> None:
    """Starts a session's first run over once the pages are named, before any widget is drawn.

    Until someone names the pages, Streamlit runs app.py itself as if it were a page (script_runner._mpa_v1). Widgets of
    such a run have other ids than in all later runs: the first click would arrive under an id that nobody reads.
    """
    if "pages_are_named" not in st.session_state:
        st.session_state["pages_are_named"] = True
        st.navigation(build_pages())
        st.rerun()


def require_router() -> None:
    """First line of every page file.

    While nobody has opened the app yet, Streamlit runs a page that a link asks for directly, without app.py: no
    sidebar, no settings from the link. Naming the pages and starting over puts that right.
    """
    if not _routed.get():
        st.navigation(build_pages())
        st.rerun()
