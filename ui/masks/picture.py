"""The mask lab's first picture: two masks on the same sentence and weights, and the signed difference."""

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.maps.masking import cut_and_rescale, hides_only, largest, split_difference, weight_hidden, weight_moved
from model import AttentionTrace
from model.head_id import HeadId
from ui.frame.beside import beside, panel
from ui.frame.captions import caution, chart, text_scale
from ui.frame.chinese_words import pronouns_without_token
from ui.frame.choose import choose, translated
from ui.frame.languages import _, plain
from ui.frame.loading import load_model
from ui.frame.mask_choice import name
from ui.frame.remarks import is_as_trained, scientific
from ui.frame.unread import unread
from ui.masks.runs import scores_of
from viz.layer_grid import difference_grid, layer_grid
from viz.maps import Maps, block_step
from viz.masks import difference_map, weight_map
from viz.style import Style

GRID_HEIGHT = 335
VIEWS = {"one": "one head", "all": "all heads", "split": "difference, split"}


def how_to_read() -> None:
    """The explanation behind the picture."""
    st.markdown(
        _(
            "- **Left**: the mask of the sidebar. **Middle**: the mask to compare with. **Right**: middle minus left.\n"
            "- A **row** is a token as the *query*: it looks. A **column** is a token as the *key*: it is looked at.\n"
            "- All weights are coloured from 0 to 1. Orange: more weight under the second mask; purple: less.\n"
            "- **Hatched grey** cells are masked: that query may not look at that key. This is not a weight of 0.\n"
            "- *Cut and rescale*: what the mask does to the same input. *Changed input*: the layers below saw another "
            "mask, so this layer reads other states. In layer 1 this part is 0.\n"
            "- A row that may look at nothing has weights 0 and output 0."
        )
    )


def honest(first: AttentionTrace, second: AttentionTrace) -> None:
    """Says once what these maps are not: a model's pattern under a mask that it wasn't trained with."""
    own = load_model(first.model_id).default_mask
    others = dict.fromkeys(name(trace.mask) for trace in (first, second) if not is_as_trained(trace))
    if not first.trained:
        caution(_("Untrained model: its weights are random. What a mask does to them is exact all the same."))
    elif others:
        said = _(
            "{mask}: outside this model's training, which was {trained}. This shows what the mask does, {not_what}."
        )
        hides_later = any(mask.hides_later_tokens for mask in (first.mask, second.mask)) and not own.is_causal
        not_what = (
            _("not how a trained decoder attends") if hides_later else _("not how a model trained with it attends")
        )
        caution(said.format(mask=_(", ").join(others), trained=name(own), not_what=not_what))
    unread(first)
    pronouns_without_token(first)
    if first.mask == second.mask:
        st.info(_("Both masks are the same, so nothing changes. Choose another one to compare with."))


def blocks(trace: AttentionTrace) -> None:
    """Says what a cell stands for where a long sentence is drawn in blocks."""
    if (step := block_step(trace.n_tokens)) > 1:
        said = _(
            "A long sentence: a cell of these maps shows the largest of {step} × {step} weights, and of the change the "
            "one farthest from 0."
        )
        st.caption(said.format(step=step))


def view() -> str:
    """What the picture shows; the link keeps it as `picture=`."""
    views = translated(VIEWS)
    return choose(_("Show"), "picture", views, "one", key="mask_view", wide=True, bare=True)


def one_head(first: AttentionTrace, second: AttentionTrace, layer: int, head: int) -> None:
    """One head under both masks, and the second minus the first."""
    difference = second.attention[layer, head] - first.attention[layer, head]
    left, middle, right = _three(first, second)
    for place, trace, key in ((left, first, "first"), (middle, second, "second")):
        attention, title = trace.attention[layer, head], name(trace.mask)
        figure = weight_map(Maps(attention, trace.allowed, trace.tokens), panel(title), says_masked=True, t=_)
        chart(figure, key, place, grown=True)
    shown = Maps(difference, first.allowed | second.allowed, first.tokens)
    figure = difference_map(shown, panel(_("change")), limit=largest(difference), t=_)
    chart(figure, "difference", right, grown=True)
    _say_hidden(first, second, layer, head)


def _three(first: AttentionTrace, second: AttentionTrace) -> list[DeltaGenerator]:
    return beside([name(first.mask), name(second.mask), _("change")], key="mask_map")


