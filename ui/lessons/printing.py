"""A lesson to print: one HTML file, made when somebody asks for it."""

import streamlit as st

from analysis.lessons import Lesson, Source
from analysis.lessons.lesson import Language
from ui.frame import loading
from ui.frame.languages import _
from viz.export.lesson_page import lesson_page

SOURCE = Source(loading.load_model, loading.quiet_trace)


def button(lesson: Lesson) -> None:
    """Offers a lesson as a file to print, in the language of the session."""
    language: Language = "zh" if st.session_state.get("lang") == "zh" else "en"
    st.download_button(
        _("To print (HTML)"),
        lambda: lesson_page(lesson, language, SOURCE).encode(),
        file_name=f"headwork-{lesson.id}-{language}.html",
        mime="text/html",
        key="print-lesson",
        type="tertiary",
        help=_("Questions with space for answers; the answers with their numbers and pictures on the last pages."),
        on_click="ignore",
    )
