"""A part that reruns alone and fails when a button asks for it; the address says how."""

import streamlit as st

from model import HeadworkError, NotDownloaded
from ui.frame.faults import fragment

FAULTS = {
    "fault": ZeroDivisionError("a secret"),
    "mistake": HeadworkError("That is {what}. Do the other.", what="$wrong$"),
    "absent": NotDownloaded("{repo_id} is not here.", repo_id="someone/tiny-bert"),
}


@fragment
def part(kind: str) -> None:
    st.session_state["runs of the part"] = st.session_state.get("runs of the part", 0) + 1
    if st.button("Go wrong"):
        raise FAULTS[kind]
    st.text(f"part {st.session_state['runs of the part']}")


st.session_state["runs"] = st.session_state.get("runs", 0) + 1
st.text(f"page {st.session_state['runs']}")
part(st.query_params["kind"])
