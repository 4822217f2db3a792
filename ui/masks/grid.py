"""A mask drawn by clicking the cells of a matrix: the browser component, and what is kept of it between runs."""

from collections.abc import Sequence
from typing import Any

import streamlit as st
import torch

from model import Mask
from ui.frame import components
from ui.frame.languages import _

MOST_DRAWN = 24  # tokens: cells stay large enough to hit, and the link stays under 200 characters
DRAWN = "drawn_masks"  # session state: number of tokens → the mask drawn for so many


_grid = components.register("mask_grid")


def drawn(n_tokens: int) -> Mask:
    """The mask drawn for sentences of N tokens; causal until something is drawn."""
    kept: dict[int, Mask] = st.session_state.setdefault(DRAWN, {})
    return kept.setdefault(n_tokens, Mask.matrix(torch.ones(n_tokens, n_tokens, dtype=torch.bool).tril()))


def put(mask: Mask) -> None:
    """Keeps a drawn mask, from a link or from the grid, for sentences of its size."""
    if mask.custom is not None:
        st.session_state.setdefault(DRAWN, {})[len(mask.custom)] = Mask.matrix(mask.custom)


def mask_grid(labels: Sequence[str], *, key: str) -> None:
    """The matrix to draw in: a row for each query, a button for each key. What is drawn is read with `drawn`."""
    n = len(labels)
    rows = drawn(n).custom or ()
    state = _from_browser(key, n)
    _grid(
        key=key,
        data={
            "id": n,
            "edit": state["edit"] if state else 0,
            "labels": list(labels),
            "cells": "".join("1" if cell else "0" for row in rows for cell in row),
            "text": {
                "title": _("Draw a mask: rows are queries, columns are keys"),
                "start": _("Start from"),
                "all": _("all visible"),
                "causal": _("causal"),
                "none": _("nothing visible"),
                "row": _("Query '{query}': show or hide the whole row"),
                "cell": _("query '{query}' may look at key '{key}'"),
                "may": _("yes"),
                "may_not": _("no"),
                "empty_row": _("this row sees nothing: its weights are 0"),
                "empty": _("∅ = 0"),
            },
        },
        on_drawn_change=lambda: _take(key, n),
    )


def _take(key: str, n: int) -> None:
    if state := _from_browser(key, n):
        cells = state["cells"]
        put(Mask.matrix([[cell == "1" for cell in cells[row * n : (row + 1) * n]] for row in range(n)]))


def _from_browser(key: str, n: int) -> dict[str, Any] | None:
    """What came from the browser, if it is about a matrix of this size and makes sense."""
    said = (st.session_state.get(key) or {}).get("drawn")
    if not isinstance(said, dict) or said.get("id") != n or not isinstance(said.get("edit"), int):
        return None
    cells = said.get("cells")
    return said if isinstance(cells, str) and len(cells) == n * n and set(cells) <= {"0", "1"} else None
