"""What the address bar keeps for settings that take more than one widget: the sentence, the model and the mask.

Settings of one widget bind themselves (`bind="query-params"`); here are those that are spelled in one word but set by
several widgets, and the sentence, which must not make a link longer than servers take.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import streamlit as st

from model import HeadworkError

LONGEST_TEXT = 1500  # characters; behind nginx a request line ends at 8 KB, and a Chinese character takes 9 bytes in it

T = TypeVar("T")


def read(name: str, parse: Callable[[str], T], default: T) -> T:
    """What the link says about `name`; the default, quietly, when it says nothing or something impossible."""
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
        st.session_state[key] = read(name, one_of(options), default)
    return cast(str, st.session_state[key])


def write(name: str, value: str, default: str) -> None:
    """Let the link say `value`; what is at its default is left out."""
    if value == default or len(value) > LONGEST_TEXT:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value
