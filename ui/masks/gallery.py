"""The tab "Who may look at whom": a gallery of masks, one of them as matrix, reach and graph, and one to draw."""

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from analysis.maps.mask_conventions import CONVENTIONS
from analysis.maps.masking import empty_rows, layers_needed, reach
from model import AttentionTrace, HeadworkError
from ui.frame.beside import beside, panel
from ui.frame.captions import chart
from ui.frame.languages import _, explain, plain
from ui.frame.mask_choice import NUMBER_BOUNDS
from ui.masks import choice, grid
from ui.masks.choice import KINDS, SIZED, query_row
from viz.mask_flow import flow_graph, gallery
from viz.masks import mask_matrix, reach_map

SHOWN = ("bidirectional", "causal", "window", "prefix", "padding", "drawn")
FIRST_SIZES = {kind: NUMBER_BOUNDS[kind][2] for kind in SIZED} | {"padding": 3}
MOST_LAYERS = 12

Bools = npt.NDArray[np.bool_]


def who_may_look(trace: AttentionTrace) -> None:
    """The gallery, and below it the mask that is picked in it."""
    n = trace.n_tokens
    place = st.container(horizontal=True, vertical_alignment="bottom")
    kind = _kind(place)
    size = 0
    if kind in FIRST_SIZES:
        most = n - 1 if kind == "padding" else NUMBER_BOUNDS[kind][1]
        label = {"window": _("each side"), "prefix": _("prefix"), "padding": _("tokens of padding")}[kind]
        size = int(place.number_input(label, 0, most, min(FIRST_SIZES[kind], most), key=f"shown_{kind}", width=110))
    n_layers = int(place.number_input(_("Layers"), 1, MOST_LAYERS, 3, key="deep", width=100))
    with place:
        query = query_row(trace, "asks")

    sizes = {**FIRST_SIZES, kind: size}
    masks = {one: allowed for one in SHOWN if (allowed := _allowed(one, sizes.get(one, 0), n)) is not None}
    _gallery(masks, kind)
    if kind in masks:
        _flow(masks[kind], trace, kind, query, n_layers)
        st.markdown(plain(_in_words(masks[kind], trace, kind, size, n_layers)))
    else:
        st.info(explain(choice.too_long(n)))
    _libraries()


def _kind(place: st.delta_generator.DeltaGenerator) -> str:
    if st.session_state.get("shown_kind") not in SHOWN:
        st.session_state["shown_kind"] = st.session_state.get("with_kind", "causal")
    kind = place.segmented_control(
        _("Mask"),
        SHOWN,
        required=True,
        key="shown_kind",
        format_func=lambda one: _(KINDS.get(str(one), str(one))),
        wrap=True,
    )
    return str(kind)


def _gallery(masks: dict[str, Bools], kind: str) -> None:
    """Three masks and three more: side by side on a wide screen, under each other on a phone."""
    named = [(_(KINDS.get(one, one)), allowed) for one, allowed in masks.items()]
    at = list(masks).index(kind) if kind in masks else -1
    for i, place in enumerate(st.columns(2, gap="small")):
        part, selected = named[3 * i : 3 * i + 3], at - 3 * i
        figure = gallery(part, selected=selected if 0 <= selected < 3 else None, n_places=3)
        chart(figure, f"gallery{i}", place)


def _allowed(kind: str, size: int, n: int) -> Bools | None:
    """A mask of the gallery as a matrix; None where it can't be drawn for so many tokens."""
    if kind == "padding":
        return np.tile(np.arange(n) < n - size, (n, 1))
    try:
        allowed: Bools = choice.make(kind, size, n).allowed(n).numpy()
    except HeadworkError:
        return None
    return allowed


def _flow(allowed: Bools, trace: AttentionTrace, kind: str, query: int, n_layers: int) -> None:
    """One mask as a 0/1 matrix (or the grid to draw in), as what is known after some layers, and as a graph."""
    needed = layers_needed(allowed, n_layers)
    labels = trace.tokens
    titles = (
        _("one layer: 1 = may look"),
        _("known after {n} layers").format(n=n_layers),
        _("what can reach “{token}”").format(token=labels[query]),
    )
    known = reach_map(needed, labels, panel(titles[1], query), n_layers=n_layers, t=_)
    graph = flow_graph(allowed, labels, panel(titles[2]), query=query, n_layers=n_layers, t=_)
    if kind == "drawn":
        left, right = st.columns([7, 4], gap="small")
        with left.container(border=True):
            _draw(trace)
        chart(graph, "graph", right, grown=True)
        chart(known, "known", right, grown=True)
        return
    matrix = mask_matrix(allowed, labels, panel(titles[0], query), t=_)
    left, middle, right = beside(titles, key="mask_flow", widths=(3, 3, 4.4))
    chart(matrix, "matrix", left, grown=True)
    chart(known, "known", middle, grown=True)
    chart(graph, "graph", right, grown=True)


def _draw(trace: AttentionTrace) -> None:
    grid.mask_grid(trace.tokens, key="grid")
    if st.session_state["with_kind"] == "drawn":
        st.markdown(_("The maps at the top follow what you draw."))
    else:
        drawn = grid.drawn(trace.n_tokens)
        st.button(_("Compare with this mask"), on_click=choice.use, args=(drawn,), type="primary")


def _in_words(allowed: Bools, trace: AttentionTrace, kind: str, size: int, n_layers: int) -> str:
    back, ahead = reach(layers_needed(allowed, n_layers))
    said = _("After {n} layers information has come from at most {back} tokens back and {ahead} ahead.").format(
        n=n_layers, back=back, ahead=ahead
    )
    if kind == "window":
        said += " " + _("A window of {w} reaches {n} × {w} = {product} tokens, where the sentence has as many.").format(
            w=size, n=n_layers, product=n_layers * size
        )
    if kind == "padding":
        said += " " + _("Padding may look, but no token looks at it: its rows don't matter.")
    if empty := empty_rows(allowed):
        names = _(", ").join(trace.tokens[row] for row in empty[:6]) + (" …" if len(empty) > 6 else "")
        said += " " + _("Rows that see nothing: {n} ({names}). Their weights and head outputs are 0, not NaN.").format(
            n=len(empty), names=names
        )
    return said


def _libraries() -> None:
    st.markdown("**" + _("The same mask elsewhere: does True mean “may look” or “hidden”?") + "**")
    table = {
        _("library and argument"): [line.library for line in CONVENTIONS],
        _("made from allowed (True = may look)"): [f"`{line.code}`" for line in CONVENTIONS],
        _("may look"): [f"`{line.visible}`" for line in CONVENTIONS],
        _("hidden"): [f"`{line.hidden}`" for line in CONVENTIONS],
        _("a row that sees nothing"): [_(line.empty_row) for line in CONVENTIONS],
    }
    st.table(pd.DataFrame(table), hide_index=True)
    read = ", ".join(f"{line.library.split(',')[0]} ({line.source})" for line in CONVENTIONS if line.source != "test")
    st.markdown(
        plain(_("Tests of this app check each line against the library, except, read in their source: ") + read)
    )
    st.markdown(
        _(
            "A trap: BERT in transformers (eager) adds a boolean (B, 1, N, N) mask to the scores as 0 and 1, "
            "and so hides nothing. Make it float."
        )
    )