def all_heads(first: AttentionTrace, second: AttentionTrace, layer: int, head: int) -> None:
    """All heads of the layer under both masks, and the differences on one scale."""
    left, middle, right = _three(first, second)
    style = Style(text_scale=text_scale())
    for place, trace, key in ((left, first, "first_grid"), (middle, second, "second_grid")):
        attention = trace.attention[layer]
        shown = Maps(attention, trace.allowed, trace.tokens)
        figure = layer_grid(shown, style, layer=layer, selected=head, title=name(trace.mask), height=GRID_HEIGHT, t=_)
        chart(figure, key, place, grown=True)
    difference = second.attention[layer] - first.attention[layer]
    limit = largest(difference)
    title = _("change, {low} to {high}").format(low=f"−{limit:.2f}", high=f"+{limit:.2f}")
    shown = Maps(difference, first.allowed | second.allowed, first.tokens)
    figure = difference_grid(
        shown,
        layer=layer,
        limit=limit,
        selected=head,
        title=title,
        height=GRID_HEIGHT,
        text_scale=style.text_scale,
        t=_,
    )
    chart(figure, "difference_grid", right, grown=True)
    said = _("Share of a row's weight that moves to other keys, mean over queries: ")
    st.markdown(plain(said + most_and_least(weight_moved(difference), layer)))


def most_and_least(moved: np.ndarray, layer: int) -> str:
    """Which of the heads moves most and which least, as far as whole per cent tell them apart; `moved` is (h,)."""
    most, least = int(moved.argmax()), int(moved.argmin())
    high, low = f"{moved[most]:.0%}", f"{moved[least]:.0%}"
    if high == low:
        return _("{share} in every head of the layer.").format(share=high)
    return _("most in head {most} ({high}), least in {least} ({low}).").format(
        most=str(HeadId(layer, most)), least=str(HeadId(layer, least)), high=high, low=low
    )


def split(first: AttentionTrace, second: AttentionTrace, layer: int, head: int) -> None:
    """The difference as the sum of two parts: what the mask does to the same input, and what a changed input does."""
    parts = split_difference(
        first.attention[layer, head],
        second.attention[layer, head],
        scores_of(first, layer).scores[head],
        second.allowed,
    )
    limit = max(largest(parts.difference), largest(parts.by_mask), largest(parts.by_input))
    allowed = first.allowed | second.allowed
    only_hides = hides_only(second.allowed, first.allowed)
    titles = (_("change"), "= " + (_("cut and rescale") if only_hides else _("other mask")), "+ " + _("changed input"))
    values = (parts.difference, parts.by_mask, parts.by_input)
    for place, title, value in zip(beside(titles, key="mask_part"), titles, values, strict=True):
        figure = difference_map(Maps(value, allowed, first.tokens), panel(title), limit=limit, t=_)
        chart(figure, f"split {title}", place, grown=True)
    said = _(
        "Layer {layer}: changed input moves a weight by at most {input}; "
        "the two parts add up to the change (error {error})."
    ).format(layer=layer + 1, input=amount(largest(parts.by_input)), error=scientific(parts.max_error))
    if only_hides:
        said += " " + _cut_in_layer_1(first, second)
    else:
        said += " " + _("This mask also allows what the other hides, so it is more than a cut.")
    st.markdown(plain(said))


def _cut_in_layer_1(first: AttentionTrace, second: AttentionTrace) -> str:
    error = largest(cut_and_rescale(first.attention[0], second.allowed) - second.attention[0])
    return _(
        "In layer 1 the input is the same, so {second} rows are {first} rows cut and rescaled: "
        "largest error over all heads {error}."
    ).format(second=name(second.mask), first=name(first.mask), error=scientific(error))


def amount(value: float) -> str:
    """A change of weight: two decimals, or what rounding leaves (3e-7)."""
    return f"{value:.2f}" if value >= 0.005 else scientific(value)


def _say_hidden(first: AttentionTrace, second: AttentionTrace, layer: int, head: int) -> None:
    difference = second.attention[layer, head] - first.attention[layer, head]
    query, key = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    said = _(
        "Head {name}: {first} puts {share:.0%} of its weight on keys that {second} hides (mean over queries). "
        "Largest change: {change} for query “{query}”, key “{key}”."
    ).format(
        name=str(HeadId(layer, head)),
        first=name(first.mask),
        second=name(second.mask),
        share=float(weight_hidden(first.attention[layer, head], second.allowed).mean()),
        change=f"{difference[query, key]:+.2f}".replace("-", "−"),
        query=first.tokens[query],
        key=first.tokens[key],
    )
    if layer == 0 and first.mask != second.mask and hides_only(second.allowed, first.allowed):
        said += " " + _cut_in_layer_1(first, second)
    st.markdown(plain(said))
