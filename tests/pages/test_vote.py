"""A class on the Lessons page and on phones: what each sees and when, and what is said where something is wrong."""

import json

import pytest
import streamlit as st

from tests.pages.conftest import App
from ui.frame.shell import APART
from ui.lessons import class_room, prediction, rooms
from ui.lessons.rooms import ROOMS, Rooms, grouped

ONE, OTHER = "0" * 32, "1" * 32
LESSON = "find-the-head"


class Teacher:
    """The Lessons page with a room."""

    def __init__(self, app: App, step: int = 1, language: str = "en") -> None:
        self.app = app
        app.open_page("lessons", lesson=LESSON, step=str(step), lang=language)
        self.press("class_open")

    def press(self, key: str) -> None:
        self.app.test.get_by_key(key).click()
        self.app.run()

    @property
    def room(self) -> rooms.Room:
        return ROOMS.of_teacher(self.app.test.session_state["class_secret"])


class Phone:
    """The page of a phone; `name` is what its browser says it is."""

    def __init__(self, code: str, name: str = ONE, language: str = "en") -> None:
        self.app = App()
        self.app.test.session_state["kept-phone"] = {"kept": name}
        self.app.open_page("vote", room=code, lang=language)

    def look(self) -> "Phone":
        self.app.run()
        return self

    @property
    def sent(self) -> str:
        """Everything that its browser got, besides the scripts of the components."""
        parts = [each.proto.json for each in self.app.test.get("bidi_component") if each.proto.json]
        return "\n".join([self.app.words, *(part for part in parts if '"part": "library"' not in part)])

    @property
    def asked(self) -> dict:
        parts = [json.loads(each.proto.json) for each in self.app.test.get("bidi_component") if each.proto.json]
        return next(each for each in parts if "predict" in each)

    def guess(self, value: object) -> "Phone":
        self.app.test.session_state["phone_guess"] = {"guess": {"of": self.asked["id"], "value": value}}
        self.app.test.session_state["is_told"] = True
        return self.look()


@pytest.fixture(autouse=True)
def empty(monkeypatch):
    for room in list(ROOMS._by_code.values()):
        room.end()
    ROOMS.sweep()


@pytest.fixture(autouse=True)
def callbacks(monkeypatch):
    """AppTest runs no callback of a component: here its own call does, when the browser has told something."""
    draw = prediction._prediction

    def drawn(*, key, data, on_guess_change):
        draw(key=key, data=data, on_guess_change=on_guess_change)
        if st.session_state.pop("is_told", False):
            on_guess_change()
            st.rerun()

    monkeypatch.setattr(prediction, "_prediction", drawn)


@pytest.fixture
def teacher(app):
    return Teacher(app)


def test_nothing_is_open_before_the_teacher_asks(app):
    app.open_page("lessons", lesson=LESSON)
    assert len(ROOMS) == 0
    assert "class-bar" not in app.words
    assert app.test.get_by_key("class_open")


def test_the_bar_shows_the_code_and_says_what_to_start_where_no_phone_reaches_the_server(teacher):
    html = "\n".join(str(each.proto.body) for each in teacher.app.test.get("html"))
    assert grouped(teacher.room.code) in html
    assert "Phones can't reach this address" in teacher.app.words
    codes = [each.value for each in teacher.app.test.code]
    assert any("--server.address 0.0.0.0" in code for code in codes)
    assert any(code.endswith(f"/vote?room={teacher.room.code}&lang=en") for code in codes)
    assert "0 guesses from 0 phones" in teacher.app.words


def test_a_phone_sees_the_question_and_nothing_of_the_answer_before_the_reveal(teacher):
    phone = Phone(teacher.room.code)
    assert "Tap the pronoun, then the word that it stands for" in phone.app.words
    assert phone.asked["answer"] is None and phone.asked["guess"] is None
    assert phone.asked["labels"][:2] == ["The", "teacher"]
    for secret in ("0.92", "4-2", teacher.app.test.session_state["class_secret"]):
        assert secret not in phone.sent
    assert "Tap the pronoun" in Phone(teacher.room.code, OTHER).app.words


def test_guesses_are_counted_live_once_a_phone_and_hidden_until_the_reveal(teacher):
    one, other = Phone(teacher.room.code), Phone(teacher.room.code, OTHER)
    one.guess([6, 1])
    one.guess([6, 4])
    other.guess([6, 1])
    assert teacher.room.guesses() == [(6, 4), (6, 1)]
    teacher.app.run()
    assert "2 guesses from 2 phones" in teacher.app.words
    assert not teacher.app.figures()
    teacher.app.pick("class_opened", True)
    (bars,) = teacher.app.figures()
    assert set(bars["layout"]["yaxis"]["ticktext"]) == {"they → students", "they → teacher"}


def test_after_the_reveal_phones_see_the_answer_and_the_wall_marks_it_among_the_guesses(teacher):
    one, late = Phone(teacher.room.code).guess([6, 1]), Phone(teacher.room.code, OTHER)
    teacher.press("class_reveal")
    names = teacher.app.figures()[-1]["layout"]["yaxis"]["ticktext"]
    assert "● they → students" in names and "they → teacher" in names
    assert one.look().asked["answer"] == [6, 4]
    assert not one.asked["is_right"]
    assert "Head 4-2 wins, with the weight 0.92" in one.app.words
    assert late.look().asked["answer"] == [6, 4]
    late.guess([6, 4])
    assert teacher.room.guesses() == [(6, 1)]


def test_phones_follow_to_the_next_step_and_a_reload_keeps_the_guess(teacher):
    phone = Phone(teacher.room.code).guess([6, 1])
    assert Phone(teacher.room.code).asked["guess"] == [6, 1]
    teacher.press("lesson_next")
    phone.look()
    assert phone.asked["predict"] == "number"
    assert phone.asked["guess"] is None
    assert "The teacher praised the students because they worked hard." in phone.app.words
    assert teacher.room.guesses() == []


