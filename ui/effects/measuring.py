"""What stands in place of a picture that takes long to compute: a button, then a bar with a way to stop."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from analysis.evidence.resume import Store
from model import HeadworkError
from ui.effects import runs
from ui.effects.runs import Key, Progress
from ui.frame.faults import fragment
from ui.frame.languages import _, _n, explain, plain

EVERY = 1.0  # seconds between two looks at a run


def panel(key: Key, compute: Callable[[Store, Progress], Any], about: str) -> None:
    """Offers a run, or shows the one that is under way; reruns the page once its result is there."""
    run = runs.run()
    with st.container(border=True, key="effects-measuring"):
        if run is not None and run.key == key and run.job.is_busy:
            _live()
            return
        st.markdown(plain(about))
        if run is not None and run.key == key:
            _how_it_ended(run)
        is_paused = run is not None and run.key == key and run.job.state == "resting"
        if st.button(_("Continue") if is_paused else _("Measure"), type="primary", key="effects_measure"):
            if run is not None and is_paused:
                run.go()
            else:
                runs.start(key, compute)
            st.rerun()


def _how_it_ended(run: runs.Run) -> None:
    if isinstance(run.job.error, HeadworkError):
        st.error(explain(run.job.error), icon="✋")
    elif run.job.error is not None:
        st.error(_("The run stopped because of a fault in the app. The server's log says what."), icon="✋")
    elif run.job.state == "resting":
        st.progress(
            run.job.share, text=_("Paused at {share:.0%}. What is finished is kept.").format(share=run.job.share)
        )


def _progress() -> None:
    """The bar, and the sign of life; the whole page is drawn when the run has come to an end."""
    run = runs.run()
    if run is None or not run.job.is_busy:
        st.rerun()
        return
    run.seen()
    if run.job.state == "waiting":
        ahead = run.job.ahead
        said = _("In line: yours is next.")
        if ahead:
            said = _n("In line: {n} run before yours.", "In line: {n} runs before yours.", ahead).format(n=ahead)
    else:
        said = _("Measuring: {share:.0%}").format(share=run.job.share)
        if (left := run.seconds_left) is not None:
            said += " · " + _("about {time} left").format(time=_time(left))
    st.progress(run.job.share, text=said)
    if st.button(_("Stop"), key="effects_stop", help=_("What is finished is kept, and the run can go on later.")):
        runs.stop()
        st.rerun()


_live = fragment(_progress, run_every=EVERY)


def _time(seconds: float) -> str:
    """A duration for a person: whole seconds, minutes from 90 s on."""
    if seconds < 90:
        return _("{n} s").format(n=max(1, round(seconds)))
    return _("{n} min").format(n=round(seconds / 60))
