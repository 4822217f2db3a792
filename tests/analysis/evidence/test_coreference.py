"""Antecedents, worked out by hand on choices that are written down."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.evidence.arrows import Arrows, Choices
from analysis.evidence.coreference import first, nearest, nearest_subject, same_word, score_coreference
from analysis.evidence.corpora.annotated import Passage, Place, lay_out
from analysis.evidence.scoring import Conditions, Run

WORDS = tuple(["Ann", "told", "Eve", "that", "she", "saw", "the", "dog", "because", "it", "barked", "."])
UPOS = ("PROPN", "VERB", "PROPN", "SCONJ", "PRON", "VERB", "DET", "NOUN", "SCONJ", "PRON", "VERB", "PUNCT")


def passage(pronoun, candidates, antecedents, deprels=None, upos=UPOS, doc=None):
    text, spans = lay_out(WORDS, [True] * len(WORDS))
    return Passage(
        "p",
        text,
        WORDS,
        spans,
        pronoun,
        tuple(candidates),
        tuple(antecedents),
        tuple(candidates),
        deprels,
        upos,
        doc,
        Place("f", 1),
    )


def run(passages, answers, visible=None, nouns=None):
    """`answers`: for each passage, rows of choices (question, head); the first row is the pronoun's."""
    rows = np.concatenate([np.array(each, dtype=np.int16) for each in answers])[:, None]  # (Q, 1, h)
    sizes = [len(each) for each in answers]
    widest = max(len(p.candidates) for p in passages)
    seen = np.zeros((sum(sizes), widest), dtype=bool)
    for row, p in enumerate(np.repeat(np.arange(len(passages)), sizes)):
        seen[row, : len(passages[p].candidates)] = True if visible is None else visible[p]
    noun = rows if nouns is None else np.concatenate([np.array(each, dtype=np.int16) for each in nouns])[:, None]
    unclear = np.zeros(len(passages), dtype=bool)
    numbers = np.repeat(np.arange(len(passages)), sizes)
    choices = Choices(numbers, {"all": rows, "noun": noun}, seen, rows[:, 0, 0], unclear)
    arrows = Arrows(np.zeros(1, int), np.empty((0, 1, rows.shape[2]), np.int16), (), np.empty(0, bool))
    heads = rows.shape[2]
    return Run("m", "M", None, True, 1, heads, Conditions(), "apart", (), tuple(passages), arrows, choices, ())


IT = passage(9, [0, 2, 4, 7], [7], ("nsubj", "iobj", "nsubj", "obj"))
SHE = passage(4, [0, 2], [0], ("nsubj", "iobj"))


def test_baselines_know_only_the_words():
    every = range(4)
    assert [f(IT, every) for f in (nearest, first, same_word, nearest_subject)] == [3, 0, 3, 2]
    assert [f(SHE, range(2)) for f in (nearest, first, same_word, nearest_subject)] == [1, 0, 1, 0]
    assert nearest(passage(4, [3, 5], [3]), range(2)) == 0  # one word away on both sides: the earlier
    assert nearest(passage(4, [0, 5], [0]), range(2)) == 1  # GAP has names after the pronoun
    assert same_word(passage(9, [0, 4], [0]), [0]) == 0


def test_accuracy_chance_baselines_and_the_query_control():
    # Two heads. The first finds both; asked from the other words it finds 1 of 2 in IT and 0 of 1 in SHE.
    scores = score_coreference(run([IT, SHE], [[[3, 0], [3, 3], [0, 3]], [[0, 1], [1, 0]]]))
    every = scores[0]
    assert (every.subset, every.n, every.unit) == ("all", 2, "sentence")
    assert every.accuracy.tolist() == [[1.0, 0.0]]
    assert every.query_control.tolist() == [[(0.5 + 0) / 2, (1 + 1) / 2]]
    assert every.chance == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert every.baselines == {"nearest": 0.5, "first": 0.5, "same word": 0.5, "nearest subject": 0.5}


def test_among_nouns_only_nouns_may_be_chosen_and_be_right():
    scores = score_coreference(run([IT], [[[2], [2]]], nouns=[[[3], [3]]]))
    every, noun = scores
    assert every.accuracy.tolist() == [[0.0]] and noun.accuracy.tolist() == [[1.0]]
    assert noun.chance == pytest.approx(1 / 3)
    assert noun.baselines["nearest subject"] == 0.0  # the nearest subject that is a noun is Ann


def test_a_passage_without_a_right_and_a_wrong_choice_is_left_out():
    only_right = passage(4, [0], [0])
    pronoun_right = passage(9, [0, 2, 4], [4])
    scores = score_coreference(run([only_right, pronoun_right], [[[0]], [[2]]]))
    assert [(each.subset, each.n) for each in scores] == [("all", 1)]


def test_without_parts_of_speech_there_is_no_noun_score_and_without_relations_no_subject():
    scores = score_coreference(run([passage(4, [0, 2], [0], upos=None)], [[[0]]], nouns=[[[-1]]]))
    assert [each.subset for each in scores] == ["all"]
    assert "nearest subject" not in scores[0].baselines


def test_only_visible_mentions_count():
    scores = score_coreference(run([IT], [[[3]]], visible=[np.array([True, False, False, True])]))
    assert scores[0].chance == 0.5
    hidden = run([IT], [[[0]]], visible=[np.array([True, True, False, False])])
    assert score_coreference(hidden) == ()
    both = [np.array([True, False, False, True]), np.array([True, True, False, False])]
    counted = score_coreference(run([IT, IT], [[[3]], [[0]]], visible=both))[0]
    assert (counted.n, counted.n_unseen) == (1, 1)


def test_documents_are_kept_together():
    passages = [passage(4, [0, 2], [0], doc=f"d{i % 12}") for i in range(60)]
    (score,) = score_coreference(run(passages, [[[0, 1]]] * 60))[:1]
    assert (score.unit, score.n_documents) == ("document", 12)
    halves = {tuple(np.unique(score.hits.second_half[score.hits.group == g])) for g in range(12)}
    assert halves == {(False,), (True,)}
    assert score.held_out.heads == ((0, 0), (0, 0)) and score.held_out.interval == (1.0, 1.0)


def test_no_passage_no_score():
    empty = run([IT], [[[3]]])
    picks = {k: v[:0] for k, v in empty.choices.picks.items()}
    nothing = Choices(np.empty(0, int), picks, empty.choices.visible[:0], np.empty(0, np.int16), np.empty(0, bool))
    assert score_coreference(replace(empty, passages=(), choices=nothing)) == ()
