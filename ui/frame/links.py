"""What the address bar keeps: every choice, under a name and in words that are the same in every language.

What the session says wins over the address, save after Back and Forward: then the address says what was chosen.
(Streamlit's own `bind="query-params"` writes labels, and adds no step to the browser's history.)
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model import HeadworkError

LONGEST_TEXT = 1500  # characters; behind nginx a request line ends at 8 KB, and a Chinese character takes 9 bytes in it
READ = "read_from_links"  # session state: keys

T = TypeVar("T")


def went_back() -> bool:
    """Whether this run answers the browser's Back or Forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def follow_history() -> None:
    """After Back or Forward: what is read from links is forgotten, so that it is read again."""
    for key in st.session_state.get(READ, set()) if went_back() else ():
        st.session_state.pop(key, None)


def read(name: str, parse: Callable[[str], T], default: T, *, key: str | None = None) -> T:
    """What the link says about `name`; the default, quietly, when it says nothing or something impossible.

    The session keeps it under `key`; under the name itself when there is none.
    """
    st.session_state.setdefault(READ, set()).add(key or name)
    if name not in st.query_params:
        return default
    try:
        return parse(st.query_params[name])
    except HeadworkError:
        return default


def one_of(options: Sequence[str]) -> Callable[[str], str]:
    """For `read`: what the link says must be one of the options."""

    def parse(text: str) -> str:
        if text not in options:
            raise HeadworkError("{value} is not one of {options}.", value=text, options=", ".join(options))
        return text

    return parse


def choice(name: str, options: Sequence[str], default: str, key: str | None = None) -> str:
    """What an earlier run or the link says about `name`: one of the options, else the default.

    The session keeps it under `key`, for a widget; under the name itself when there is none.
    """
    key = key or name
    if st.session_state.get(key) not in options:
        st.session_state[key] = read(name, one_of(options), default, key=key)
    return cast(str, st.session_state[key])


def write(name: str, value: str, default: str) -> None:
    """Let the link say `value`; what is at its default is left out."""
    if value == default or len(value) > LONGEST_TEXT:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value


def switch(label: str, name: str, *, key: str | None = None, help: str | None = None, **widget: Any) -> bool:
    """A switch that is off at first, kept in the link as name=on, and in the session under `key` or the name itself."""
    key = key or name
    if key not in st.session_state:
        st.session_state[key] = read(name, one_of(("on",)), "", key=key) == "on"
    is_on = st.toggle(label, key=key, help=help, persist_state="session", **widget)
    write(name, "on" if is_on else "", "")
    return bool(is_on)
