"""Every part of the model: what each writes towards the answer, and what each is worth when it is switched off."""

import numpy as np
import streamlit as st

from ui.effects import says
from ui.effects.choices import View
from ui.effects.data import Measured
from ui.effects.picture import says_heads
from ui.effects.words import signed
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from viz.effect_parts import LayerParts, in_proportion, written


def parts_tab(view: View, measured: Measured) -> None:
    """Direct effects that add up on the left, effects of heads, FFNs and layers on the right."""
    left, right = st.columns(2, gap="medium")
    with left:
        _written(view, measured)
    with right:
        proportion(measured, view.head)


def _written(view: View, measured: Measured) -> None:
    st.markdown(f"**{plain(_('Written towards the answer (direct effect)'))}**")
    parts = measured.raw.get("parts")
    if parts is None or measured.direct is None:
        st.info(
            _(
                "In this model a norm stands between the parts (post-LN), so what they write doesn't add up to the "
                "answer."
            )
        )
        return
    of_layers = LayerParts(measured.direct, np.array(parts["ffns"]))
    figure = written(of_layers, parts["embedding"], parts["biases"], y_title=_("share of the logit difference"), t=_)
    chart(figure, "effects_written", alt=_("What heads and FFN of each layer write towards the answer."))
    terms = {
        _("embedding"): float(parts["embedding"]),
        _("all heads"): float(measured.direct.sum()),
        _("all FFNs"): float(sum(parts["ffns"])),
        _("all biases"): float(parts["biases"]),
    }
    listed = _(", ").join(f"{name} {signed(value)}" for name, value in terms.items() if value)
    said = _("In all: {list}; together the logit difference, {sum}.").format(
        list=listed, sum=signed(sum(terms.values()))
    )
    st.markdown(plain(said))
    small(
        _(
            "What a part adds to the residual stream at the last token, read by the final norm and the output matrix "
            "(Elhage et al. 2021). What it does by way of later layers isn't in it."
        )
    )


def proportion(measured: Measured, head: tuple[int, int]) -> None:
    """Heads beside FFNs and whole layers, on one axis."""
    st.markdown(f"**{plain(_('Switched off: heads beside FFNs and layers'))}**")
    if measured.ffns is None:
        st.info(_("Here only heads were measured."))
        return
    figure = in_proportion(
        LayerParts(measured.mean, measured.ffns, measured.layers),
        says_heads(measured),
        selected=head,
        y_title=_("effect when off"),
        t=_,
    )
    chart(figure, "effects_heads", alt=_("Effects of heads, FFNs and whole layers, layer by layer."))
    largest = int(abs(measured.ffns).argmax())
    said = _("The FFN with the largest effect stands in layer {layer}: {ffn}. The head that matters most: {head}.")
    st.markdown(
        plain(
            said.format(
                layer=largest + 1,
                ffn=says.value(measured, float(measured.ffns[largest])),
                head=says.change(measured, measured.matters),
            )
        )
    )
