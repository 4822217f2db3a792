"""Prompts of one's own: one a line, each told why where it can't be asked."""

import streamlit as st

from analysis.effects.questions import Problem, Question, SeveralTokens
from analysis.effects.reading import MOST_QUESTIONS, parse_questions
from ui.effects import data
from ui.frame import links, loading
from ui.frame.languages import _, _n, explain

FIRST = "When Mary and John went to the store, John gave a drink to | Mary | John"
MOST_CHARACTERS = 500_000  # 2,000 prompts are read, and it is said how many are left out
SHOWN = 4  # problems that are told one by one


def questions(model_id: str) -> tuple[Question, ...]:
    """Draws the text and says which of its lines this model can be asked."""
    if "effects_own" not in st.session_state:
        st.session_state["effects_own"] = links.read("own", str, FIRST, key="effects_own")
    text = st.text_area(
        _("One prompt a line: prompt | right answer | wrong answer"),
        key="effects_own",
        height=100,
        max_chars=MOST_CHARACTERS,
        help=_(
            "Or JSON lines: prompt, right, wrong; and if you like other: the prompt changed so that the wrong answer "
            'is right, and cue: the word that decides. In JSON the answers bring their own space: " Mary".'
        ),
        persist_state="session",
    )
    links.write("own", text, FIRST)
    if len(text) > links.LONGEST_TEXT:
        st.caption(
            _("Longer than {n:,} characters: the link leaves this text out, and a reload loses it.").format(
                n=links.LONGEST_TEXT
            )
        )
    read = parse_questions(text)
    shorten = st.session_state.get("effects_shorten", st.query_params.get("shorten") == "on")
    asked, refused = data.encoded(model_id, loading.version(model_id), read.questions, bool(shorten))
    _told(read.problems, refused)
    if shorten or any(isinstance(each.error, SeveralTokens) and each.error.offer for each in refused):
        said = _("Of answers of several tokens, ask about the first that differ")
        links.switch(said, "shorten", key="effects_shorten")
    if read.n_left_out:
        st.warning(
            _("{n} lines beyond the first {most} are left out: each head is switched off on each of them.").format(
                n=read.n_left_out, most=MOST_QUESTIONS
            )
        )
    if len(asked) == 1:
        st.caption(_("One prompt has no interval, and nothing can be held out. Give several."))
    if not asked and not (read.problems or refused):
        st.info(_("Type a prompt, its right and its wrong answer, with | between them."))
    return tuple(each.question for each in asked)


def _told(broken: tuple[Problem, ...], refused: tuple[Problem, ...]) -> None:
    """The first lines that aren't asked, and why."""
    lines = [_("Line {n}: {why}").format(n=each.line, why=explain(each.error)) for each in broken]
    lines += [_("Prompt {n}: {why}").format(n=each.line, why=explain(each.error)) for each in refused]
    if not lines:
        return
    if len(lines) > SHOWN:
        lines = [*lines[:SHOWN], _n("And {n} more.", "And {n} more.", len(lines) - SHOWN).format(n=len(lines) - SHOWN)]
    st.warning("\n\n".join(lines))
