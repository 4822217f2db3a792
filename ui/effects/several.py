"""Several heads off together, beside the sum of what each does alone: others may have stood in for them."""

import numpy as np
import streamlit as st

from analysis.effects.joint import Together, together
from model.head_id import HeadId
from ui.effects import data
from ui.effects.choices import View, named_head
from ui.effects.data import Head, Measured
from ui.effects.words import between, probability, signed
from ui.frame import links
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from viz.effect_parts import together as together_figure

FIRST, MOST = 3, 12  # heads that are off at first, and at most
KEY = "effects_several"


def several_tab(view: View, measured: Measured) -> None:
    """Heads to choose, their effect together, and what it says."""
    heads = _choose(measured)
    if len(heads) < 2:
        st.info(_("Choose two heads or more: one alone is in the picture above."))
        return
    joint = data.with_off(view.asked, heads)
    found = together(joint, measured)
    names = [*(str(HeadId(*head)) for head in heads), _("sum of these"), _("together")]
    values = [*(float(measured.mean[head]) for head in heads), found.sum_of_singles, found.together]
    left, right = st.columns([6, 5], gap="medium")
    with left:
        figure = together_figure(names, values, x_title=_("change of the logit difference"))
        alt = _("Effect of each head alone, their sum, and all of them off together.")
        chart(figure, "effects_together", alt=alt)
    with right:
        st.markdown(plain(_says(found)))
        before, after = float(np.mean(measured.of_prompts("p_right"))), float(joint.p_right.mean())
        said = _("The right answer's mean probability goes from {before} to {after}.")
        st.markdown(plain(said.format(before=probability(before), after=probability(after))))
        small(_("Heads that take over what another one did are called backup heads (Wang et al. 2022)."))


def _choose(measured: Measured) -> list[Head]:
    """The heads that are off; those that are missed most at first. The link has them as 24-4,21-1."""
    n_layers, n_heads = measured.mean.shape
    names = [str(HeadId(layer, head)) for layer in range(n_layers) for head in range(n_heads)]
    first = [str(HeadId(*head)) for head in measured.ranked(FIRST)]
    if KEY not in st.session_state or set(st.session_state[KEY]) - set(names):
        asked = links.read("several", str, "", key=KEY).split(",")[:MOST]
        st.session_state[KEY] = [name for name in dict.fromkeys(asked) if name in names] or first
    chosen = st.multiselect(
        _("Heads that are off together"), names, key=KEY, max_selections=MOST, persist_state="session"
    )
    links.write("several", ",".join(chosen), ",".join(first))
    return [named_head(name) for name in chosen]


def _says(found: Together) -> str:
    """Together beside the sum, and which of the two costs more, where the interval can tell."""
    said = _("Together they change the logit difference by {together}; the sum of each alone is {sum}.").format(
        together=signed(found.together) + between(found.interval),
        sum=signed(found.sum_of_singles) + between(found.sum_interval),
    )
    bounds = found.more_interval
    if bounds is None:
        return said
    if bounds[1] < 0:
        said += " " + _("Together they cost more: with one of them off, the others did part of its work.")
    elif bounds[0] > 0:
        said += " " + _(
            "Together they cost less: they do parts of one thing, which is lost with the first, or heads that stay on "
            "take over."
        )
    else:
        said += " " + _("The two can't be told apart on these prompts.")
    return said + " " + _("Difference: {more}.").format(more=signed(found.more) + between(bounds))
