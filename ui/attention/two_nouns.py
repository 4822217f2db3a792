"""Beneath the maps of an example with two nouns and two pronouns: which head tells the nouns apart, and which seems to.

Computed from the maps of the sentence and of the one with its nouns swapped, for whatever model and mask is chosen.
"""

import streamlit as st

from analysis.evidence.agreement import Answers, ask
from model import AttentionTrace, HeadworkError
from model.head_id import HeadId
from ui.attention import view as explorer_view
from ui.attention.view import View
from ui.frame import examples, loading
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain, words_of
from viz.agreement import agreement_figure

Head = tuple[int, int]


def lesson(trace: AttentionTrace, view: View) -> None:
    """The bars of the example's head, of its false friend and of the chosen head; nothing for any other text."""
    example = examples.of(trace.text)
    if example is None or example.agreement is None:
        return
    if st.session_state.pop("swapped", False):
        st.rerun()  # the sentence stands in the sidebar, outside this fragment
    try:
        swapped = loading.trace(example.agreement.swapped, trace.model_id, trace.mask)
        answers = ask(trace, swapped, example.agreement.questions)
    except HeadworkError as error:  # [UNK], or a mask drawn for another number of tokens
        small(words_of(error))
        return
    chosen = (view.layer, view.head)
    heads = _heads(example, trace.model_id, chosen)
    with st.container(border=True, key="lesson"):
        left, right = st.columns([6, 5], gap="medium")
        left.markdown(f"**{plain(_title(example.agreement))}**")
        chart(
            agreement_figure(answers, heads, selected=chosen, text_scale=view.text_scale, t=_),
            "agreement",
            left,
            grown=True,
            alt=" ".join(_answer_sentence(answers, head) for head in heads),
        )
        legend = _("Raw weights between tokens. ●: more for the noun of the pronoun's gender; ✕: more for the other.")
        left.caption(plain(legend))
        with right:
            for head in heads:
                st.markdown(("◆ " if head == chosen else "") + plain(_answer_sentence(answers, head)))
            st.markdown(f":primary[**▲**] {plain(_caution(answers))}")
            with st.container(horizontal=True, gap="small", key="lesson-ways"):
                st.button(_("Swap the two nouns"), key="swap", on_click=_swap, args=(example,))
                for head in heads:
                    if head != chosen:
                        _way(head)


def _title(agreement: examples.Agreement) -> str:
    nouns = [question.right for question in agreement.questions]
    return _("Which head tells “{a}” from “{b}”, in either order?").format(a=nouns[0], b=nouns[-1])


def _swap(example: examples.Example) -> None:
    assert example.agreement is not None
    examples.swap(example.agreement)
    st.session_state["swapped"] = True


def _heads(example: examples.Example, model_id: str, chosen: Head) -> list[Head]:
    named = [head for head in (example.head(model_id), example.seems(model_id)) if head is not None]
    return list(dict.fromkeys([*((layer - 1, head - 1) for layer, head in named), chosen]))


def _way(head: Head) -> None:
    name = str(HeadId(*head))
    st.button(_("Look at {head}").format(head=name), key=f"lesson_{name}", on_click=explorer_view.go_to, args=head)


def _answer_sentence(answers: Answers, head: Head) -> str:
    """What the answers of a head are, in a sentence."""
    values = {"head": str(HeadId(*head)), "n": answers.n_asked, "k": int(answers.n_right()[head])}
    verdict = answers.verdict(head)
    if verdict == "all":
        return _("{head}: each pronoun gives more to the noun of its gender, in either order.").format(**values)
    if verdict == "one noun":
        hits = answers.hits[head][0]
        right = next(q for q, is_hit in zip(answers.questions, hits, strict=True) if is_hit)
        wrong = next(q for q, is_hit in zip(answers.questions, hits, strict=True) if not is_hit)
        said = _("{head} only seems to: “{right}” finds “{noun}” in either order, but so does “{wrong}”.")
        return said.format(**values, right=right.pronoun, wrong=wrong.pronoun, noun=right.right)
    if verdict == "one place":
        return _("{head} is right in one order and wrong in the other: it looks at a position.").format(**values)
    if verdict == "hidden":
        return _("{head}: this mask hides a noun from a pronoun.").format(**values)
    return _("{head} gets {k} of {n} right.").format(**values)


def _caution(answers: Answers) -> str:
    n_right = answers.n_right()
    return _(
        "This is matching of gender, not understanding. And {n} questions prove little: {k} of {total} heads get "
        "all {n} right, where tossing coins would let {guessed:g}. Heads at work scores them on many sentences."
    ).format(
        k=int((n_right == answers.n_asked).sum()),
        total=n_right.size,
        n=answers.n_asked,
        guessed=answers.expected_by_chance(),
    )
