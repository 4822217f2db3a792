"""The tab "The future": the leak test, and the sentence revealed token by token as a decoder meets it."""

import numpy as np
import streamlit as st

from analysis.maps.mask_runs import Leak, largest_move, without_padding
from analysis.maps.masking import largest
from model import AttentionTrace, HeadworkError, Mask
from ui.frame.beside import beside, panel
from ui.frame.captions import chart
from ui.frame.languages import _, explain, plain
from ui.frame.mask_choice import name
from ui.masks.picture import amount
from ui.masks.runs import leak_of, revealed_of, words_it_knows
from viz.maps import Maps
from viz.mask_effects import moves
from viz.masks import weight_map

REVEALED_AT_FIRST = 5


def leak_test(first: AttentionTrace, second: AttentionTrace) -> None:
    """A later word is edited: what moves before it, under each of the two masks?"""
    words = first.tokenized.words
    place, typed, say = st.columns([2, 2, 5], gap="small", vertical_alignment="bottom")
    if not words:
        st.info(_("This sentence has no word to edit. Type another."))
        return
    last = max((i for i, word in enumerate(words) if word.isalnum()), default=len(words) - 1)
    word = place.selectbox(
        _("Edit the word"), range(len(words)), index=last, format_func=lambda i: f"{i + 1}: {words[i]}", key="edit"
    )
    known = [other for other in words_it_knows(first) if other != words[int(word or 0)]]
    into, key = (known[0], f"into {first.model_id}") if known else (_("never"), "into")
    replacement = typed.text_input(_("into"), into, key=key, max_chars=100)
    try:
        leaks = [leak_of(first, trace.mask, int(word or 0), replacement) for trace in (first, second)]
    except HeadworkError as error:
        st.info(explain(error))
        return
    limit = max(largest(found.moved) for found in leaks)
    said = []
    titles = [name(without_padding(trace.mask)) for trace in (first, second)]
    places = beside(titles, key="mask_leak")
    for i, (title, found, side) in enumerate(zip(titles, leaks, places, strict=True)):
        labels = first.tokens[: found.moved.shape[1]]
        figure = moves(found.moved, labels, panel(title, height=320), first=found.first, limit=limit, t=_)
        chart(figure, f"leak{i}", side, grown=True)
        said.append(_moved(title, found))
    say.markdown("  \n".join(dict.fromkeys(said)))
    st.markdown(
        _(
            "Colour: how far each token's state moves, ‖Δx‖ / ‖x‖; beside each layer the largest move before the edit "
            "(line). Grey: the edited word. "
            "A decoder learns to predict each token from the states before it. "
            "If these knew the token, there would be nothing left to predict."
        )
    )


def _moved(mask: str, found: Leak) -> str:
    if not found.n_before:
        return _("No token stands before the edit. Edit a later word.")
    (most, level), weight = largest_move(found.before), largest(found.weights_moved)
    if most == weight == 0:
        return _("**{mask}**: nothing before the edit moves (largest change 0).").format(mask=plain(mask))
    if max(most, weight) < 1e-4:
        return _("**{mask}**: nothing before the edit moves (largest change {most}, rounding).").format(
            mask=plain(mask), most=amount(max(most, weight))
        )
    said = _("**{mask}**: before the edit, states move by up to {most} (layer {level}) and weights by up to {weight}.")
    return said.format(mask=plain(mask), most=amount(most), level=level, weight=amount(weight))


def reveal(trace: AttentionTrace, layer: int, head: int) -> None:
    """The sentence grows by one token at a time; each beginning is run on its own."""
    st.markdown("**" + _("Step through time") + "**")
    n_tokens = sum(not padding for padding in trace.tokenized.is_padding)
    if n_tokens < 2:
        st.info(_("One token has no time to step through. Type a longer sentence."))
        return
    shown = min(REVEALED_AT_FIRST, n_tokens)
    help_text = _("The model is run on these tokens alone.")
    n = st.slider(_("Tokens revealed"), 1, n_tokens, shown, key="time", help=help_text)
    labels = trace.tokens[:n_tokens]
    said = []
    pictures, words = st.columns([2, 1], gap="small")
    masks = (Mask.causal(), Mask.bidirectional())
    with pictures:
        places = beside([name(mask) for mask in masks], key="mask_time")
    for i, (mask, place) in enumerate(zip(masks, places, strict=True)):
        now = revealed_of(trace, mask, n, layer).attention[head]
        full, allowed = np.full((n_tokens, n_tokens), np.nan), np.ones((n_tokens, n_tokens), dtype=bool)
        full[:n, :n], allowed[:n, :n] = now, mask.allowed(n).numpy()
        figure = weight_map(Maps(full, allowed, labels), panel(name(mask), n - 1, 340), t=_)
        chart(figure, f"time{i}", place, grown=True)
        if n > 1:
            before = revealed_of(trace, mask, n - 1, layer).attention[head]
            said.append(
                _("**{mask}**: the arrival of “{token}” changes the rows above it by at most {change}.").format(
                    mask=plain(name(mask)),
                    token=plain(labels[n - 1]),
                    change=amount(largest(now[: n - 1, : n - 1] - before)),
                )
            )
    words.markdown("  \n".join(said) or _("Reveal a second token."))
    words.markdown(
        _(
            "A causal row is final the moment its token has arrived: a decoder keeps it and adds the next. "
            "A bidirectional row is computed anew with each token."
        )
    )
