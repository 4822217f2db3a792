"""The teacher's bar: opens a room for the class, shows its code, counts guesses as they come, ends it.

Nothing is open before the teacher asks for it. The room is the session's by a secret that this tab keeps through a
reload; phones get only the code.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from model import HeadworkError
from ui.frame import background
from ui.frame.captions import caution, chart
from ui.frame.faults import fragment
from ui.frame.languages import _, _n, explain, plain, translator
from ui.lessons import kept
from ui.lessons.address import local_link, own_address, qr_svg, room_link
from ui.lessons.asked import Asked, language_now
from ui.lessons.rooms import ROOMS, Revealed, Room, grouped
from viz.lessons.guesses import guesses_figure

SECRET, QR, OPENED, RIGHT = "class_secret", "class_qr", "class_opened", "class_right"  # session state
FAULT = "class_fault"
COUNTED_EVERY = 1.5  # seconds between two looks at the guesses
FOR_A_CLASS = "streamlit run app.py --server.address 0.0.0.0 --browser.serverAddress NAME"
BIG = "font-size: 1.6rem; font-weight: 650; letter-spacing: 0.04em"


def bar(asked: Asked, *, is_revealed: bool, on_reveal: Callable[[], None]) -> None:
    """Drawn below a step's question.

    Args:
        asked: the step.
        is_revealed: whether the page shows the answer; the phones follow.
        on_reveal: shows the answer without a guess of the teacher's own.
    """
    _remember()
    room = _room()
    if room is None:
        help = _("Phones guess too: nobody gives a name, and the guesses are gone when you end it.")
        st.button(_("Ask the class"), key="class_open", on_click=_open, help=help)
        if fault := st.session_state.pop(FAULT, None):
            st.error(fault, icon="✋")
        return
    try:
        _ask(room, asked, is_revealed, on_reveal)
    except HeadworkError as error:
        st.error(explain(error), icon="✋")
    with st.container(border=True, key="class-bar", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f"<span style='{BIG}'>{grouped(room.code)}</span>", width="content")
            ends = _("Ends the room; its guesses are gone.")
            st.button(_("End"), key="class_end", on_click=_end, type="tertiary", help=ends)
        _count_again()
        if not is_revealed:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.button(_("Reveal to all"), key="class_reveal", on_click=on_reveal)
                st.toggle(_("QR code"), key=QR)
                hidden = _("Hidden until the reveal, so that nobody follows the others.")
                st.toggle(_("Show guesses"), key=OPENED, help=hidden)


def shows_the_way_in() -> bool:
    """Whether the QR code stands where the picture comes later."""
    return _room() is not None and bool(st.session_state.get(QR))


def way_in() -> None:
    """The QR code and the link; where no phone reaches this server, what to start instead."""
    room = _room()
    if room is None:
        return
    url, language = st.context.url or "", language_now()
    link = room_link(url, st.get_option("server.address"), room.code, language, own_address())
    if link is None:
        caution(_("Phones can't reach this address: the app listens on this computer alone. For a class, start it so:"))
        st.code(FOR_A_CLASS, language=None, wrap_lines=True)
        st.markdown(_("NAME is this computer's name or address in your network. On this computer the room is at"))
        st.code(local_link(url, room.code, language), language=None, wrap_lines=True)
        return
    with st.container(horizontal_alignment="center", gap="small", key="class-way-in"):
        st.image(qr_svg(link), width=320, alt=_("QR code of the link below it"))
        st.code(link, language=None, wrap_lines=True)
        st.markdown(_("No name is asked. Each phone guesses once and may change its mind until the reveal."))


def _open() -> None:
    try:
        _room_of_it, secret = ROOMS.open(background.session())
    except HeadworkError as error:
        st.session_state[FAULT] = explain(error)
        return
    st.session_state[SECRET], st.session_state[QR], st.session_state[OPENED] = secret, True, False


def _end() -> None:
    if room := _room():
        room.end()  # phones that look again are told so, until the server forgets the room a minute later
    st.session_state[SECRET] = ""


def _remember() -> None:
    """Lets the tab keep the secret; after a reload, finds the room that the tab had opened."""
    if SECRET in st.session_state:
        kept.keep_secret(st.session_state[SECRET])
    elif (secret := kept.secret()) and (room := ROOMS.of_teacher(secret)):
        st.session_state[SECRET] = secret
        room.follow(background.session())


def _room() -> Room | None:
    return ROOMS.of_teacher(st.session_state.get(SECRET, ""))


def _ask(room: Room, asked: Asked, is_revealed: bool, on_reveal: Callable[[], None]) -> None:
    """Puts the step's question to the phones, and tells them the answer once the page shows it."""
    question, right = asked.question, asked.answer.right
    if room.now is not None and question != room.now:
        st.session_state[QR] = False  # the class is in
    room.ask(question)
    st.session_state[RIGHT] = (question, right) if is_revealed else None
    if is_revealed and not room.is_revealed:
        room.reveal(Revealed(right, asked.said.why, partial(asked.step.is_right, right=right)))
    elif room.is_revealed and not is_revealed:  # the tab was loaded again: the wall shows what the phones show
        on_reveal()
        st.rerun()


def _counted() -> None:
    """How many guessed, and once it may be seen, what; looked at again and again."""
    room = _room()
    now = None if room is None else room.now
    if room is None or now is None:
        st.rerun()  # it has ended by itself
    guesses = room.guesses(now)
    of, right = st.session_state.get(RIGHT) or (None, None)
    right = right if of == now else None  # a second tab of the same teacher may have gone on to another step
    phones = _n("{n} phone", "{n} phones", room.n_phones).format(n=room.n_phones)
    said = _n("{n} guess from {phones}", "{n} guesses from {phones}", len(guesses))
    st.markdown(plain(said.format(n=len(guesses), phones=phones)))
    if guesses and (right is not None or st.session_state.get(OPENED)):
        chart(guesses_figure(now, guesses, right, translator()), "class_guesses")


_count_again = fragment(_counted, run_every=COUNTED_EVERY)
