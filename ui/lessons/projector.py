"""The projector: a step alone on the wall, in type that the back row reads. P begins it and ends it, as does Escape."""

import streamlit as st

from ui.frame import links
from ui.frame.captions import text_scale

KEY = "lesson_projector"
SCALE = 1.5  # of figures, whose letters are measured in pixels
# All letters of the page and of its components are measured in rem: 22 pixels on a window of 1280, 34 on one of 1920.
WALL = """<style>
html { font-size: clamp(18px, 1.75vw, 40px); }
.stSidebar, [data-testid=stExpandSidebarButton], .stAppHeader, .st-key-app-name { display: none !important; }
.stMainBlockContainer { padding-top: 1rem !important; }
.st-key-lesson-foot { display: none; }
</style>"""


def is_on() -> bool:
    """Whether the step is on the wall; `projector=on` in the link."""
    if KEY not in st.session_state:
        st.session_state[KEY] = links.read("projector", links.one_of(("on",)), "", key=KEY) == "on"
    return bool(st.session_state[KEY])


def turn(on: bool) -> None:
    """Puts the step on the wall, or takes it down."""
    st.session_state[KEY] = on


def scale() -> float:
    """Of letters in figures."""
    return SCALE if is_on() else text_scale()


def look() -> None:
    """Draws the page for the wall where that is asked for, and lets the link say so."""
    links.write("projector", "on" if is_on() else "", "")
    if is_on():
        st.html(WALL)
