"""Patching by hand, and what can't be patched. (test_heads_off_parity.py compares every cell with transformers.)"""

import dataclasses

import numpy as np
import pytest

from analysis.effects.patching import MOST_TOKENS, patch
from analysis.effects.questions import Question, encode_question
from model import HeadworkError
from tests.analysis.effects.made import A, B, by_hand, question
from tests.models import load, tiny_decoder


def test_by_hand(monkeypatch):
    """Tokens 0 1 1, patched from 1 1 1: only the first token differs.

    Of the tokens so far 1 has this much more than 0: here -1, 0, 1/3; there 1, 1, 1.
    """
    here, there = np.array([-1, 0, 1 / 3]), np.ones(3)
    monkeypatch.setattr("analysis.effects.patching._changed", lambda *_: ((1, 1, 1), ("1", "1", "1")))
    found = patch(by_hand(), [question([0, 1, 1], 1, 0)])
    assert found.difference == pytest.approx([A * (here[-1] + B * here.mean())])
    assert found.other == pytest.approx([A * (1 + B)])
    whole = found.other - found.difference
    # The input of the first layer at the first token is all that differs, and no later one does.
    np.testing.assert_allclose(found.residual[0, 0], [whole[0], 0, 0], atol=1e-12)
    # The input of the second layer: the last token's is read directly and, with the others, by 2-1.
    moved = A * (there - here)
    np.testing.assert_allclose(found.residual[0, 1], B * moved / 3 + [0, 0, moved[-1]], atol=1e-12)
    np.testing.assert_allclose(found.heads[0], [[whole[0], 0], [B * moved.mean(), 0]], atol=1e-12)
    np.testing.assert_allclose(found.share(found.heads)[0, 0], 1)


def test_progress_and_several_questions_together():
    model, seen = tiny_decoder(), []
    asked = [encode_question(model, Question(f"ab{i}cd", "x", "y", other=f"ab{i}ef")) for i in range(3)]
    found = patch(model, asked, workers=2, progress=lambda *each: seen.append(each))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert found.residual.shape == (3, 3, 5) and found.heads.shape == (3, 3, 6)
    assert (found.residual[:, :, :3] == 0).all()  # the prompts are the same so far
    alone = patch(model, asked[1:2])
    np.testing.assert_allclose(alone.residual, found.residual[1:2], atol=1e-4)


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ([], "There is no question"),
        ([Question("ab", "x", "y")], "has no changed one"),
        ([Question("ab", "x", "y", other="abc")], "has 2 tokens and the changed one has 3"),
        ([Question("ab", "x", "y", other="cd"), Question("abc", "x", "y", other="cde")], "the same number of tokens"),
        ([Question("ab", "x", "y", other="cd")] * (MOST_TOKENS // 2 + 1), f"{MOST_TOKENS} in all"),
    ],
)
def test_what_cant_be_patched_gets_a_sentence(questions, said):
    model = tiny_decoder()
    with pytest.raises(HeadworkError, match=said):
        patch(model, [encode_question(model, each) for each in questions])


def test_an_encoder_has_no_answers_to_patch():
    model = load("toy")
    asked = [dataclasses.replace(question([1, 2], 0, 1), question=Question("a b", "a", "b", other="b a"))]
    with pytest.raises(HeadworkError, match="no output matrix"):
        patch(model, asked)
