"""A choice from a few or from many, kept in the link by its name and shown in the session's language."""

from collections.abc import Mapping
from typing import Any, TypeVar

import streamlit as st

from ui.frame import links
from ui.frame.languages import _

T = TypeVar("T", bound=int | str)


def choose(
    label: str,
    name: str,
    options: Mapping[T, str],
    default: T,
    *,
    key: str,
    wide: bool = False,
    bare: bool = False,
    **widget: Any,
) -> T:
    """The option that is chosen. One that is none any more becomes what the link says, the nearest, or the default.

    Args:
        label: of the widget.
        name: in the link, which leaves the default out.
        options: each with what is shown for it.
        default: one of them.
        key: in the session.
        wide: options beside each other rather than in a menu.
        bare: the label is read out, not shown.
        widget: what else the widget takes: help, width, on_change.
    """
    now = st.session_state.get(key)
    if now not in options:
        nearest = min(max(now, min(options)), max(options)) if isinstance(now, int) else default
        by_name = {str(option): option for option in options}
        st.session_state[key] = links.read(name, lambda text: by_name.get(text, nearest), nearest, key=key)
    widget |= {
        "format_func": lambda option: options.get(option, str(option)),
        "key": key,
        "label_visibility": "collapsed" if bare else "visible",
        "persist_state": "session",
    }
    if wide:
        chosen = st.segmented_control(label, list(options), required=True, wrap=True, **widget)
    else:
        chosen = st.selectbox(label, list(options), **widget)
    chosen = default if chosen is None else chosen
    links.write(name, str(chosen), str(default))
    return chosen


def translated(names: Mapping[T, str]) -> dict[T, str]:
    """Option → its name in the session's language."""
    return {option: _(name) for option, name in names.items()}
