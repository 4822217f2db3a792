"""The tab "Before the softmax": S, M, S + M and the softmax of one head, and the wrong order beside the right one."""

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from analysis.maps.masking import additive, masked_softmax, zero_after_softmax
from model import AttentionTrace
from model.head_id import HeadId
from ui.frame.beside import beside, panel
from ui.frame.captions import chart
from ui.frame.languages import _, plain
from ui.frame.mask_choice import name
from ui.masks.choice import query_row
from ui.masks.runs import scores_of
from viz.maps import Maps
from viz.mask_effects import row_sums
from viz.masks import mask_matrix, score_map, weight_map

SMALL = 300  # pixels: four maps in a row
WRONG = 330


def steps(trace: AttentionTrace, layer: int, head: int) -> None:
    """One head under the trace's mask, step by step."""
    allowed, labels = trace.allowed, trace.tokens
    scores = scores_of(trace, layer).scores[head].astype(float)
    right, wrong = masked_softmax(scores, allowed), zero_after_softmax(scores, allowed)
    place, say = st.columns([2, 7], gap="small", vertical_alignment="bottom")
    with place:
        query = query_row(trace, "query")
    say.markdown(
        _(
            "Head {name}, mask {mask}: M is added to the scores **before** the softmax. exp(−∞) = 0, "
            "so a hidden key gets weight 0 and has no part in the row's sum."
        ).format(name=str(HeadId(layer, head)), mask=name(trace.mask))
    )
    _matrices(scores, right, allowed, labels, query)
    st.markdown("**" + _("The wrong order: softmax first, then 0 where the mask forbids") + "**")
    table, map_place, sum_place = st.columns([5, 3.2, 3.2], gap="small")
    table.dataframe(
        in_numbers(scores[query], allowed[query], right[query], wrong[query], labels), hide_index=True, height=WRONG
    )
    title = _("wrong: softmax(S), then 0")
    figure = weight_map(Maps(wrong, allowed, labels), panel(title, query, WRONG), t=_)
    chart(figure, "wrong", map_place, grown=True)
    sums = wrong.sum(axis=-1)
    figure = row_sums(sums, labels, panel(_("wrong: row sums"), query, WRONG), t=_)
    chart(figure, "sums", sum_place, grown=True)
    st.markdown(plain(verdict(right, sums, allowed, labels, query)))


def _matrices(
    scores: npt.NDArray[np.float64],
    right: npt.NDArray[np.float64],
    allowed: npt.NDArray[np.bool_],
    labels: tuple[str, ...],
    query: int,
) -> None:
    limits = (float(scores.min()), float(scores.max()))
    all_seen = np.ones_like(allowed)
    small = partial(panel, query=query, height=SMALL)
    figures = (
        score_map(Maps(scores, all_seen, labels), small("S = QKᵀ / √d_k"), limits=limits, t=_),
        mask_matrix(allowed, labels, small(_("M: 0, hatched −∞")), words=("0", "−∞"), t=_),
        score_map(Maps(scores, allowed, labels), small("S + M"), limits=limits, t=_),
        weight_map(Maps(right, allowed, labels), small("softmax(S + M)"), t=_),
    )
    places = beside(["S", "M", "S + M", "softmax(S + M)"], key="mask_step")
    for i, (place, figure) in enumerate(zip(places, figures, strict=True)):
        chart(figure, f"step{i}", place, grown=True)


def in_numbers(
    scores: npt.NDArray[np.float64],
    allowed: npt.NDArray[np.bool_],
    right: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64],
    labels: tuple[str, ...],
) -> pd.DataFrame:
    """One query: a line for each key, the sums of the row first. All arrays are (N,)."""
    masked = scores + additive(allowed)
    return pd.DataFrame(
        {
            _("key"): [_("row sum"), *labels],
            "S": ["", *(f"{value:.2f}" for value in scores)],
            "M": ["", *("0" if cell else "−∞" for cell in allowed)],
            "S + M": ["", *("−∞" if np.isneginf(value) else f"{value:.2f}" for value in masked)],
            "softmax(S + M)": [f"{value:.2f}" for value in (right.sum(), *right)],
            _("wrong"): [f"{value:.2f}" for value in (wrong.sum(), *wrong)],
        }
    )


def verdict(
    right: npt.NDArray[np.float64],
    sums: npt.NDArray[np.float64],
    allowed: npt.NDArray[np.bool_],
    labels: tuple[str, ...],
    query: int,
) -> str:
    """How far the wrong order is from the right one: `right` (N, N) and the row sums of the wrong one, (N,)."""
    seeing = allowed.any(axis=-1)
    n_short = int((sums < 1 - 1e-6).sum())
    if n_short == 0:
        if allowed.all():
            return _("This mask hides nothing, so both orders give the same rows. Compare with another mask.")
        return _("The hidden keys would have had no weight here, so both orders give the same rows.")
    right_sum = float(right.sum(axis=-1)[seeing].min()) if seeing.any() else 0.0
    return _(
        "Right: rows sum to {right:.2f}. Wrong: {n} of {total} rows sum to less, the lowest to {low:.2f}, "
        "row “{query}” to {own:.2f}. The rest had gone to hidden keys: they took part in the softmax, "
        "so what they are still changes the weights that remain."
    ).format(
        right=right_sum,
        n=n_short,
        total=len(labels),
        low=float(sums.min()),
        query=labels[query],
        own=float(sums[query]),
    )
