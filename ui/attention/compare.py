"""A beside B: two maps that differ in exactly what the person chooses, and their signed difference row by row."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import streamlit as st

from analysis import Comparison, Reading, compare
from model import AttentionTrace, HeadworkError, Mask, parse_mask
from model.catalogue import entries, resolve
from ui.attention import maps, two_texts
from ui.attention.two_texts import Question
from ui.attention.view import View, menu
from ui.frame import controls, links, loading, mask_choice, remarks
from ui.frame.captions import chart
from ui.frame.languages import _, plain, spoken_names
from viz.comparison import difference_heatmap
from viz.heatmaps import head_heatmap
from viz.maps import Maps
from viz.style import Style

PAIRS = Path(__file__).parents[2] / "data" / "pairs.json"
HEIGHT = 400
KINDS = {
    "mask": "another mask",
    "head": "another head",
    "layer": "another layer",
    "sentence": "another sentence",
    "model": "another model",
}
OF_TWO_TEXTS = {  # what can differ in an encoder–decoder: only the decoder is under the mask
    "encoder": ("head", "layer", "sentence"),
    "decoder": ("mask", "head", "layer", "sentence"),
    "cross": ("mask", "head", "layer", "sentence"),
}
MASKS = {
    "bidirectional": mask_choice.BASES["bidirectional"],
    "causal": mask_choice.BASES["causal"],
    "window:2": mask_choice.BASES["window"],
    "prefix:4": mask_choice.BASES["prefix"],
}
FAR_ROWS = 3


@cache
def pairs() -> list[tuple[str, str]]:
    """Minimal pairs that come with the app: two sentences that differ in one word."""
    return [tuple(pair) for pair in json.loads(PAIRS.read_text(encoding="utf-8"))]


def compare_tab(trace: AttentionTrace, reading: Reading, view: View, style: Style) -> None:
    """The controls of B, and the three pictures."""
    family = two_texts.family(trace)
    kinds = KINDS if family is None else {kind: title for kind, title in KINDS.items() if kind in OF_TWO_TEXTS[family]}
    with st.container(horizontal=True, vertical_alignment="bottom", key="compare-row"):
        with st.container(width=220):
            kind = menu(_("B differs in"), "differs", kinds, next(iter(kinds)))
        other, other_view, name_a, name_b = _other(kind, trace, view)
    read_b = maps.reading(other, other_view)
    try:
        found = compare(reading.trace, read_b.trace, (view.layer, view.head), (other_view.layer, other_view.head))
    except HeadworkError:
        remarks.cautions(other, offers=False)  # a pronoun inside a longer piece may be why the two don't fit
        raise
    style_b = maps.style(read_b, other_view)
    shared = replace(style, maximum=max(style.maximum, style_b.maximum))
    t = maps.words(view)
    a, b, difference = st.columns([4, 4, 5], gap="small")
    for place, letter, name, shown in (
        (a, "A", name_a, Maps(found.a, found.allowed_a, found.labels_a, found.keys_a)),
        (b, "B", name_b, Maps(found.b, found.allowed_b, found.labels_b, found.keys_b)),
    ):
        place.markdown(f"**{letter}** · {plain(name)}")  # in the figure it would run into the colour bar
        figure = head_heatmap(shown, shared, height=HEIGHT, narrow=True, t=t)
        chart(figure, f"compare_{letter}", place, grown=True)
    difference.markdown(f"**{_('B − A')}** · {_('purple: B looks less, orange: B looks more')}")
    figure = difference_heatmap(found, height=HEIGHT, text_scale=view.text_scale, t=t)
    chart(figure, "compare_difference", difference, grown=True)
    st.markdown(_summary(found))
    remarks.cautions(other, offers=False)


def _summary(found: Comparison) -> str:
    """The rows that moved most, in words."""
    distances = found.row_distance
    order = [int(i) for i in np.argsort(-np.nan_to_num(distances, nan=-1))[:FAR_ROWS] if not np.isnan(distances[i])]
    if not order:
        return plain(_("No row can be compared: in A or in B each may look at nothing."))
    rows = " · ".join(f"{found.labels_b[i]} {distances[i]:.2f}" for i in order)
    is_share = all(np.allclose(m[~np.isnan(distances)].sum(axis=-1), 1, atol=1e-3) for m in (found.a, found.b))
    said = (
        _("Total variation distance of each row, 0 = the same, 1 = no key in common. Rows that moved most: {rows}.")
        if is_share
        else _("Half the summed difference of each row (these rows don't sum to 1). Rows that moved most: {rows}.")
    )
    return plain(said.format(rows=rows))


def _other(kind: str, trace: AttentionTrace, view: View) -> tuple[AttentionTrace, View, str, str]:
    """B's trace and view, and what A and B are called."""
    question = two_texts.question_of(trace)
    if kind == "mask":
        before = trace.mask if question is None else question.mask
        mask = _mask(before)
        return _again(trace, question, mask=mask), view, str(before), str(mask)
    if kind == "model":
        model_id = _model(trace.model_id)
        other = loading.trace(trace.text, model_id, trace.mask)
        inside = replace(view, layer=min(view.layer, other.n_layers - 1), head=min(view.head, other.n_heads - 1))
        return other, inside, f"{_(trace.model_label)} {view.name}", f"{_(other.model_label)} {inside.name}"
    if kind == "sentence":
        text = _sentence(controls.sentence())
        return _again(trace, question, text=text), view, _("your sentence"), _("the other sentence")
    n = trace.n_heads if kind == "head" else trace.n_layers
    mine = view.head if kind == "head" else view.layer
    number = _number(kind, n, mine)
    moved = replace(view, head=number) if kind == "head" else replace(view, layer=number)
    return trace, moved, _("head {name}").format(name=view.name), _("head {name}").format(name=moved.name)