@pytest.mark.parametrize("value", [[6], [6, 99], "x", None, {"a": 1}, [[6], 4], 5])
def test_a_forged_guess_counts_for_nothing(teacher, value):
    phone = Phone(teacher.room.code).guess(value)
    assert teacher.room.guesses() == []
    assert not phone.app.errors


def test_a_phone_has_no_control_of_the_teachers(teacher):
    phone = Phone(teacher.room.code)
    keys = [str(button.key) for button in phone.app.test.button]
    assert not [key for key in keys if key.startswith(("class_", "lesson_"))]
    phone.app.test.session_state["class_secret"] = teacher.room.code
    phone.look()
    assert not teacher.room.is_revealed and not teacher.room.is_ended


def test_an_ended_room_says_so_and_asks_for_another_code(teacher):
    phone, room = Phone(teacher.room.code), teacher.room
    teacher.press("class_end")
    assert room.is_ended
    assert teacher.app.test.get_by_key("class_open")
    assert phone.look().app.errors == ["The teacher has ended this room, and its guesses are gone."]
    assert [box.label for box in phone.app.test.text_input] == ["Code on the wall"]


def test_a_wrong_code_is_told_in_a_sentence_and_shown_as_text():
    phone = Phone("<b>nope</b>*x*")
    assert len(phone.app.errors) == 1
    assert "There is no room" in phone.app.errors[0]


def test_a_full_room_says_so(teacher, monkeypatch):
    monkeypatch.setattr(rooms, "MOST_SEATS", 1)
    Phone(teacher.room.code)
    assert Phone(teacher.room.code, OTHER).app.errors == ["The room is full: 1 phones have joined."]


def test_a_server_with_too_many_rooms_says_so(app, monkeypatch):
    monkeypatch.setattr(rooms, "MOST_ROOMS", 0)
    Teacher(app)
    assert app.errors == ["This server has 0 rooms open, and no place for another. Try again later."]


def test_a_browser_that_has_not_said_who_it_is_takes_no_seat(teacher):
    for name in ("", "short", "Z" * 32, "0" * 31 + "<"):
        Phone(teacher.room.code, name)
    assert teacher.room.n_phones == 0


def test_a_code_is_typed_where_the_link_has_none(teacher):
    phone = Phone("")
    (box,) = phone.app.test.text_input
    box.set_value(grouped(teacher.room.code).lower())
    phone.app.test.button[0].click()
    phone.look()
    assert phone.asked["predict"] == "pair"


def test_a_teacher_who_loads_the_page_again_has_the_room_still(teacher):
    secret, code = teacher.app.test.session_state["class_secret"], teacher.room.code
    again = App()
    again.test.session_state["kept-room"] = {"kept": secret}
    again.open_page("lessons", lesson=LESSON)
    assert again.test.session_state["class_secret"] == secret
    assert grouped(code) in "\n".join(str(each.proto.body) for each in again.test.get("html"))


def test_what_the_phones_were_told_stands_on_the_wall_after_a_reload(teacher):
    Phone(teacher.room.code).guess([6, 1])
    teacher.press("class_reveal")
    again = App()
    again.test.session_state["kept-room"] = {"kept": teacher.app.test.session_state["class_secret"]}
    again.open_page("lessons", lesson=LESSON)
    sent = [json.loads(each.proto.json) for each in again.test.get("bidi_component") if each.proto.json]
    assert next(each for each in sent if "predict" in each)["answer"] == [6, 4]


def test_a_second_tab_of_the_teacher_does_not_mark_one_step_with_the_answer_of_another(teacher):
    Phone(teacher.room.code).guess([6, 1])
    teacher.press("class_reveal")
    question, _ = teacher.app.test.session_state["class_right"]
    second = App()
    second.test.session_state["kept-room"] = {"kept": teacher.app.test.session_state["class_secret"]}
    second.test.session_state["class_opened"] = True
    second.open_page("lessons", lesson=LESSON, step="2")
    Phone(teacher.room.code).guess(3)
    second.test.session_state["class_right"] = (
        question,
        3.0,
    )  # as in the first tab, whose bar counts between two of its runs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_room, "_ask", lambda *asked: None)
        second.run()
    assert not [name for name in second.figures()[-1]["layout"]["yaxis"]["ticktext"] if "●" in name]


def test_somebody_elses_code_or_secret_gives_no_room(app, teacher):
    for secret in (teacher.room.code, "x" * 43, "", "<script>"):
        other = App()
        other.test.session_state["kept-room"] = {"kept": secret}
        other.open_page("lessons", lesson=LESSON)
        assert "class_secret" not in other.test.session_state


def test_the_phones_page_reads_no_model_and_has_no_menu_of_its_own(teacher, forwards):
    forwards.clear()
    phone = Phone(teacher.room.code)
    assert forwards == []
    assert not phone.app.test.sidebar.selectbox and not phone.app.test.sidebar.text_area
    assert not phone.app.figures()
    assert "vote" in APART


def test_in_chinese(app):
    teacher = Teacher(app, language="zh")
    phone = Phone(teacher.room.code, language="zh")
    assert "先点代词" in phone.app.words
    assert phone.asked["text"]["button"] == "提交"
    assert "0 部手机，已有 0 个预测" in teacher.app.words


def test_rooms_of_two_teachers_know_nothing_of_each_other(app, teacher):
    other = Teacher(App(), step=2)
    assert teacher.room.code != other.room.code
    Phone(other.room.code).guess(3)
    assert teacher.room.guesses() == [] and other.room.guesses() == [3.0]
    assert isinstance(ROOMS, Rooms)
