"""What runs in the background: the one line of the server, and whether the person who asked is still there."""

from collections.abc import Callable

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model import settings
from ui.frame.jobs import Line
from ui.frame.loading import kept_for_long


@st.cache_resource(show_spinner=False)
def line() -> Line:
    """The one line of this server.

    Streamlit collects garbage after every run, a third of a second with torch in memory, and a page runs twice a
    second while its job runs. What is there by now stays, so it is taken out of the collection.

    Raises:
        HeadworkError: HEADWORK_TRAININGS or HEADWORK_THREADS makes no sense.
    """
    with kept_for_long():
        return Line(settings.trainings())


def session() -> Callable[[], bool]:
    """Says, in any thread, whether the session that asks now still has its browser."""
    context = get_script_run_ctx()
    session_id = context.session_id if context else ""

    def is_here() -> bool:
        return not runtime.exists() or bool(runtime.get_instance().is_active_session(session_id))

    return is_here
