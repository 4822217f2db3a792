"""The teacher's bar: opens a room for the class, shows its code, counts guesses as they come, ends it.

Nothing is open before the teacher asks for it. The room is the session's by a secret that this tab keeps through a
reload; phones get only the code.
"""

from functools import partial

import streamlit as st

from analysis.lessons import Answer, Lesson, say
from analysis.lessons.lesson import Language
from analysis.lessons.questions import question_of
from model import HeadworkError
from ui.frame import background, faults
from ui.frame.captions import caution, chart
from ui.frame.languages import _, _n, explain, plain, translator
from ui.lessons import kept
from ui.lessons.address import local_link, own_address, qr_svg, room_link
from ui.lessons.rooms import ROOMS, Revealed, Room, grouped
from viz.lessons.guesses import guesses_figure

SECRET, QR, OPENED, RIGHT = "class_secret", "class_qr", "class_opened", "class_right"  # session state
FAULT = "class_fault"
COUNTED_EVERY = 1.5  # seconds between two looks at the guesses
FOR_A_CLASS = "streamlit run app.py --server.address 0.0.0.0 --browser.serverAddress NAME"
BIG = "font-size: 1.6rem; font-weight: 650; letter-spacing: 0.04em"


def is_open() -> bool:
    """Whether this teacher has a room, so that a step may be revealed without a guess of their own."""
    return _room() is not None


def bar(lesson: Lesson, step: int, answer: Answer, *, is_revealed: bool = False) -> None:
    """Drawn below a step's question.

    Args:
        lesson: the lesson.
        step: counts from 0.
        answer: of the step.
        is_revealed: whether the page shows the answer; the phones follow.
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
        _ask(room, lesson, step, answer, is_revealed)
    except HeadworkError as error:
        st.error(explain(error), icon="✋")
    _live()


def _open() -> None:
    try:
        _room_of_it, secret = ROOMS.open(background.session())
    except HeadworkError as error:
        st.session_state[FAULT] = explain(error)
        return
    st.session_state[SECRET], st.session_state[QR], st.session_state[OPENED] = secret, True, False


def _end() -> None:
    if room := _room():
        room.end()
    ROOMS.sweep()
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


def _ask(room: Room, lesson: Lesson, step: int, answer: Answer, is_revealed: bool) -> None:
    """Puts the step's question to the phones, and tells them the answer once the page shows it."""
    language: Language = "zh" if st.session_state.get("lang") == "zh" else "en"
    question = question_of(lesson, step, answer, language)
    if room.now is not None and question != room.now:
        st.session_state[QR] = False  # the class is in; now the picture needs the room
    room.ask(question)
    st.session_state[RIGHT] = answer.right if is_revealed else None
    if is_revealed and not room.is_revealed:
        is_right = partial(lesson.steps[step].is_right, right=answer.right)
        room.reveal(Revealed(answer.right, say(lesson.steps[step], answer, language).why, is_right))


def _bar() -> None:
    """The bar itself, which looks at the guesses again and again."""
    room = _room()
    if room is None or room.now is None:
        st.rerun()
    guesses, right = room.guesses(), st.session_state.get(RIGHT)
    with st.container(border=True, key="class-bar"):
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.html(f"<span style='{BIG}'>{grouped(room.code)}</span>", width="content")
            st.markdown(plain(_counted(len(guesses), room.n_phones)), width="content")
            st.toggle(_("QR code"), key=QR)
            hidden = _("Hidden until the reveal, so that nobody follows the others.")
            st.toggle(_("Show guesses"), key=OPENED, help=hidden, disabled=right is not None)
            if st.button(_("End"), key="class_end", help=_("Ends the room; its guesses are gone.")):
                _end()
                st.rerun()
        if st.session_state.get(QR):
            _way_in(room)
        if guesses and (right is not None or st.session_state.get(OPENED)):
            figure = guesses_figure(room.now, guesses, right, translator())
            chart(figure, "class_guesses")


_live = faults.fragment(_bar, run_every=COUNTED_EVERY)


def _counted(n_guesses: int, n_phones: int) -> str:
    said = _n("{n} guess from {phones}", "{n} guesses from {phones}", n_guesses)
    phones = _n("{n} phone", "{n} phones", n_phones).format(n=n_phones)
    return said.format(n=n_guesses, phones=phones)


def _way_in(room: Room) -> None:
    """The QR code and the link; where no phone reaches this server, what to start instead."""
    url, language = st.context.url or "", st.session_state.get("lang", "en")
    link = room_link(url, st.get_option("server.address"), room.code, language, own_address())
    if link is None:
        caution(
            _("Phones can't reach this address: the app listens on this computer alone. For a class, start it with")
        )
        st.code(FOR_A_CLASS, language=None)
        st.caption(_("NAME is this computer's name or address in your network. On this computer the room is at"))
        st.code(local_link(url, room.code, language), language=None)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.image(qr_svg(link), width=260, alt=_("QR code of the link beside it"))
        with st.container(width=460):
            st.markdown(_("Scan the code, or open"))
            st.code(link, language=None, wrap_lines=True)
            st.markdown(_("No name is asked. Each phone guesses once and may change its mind until the reveal."))
