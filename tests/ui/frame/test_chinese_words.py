"""Whose words: who waits for the dictionary, and what is said of words that share a piece."""

from contextlib import contextmanager

import numpy as np
import pytest

from analysis.evidence.one_sentence import Link, word_maps_of
from analysis.words import chinese
from tests.analysis.made import random_maps, trace_of
from tests.analysis.words.chinese_pieces import encode
from tests.models import load
from ui.frame import chinese_words


@pytest.fixture
def spinners(monkeypatch):
    """What was said while someone waited."""
    said = []

    @contextmanager
    def spinner(text):
        said.append(text)
        yield

    monkeypatch.setattr(chinese_words.st, "spinner", spinner)
    return said


@pytest.mark.parametrize(
    ("text", "ready", "waits"), [("小明好", False, True), ("小明好", True, False), ("The cat", False, False)]
)
def test_the_first_visitor_sees_what_is_loaded(spinners, monkeypatch, text, ready, waits):
    loaded = []
    monkeypatch.setattr(chinese, "is_ready", lambda: ready)
    monkeypatch.setattr(chinese, "load", lambda: loaded.append(spinners[-1]))
    chinese_words.get_ready(text)
    assert loaded == spinners == (["Loading the dictionary of Chinese words…"] if waits else [])


def test_words_that_one_piece_holds_are_listed_once():
    assert chinese_words.standing_together(encode("因为他给了她，因为他帮过她。")) == (
        "Some tokens hold several words: “因为他”, “给了”."
    )
    assert chinese_words.standing_together(encode("因为他帮过她。")) == "One token holds several words: “因为他”."
    assert chinese_words.standing_together(encode("小明好。")) == ""


def test_a_link_between_words_of_one_piece_is_told():
    tokens = encode("小红递给了他。")
    n = len(tokens)
    maps = word_maps_of(trace_of(random_maps(np.random.default_rng(0), (1, 1), np.ones((n, n), bool)), tokens))
    assert maps.words == ("小红", "递给", "了", "他", "。") and maps.segmenter == ("jieba",)
    said = chinese_words.shares_piece(maps, Link(2, 0, "obj"))
    assert said == "“递给”, “了” are read as one token “给了”: no weight tells them apart."
    assert chinese_words.shares_piece(maps, Link(3, 0, "coref")) == ""


def test_english_words_have_no_parter():
    maps = word_maps_of(load("minilm").trace("The cat sat."))
    assert chinese_words.who_parted(maps.segmenter) == "" and chinese_words.shares_piece(maps, Link(1, 0, "det")) == ""
