"""One sentence: the scorer's own arrows, who points where, and which fixed step explains a link."""

import numpy as np
import pytest

from analysis.evidence.corpora.annotated import Place, Sentence, lay_out
from analysis.evidence.corpora.corpus import Corpus
from analysis.evidence.one_sentence import Link, hits_and_misses, links_of, offset_of, pointing, word_maps_of
from analysis.evidence.scoring import Conditions, score
from tests.models import load

TEXT = "The teacher praised the students because they worked hard."


@pytest.fixture(scope="module")
def minilm():
    return load("minilm")


def sentence(words, heads, deprels):
    text, spans = lay_out(words, [True] * len(words))
    return Sentence("s", text, tuple(words), spans, tuple(heads), tuple(deprels), place=Place("f", 1))


DO_NOT = sentence(
    ["I", "do", "n't", "like", "gingerbread", "."],
    [3, 3, 3, -1, 3, 3],
    ["nsubj", "aux", "advmod", "root", "obj", "punct"],
)


@pytest.mark.parametrize("mask", ["bidirectional", "causal"])
def test_arrows_are_the_scorers(minilm, mask):
    run = score(minilm, Corpus((DO_NOT,)), Conditions.of(mask))
    maps = word_maps_of(minilm.trace(DO_NOT.text, mask), DO_NOT.words, DO_NOT.spans)
    np.testing.assert_array_equal(maps.target, run.arrows.of_sentence(0))
    assert maps.maps.shape == (6, 12, 6, 6) and maps.words == DO_NOT.words


def test_words_of_the_tokenizer_when_none_are_given(minilm):
    trace = minilm.trace(TEXT)
    maps = word_maps_of(trace)
    assert maps.words == ("The", "teacher", "praised", "the", "students", "because", "they", "worked", "hard", ".")
    special = trace.attention[:, :, :, [0, -1]].sum(axis=-1)[:, :, 1:-1]
    np.testing.assert_allclose(maps.content(), 1 - special, atol=1e-5)
    assert maps.words[maps.target[6, 3, 1]] == "students"  # 4-2: they → students


def test_how_many_heads_point_there_and_which_step_finds_it_too(minilm):
    maps = word_maps_of(minilm.trace(TEXT))
    link = Link(6, 4, "coref")
    there = pointing(maps, link)
    assert there[3, 1] and there.sum() == (maps.target[6] == 4).sum() and 1 <= there.sum() < 72
    assert offset_of(link) == -2 and offset_of(Link(0, 9, "obj")) is None and offset_of(Link(9, 4, "obj")) == -5


def test_links_of_a_sentence_in_both_directions():
    assert [(a.asking, a.wanted, a.relation) for a in links_of(DO_NOT)][:2] == [(0, 3, "nsubj"), (1, 3, "aux")]
    assert (3, 4, "obj") in [(a.asking, a.wanted, a.relation) for a in links_of(DO_NOT, "head>dep")]


def test_hits_and_misses_by_hand():
    target = np.array([3, 0, 3, 4, 3, -1])
    links = [Link(0, 3, "nsubj"), Link(1, 3, "aux"), Link(3, 0, "nsubj"), Link(3, 4, "obj"), Link(5, 3, "punct")]
    assert hits_and_misses(target, links) == [(0, 3, True), (1, 0, False), (3, 4, True), (5, -1, False)]
