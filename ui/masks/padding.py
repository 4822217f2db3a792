"""The tab "Padding": two sentences as one batch, what padding takes, and which mask keeps it out."""

import pandas as pd
import streamlit as st

from analysis.maps.padded_batch import CASES, PaddedBatch
from model import AttentionTrace, HeadworkError
from model.head_id import HeadId
from ui.frame.beside import beside, panel
from ui.frame.captions import chart
from ui.frame.languages import _, explain
from ui.masks.picture import amount
from ui.masks.runs import padded_of, words_it_knows
from viz.maps import Maps
from viz.masks import weight_map

CASE_NAMES = dict(zip(CASES, ("none", "causal", "padding", "causal + padding"), strict=True))


def padding(trace: AttentionTrace, layer: int, head: int) -> None:
    """The controls of the batch and what they change."""
    typed, base_place, side_place = st.columns([4, 3, 3], gap="small", vertical_alignment="bottom")
    known = words_it_knows(trace)
    first, key = (" ".join(known[:3]), f"other {trace.model_id}") if known else (_("The cat sat."), "other")
    other = typed.text_input(_("Second sentence of the batch"), first, key=key, max_chars=1500)
    base = base_place.segmented_control(
        _("Direction"),
        ["bidirectional", "causal"],
        default="bidirectional",
        required=True,
        key="pad_base",
        format_func=_,
    )
    side = side_place.segmented_control(
        _("Padding stands on the"),
        ["right", "left"],
        default="right",
        required=True,
        key="pad_side",
        format_func=_,
        help=_(
            "Right: as in BERT. Left: as batches for a decoder that generates; positions count from the first word."
        ),
    )
    try:
        batch = padded_of(trace, other, layer, "left" if side == "left" else "right")
    except HeadworkError as error:
        st.info(explain(error))
        return
    without, with_ = CASES.index(str(base)), CASES.index("padding" if base == "bidirectional" else "causal+padding")
    pictures, right = st.columns([6.8, 4.2], gap="small")
    titles = [_("no padding mask"), _("padding mask")]
    if base == "causal":
        titles = [f"{_('causal')}, {title}" for title in titles]
    with pictures:
        places = beside(titles, key="mask_padded")
    for place, case, title in zip(places, (without, with_), titles, strict=True):
        attention, allowed = batch.attention[case, head], batch.allowed[case]
        figure = weight_map(Maps(attention, allowed, batch.labels), panel(title), t=_)
        chart(figure, f"padded {case == with_}", place, grown=True)
    with right:
        _numbers(batch, layer, head, with_)
    st.markdown(_difference(batch, str(side)))


def _numbers(batch: PaddedBatch, layer: int, head: int, with_mask: int) -> None:
    n_padding = int(batch.is_padding.sum())
    st.markdown(
        _("The {which} sentence is shorter: {real} tokens and {pad} of padding. Its real queries, head {name}:").format(
            which=_("second") if batch.is_second else _("first"),
            real=len(batch.order) - n_padding,
            pad=n_padding,
            name=str(HeadId(layer, head)),
        )
    )
    columns = {
        _("mask"): [_(CASE_NAMES[case]) for case in CASES],
        _("weight on padding"): [f"{share:.0%}" for share in batch.pad_share[:, layer, head]],
        _("outputs move"): [amount(moved) for moved in batch.moved[:, -1]],
    }
    st.dataframe(pd.DataFrame(columns), hide_index=True)
    st.markdown(
        _(
            "Outputs move: ‖Δx‖ / ‖x‖ after the last layer, the largest of any real token, against it run alone. "
            "Rows of padding hold numbers too, but with the padding mask no row reads them: put another word in their "
            "place and the real tokens move by {refilled}."
        ).format(refilled=amount(float(batch.refilled[with_mask])))
    )


def _difference(batch: PaddedBatch, side: str) -> str:
    said = _(
        "**A causal mask is not a padding mask.** Causal hides what comes later, whatever it is; "
        "a padding mask hides padding, wherever it stands."
    )
    if side == "right":
        return f"{said} " + _(
            "On the right, padding is every real token's future, so causal alone hides it too. Put it on the left."
        )
    share = float(batch.pad_share[CASES.index("causal")].max())
    return f"{said} " + _("On the left, causal alone leaves up to {share:.0%} of a head's weight on padding.").format(
        share=share
    )
