"""Patching: a part of the run on the changed prompt is put into this run, to see where the answer is decided."""

import streamlit as st

from analysis.effects.patching import Patching
from model.head_id import HeadId
from ui.effects import measuring, runs
from ui.effects.choices import View, clicked
from ui.effects.data import Measured
from ui.effects.picture import marks
from ui.effects.words import signed
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from viz.effect_parts import patched
from viz.effects import Scale, head_grid, number
from viz.theme import percent

HEIGHT = 400


def patching_tab(view: View, measured: Measured) -> None:
    """The two prompts, then what a layer at a position carries, and what each head does."""
    changed = view.question.changed
    if changed is None:
        st.info(
            _(
                "This prompt has no changed one: both answers would have to stand in it. As JSON a prompt can bring "
                "its own, as other."
            )
        )
        return
    st.markdown(plain(_("Other run: “{prompt}”").format(prompt=changed)))
    key, compute = runs.of_patching(view.asked, view.question)
    found: Patching | None = runs.found(key)
    if found is None:
        said = _("For this one prompt: each layer at each token, and each head, from the other run.")
        measuring.panel(key, compute, said)
        return
    _pictures(view, measured, found)


def _pictures(view: View, measured: Measured, found: Patching) -> None:
    before, other = float(found.difference[0]), float(found.other[0])
    said = _("Logit difference: {before} in this run, {other} in the other. 100 % = the other run's answer.")
    st.markdown(plain(said.format(before=signed(before), other=signed(other))))
    colours = Scale(_("share"), 1.0)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.markdown(f"**{plain(_('Residual stream: one layer at one token'))}**")
        says = _("before layer {layer}, at '{token}': {value}")
        figure = patched(found.share(found.residual), found.labels[0], colours, says=says, height=HEIGHT, t=_)
        chart(
            figure, "effects_patched", alt=_("What each layer at each token carries: layers are rows, tokens columns.")
        )
    with right:
        st.markdown(f"**{plain(_('One head, at all tokens'))}**")
        heads = found.share(found.heads)
        hovers = [
            [f"<b>{HeadId(layer, head)}</b> {number(float(share), plus=True)}" for head, share in enumerate(row)]
            for layer, row in enumerate(heads)
        ]
        limit = Scale(_("share"), max(float(abs(heads).max()), 0.01))
        grid = head_grid(heads, limit, marks(measured, view.head), hovers, height=HEIGHT)
        n_heads = heads.shape[1]
        chart(
            grid,
            "effects_patched_heads",
            on_select=lambda: clicked("effects_patched_heads", n_heads),
            selection_mode="points",
            alt=_("What each head carries: layers are rows, heads are columns."),
        )
    layer, head = divmod(int(heads.argmax()), heads.shape[1])
    said = _("Most by one head: {head}, {share} of the way. This prompt alone; another may give another.")
    st.markdown(plain(said.format(head=HeadId(layer, head), share=percent(float(heads.max())))))
    small(
        _(
            "Everything after the part is computed as usual (Vig et al. 2020; Wang et al. 2022). Where a part changes "
            "the answer, it carries what differs between the two prompts; it need not have found it."
        )
    )
