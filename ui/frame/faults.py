"""What is said instead of a traceback when something goes wrong, in a whole page or in a part that reruns alone."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import streamlit as st

from model import HeadworkError, NotDownloaded
from ui.frame import downloads
from ui.frame.languages import _, explain
from ui.frame.loading import TwoParts

P = ParamSpec("P")


@contextmanager
def told() -> Iterator[None]:
    """A mistake is told with its remedy, a model that isn't here is offered for download, a fault is logged.

    A model of two parts is told where it can be looked at.
    """
    try:
        yield
    except NotDownloaded as error:
        _offer(error)
    except TwoParts as error:
        st.info(explain(error))
        if st.button(_("Look at it on the page Attention"), key="to_attention", type="primary"):
            st.switch_page("pages/attention.py")
    except HeadworkError as error:
        st.error(explain(error), icon="✋")
    except Exception:
        _log()


def fragment(body: Callable[P, None], *, run_every: float | None = None) -> Callable[P, None]:
    """`st.fragment`, told: a fragment that reruns alone runs outside the app's own frame.

    What it is given stays in memory as long as the session lives, so give it names, not arrays (`loading.Again`).
    With `run_every` the browser asks for it again after so many seconds, as long as the page is open.
    """

    @wraps(body)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        with told():
            body(*args, **kwargs)

    return st.fragment(guarded, run_every=run_every)


def _offer(error: NotDownloaded) -> None:
    try:
        downloads.offer(error.repo_id)
    except HeadworkError as other:  # for example a hub model that this server doesn't offer
        st.error(explain(other), icon="✋")
    except Exception:
        _log()


def _log() -> None:
    logging.getLogger(__name__).exception("A page failed")
    st.error(_("Something went wrong in the app, and the picture can't be drawn. The server's log says what."))
