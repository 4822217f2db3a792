"""What stands on a phone: the way into a room, then whatever its teacher asks, until the room ends."""

from contextlib import suppress

import streamlit as st

from analysis.lessons.lesson import Right
from analysis.lessons.questions import Question
from model import HeadworkError
from ui.frame import links
from ui.frame.faults import fragment
from ui.frame.languages import _, explain, plain
from ui.lessons import kept, prediction
from ui.lessons.rooms import CODE, ROOMS, Seat, Seen, grouped, plain_code

ALONE = (
    "<style>.stSidebar, [data-testid=stExpandSidebarButton] { display: none !important; } "
    ".stApp .st-key-app-name { margin-left: 0 !important; }</style>"
)
LOOKS_EVERY = 3.0  # seconds between two questions of a phone what there is to see (benchmarks/voting.py)


def show() -> None:
    """The page."""
    st.html(ALONE)
    code = links.read("room", plain_code, "", key="vote_room")
    phone = kept.phone()
    if not code:
        _door()
    elif phone:  # the browser says so a moment after it has drawn the page
        try:
            ROOMS.join(code, phone)
        except HeadworkError as error:
            st.error(explain(error), icon="✋")
            _door()
        else:
            _follow(code, phone)


def _door() -> None:
    """Where a code is typed."""
    with st.form("door", border=False):
        typed = st.text_input(_("Code on the wall"), max_chars=3 * CODE, placeholder=grouped("X" * CODE))
        if st.form_submit_button(_("Join"), type="primary") and plain_code(typed):
            st.query_params["room"] = plain_code(typed)
            st.rerun()


def _look_again(code: str, phone: str) -> None:
    """What there is to see now; asked again every few seconds, so that a phone follows its teacher."""
    try:
        seat = ROOMS.join(code, phone)
        _step(seat, seat.look())
    except HeadworkError:
        st.rerun()  # the room has ended: the whole page says so, and asks no more


_follow = fragment(_look_again, run_every=LOOKS_EVERY)


def _step(seat: Seat, seen: Seen) -> None:
    """The question with this phone's guess, and after the reveal the answer."""
    question, revealed = seen.question, seen.revealed
    if question is None:
        st.markdown(_("You are in. The question comes when the teacher asks it."))
        return
    if question.context:
        st.text(question.context)
    st.markdown(f"#### {plain(question.question)}")
    if question.sentence:
        st.text(question.sentence)
    prediction.ask(
        question,
        key="phone_guess",
        on_guess=lambda guess: _send(seat, question, guess),
        button="" if revealed else _("Send"),
        guess=seen.guess,
        answer=revealed.right if revealed else None,
        is_right=revealed is not None and seen.guess is not None and revealed.is_right(seen.guess),
        is_sent=_("Sent"),
    )
    if revealed:
        st.text(revealed.why)
        st.caption(_("The next question comes when the teacher asks it."))
    elif seen.guess is not None:
        st.caption(_("Your guess counts. You can send another one until the reveal."))


def _send(seat: Seat, question: Question, guess: Right) -> None:
    """A guess that comes when the room has ended or the answer is known counts for nothing; the next look says so."""
    with suppress(HeadworkError):
        seat.guess(question, guess)
