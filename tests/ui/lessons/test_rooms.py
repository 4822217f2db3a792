"""Rooms: who sees what and when, one guess a phone, and bounds that hold."""

import re
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.lessons.lesson import Range
from analysis.lessons.questions import MOST_CELLS, Question, checked, in_words
from model import HeadworkError
from ui.lessons import rooms
from ui.lessons.rooms import Revealed, Rooms, grouped, plain_code

TOKENS = Question("find-the-head", 1, "token", "Context.", "Which word?", ("The", "cat", "sat"))
CHOICE = Question("find-the-head", 2, "choice", "", "Which?", choices=(("a", "first"), ("b", "second")))
ORDER = replace(CHOICE, predict="order")
NUMBER = Question("find-the-head", 3, "number", "", "How many?", range=Range(0, 72, 1, 3), unit="heads")
PAIR, CELLS = replace(TOKENS, predict="pair"), replace(TOKENS, predict="cells")
ANSWER = Revealed(2, "Because.", lambda guess: guess == 2)
PHONES = [f"{i:032x}" for i in range(300)]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def server(clock):
    return Rooms(clock)


@pytest.fixture
def room(server):
    return server.open()[0]


def test_a_code_has_44_bits_of_letters_that_none_takes_for_another(server):
    codes = {server.open()[0].code for _ in range(20)}
    assert len(codes) == 20
    assert all(re.fullmatch("[2-9ABCDEFGHJKMNPQRSTVWXYZ]{9}", code) for code in codes)
    assert len(rooms.LETTERS) ** rooms.CODE >= 2**44
    assert not set(rooms.LETTERS) & set("01OILU")


def test_a_code_is_taken_in_groups_in_small_letters_and_with_spaces(server, room):
    server.join(grouped(room.code).lower().replace("-", " - "), PHONES[0])
    assert re.fullmatch("...-...-...", grouped(room.code))
    assert plain_code(grouped(room.code)) == room.code
    assert room.n_phones == 1


def test_a_phone_sees_the_question_and_its_own_guess_and_no_answer_before_the_reveal(server, room):
    one, other = (server.join(room.code, phone) for phone in PHONES[:2])
    assert one.look() == rooms.Seen(None, None, None)
    room.ask(TOKENS)
    one.guess(TOKENS, 2)
    assert one.look() == rooms.Seen(TOKENS, 2, None)
    assert other.look() == rooms.Seen(TOKENS, None, None)
    room.reveal(ANSWER)
    assert other.look() == rooms.Seen(TOKENS, None, ANSWER)


def test_a_phone_counts_once_and_may_change_its_guess_until_the_reveal(server, room):
    room.ask(TOKENS)
    seat = server.join(room.code, PHONES[0])
    seat.guess(TOKENS, 0)
    seat.guess(TOKENS, 1)
    assert room.guesses() == [1]
    room.reveal(ANSWER)
    seat.guess(TOKENS, 2)
    server.join(room.code, PHONES[1]).guess(TOKENS, 2)
    assert room.guesses() == [1], "after the reveal the answer is known"


def test_one_who_reloads_finds_the_guess_again_and_still_counts_once(server, room):
    room.ask(TOKENS)
    server.join(room.code, PHONES[0]).guess(TOKENS, 1)
    again = server.join(room.code, PHONES[0])
    assert again.look().guess == 1
    again.guess(TOKENS, 2)
    assert room.guesses() == [2]
    assert room.n_phones == 1


def test_who_comes_late_is_at_the_present_step_and_a_late_guess_about_the_last_one_is_dropped(server, room):
    seat = server.join(room.code, PHONES[0])
    room.ask(TOKENS)
    room.ask(CHOICE)
    assert server.join(room.code, PHONES[1]).look().question == CHOICE
    seat.guess(TOKENS, 1)  # on its way when the teacher went on
    room.ask(TOKENS)
    assert room.guesses() == []


def test_a_question_asked_again_has_its_guesses_and_another_sentence_is_another_question(server, room):
    seat = server.join(room.code, PHONES[0])
    room.ask(TOKENS)
    seat.guess(TOKENS, 1)
    room.ask(replace(TOKENS, labels=("A", "dog", "ran", "off")))
    assert room.guesses() == []
    room.ask(TOKENS)
    assert room.guesses() == [1]


@pytest.mark.parametrize(
    ("question", "guess", "found"),
    [
        (TOKENS, 2, 2),
        (PAIR, [0, 2], (0, 2)),
        (CHOICE, "b", "b"),
        (ORDER, ["b", "a"], ("b", "a")),
        (NUMBER, 12, 12.0),
        (CELLS, [[0, 1], [2, 2], [0, 1]], frozenset({(0, 1), (2, 2)})),
    ],
)
def test_a_guess_is_read(question, guess, found):
    assert checked(question, guess) == found


FORGED = [
    (TOKENS, [3, -1, 1.5, True, "1", None, [1], {}, 10**30]),
    (PAIR, [[0], [0, 3], [0, 1, 2], "01", None, 5, [[0], [1]]]),
    (CHOICE, ["c", "", None, 0, ["a"], {"a": 1}]),
    (ORDER, [["a"], ["a", "a"], ["a", "b", "c"], "ab", None, [0, 1], [["a"], "b"]]),
    (NUMBER, [-1, 73, float("nan"), float("inf"), "5", None, True, [5], 10**400]),
    (CELLS, [[[0, 3]], [[0]], [0], "00", None, 7, [[0, 0]] * (MOST_CELLS + 1), [[True, 0]]]),
]


