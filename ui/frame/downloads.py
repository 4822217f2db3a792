"""The state of a page whose model is on the hub and not on this computer: what it is, how large, one button."""

import time

import streamlit as st

from model import HeadworkError
from model.catalogue import resolve
from model.loading import download_plan
from model.weights import hub
from ui.frame.languages import _, explain, plain

REDRAWN_EVERY = 0.2  # seconds; a bar that is redrawn at every chunk keeps the browser busy


def offer(model_id: str) -> None:
    """Offers to download a hub model, and does it, visibly, when asked. Reruns the page once the model is here."""
    entry = resolve(model_id)
    key = f"plan of {entry.id}"
    size = st.session_state.get(key, entry.download_bytes)
    place = st.empty()
    with place.container(border=True):
        st.markdown("**" + _("{model} is not on this computer yet.").format(model=plain(entry.label)) + "**")
        st.text(_(entry.about))
        if size is None:
            st.text(_("Its size is not known yet; the hub can tell."))
            if st.button(_("Ask the hub for its size"), type="primary") and (found := _ask(entry.id)) is not None:
                st.session_state[key] = found
                st.rerun()
            return
        st.text(
            _("The download takes {size} and is kept for next time. Nothing is fetched before you ask for it.").format(
                size=megabytes(size)
            )
        )
        asked = st.button(_("Download {size}").format(size=megabytes(size)), type="primary")
    if asked:
        with place.container(border=True):
            _download(entry.id, entry.label)


def megabytes(n_bytes: int) -> str:
    """Bytes as hubs and operating systems count them: 441 MB."""
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.0f} kB"


def _ask(model_id: str) -> int | None:
    try:
        return download_plan(resolve(model_id)).total_bytes
    except HeadworkError as error:
        st.error(explain(error))
        return None


def _download(model_id: str, label: str) -> None:
    """Fetches a model under a progress bar. Stop reruns the script, which ends the download from inside."""
    st.markdown("**" + _("Downloading {model}").format(model=plain(label)) + "**")
    bar = st.progress(0.0)
    st.button(_("Stop"), help=_("Finished files are kept; a later download continues from there."))
    drawn = 0.0

    def progress(done: int, total: int, file: str) -> None:
        nonlocal drawn
        if time.monotonic() - drawn < REDRAWN_EVERY and done < total:
            return
        drawn = time.monotonic()
        words = _("{done} of {total}: {file}").format(done=megabytes(done), total=megabytes(total), file=file)
        bar.progress(min(done / max(total, 1), 1.0), text=plain(words))

    try:
        hub.fetch(download_plan(resolve(model_id)), progress)
    except HeadworkError as error:
        st.error(explain(error))
        st.button(_("Try again"))
        return
    st.rerun()
