"""The sentences that come with the app: every head that one opens with shows, in real weights, what it is there for."""

import numpy as np
import pytest

from analysis.evidence.agreement import ask
from model.catalogue import E5
from model.weights.e5 import E5_HUB, e5_path
from tests.models import load
from ui.attention.view import token_of
from ui.frame.examples import brings, examples, is_here, look, of

TOLERANCE = 0.02  # another build of the libraries rounds otherwise; two decimals are what the app shows
SMOLLM2 = "smollm2-135m"
HAS_E5 = e5_path() is not None
NO_E5 = "the package of multilingual-e5-small, 4-bit, is not installed"
SHOWN = {  # (model, text) → the weight of the token to look at on the right token, and on another one
    ("minilm", "The teacher praised the students because they worked hard."): ("students", 0.92, "teacher", 0.01),
    (E5, "The teacher praised the students because they worked hard."): ("students", 0.22, "teacher", 0.11),
    ("minilm", "The animal did not cross the street because it was too tired."): ("animal", 0.69, "street", 0.05),
    (E5, "The animal did not cross the street because it was too tired."): ("animal", 0.46, "street", 0.05),
    ("minilm", "My neighbours sold their house, because it had become too small for them."): (
        *("house", 0.75),
        *("neighbours", 0.00),
    ),
    (E5, "My neighbours sold their house, because it had become too small for them."): ("house", 0.33, "bour", 0.00),
    (SMOLLM2, "The teacher praised the students because they worked hard."): ("students", 0.81, "teacher", 0.08),
    (SMOLLM2, "The animal did not cross the street because it was too tired."): ("animal", 0.70, "street", 0.01),
    (SMOLLM2, "My neighbours sold their house, because it had become too small for them."): (
        *("house", 0.64),
        *("neighbours", 0.07),
    ),
    ("minilm", "A big dog chased the black cat."): ("dog", 0.86, "cat", 0.01),
    (E5, "A big dog chased the black cat."): ("dog", 0.49, "cat", 0.00),
    ("minilm", "The very tall man in the blue coat read the newspaper."): ("coat", 0.65, "man", 0.00),
    (E5, "The very tall man in the blue coat read the newspaper."): ("coa", 0.39, "man", 0.01),
    (E5, "老师表扬了学生，他们学习很努力。"): ("学生", 0.34, "老师", 0.12),
    (E5, "山上有水，水中有月。"): ("水", 0.57, "山", 0.01),
}
# (model, sentence as written) → head → as written and swapped, for both pronouns: weight on the right and wrong noun.
AGREEING = {
    ("minilm", "Tom handed the apple to Mary because she had helped him."): {
        (2, 4): [[(0.43, 0.15), (0.31, 0.13)], [(0.46, 0.14), (0.30, 0.14)]],
        (6, 5): [[(0.37, 0.10), (0.10, 0.36)], [(0.39, 0.09), (0.08, 0.33)]],
    },
    (E5, "Tom handed the apple to Mary because she had helped him."): {
        (8, 1): [[(0.49, 0.01), (0.15, 0.05)], [(0.58, 0.01), (0.12, 0.05)]],
        (12, 5): [[(0.40, 0.01), (0.01, 0.44)], [(0.38, 0.01), (0.01, 0.42)]],
    },
    (E5, "小明把苹果递给了小红，因为她帮过他。"): {
        (8, 1): [[(0.34, 0.02), (0.23, 0.06)], [(0.30, 0.03), (0.26, 0.06)]],
        (12, 5): [[(0.36, 0.01), (0.01, 0.39)], [(0.37, 0.01), (0.01, 0.37)]],
    },
    (E5, "爸爸把苹果递给了妈妈，因为她帮过他。"): {
        (8, 1): [[(0.54, 0.03), (0.14, 0.04)], [(0.45, 0.05), (0.26, 0.02)]],
        (12, 12): [[(0.25, 0.16), (0.19, 0.27)], [(0.24, 0.17), (0.20, 0.26)]],
    },
    (E5, "小明把蘋果遞給了小紅，因為她幫過他。"): {
        (8, 1): [[(0.26, 0.04), (0.25, 0.02)], [(0.39, 0.02), (0.25, 0.05)]],
        (12, 5): [[(0.24, 0.01), (0.02, 0.25)], [(0.25, 0.02), (0.02, 0.23)]],
    },
    (E5, "Tom 把苹果递给了 Mary，因为她帮过他。"): {
        (8, 1): [[(0.66, 0.02), (0.19, 0.07)], [(0.58, 0.04), (0.21, 0.05)]],
        (12, 5): [[(0.43, 0.01), (0.01, 0.41)], [(0.47, 0.00), (0.01, 0.44)]],
    },
}


def loaded(model_id):
    if model_id == E5 and not HAS_E5:
        pytest.skip(NO_E5)
    return load(model_id)


