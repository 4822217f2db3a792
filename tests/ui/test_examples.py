"""The sentences that come with the app: each shows what it is there for, in the built-in model."""

import pytest

from model import load
from ui.controls import examples

SHOWN = {  # text → (query, key, least weight)
    "The teacher praised the students because they worked hard.": ("they", "students", 0.9),
    "The animal did not cross the street because it was too tired.": ("it", "animal", 0.6),
    "My neighbours sold their house, because it had become too small for them.": ("it", "house", 0.7),
    "A big dog chased the black cat.": ("big", "dog", 0.8),
    "The very tall man in the blue coat read the newspaper.": ("blue", "coat", 0.6),
    "山上有水，水中有月。": ("水", "水", 0.7),
    "老师表扬了学生，因为他们很努力。": ("生", "学", 0.9),
}


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.text[:20])
def test_the_suggested_head_shows_it(example):
    query, key, least = SHOWN[example.text]
    trace = load("minilm").trace(example.text)
    head = trace.attention[example.layer - 1, example.head - 1]
    assert example.look == query
    rows = [i for i, token in enumerate(trace.tokens) if token == query]
    columns = [i for i, token in enumerate(trace.tokens) if token == key]
    assert max(head[i, j] for i in rows for j in columns if i != j) >= least


def test_there_are_english_and_chinese_ones():
    chinese = [example for example in examples() if any("一" <= c <= "鿿" for c in example.text)]
    assert 0 < len(chinese) < len(examples())
