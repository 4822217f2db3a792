"""Every step of every shipped lesson, computed in both languages."""

import contextlib
import itertools
import os
import re
from dataclasses import replace

import pytest

from analysis.lessons import ANSWERS, Words, answer, read_file, read_lesson, say, setup_of
from analysis.lessons.__main__ import main
from analysis.lessons.answer import parameters
from analysis.lessons.lesson import LANGUAGES, PREDICTS, Ask, Given
from analysis.lessons.setup import Source
from analysis.lessons.shelf import FOLDER, shelf, shipped
from model import HeadworkError
from tests import models

SOURCE = Source(models.load, lambda text, model_id, mask: models.load(model_id).trace(text, mask))
MINILM, CAT = Words("minilm", "minilm"), Words("The cat sat.", "The cat sat.")
STEPS = [
    pytest.param(lesson, step, language, id=f"{lesson.id}-{step.id}-{language}")
    for lesson in shipped().lessons
    for step in lesson.steps
    for language in LANGUAGES
]


def test_every_shipped_file_is_a_lesson():
    assert [str(problem) for problem in shipped().problems] == []
    assert len(shipped().lessons) == len(list(FOLDER.glob("*.yaml")))


@pytest.mark.parametrize(("lesson", "step", "language"), STEPS)
def test_every_step_has_an_answer_that_can_be_given_and_fills_its_texts(lesson, step, language):
    setup = setup_of(step.setup, language, SOURCE)
    found = answer(step, setup)
    assert not setup.is_stand_in
    said = say(step, found, language)
    assert all((said.context, said.question, said.why))
    assert step.is_right(found.right, found.right)
    if step.predict == "token":
        assert 0 <= found.right < len(found.labels)
    elif step.predict == "pair":
        assert all(0 <= at < len(found.labels) for at in found.right)
    elif step.predict == "choice":
        assert found.right in {choice.id for choice in step.choices}
        assert all(choice.wrong for choice in step.choices if choice.id != found.right)
    elif step.predict == "order":
        assert sorted(found.right) == sorted(choice.id for choice in step.choices)
    elif step.predict == "number":
        assert step.range.least <= found.right <= step.range.most
    assert found.picture or step.picture


@pytest.mark.parametrize("lesson", shipped().lessons, ids=lambda lesson: lesson.id)
def test_a_lesson_has_four_to_seven_steps_and_three_to_five_questions(lesson):
    assert 4 <= len(lesson.steps) <= 7
    assert 3 <= len(lesson.self_test) <= 5


def test_a_broken_file_of_the_servers_folder_is_named_and_the_others_stay(tmp_path, monkeypatch):
    source = (FOLDER / "07-find-the-head.yaml").read_text(encoding="utf-8")
    (tmp_path / "a.yaml").write_text(source.replace("id: find-the-head", "id: mine", 1), encoding="utf-8")
    (tmp_path / "b.yaml").write_text("id: broken", encoding="utf-8")
    (tmp_path / "c.yaml").write_text(source, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no lesson")
    os.mkfifo(tmp_path / "d.yaml")
    monkeypatch.setenv("HEADWORK_LESSONS", str(tmp_path))
    found = shelf()
    assert [lesson.id for lesson in found.lessons] == [*(lesson.id for lesson in shipped().lessons), "mine"]
    assert len(found.problems) == 2
    assert "b.yaml, line 1" in str(found.problems[0])
    assert "c.yaml is left out" in str(found.problems[1])
    (tmp_path / "b.yaml").write_text(source.replace("id: find-the-head", "id: mended-now", 1), encoding="utf-8")
    assert shelf().lesson("mended-now").steps == read_file(tmp_path / "b.yaml").steps


def test_more_files_than_a_shelf_holds_are_told(tmp_path, monkeypatch):
    for number in range(4):
        (tmp_path / f"{number}.yaml").write_text("id: broken", encoding="utf-8")
    monkeypatch.setenv("HEADWORK_LESSONS", str(tmp_path))
    monkeypatch.setitem(shelf.__globals__, "MOST_FILES", 3)
    *broken, more = shelf().problems
    assert len(broken) == 3
    assert "4 lesson files; the first 3" in str(more)


def mixed(predict, options=""):
    """A lesson whose answer is the number 5, asked for by a guess of some kind."""
    text = f"""
id: mixed
title: {{en: Mixed, zh: 混合}}
minutes: 1
steps:
  - id: one
    context: {{en: c, zh: c}}
    question: {{en: q, zh: q}}
    predict: {predict}
    {options}
    answer: {{of: mixture, weights: [0.5, 0.5], values: [8, 2]}}
    why: {{en: "{{mixed}}", zh: "{{mixed}}"}}
"""
    return read_lesson(text.encode(), "mixed.yaml")


@pytest.mark.parametrize("predict", PREDICTS)
def test_an_answer_that_nobody_can_guess_is_told(predict):
    options = {
        "choice": "options: [{id: a, text: {en: A, zh: A}}]",
        "order": "options: [{id: a, text: {en: A, zh: A}}]",
        "number": "options: {least: 0, most: 9, step: 1, tolerance: 0}",
    }.get(predict, "")
    (step,) = mixed(predict, options).steps
    setup = setup_of(step.setup, "en", SOURCE)
    if predict == "number":
        assert answer(step, setup).right == 5
        return
    with pytest.raises(HeadworkError, match="mixture gives 5.* which nobody can guess with predict: " + predict):
        answer(step, setup)


def test_a_missing_folder_is_told_and_the_shipped_lessons_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWORK_LESSONS", str(tmp_path / "nowhere"))
    found = shelf()
    assert found.lessons == shipped().lessons
    assert "HEADWORK_LESSONS" in str(found.problems[-1])


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_odd_values_of_a_strangers_file_bring_a_sentence_and_no_other_error(name):
    for number, word in ((-1, "cat"), (0, "{0.__class__}"), (10**17, "../../etc/passwd")):
        values = {int: number, float: float(number), str: word, bool: True}
        given = {
            each: [values[taken.kinds[0]]] * 3 if taken.is_list else values[taken.kinds[0]]
            for each, taken in parameters(name).items()
        }
        step = replace(shipped().lessons[0].steps[0], answer=Ask(name, given), setup=Given(CAT, MINILM))
        with contextlib.suppress(HeadworkError):
            answer(step, setup_of(step.setup, "en", SOURCE))


def test_the_example_of_the_docs_is_a_lesson_with_answers():
    text = (FOLDER.parents[1] / "docs" / "lessons.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    lesson = read_lesson(example.encode(), "lessons.md")
    for step, language in itertools.product(lesson.steps, LANGUAGES):
        found = answer(step, setup_of(step.setup, language, SOURCE))
        assert say(step, found, language).why


def test_the_command_checks_files_and_lists_answers(capsys, tmp_path):
    good, bad = FOLDER / "07-find-the-head.yaml", tmp_path / "bad.yaml"
    bad.write_text("id: bad")
    assert main([str(good)]) == 0
    assert "4-2 wins" not in capsys.readouterr().err
    assert main([str(bad), str(good)]) == 2
    said = capsys.readouterr()
    assert "bad.yaml, line 1" in said.err and "find-the-head: Find the head" in said.out
    assert main(["--answers"]) == 0
    assert "most_attended(layer: int, head: int, query: str)" in capsys.readouterr().out


def test_the_right_choice_of_a_self_test_stands_in_any_place():
    places = [
        next(place for place, option in enumerate(test.choices) if option.right)
        for lesson in shipped().lessons
        for test in lesson.self_test
    ]
    assert max(places.count(place) for place in range(3)) < 0.45 * len(places)
