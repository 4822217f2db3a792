"""A printed lesson: every question with its space, every computed answer last, and nothing from outside."""

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from analysis.lessons import DIRECT, Source, answer, say, setup_of, shelf
from analysis.lessons.lesson import Choice, Words
from model import HeadworkError
from tests.models import load
from viz.export.lesson_page import lesson_page, main
from viz.export.lesson_pictures import picture
from viz.export.lesson_words import PARTS, PICTURES, pictures_in
from viz.export.matrix_svg import Bar, Matrix, bars_svg, matrices_svg

LESSONS = shelf().lessons
SOURCE = Source(load, lambda text, model_id, mask: load(model_id).trace(text, mask))
VOID = {"meta", "br", "hr", "path", "rect"}


class Nested(HTMLParser):
    """Fails where an element is not closed in its turn."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def printed():
    made = {}

    def page(lesson, language):
        key = lesson.id, language
        if key not in made:
            made[key] = lesson_page(lesson, language, SOURCE)
        return made[key]

    return page


@pytest.fixture(params=["en", "zh"])
def language(request):
    return request.param


@pytest.fixture(params=LESSONS, ids=lambda lesson: lesson.id)
def lesson(request):
    return request.param


def test_every_step_is_asked_before_the_answers_and_answered_after(printed, lesson, language):
    page = printed(lesson, language)
    questions, answers = page.split('<div class="answers">')
    for number, step in enumerate(lesson.steps, 1):
        found = answer(step, setup_of(step.setup, language, SOURCE))
        said = say(step, found, language)
        assert f'id="question-{number}"' in questions and html.escape(said.question) in questions
        assert f'id="answer-{number}"' in answers and html.escape(said.why) in answers
        assert html.escape(said.why) not in questions
    for test in lesson.self_test:
        assert html.escape(getattr(test.question, language)) in questions
        for choice in test.choices:
            assert html.escape(getattr(choice.text, language)) in questions
            assert html.escape(getattr(choice.why, language)) in answers


def test_the_questions_hold_no_picture_and_no_mark_of_what_is_right(printed, lesson, language):
    questions = printed(lesson, language).split('<div class="answers">')[0]
    assert "<svg" not in questions
    assert "●" not in questions


def test_a_page_fetches_nothing_and_runs_nothing(printed, lesson, language):
    page = printed(lesson, language)
    read = Nested()
    read.feed(page)
    assert not read.open
    assert not {tag for tag, _ in read.tags} & {"script", "img", "link", "iframe", "a", "object", "use", "image"}
    assert not [name for _, names in read.tags for name in names if name.startswith("on") or name in ("src", "href")]
    assert not re.findall(r"url\((?!#)|@import", page)
    assert "default-src 'none'" in page


def test_every_picture_is_well_formed_and_within_paper(printed, lesson, language):
    pictures = re.findall(r"<svg.*?</svg>", printed(lesson, language), re.DOTALL)
    assert pictures
    for svg in pictures:
        root = ElementTree.fromstring(svg)
        assert 0 < float(root.get("width")) <= 1010


def test_what_is_printed_with_a_model_names_it_and_the_sentence(printed):
    page = printed(shelf().lesson("find-the-head"), "en")
    answers = page.split('<div class="answers">')[1]
    assert "MiniLM-L6 (built in), mask bidirectional · The teacher praised the students" in answers


def test_the_race_marks_the_winner_that_the_words_name(printed):
    lesson = shelf().lesson("find-the-head")
    found = answer(lesson.steps[0], setup_of(lesson.steps[0].setup, "en", SOURCE))
    svg = ElementTree.fromstring(picture(found, "en", pictures_in("en"), "race"))
    shapes = list(svg.iter("{http://www.w3.org/2000/svg}rect"))
    frame = next(shape for shape in shapes if shape.get("fill") == "none")
    under = next(shape for shape in shapes if shape.get("data-row") and shape.get("x") == frame.get("x")
                 and shape.get("y") == frame.get("y"))  # fmt: skip
    layer, head = found.shown.winner
    assert (int(under.get("data-row")), int(under.get("data-column"))) == (layer, head)
    assert found.said["head"] == f"{layer + 1}-{head + 1}"


def test_markup_in_a_lesson_is_text_on_paper(printed):
    lesson = shelf().lesson("find-the-head")
    bad = Words("<img src=x onerror=alert(1)>&amp;", "<script>alert(1)</script>")
    step = replace(lesson.steps[-1], choices=(Choice("yes", bad), *lesson.steps[-1].choices[1:]))
    page = lesson_page(replace(lesson, title=bad, steps=(step,)), "en", SOURCE)
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;amp;" in page
    assert "<script" not in lesson_page(replace(lesson, title=bad, steps=(step,)), "zh", SOURCE)


def test_a_step_without_an_answer_here_says_why_and_the_others_stay(printed):
    def gone(model_id):
        raise HeadworkError("There is no model {name}.", name="<x>")

    lesson = shelf().lesson("find-the-head")
    page = lesson_page(lesson, "en", replace(DIRECT, model=gone, trace=lambda *asked: gone("")))
    assert "This step has no answer here: There is no model &lt;x&gt;." in page
    assert 'id="question-1"' in page


def test_a_place_that_the_answer_does_not_fill_is_told_on_paper(printed):
    lesson = shelf().lesson("find-the-head")
    step = replace(lesson.steps[0], why=Words("{nothing}", "{nothing}"))
    page = lesson_page(replace(lesson, steps=(step,)), "en", SOURCE)
    assert "has a place {nothing}" in page.split('<div class="answers">')[1]
    assert "{" not in page.split("<body>")[1].split('<div class="answers">')[0]


def test_what_a_choice_mistakes_has_its_numbers_on_paper(printed):
    lesson = shelf().lesson("one-head")
    step = lesson.steps[3]
    found = answer(step, setup_of(step.setup, "en", SOURCE))
    name, filled = next(iter({**found.given, **found.said}.items()))
    wrong = Words(f"That is <{{{name}}}>", f"<{{{name}}}>")
    choices = tuple(replace(choice, wrong=wrong) for choice in step.choices)
    page = lesson_page(replace(lesson, steps=(replace(step, choices=choices),)), "en", SOURCE)
    assert f"That is &lt;{html.escape(filled)}&gt;" in page


def test_every_word_of_pictures_that_has_an_english_name_has_a_chinese_one():
    assert set(PARTS) <= set(PICTURES)


def test_numbers_of_a_matrix_stand_in_their_cells_and_masked_ones_are_hatched():
    svg = matrices_svg([Matrix(np.array([[1.0, -np.inf], [0.25, 0.75]]), "ab", "ab")], title="<t>")
    root = ElementTree.fromstring(svg)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:3] == ["1.00", "0.25", "0.75"]
    fills = [shape.get("fill") for shape in root.iter("{http://www.w3.org/2000/svg}rect") if shape.get("data-row")]
    assert [fill == "url(#masked)" for fill in fills] == [False, True, False, False]
    assert "&lt;t&gt;" in svg


def test_bars_are_as_long_as_their_values_also_below_zero():
    svg = bars_svg([Bar("a", 2.0, "2"), Bar("b", -1.0, "−1"), Bar("c", 0.0, "0")], title="", baseline=1.0)
    shapes = [shape for shape in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect")
              if shape.get("data-value")]  # fmt: skip
    widths = [float(shape.get("width")) for shape in shapes]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.2)
    right_of_b = float(shapes[1].get("x")) + widths[1]
    assert right_of_b == pytest.approx(float(shapes[0].get("x")), abs=0.2)


def test_from_the_command_line_a_file_each_and_a_sentence_for_what_is_not_there(tmp_path, capsys):
    assert main(["eight-heads", "--lang", "zh", "--out", str(tmp_path / "new")]) == 0
    assert (tmp_path / "new" / "eight-heads-zh.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["nothing-of-the-kind", "--out", str(tmp_path)]) == 2
    assert "There is no lesson" in capsys.readouterr().err