def _again(
    trace: AttentionTrace, question: Question | None, *, text: str | None = None, mask: Mask | None = None
) -> AttentionTrace:
    """The trace with another text or mask. An encoder–decoder reads another source beside the same target."""
    if question is None:
        return loading.trace(text or trace.text, trace.model_id, mask or trace.mask)
    target = question.traces().target if text else question.target
    return replace(question, source=text or question.source, target=target, mask=mask or question.mask)()


def _mask(mine: Mask) -> Mask:
    options = {name: _(title) for name, title in MASKS.items()}
    first = "causal" if str(mine) != "causal" else "bidirectional"
    if "b_mask" not in st.session_state:
        mask = links.read("b_mask", parse_mask, None)
        st.session_state["b_mask"] = str(mask) if mask is not None else first
    elif (said := spoken_names(MASKS).get(st.session_state["b_mask"])) is not None:
        st.session_state["b_mask"] = said
    names = list(dict.fromkeys([*options, st.session_state["b_mask"]]))
    with st.container(width=260):
        spelled = st.selectbox(
            _("Mask of B"),
            names,
            format_func=lambda name: options.get(name, mask_choice.short(name)),
            key="b_mask",
            accept_new_options=True,
            help=_("Or type a mask as links spell it: window:3, causal+window:2, prefix:5, padding:16."),
            persist_state="session",
        )
    links.write("b_mask", str(spelled), first)
    return parse_mask(str(spelled))


def _model(mine: str) -> str:
    titles = {entry.id: entry.label for entry in entries() if entry.id != mine}
    if not titles:
        raise HeadworkError("This server offers one model only, so there is nothing to compare it with.")
    first = next((name for name in ("toy", "minilm") if name in titles), next(iter(titles)))  # no download needed
    with st.container(width=260):
        return resolve(menu(_("Model of B"), "b_model", titles, first)).id


def _number(kind: str, n: int, mine: int) -> int:
    """Another layer or head, from 0. Its neighbour at first."""
    numbers = {str(i + 1): str(i + 1) for i in range(n) if i != mine} or {"1": "1"}
    first = str(mine + 2 if mine + 2 <= n else max(mine, 1))
    label = _("Head of B") if kind == "head" else _("Layer of B")
    with st.container(width=160):
        return int(menu(label, f"b_{kind}", numbers, first)) - 1


def _sentence(mine: str) -> str:
    suggested = dict(pairs()).get(mine) or {b: a for a, b in pairs()}.get(mine) or mine
    if "b_text" not in st.session_state:
        st.session_state["b_text"] = links.read("b_text", str, suggested)
    with st.container(width=420):
        text = st.text_input(
            _("Sentence of B"),
            key="b_text",
            max_chars=links.LONGEST_TEXT,
            persist_state="session",
            help=_("Two sentences of equal length are compared token by token."),
        )
    links.write("b_text", text, suggested)
    with st.container(width=240):
        st.selectbox(
            _("Minimal pairs"),
            range(len(pairs())),
            index=None,
            format_func=lambda i: pairs()[i][0],
            key="pair",
            placeholder=_("Choose a pair"),
            on_change=_take_pair,
        )
    if st.session_state.pop("new_sentence", False):
        st.rerun()  # the sentence of A stands in the sidebar, outside this fragment
    if not text.strip():
        raise HeadworkError("There is no text to look at. Type a sentence.")
    return text


def _take_pair() -> None:
    number = st.session_state["pair"]
    if number is None:
        return
    st.session_state["pair"] = None
    st.session_state["text"], st.session_state["b_text"] = pairs()[number]
    st.session_state["new_sentence"] = True
