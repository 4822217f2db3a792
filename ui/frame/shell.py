"""The frame around every page: the menu, the shared sidebar, and what happens when something goes wrong."""

from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path

import pandas  # noqa: F401  # before any page: plotly stumbles over one that another visitor is still importing
import streamlit as st
from streamlit import net_util

from ui.frame import components, controls, faults, first_paint, languages, links, sockets
from ui.frame.captions import LARGE_TEXT
from ui.frame.languages import _

ROOT = Path(__file__).parents[2]
STYLE = f"<style>{Path(__file__).with_name('style.css').read_text(encoding='utf-8')}</style>"
LARGE = (
    f"<style>:root {{ --text-scale: {LARGE_TEXT}; }} "  # of the browser components
    ".stMain p, .stMain li, .stMain label, .stMain button, .stMain td { font-size: 1.2rem; } "
    ".stMain .stMarkdown span[style*=font-size] { font-size: 1.05rem !important; } "  # notes in small letters
    ".stMain .stNumberInput label p { font-size: 1rem; } "
    ".stMain :is(input, .stSelectbox *), .stSidebar :is(p, input, textarea, .stSelectbox *) { font-size: 1.05rem; }"
    "</style>"
)
MENU = {
    "Look": {
        "attention": "Attention",
        "lessons": "Lessons",
        "masks": "Masks",
        "inside": "Inside a block",
        "positions": "Positions",
        "cost": "Parameters and cost",
    },
    "Evidence": {"heads": "Heads at work", "effects": "Does it matter?"},
    "Learn": {"learn": "Watch heads learn"},
}

APART = {"vote": "Vote"}  # pages that only a link opens: no menu, no sentence, model or mask, and so no model is read

# Streamlit asks a foreign host for this machine's own address when a page of another site knocks at its websocket.
net_util.get_external_ip = lambda: None
sockets.send_at_once()
first_paint.hide_until_it_stands()

SCRIPTS = (Path(__file__).with_name(f"{name}.js").read_text("utf-8") for name in ("history", "shown", "frame"))
_frame = st.components.v2.component("headwork.frame", js="\n".join(SCRIPTS))
_routed: ContextVar[bool] = ContextVar("routed", default=False)


def build_pages() -> dict[str, list[st.Page]]:
    """The pages under their sections, in the order of the menu and the words of the language.

    Made once a session: Streamlit looks for each file. Absolute paths, so that the app runs from any folder.
    """
    made = st.session_state.setdefault("pages", {})
    language = st.session_state.get("lang")
    if language not in made:
        made[language] = {
            _(section): [
                st.Page(ROOT / "pages" / f"{name}.py", title=_(title), default=name == "attention")
                for name, title in pages.items()
            ]
            for section, pages in MENU.items()
        }
        made[language][""] = [
            st.Page(ROOT / "pages" / f"{name}.py", title=_(title), visibility="hidden") for name, title in APART.items()
        ]
    found: dict[str, list[st.Page]] = made[language]
    return found


def run_app() -> None:
    """One run of the app: the frame, then the page that the address asks for."""
    _leave_the_pages_folder()
    links.follow_history()
    _look()
    languages.begin()
    st.set_option("client.showSidebarNavigation", True)  # off in config.toml: see there
    page = st.navigation(build_pages())
    st.set_page_config(page_title=f"{page.title} · Headwork")
    languages.keep()
    with st.sidebar:
        languages.switch()
        controls_place = st.container()
        said = _("For the back row: words, controls and figures, on all pages.")
        links.switch(_("Large text"), "large", help=said)
        _frame(key="frame", data={})
    components.library()
    with st.container(key="app-name"):
        st.markdown(_("**Headwork** · how attention heads split their work"))
    token = _routed.set(True)
    try:
        with faults.told():
            if page.url_path not in APART:
                with controls_place:
                    controls.begin(is_new_page=page.url_path != st.session_state.get("page"))
            if page.url_path != st.session_state.get("page"):
                st.session_state.pop("when_left", lambda: None)()
                st.session_state["page"] = page.url_path
            with faults.told():
                page.run()
            if page.url_path not in APART:
                controls.end()
    finally:
        _routed.reset(token)


def when_left(do: Callable[[], None]) -> None:
    """For a page that works in the background: what to do once the person goes to another page."""
    st.session_state["when_left"] = do


def _leave_the_pages_folder() -> None:
    """Starts a session's first run over once the pages are named, before any widget is drawn.

    Until someone names the pages, Streamlit runs app.py itself as if it were a page (script_runner._mpa_v1). Widgets of
    such a run have other ids than in all later runs: the first click would arrive under an id that nobody reads.
    """
    if "pages_are_named" not in st.session_state:
        st.session_state["pages_are_named"] = True
        _start_over()


def require_router() -> None:
    """First line of every page file.

    While nobody has opened the app yet, Streamlit runs a page that a link asks for directly, without app.py: no
    sidebar, no settings from the link. Naming the pages and starting over puts that right.
    """
    if not _routed.get():
        _start_over()


def _look() -> None:
    """Before anything is seen: what comes later would move it."""
    st.set_page_config("Headwork", "🔎", layout="wide", initial_sidebar_state="auto")
    is_large = st.session_state.get("large", st.query_params.get("large") == "on")
    st.html(STYLE + (LARGE if is_large else ""))


def _start_over() -> None:
    _look()
    st.navigation(build_pages(), position="hidden")  # not shown: the language isn't known yet
    st.rerun()
