"""Which head to look at: all heads ranked by one weight, and an offer where the chosen head shows little."""

from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt
import streamlit as st

from analysis import UnitTrace
from model import AttentionTrace, HeadworkError
from model.head_id import HeadId
from ui.attention import maps
from ui.attention import view as explorer_view
from ui.attention.view import View
from ui.frame import examples, links
from ui.frame.languages import _, plain
from viz.overview import Metric
from viz.style import Style

Pair = tuple[int, int]  # query and key, from 0
Labels = tuple[tuple[str, ...], tuple[str, ...]]  # of queries and of keys

RANKED = 5
MOSTLY_SPECIAL = 0.5  # of the weight from words: above, a head shows little of what words do


def pair(labels: Labels) -> Pair | None:
    """The two tokens whose weight ranks the heads: what the strip or the link says, if it is about these tokens."""
    if "find" not in st.session_state:
        st.session_state["find"] = (labels, links.read("find", lambda text: _parse(text, labels), None))
    of, chosen = st.session_state["find"]
    if of != labels:
        chosen = None
    links.write("find", "" if chosen is None else f"{chosen[0] + 1}-{chosen[1] + 1}", "")
    return cast("Pair | None", chosen)


def choose(again: Callable[[], AttentionTrace], view: View, labels: Labels, query: int, key: int) -> None:
    """Ranks the heads by the weight from query to key, and opens the first: for callbacks."""
    st.session_state["find"] = (labels, (query, key))
    weights = maps.reading(again(), view).trace.attention[:, :, query, key]
    if not np.isnan(weights).all():
        explorer_view.go_to(*_best(weights))


def metric(of: UnitTrace, chosen: Pair, style: Style) -> Metric:
    """The weight between the two tokens in each head, as the overview takes it."""
    query, key = _named(of, chosen)
    return Metric(f"“{query}” → “{key}”", _weights(of, chosen), 0, style.maximum)


def ranking(of: UnitTrace, chosen: Pair | None) -> str:
    """The first heads of the ranking in words, or how to get one."""
    if chosen is None:
        return _("Pin a token, then click another: all heads are ranked by the weight between the two.")
    weights = _weights(of, chosen)
    query, key = _named(of, chosen)
    if np.isnan(weights).all():
        return _("“{query}” may not look at “{key}” under this mask.").format(query=query, key=key)
    order = np.argsort(-weights, axis=None)[:RANKED]
    heads = [tuple(int(i) for i in np.unravel_index(at, weights.shape)) for at in order]
    listed = " · ".join(f"{layer + 1}-{head + 1} {weights[layer, head]:.2f}" for layer, head in heads)
    said = _("Most weight from “{query}” to “{key}” in this sentence: {heads}.")
    return said.format(query=query, key=key, heads=listed)


def offer(trace: AttentionTrace, view: View) -> None:
    """Where a head was chosen for another sentence or model and gives most to special tokens here: a way to another."""
    here, head = maps.name_of(trace)[:2], (view.layer, view.head)
    chosen_at, chosen = st.session_state.get("head_chosen", (here, head))
    example = examples.of(trace.text)
    if chosen != head or (example and example.head(trace.model_id) == (view.layer + 1, view.head + 1)):
        chosen_at = here
    st.session_state["head_chosen"] = (chosen_at, head)
    if chosen_at == here or not maps.masses(trace, view)["special_mass"] > MOSTLY_SPECIAL:
        return
    best = _best(maps.metric(trace, view, "confidence").values)
    if best == head:
        return
    name = str(HeadId(*best))
    said = _("Head {name} was chosen in another view; here it gives most to special tokens.").format(name=view.name)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="offer"):
        st.markdown(f":small[{plain(said)}]", width="content")
        way = _("Look at {head}, which is most confident about a word here").format(head=name)
        st.button(way, key="offer_head", type="tertiary", on_click=explorer_view.go_to, args=best)


def _named(of: UnitTrace, chosen: Pair) -> tuple[str, str]:
    return of.labels[chosen[0]], of.keys[chosen[1]]


def _weights(of: UnitTrace, chosen: Pair) -> npt.NDArray[np.floating]:
    weights = of.attention[:, :, *chosen]  # (L, h)
    may_look = of.allowed[..., *chosen].reshape(-1, 1)  # (1 or L, 1)
    return np.where(may_look, weights, np.nan)


def _best(values: npt.NDArray[np.floating]) -> tuple[int, int]:
    layer, head = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return int(layer), int(head)


def _parse(text: str, labels: Labels) -> Pair:
    n_queries, n_keys = (len(each) for each in labels)
    parts = text.split("-")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 6]
    is_pair = len(parts) == len(numbers) == 2
    if not is_pair or not (1 <= numbers[0] <= n_queries and 1 <= numbers[1] <= n_keys):
        raise HeadworkError("{value} is not one of {options}.", value=text, options=f"1-1…{n_queries}-{n_keys}")
    return numbers[0] - 1, numbers[1] - 1
