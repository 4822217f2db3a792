"""Is the head used? Each head off alone: what moves, beside where it looks."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from analysis.evidence.one_sentence import Link, WordMaps
from model import Mask
from model.head_id import HeadId
from ui.frame.captions import chart
from ui.frame.choose import translated
from ui.frame.languages import _, plain
from ui.heads import data
from ui.heads.choices import View, choose
from viz.scores import used_against_looked

OF = {"word": "the word", "sentence": "the whole sentence"}


def used(view: View, text: str, model_id: str, mask: Mask, maps: WordMaps, links: Sequence[Link]) -> None:
    """A switch, and behind it every head as a point: weight given against change when it is off."""
    st.markdown(f"#### {plain(_('Is it used?'))}")
    if not st.toggle(
        _("Switch each head off, one at a time, and see what moves"),
        key="heads_used",
        help=_("The head's slice of the input to W_o becomes 0. The model runs once for each head."),
    ):
        return
    names = [f"{word} ({place})" for place, word in enumerate(maps.words, start=1)]
    numbers = list(range(len(names)))
    first = links[0].asking if links else 0
    key = "heads_used_word"
    about = (text, first)
    if st.session_state.get("heads_used_about") != about or st.session_state.get(key) not in numbers:
        st.session_state[key] = first
        st.session_state["heads_used_about"] = about
    left, right = st.columns([2, 3], gap="small")
    with left:
        word = int(st.selectbox(_("Word"), numbers, format_func=names.__getitem__, key=key))
    with right:
        of = choose(_("What moves"), "moves", translated(OF), "word", wide=True)
    if not maps.pieces[word]:
        st.info(_("No token of the vocabulary stands for this word alone. Choose another."))
        return
    ablation = data.ablation(text, model_id, mask)
    change = ablation.of_pieces(maps.pieces[word]) if of == "word" else ablation.of_sentence()
    wanted = next((link.wanted for link in links if link.asking == word), None)
    weight, axis = _weight(maps, word, wanted)
    st.markdown(plain(_says(view, maps.words[word], weight, change, of)))
    figure = used_against_looked(
        weight,
        change,
        view.head,
        x_title=axis,
        y_title=_("change of “{word}” when the head is off").format(word=maps.words[word])
        if of == "word"
        else _("change of the sentence when the head is off"),
        t=_,
    )
    chart(
        figure,
        "heads_used_figure",
        alt=_("Every head as a point: its weight to the right, its change upwards."),
    )
    st.caption(
        _(
            "Change: how far the last layer's hidden state moves, as a share of its length; mean over tokens. One "
            "sentence, one head off at a time: heads can stand in for each other, and no task is measured."
        )
    )


def _weight(maps: WordMaps, word: int, wanted: int | None) -> tuple[np.ndarray, str]:
    """(L, h): the weight on the right word, or on the word looked at most."""
    rows = maps.maps[:, :, word]
    if wanted is not None:
        axis = _("weight from “{word}” to “{wanted}”").format(word=maps.words[word], wanted=maps.words[wanted])
        return rows[:, :, wanted], axis
    others = rows.copy()
    others[:, :, word] = 0
    return others.max(axis=-1), _("largest weight from “{word}” to another word").format(word=maps.words[word])


def _says(view: View, word: str, weight: np.ndarray, change: np.ndarray, of: str) -> str:
    def rank(values: np.ndarray) -> int:
        return int((values > values[view.head]).sum()) + 1

    most = divmod(int(change.argmax()), change.shape[1])
    said = _("{head} gives {weight} (rank {look} of {total} heads); without it {what} moves by {change} (rank {use}).")
    said = said.format(
        head=view.name,
        weight=f"{float(weight[view.head]):.2f}",
        look=rank(weight),
        total=weight.size,
        what=f"“{word}”" if of == "word" else _("the sentence"),
        change=f"{100 * float(change[view.head]):.1f} %",
        use=rank(change),
    )
    if most != view.head:
        said += " " + _("The largest change is without {other}, which gives {weight}.").format(
            other=str(HeadId(*most)), weight=f"{float(weight[most]):.2f}"
        )
    return said
