"""The sets that ship: one token an answer, balanced, and what was measured on them belongs to them."""

from collections import Counter

import numpy as np
import pytest

from analysis.effects import make_sets, sets
from analysis.effects.questions import encode_prompt, encode_questions
from model import HeadworkError
from model.files import sha256_of
from tests.models import load


@pytest.fixture(scope="module")
def smollm2():
    return load("smollm2-135m")


@pytest.mark.parametrize("name", sets.SETS)
def test_a_set_is_what_its_maker_writes(name):
    assert (sets.FOLDER / f"{name}.jsonl").read_text() == make_sets.as_lines(make_sets.MAKERS[name]())


@pytest.mark.parametrize("name", sets.SETS)
def test_every_question_can_be_asked_and_patched(name, smollm2):
    """Answers of one token, a word to look at, and a changed prompt of as many tokens."""
    questions = sets.questions(name).questions
    asked, problems = encode_questions(smollm2, questions)
    assert problems == () and len(asked) == len(set(questions)) >= 64
    for each in asked:
        assert each.places
        assert each.question.changed not in (None, each.question.prompt)
        assert len(encode_prompt(smollm2, each.question.changed)[0]) == len(each.ids)


@pytest.mark.parametrize("name", ["indirect_object", "agreement", "capitals", "gender"])
def test_every_answer_is_right_as_often_as_wrong(name):
    questions = sets.questions(name).questions
    right, wrong = (Counter(getattr(each, side) for each in questions) for side in ("right", "wrong"))
    assert right == wrong and len(set(right.values())) == 1


def test_names_stand_first_as_often_as_second():
    first = Counter(
        each.prompt.index(each.right) < each.prompt.index(each.wrong)
        for each in sets.questions("indirect_object").questions
    )
    assert first[True] == first[False]


def test_the_noun_before_the_verb_always_says_the_other_number():
    """So that the verb's neighbour alone is always wrong."""
    for each in sets.questions("agreement").questions:
        noun, is_plural = each.prompt.split()[-1], each.right in (" are", " were")
        assert noun.endswith("s") != is_plural


def test_the_second_round_repeats_the_first_up_to_the_answer():
    for each in sets.questions("induction").questions:
        words = each.prompt.split()
        later = words[8:]
        assert later == words[: len(later)] and each.right == f" {words[len(later)]}" and len(set(words[:8])) == 8
        assert each.wrong.strip() in words[:8] and each.wrong != each.right


def test_an_unknown_set_gets_a_sentence():
    with pytest.raises(HeadworkError, match=r"There is no set 'sums'\. Use one of indirect_object, agreement"):
        sets.questions("sums")
    assert sets.record("indirect_object", "nonesuch") is None


def test_the_records_are_of_these_sets_and_these_weights(smollm2):
    found = sets.shipped()
    assert {(name, "smollm2-135m", "zero") for name in sets.SETS} <= set(found)
    for name, model_id, off in found:
        record = sets.record(name, model_id, off)
        assert record.raw["file_sha256"] == sha256_of(sets.FOLDER / f"{name}.jsonl")
        assert record.raw["sha256"] == smollm2.sha256 and record.off == off and record.raw["model"] == model_id
        assert record.questions == sets.questions(name).questions and record.shape == (30, 9)
        np.testing.assert_allclose(record.each.mean(axis=0), record.effect, atol=1e-3)
        low, high = record.interval
        assert (low <= record.effect).all() and (record.effect <= high).all()
