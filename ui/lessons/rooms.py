"""Rooms in which a class guesses together. Held in memory only; no names; a teacher opens one and it ends with them.

A teacher has the room itself, under a secret that stays with their tab. A phone that knows the room's code has a seat:
it sees the question that is asked now and its own guess, and after the reveal the answer. Nothing here knows Streamlit.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from analysis.lessons.lesson import Right
from analysis.lessons.questions import Question, checked
from model import HeadworkError
from model.errors import shown

LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that is taken for another: no 0 O, 1 I L, U V
CODE = 9  # letters: 30^9 codes, 44 bits
GROUP = 3  # letters of a code that stand together
SECRET = 32  # bytes
MOST_ROOMS, MOST_SEATS, MOST_QUESTIONS = 40, 200, 60  # on a server, in a room, asked in a room
GRACE = 180.0  # seconds without the teacher's tab after which a room ends; a reload takes two
LONGEST = 6 * 3600.0  # seconds that a room stays open
SWEPT_EVERY = 60.0  # seconds; so long do guesses stay in memory after their room has ended, at most
IN_SIGHT = 15.0  # seconds since a phone asked last, in which it counts as being there

Clock = Callable[[], float]


@dataclass(frozen=True)
class Revealed:
    """What phones are told at the reveal: the answer, two sentences why, and what counts as right."""

    right: Right
    why: str
    is_right: Callable[[Right], bool]


@dataclass(frozen=True)
class Seen:
    """What a phone sees: the question, its own guess, and after the reveal the answer. None = nothing asked yet."""

    question: Question | None
    guess: Right | None
    revealed: Revealed | None


@dataclass(eq=False)
class _Asked:
    guesses: dict[str, Right] = field(default_factory=dict)  # phone → guess
    revealed: Revealed | None = None


class Room:
    """The teacher's side of a room. Safe to use from several threads.

    Attributes:
        code: what phones join with.
    """

    def __init__(self, code: str, is_here: Callable[[], bool], clock: Clock) -> None:
        self.code = code
        self._is_here = is_here
        self._clock = clock
        self._lock = threading.RLock()
        self._opened = self._last_here = clock()
        self._is_ended = False
        self._now: Question | None = None
        self._asked: dict[Question, _Asked] = {}
        self._seats: dict[str, float] = {}  # phone → when it asked last

    @property
    def is_ended(self) -> bool:
        """Whether the teacher ended it, has been gone too long, or forgot it."""
        with self._lock:
            now = self._clock()
            if self._is_here():
                self._last_here = now
            if now - self._last_here > GRACE or now - self._opened > LONGEST:
                self.end()
            return self._is_ended

    @property
    def now(self) -> Question | None:
        """The question that is asked now."""
        return self._now

    @property
    def n_phones(self) -> int:
        """Phones that are there now."""
        with self._lock:
            return sum(self._clock() - last <= IN_SIGHT for last in self._seats.values())

    def ask(self, question: Question) -> None:
        """Puts a question to the phones. One that was asked before comes back with its guesses.

        Raises:
            HeadworkError: too many were asked in this room.
        """
        with self._lock:
            if not self._is_ended and question not in self._asked:
                if len(self._asked) >= MOST_QUESTIONS:
                    raise HeadworkError(
                        "A room takes {most} questions, and this one has had them. End it and open another.",
                        most=MOST_QUESTIONS,
                    )
                self._asked[question] = _Asked()
            self._now = question

    def guesses(self, about: Question | None = None) -> list[Right]:
        """The guesses about a question, the present one if none is named, one a phone."""
        with self._lock:
            asked = self._asked.get(about or self._now)  # type: ignore[arg-type]
            return [] if asked is None else list(asked.guesses.values())

    def reveal(self, revealed: Revealed) -> None:
        """Tells phones the answer to the present question; from now on guesses about it stay as they are."""
        with self._lock:
            if self._now in self._asked:
                self._asked[self._now].revealed = revealed

    @property
    def is_revealed(self) -> bool:
        """Whether phones were told the answer to the present question."""
        with self._lock:
            return self._now in self._asked and self._asked[self._now].revealed is not None

    def end(self) -> None:
        """Ends the room and forgets every guess."""
        with self._lock:
            self._is_ended, self._now = True, None
            self._asked.clear()
            self._seats.clear()

    def follow(self, is_here: Callable[[], bool]) -> None:
        """The teacher's tab was loaded again: this says from now on whether it is there."""
        with self._lock:
            self._is_here, self._last_here = is_here, self._clock()

    def sit(self, phone: str) -> None:
        """A phone comes, or comes back.

        Raises:
            HeadworkError: the room is full.
        """
        with self._lock:
            if phone not in self._seats and len(self._seats) >= MOST_SEATS:
                raise HeadworkError("The room is full: {most} phones have joined.", most=MOST_SEATS)
            if not self._is_ended:
                self._seats[phone] = self._clock()

    def seen_by(self, phone: str) -> Seen:
        """What this phone is shown."""
        with self._lock:
            if self._now is None or self._now not in self._asked:
                return Seen(None, None, None)
            asked = self._asked[self._now]
            return Seen(self._now, asked.guesses.get(phone), asked.revealed)

    def take(self, phone: str, question: Question, guess: object) -> None:
        """Keeps a phone's guess in place of its earlier one. What comes after the reveal, or late, counts for nothing.

        Raises:
            HeadworkError: it is no possible answer to the question.
        """
        with self._lock:
            asked = self._asked.get(question)
            if phone in self._seats and question == self._now and asked is not None and asked.revealed is None:
                asked.guesses[phone] = checked(question, guess)