@pytest.mark.parametrize(("question", "guess"), [(question, guess) for question, all_ in FORGED for guess in all_])
def test_a_forged_guess_is_refused_with_a_sentence_and_changes_nothing(server, room, question, guess):
    room.ask(question)
    with pytest.raises(HeadworkError, match="doesn't fit the question"):
        server.join(room.code, PHONES[0]).guess(question, guess)
    assert room.guesses() == []


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from([TOKENS, PAIR, CHOICE, ORDER, NUMBER, CELLS]), json_like)
def test_whatever_a_browser_sends_is_a_guess_or_a_sentence(question, guess):
    try:
        found = checked(question, guess)
    except HeadworkError:
        return
    hash(found)
    assert isinstance(in_words(question, found), str)


def test_no_other_code_opens_a_room_and_the_sentence_shows_what_was_typed_shortened(server, room):
    for code in ("", "ABC", room.code[:-1], room.code + "A", "<b>" * 1000):
        with pytest.raises(HeadworkError, match="There is no room") as refused:
            server.join(code, PHONES[0])
        assert len(str(refused.value)) < 200


def test_an_ended_room_forgets_its_guesses_and_says_so(server, room):
    seat = server.join(room.code, PHONES[0])
    room.ask(TOKENS)
    seat.guess(TOKENS, 1)
    room.end()
    assert room.guesses() == []
    for step in (seat.look, lambda: seat.guess(TOKENS, 1), lambda: server.join(room.code, PHONES[1])):
        with pytest.raises(HeadworkError, match="has ended this room"):
            step()
    server.sweep()
    assert len(server) == 0
    with pytest.raises(HeadworkError, match="There is no room"):
        server.join(room.code, PHONES[0])


def test_a_room_ends_some_minutes_after_its_teacher_is_gone_and_not_before(server, clock):
    is_here = True
    room, secret = server.open(lambda: is_here)
    clock.now = 3600
    assert server.of_teacher(secret) is room
    is_here = False
    clock.now += rooms.GRACE
    assert not room.is_ended
    clock.now += 1
    assert room.is_ended
    assert server.of_teacher(secret) is None


def test_a_teacher_who_reloads_finds_the_room_again_and_keeps_it(server, clock):
    room, secret = server.open(lambda: False)
    clock.now = rooms.GRACE - 1
    found = server.of_teacher(secret)
    found.follow(lambda: True)
    clock.now += 2 * rooms.GRACE
    assert found is room
    assert not room.is_ended


def test_a_code_is_no_secret_of_the_teacher(server, room):
    assert server.of_teacher(room.code) is None
    assert server.of_teacher("") is None


def test_a_room_is_open_some_hours_at_most(server, room, clock):
    clock.now = rooms.LONGEST + 1
    assert room.is_ended


def test_rooms_seats_and_questions_are_bounded(server):
    opened = [server.open()[0] for _ in range(rooms.MOST_ROOMS)]
    with pytest.raises(HeadworkError, match="no place for another"):
        server.open()
    opened[0].end()
    room = server.open()[0]
    for phone in PHONES[: rooms.MOST_SEATS]:
        server.join(room.code, phone)
    with pytest.raises(HeadworkError, match="full"):
        server.join(room.code, PHONES[-1])
    server.join(room.code, PHONES[0])  # who is in stays in
    for i in range(rooms.MOST_QUESTIONS):
        room.ask(replace(TOKENS, step=i))
    with pytest.raises(HeadworkError, match="has had them"):
        room.ask(replace(TOKENS, step=-1))
    room.ask(replace(TOKENS, step=3))


def test_phones_that_left_are_not_counted_as_there(server, room, clock):
    server.join(room.code, PHONES[0])
    clock.now = rooms.IN_SIGHT + 1
    server.join(room.code, PHONES[1])
    assert room.n_phones == 1


def test_forty_phones_in_forty_threads_lose_no_guess(server, room):
    room.ask(NUMBER)

    def vote(i):
        for guess in range(50):
            server.join(room.code, PHONES[i]).guess(NUMBER, (guess + i) % 73)

    threads = [threading.Thread(target=vote, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(room.guesses()) == sorted(float((49 + i) % 73) for i in range(40))


def test_guesses_in_words():
    assert in_words(TOKENS, 1) == "cat"
    assert in_words(PAIR, (0, 2)) == "The → sat"
    assert in_words(CHOICE, "b") == "second"
    assert in_words(ORDER, ("b", "a")) == "second → first"
    assert in_words(NUMBER, 12.0) == "12 heads"
    assert in_words(replace(NUMBER, unit="%"), 12.0) == "12 %"
    assert in_words(replace(NUMBER, unit="%"), 81.4) == "81 %"
    assert in_words(replace(NUMBER, unit="%"), 0.53) == "0.5 %"
    assert in_words(CELLS, frozenset({(0, 0), (1, 1)})) == "2"