def pairs(*, agreeing):
    chosen = [e for e in examples() if (e.agreement is not None) is agreeing and not e.is_swapped]
    return [pytest.param(model_id, e, id=f"{model_id} {e.text[:12]}") for e in chosen for model_id in e.heads]


@pytest.mark.parametrize(("model_id", "example"), pairs(agreeing=False))
def test_the_suggested_head_shows_it(model_id, example):
    right, more, wrong, less = SHOWN[model_id, example.text]
    trace = loaded(model_id).trace(example.text)
    layer, head = example.heads[model_id]
    row = trace.attention[layer - 1, head - 1, token_of(trace.tokens, example.look)]
    found = [float(row[token_of(trace.tokens, word)]) for word in (right, wrong)]
    assert found == pytest.approx([more, less], abs=TOLERANCE) and found[0] > found[1] + TOLERANCE
    words = [w for w, special in zip(row, trace.tokenized.is_special, strict=True) if not special]
    assert found[0] == max(words)


@pytest.mark.parametrize(("model_id", "example"), pairs(agreeing=True))
def test_a_head_agrees_in_either_order_and_its_false_friend_only_for_one_pronoun(model_id, example):
    model = loaded(model_id)
    traces = [model.trace(text) for text in (example.text, example.agreement.swapped)]
    answers = ask(*traces, example.agreement.questions)
    measured = AGREEING[model_id, example.text]
    head, seems = example.head(model_id), example.seems(model_id)
    assert list(measured) == [head, seems]
    for (layer, number), expected in measured.items():
        weights = answers.weights[layer - 1, number - 1]
        np.testing.assert_allclose(weights, expected, atol=TOLERANCE)
    assert answers.verdict((head[0] - 1, head[1] - 1)) == "all"
    assert answers.verdict((seems[0] - 1, seems[1] - 1)) == "one noun"
    assert answers.hits[seems[0] - 1, seems[1] - 1].tolist() == [[True, False], [True, False]]


def test_every_example_has_its_weights_written_down():
    plain = {(model_id, e.text) for e in examples() for model_id in e.heads if e.agreement is None}
    asked = {(model_id, e.text) for e in examples() for model_id in e.heads if e.agreement and not e.is_swapped}
    assert set(SHOWN) == plain and set(AGREEING) == asked


def test_the_token_to_look_at_stands_in_the_sentence_as_a_token_of_its_own():
    for example in examples():
        for model_id in example.heads:
            tokens = loaded(model_id).trace(example.text).tokens
            assert all(token_of(tokens, word) is not None for word in (example.look, *example.beside)), example.text


def test_a_sentence_with_its_nouns_swapped_follows_it_and_leads_back():
    swapped = [(before, e) for before, e in zip(examples(), examples()[1:], strict=False) if e.is_swapped]
    assert len(swapped) == len(AGREEING) - 1  # the English one is there for two models
    for before, example in swapped:
        assert before.agreement.swapped == example.text and example.agreement.swapped == before.text
        assert sorted(before.text) == sorted(example.text) and before.heads == example.heads
    assert look(swapped[0][1].text) == "she" and of("no example") is None and look("no example") is None


def test_there_are_examples_in_english_in_both_scripts_of_chinese_and_mixed():
    texts = {language: [e.text for e in examples() if e.language == language] for language in ("en", "zh")}
    assert all(text.isascii() for text in texts["en"]) and not any(text.isascii() for text in texts["zh"])
    assert any("蘋" in text for text in texts["zh"]) and any("Mary" in text for text in texts["zh"])
    assert len({e.text for e in examples()}) == len(examples())


def test_a_model_is_here_when_the_server_offers_it_and_its_package_is_installed(monkeypatch):
    monkeypatch.setattr("ui.frame.examples.e5_path", lambda: None)
    assert is_here("minilm") and not is_here(E5)
    monkeypatch.setattr("ui.frame.examples.e5_path", lambda: "somewhere")
    monkeypatch.setenv("HEADWORK_MODELS", f"{E5},toy")
    assert is_here(E5) and not is_here("minilm")


def test_where_the_package_is_absent_the_downloaded_model_with_the_same_weights_takes_its_place(monkeypatch, tmp_path):
    monkeypatch.setattr("ui.frame.examples.e5_path", lambda: None)
    monkeypatch.setattr("ui.frame.examples.local_folder", lambda entry: None)
    course = "小明把苹果递给了小红，因为她帮过他。"
    assert not brings(course, E5) and not brings(course, E5_HUB)
    monkeypatch.setattr("ui.frame.examples.local_folder", lambda entry: tmp_path)
    assert is_here(E5_HUB) and brings(course, E5_HUB) and not brings(course, "minilm")


def test_the_same_weights_in_full_precision_are_looked_at_in_the_same_heads():
    example = of("小明把苹果递给了小红，因为她帮过他。")
    assert example.head(E5_HUB) == example.head(E5) == (8, 1) and example.seems(E5_HUB) == (12, 5)
    assert example.head("toy") is None