@dataclass(frozen=True, eq=False)
class Seat:
    """A phone's side of a room: all that a phone can do."""

    _room: Room
    _phone: str

    def look(self) -> Seen:
        """What there is to see now; the sign that the phone is there.

        Raises:
            HeadworkError: the room has ended.
        """
        if self._room.is_ended:
            raise ended()
        self._room.sit(self._phone)
        return self._room.seen_by(self._phone)

    def guess(self, question: Question, guess: object) -> None:
        """Guesses, or guesses anew; see `Room.take`."""
        if self._room.is_ended:
            raise ended()
        self._room.sit(self._phone)
        self._room.take(self._phone, question, guess)


class Rooms:
    """All rooms of a server."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._by_code: dict[str, Room] = {}
        self._by_secret: dict[str, Room] = {}
        self._sweeper: threading.Timer | None = None

    def __len__(self) -> int:
        return len(self._by_code)

    def open(self, is_here: Callable[[], bool] = lambda: True) -> tuple[Room, str]:
        """A new room, and the secret under which its teacher finds it again.

        Args:
            is_here: whether the teacher's tab is there; asked from other threads.

        Raises:
            HeadworkError: there are too many.
        """
        self.sweep()
        with self._lock:
            if len(self._by_code) >= MOST_ROOMS:
                raise HeadworkError(
                    "This server has {most} rooms open, and no place for another. Try again later.", most=MOST_ROOMS
                )
            code = next(code for code in iter(_new_code, "") if code not in self._by_code)
            room, secret = Room(code, is_here, self._clock), secrets.token_urlsafe(SECRET)
            self._by_code[code] = self._by_secret[secret] = room
            self._sweep_later()
        return room, secret

    def of_teacher(self, secret: str) -> Room | None:
        """The open room of a secret; None when there is none."""
        room = self._by_secret.get(secret)
        return None if room is None or room.is_ended else room

    def join(self, code: str, phone: str) -> Seat:
        """A phone's seat in the room of a code, in whichever case and grouping it was typed.

        Args:
            code: what stands on the wall.
            phone: what the phone calls itself; long and random, so that no other can be it.

        Raises:
            HeadworkError: there is no such room, it has ended, or it is full.
        """
        room = self._by_code.get(plain_code(code))
        if room is None:
            raise HeadworkError(
                "There is no room {code}. Check the code on the wall; a room is gone once its teacher has ended it.",
                code=shown(code.strip(), 20),
            )
        seat = Seat(room, phone)
        seat.look()
        return seat

    def sweep(self) -> None:
        """Forgets rooms that have ended."""
        with self._lock:
            self._by_code = {code: room for code, room in self._by_code.items() if not room.is_ended}
            self._by_secret = {secret: room for secret, room in self._by_secret.items() if not room.is_ended}

    def _sweep_later(self) -> None:
        if self._sweeper is None:
            self._sweeper = threading.Timer(SWEPT_EVERY, self._swept)
            self._sweeper.daemon = True
            self._sweeper.start()

    def _swept(self) -> None:
        self.sweep()
        with self._lock:
            self._sweeper = None
            if self._by_code:
                self._sweep_later()


ROOMS = Rooms()


def ended() -> HeadworkError:
    """What a phone is told in a room that is no more."""
    return HeadworkError("The teacher has ended this room, and its guesses are gone.")


def plain_code(typed: str) -> str:
    """A code as it is kept: capitals, without the spaces and hyphens between its groups."""
    return "".join(letter for letter in typed[:60].upper() if letter in LETTERS)


def grouped(code: str) -> str:
    """A code as it is read out: ABC-DEF-GHJ."""
    return "-".join(code[i : i + GROUP] for i in range(0, len(code), GROUP))


def _new_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(CODE))
