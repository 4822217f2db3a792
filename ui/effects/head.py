"""One head: its map for the prompt, its effect on each prompt, and in words what was measured."""

import streamlit as st

from analysis.effects.questions import Question
from model.head_id import HeadId
from ui.effects import says
from ui.effects.choices import View
from ui.effects.data import Measured
from ui.effects.words import signed
from ui.frame import loading
from ui.frame.captions import chart
from ui.frame.languages import _, plain
from viz.effect_parts import on_each_prompt
from viz.heatmaps import head_heatmap
from viz.maps import Maps
from viz.theme import markup


def head_tab(view: View, measured: Measured) -> None:
    """The head's map beside its effects."""
    left, right = st.columns([5, 6], gap="medium")
    with right:
        st.markdown(plain(_what(view, measured)))
        figure = on_each_prompt(
            measured.each[(slice(None), *view.head)],
            [_hover(measured, n, view) for n in range(measured.n)],
            interval=measured.bounds(view.head),
            shown=view.prompt,
            x_title=_("prompts, in order of the effect"),
            y_title=_("change of the logit difference"),
        )
        alt = _("Effect of head {name} on each prompt, the lowest first.").format(name=view.name)
        chart(figure, "effects_each", alt=alt)
        st.caption(_("Darkest: the prompt above. Dashed: the mean, in its 95 % interval (grey)."))
    with left:
        head_map(view.question.prompt, view.asked.model_id, view.head)
        st.caption(_("The last row is the one that counts here: from there the answer is predicted."))


def head_map(text: str, model_id: str, head: tuple[int, int]) -> None:
    """The map of a head on a text, under the model's own mask."""
    model = loading.load_model(model_id)
    trace = loading.trace(text, model_id, model.default_mask)
    layer, number = head
    of_head = Maps(trace.attention[layer, number], trace.allowed_in(layer), trace.tokens)
    name = str(HeadId(layer, number))
    figure = head_heatmap(of_head, title=_("Head {name}").format(name=name), height=430, t=_)
    alt = _("Attention map of head {name}: each row is a query, each column a key.").format(name=name)
    chart(figure, "effects_map", alt=alt)


def _what(view: View, measured: Measured) -> str:
    """Effect, attention and direct effect of the head, each in a clause."""
    said = [
        _("Without head {name} the logit difference changes by {change} on average over {n} prompts.").format(
            name=view.name, change=says.change(measured, view.head, interval=True), n=measured.n
        )
    ]
    if measured.looks is not None:
        said.append(
            _("From the last token it gives {weight} of its weight to {word}.").format(
                weight=says.weight(measured, view.head), word=_(measured.word)
            )
        )
    if measured.direct is not None:
        direct = float(measured.direct[view.head])
        said.append(
            _("What it writes itself moves the difference by {direct}; the rest goes by way of later layers.").format(
                direct=signed(direct)
            )
        )
    return " ".join(said)


def _hover(measured: Measured, n: int, view: View) -> str:
    question: Question = measured.questions[n]
    effect = says.value(measured, float(measured.each[(n, *view.head)]))
    return f"{markup(question.prompt)} <b>{markup(question.right.strip())}</b><br>{effect}"
