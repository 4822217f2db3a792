"""Scores of heads on arcs, worked out by hand; and that nothing is chosen on what it is scored on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.evidence.arrows import Arrows, Choices
from analysis.evidence.corpora.annotated import Place, Sentence, lay_out
from analysis.evidence.dependencies import OFFSETS, score_dependencies
from analysis.evidence.held_out import Hits, head_intervals, held_out
from analysis.evidence.scoring import Conditions, Run


def sentence(words, heads, deprels, doc=None):
    words = tuple(words.split())
    text, spans = lay_out(words, [True] * len(words))
    return Sentence("s", text, words, spans, tuple(heads), tuple(deprels.split()), doc, None, Place("f", 1))


def run(sentences, targets, visible=None, unclear=()):
    """A run of one layer; `targets` has for each sentence one list of arrows a head, `unclear` words of the corpus."""
    target = np.concatenate([np.array(each, dtype=np.int16).T[:, None, :] for each in targets])  # (T, 1, h)
    starts = np.cumsum([0] + [len(each.words) for each in sentences])
    unclear = np.isin(np.arange(len(target)), unclear)
    arrows = Arrows(starts, target, tuple(visible or [None] * len(sentences)), unclear)
    none = np.empty(0, int)
    nothing = Choices(none, {"all": np.empty((0, 1, 1), np.int16)}, np.empty((0, 0), bool), none, none.astype(bool))
    heads = target.shape[2]
    return Run("m", "M", None, True, 1, heads, Conditions(), "apart", tuple(sentences), (), arrows, nothing, ())


CATS = sentence("the cat ate the small fish .", [1, 2, -1, 5, 5, 2, 2], "det nsubj root det amod obj punct")


def test_each_arc_is_asked_both_ways_and_the_root_is_not():
    right = [1, 2, 0, 5, 5, 2, 2]  # the head of each word; the root points at word 0
    wrong = [2, 0, 1, 4, 3, 4, 5]
    scores = score_dependencies(run([CATS], [[right, wrong]]))
    det = scores.of("det", "dep>head")
    assert (det.n, det.n_sentences) == (2, 1)
    assert det.accuracy.tolist() == [[1.0, 0.0]]
    assert (det.best_offset, det.offset_accuracy) == (1, 0.5)
    assert scores.of("punct", "dep>head").best_offset == -4
    assert scores.of("nsubj", "head>dep").accuracy.tolist() == [[0.0, 1.0]]  # "ate" looks at word 1 in the second head
    assert scores.of("obj", "head>dep").accuracy.tolist() == [[0.0, 0.0]]
    assert all(each.relation != "root" for each in scores.relations)
    assert sum(each.n for each in scores.relations if each.direction == "dep>head") == 6


def test_arcs_whose_right_word_is_masked_are_counted_and_not_asked():
    """Under a causal mask: "the" can't ask for "cat", which comes later, but "cat" for "the"."""
    right = [-1, 0, 1, 0, 0, 3, 2]
    scores = score_dependencies(run([CATS], [[right]], visible=[np.tri(7, dtype=bool)]))
    assert scores.n_arcs == 6 and scores.n_unseen == {"dep>head": 4, "head>dep": 2}
    det = scores.of("det", "head>dep")
    assert (det.n, det.n_unseen, det.accuracy[0, 0]) == (2, 0, 1.0)
    assert scores.of("obj", "dep>head").n_unseen == 0 and scores.of("obj", "dep>head").n == 1
    with pytest.raises(KeyError):
        scores.of("det", "dep>head")  # nothing left to ask
    assert sum(each.n for each in scores.relations) == 6


def test_any_dependent_of_the_relation_is_right_and_the_head_is_asked_once():
    trees = sentence("big red cars", [2, 2, -1], "amod amod root")
    scores = score_dependencies(run([trees], [[[1, 0, 1], [2, 2, 0]]]))
    amod = scores.of("amod", "head>dep")
    assert amod.n == 1 and amod.accuracy.tolist() == [[1.0, 1.0]]
    assert amod.hits.baseline_accuracy()[[OFFSETS.index(-2), OFFSETS.index(-1)]].tolist() == [1.0, 1.0]
    assert scores.of("amod", "dep>head").n == 2


def test_a_head_with_a_right_word_that_cannot_be_told_is_not_asked_and_is_counted():
    """The head looks at "big", which shares a piece: that would be right, and counting it as wrong would not."""
    trees = sentence("big red cars sleep", [2, 2, 3, -1], "amod amod nsubj root")
    targets = [[1, 0, 0, 2]]
    scores = score_dependencies(run([trees], [targets], unclear=[0]))
    assert [(each.relation, each.direction, each.n) for each in scores.relations] == [
        ("amod", "dep>head", 1),
        ("nsubj", "dep>head", 1),
        ("nsubj", "head>dep", 1),
    ]
    assert (scores.n_arcs, scores.n_unclear, scores.n_incomplete) == (3, 1, 1)
    clear = score_dependencies(run([trees], [targets]))
    assert clear.n_incomplete == 0 and clear.of("amod", "head>dep").accuracy.tolist() == [[1.0]]
    blind = np.ones((4, 4), bool)
    blind[2, 0] = False  # "cars" can't look at "big": then "red" is all that is right
    masked = score_dependencies(run([trees], [[[1, 0, 1, 2]]], [blind], unclear=[0]))
    assert masked.n_incomplete == 0 and masked.of("amod", "head>dep").accuracy.tolist() == [[1.0]]


@given(st.lists(st.booleans(), min_size=4, max_size=4))
def test_every_question_from_a_head_is_asked_whole_or_not_at_all(which):
    trees = sentence("a b c d", [-1, 0, 0, 0], "root mod mod obj")
    scores = score_dependencies(run([trees], [[[1, 0, 0, 0]]], unclear=np.flatnonzero(which)))
    _root, *dependents = which
    asked = {each.relation for each in scores.relations if each.direction == "head>dep"}
    expected = set() if which[0] else {"mod"} - ({"mod"} if any(dependents[:2]) else set())
    assert asked == expected | ({"obj"} if not which[0] and not dependents[2] else set())
    assert scores.n_incomplete == (not which[0] and sum(dependents[:2]) == 1)


def test_one_word_has_no_question():
    scores = score_dependencies(run([sentence("Stop", [-1], "root")], [[[-1]]]))
    assert scores.relations == () and scores.n_arrows == 0 and np.isnan(scores.no_arc_share).all()


def test_under_a_mask_only_visible_answers_are_asked_for():
    visible = np.tril(np.ones((7, 7), dtype=bool))
    scores = score_dependencies(run([CATS], [[[-1, 0, 1, 2, 3, 2, 2]]], [visible]))
    names = {(each.relation, each.direction): each.n for each in scores.relations}
    assert names == {
        ("nsubj", "head>dep"): 1,
        ("det", "head>dep"): 2,
        ("amod", "head>dep"): 1,
        ("obj", "dep>head"): 1,
        ("punct", "dep>head"): 1,
    }
    assert scores.of("obj", "dep>head").accuracy.tolist() == [[1.0]]
    assert scores.n_arrows == 6  # the first word may look at nothing


def test_what_else_a_head_does():
    scores = score_dependencies(run([CATS], [[[1, 2, 0, 5, 5, 2, 2]]]))
    # Of seven arrows six are arcs; "ate" to "the" is none.
    assert scores.no_arc_share[0, 0] == pytest.approx(1 / 7)
    assert scores.of("det", "dep>head").arrow_share[0, 0] == pytest.approx(2 / 7)
    assert scores.offset_share[0, 0, OFFSETS.index(1)] == pytest.approx(3 / 7)


def test_intervals_from_thirty_arcs_and_stable_from_fifty_sentences():
    def corpus(n):
        return score_dependencies(run([CATS] * n, [[[1, 2, 0, 5, 5, 2, 2]]] * n))

    few, some, many = corpus(14), corpus(15), corpus(50)
    assert few.of("det", "dep>head").intervals is None and few.of("det", "dep>head").held_out.interval is None
    assert some.of("det", "dep>head").held_out.interval == (1.0, 1.0)
    assert some.of("obj", "dep>head").held_out.interval is None
    assert not some.of("det", "dep>head").stable and many.of("det", "dep>head").stable


def made_hits(n=400, heads=(2, 3), seed=0, rate=0.5):
    generator = np.random.default_rng(seed)
    return Hits(
        heads=generator.random((n, *heads)) < rate,
        baselines=generator.random((n, 4)) < 0.3,
        names=("a", "b", "c", "d"),
        example=np.arange(n),
        group=np.arange(n),
        second_half=generator.random(n) < 0.5,
    )


@pytest.mark.parametrize("seed", range(5))
def test_choosing_never_sees_the_half_that_is_scored(seed):
    hits = made_hits(seed=seed)
    before = held_out(hits)
    generator = np.random.default_rng(seed)
    for half, kept in ((hits.second_half, 0), (~hits.second_half, 1)):
        heads, baselines = hits.heads.copy(), hits.baselines.copy()
        rows = np.flatnonzero(half)
        heads[rows] = generator.random(heads[rows].shape) < 0.9  # other gold in the half that is scored
        baselines[rows] = generator.random(baselines[rows].shape) < 0.9
        after = held_out(replace(hits, heads=heads, baselines=baselines))
        assert after.heads[kept] == before.heads[kept] and after.baselines[kept] == before.baselines[kept]


def test_held_out_of_heads_without_skill_is_not_flattered():
    ours = [held_out(made_hits(n=60, heads=(6, 12), seed=s)).accuracy for s in range(40)]
    best = [made_hits(n=60, heads=(6, 12), seed=s).accuracy().max() for s in range(40)]
    assert np.mean(best) > 0.6  # what choosing and scoring on the same arcs would say
    assert abs(np.mean(ours) - 0.5) < 3 * 0.5 / np.sqrt(40 * 60)  # three standard errors


def test_halves_each_scored_with_the_others_choice_by_hand():
    second = np.array([False] * 4 + [True] * 4)
    heads = np.zeros((8, 1, 2), dtype=bool)
    heads[:3, 0, 0] = True  # the first half likes head 1 …
    heads[4:6, 0, 1] = True  # … the second head 2
    heads[4, 0, 0] = heads[3, 0, 1] = True
    baselines = np.zeros((8, 2), dtype=bool)
    baselines[[0, 4], 0] = baselines[[1, 2, 5], 1] = True
    result = held_out(Hits(heads, baselines, ("x", "y"), np.arange(8), np.arange(8), second))
    assert result.heads == ((0, 0), (0, 1)) and result.baselines == ("y", "x")
    assert result.accuracy == (1 + 1) / 8  # head 1 in the second half: one; head 2 in the first: one
    assert result.baseline == (1 + 1) / 8
    assert result.gain == 0 and result.interval is None


def test_of_equal_heads_the_first_is_chosen_and_both_are_ties():
    hits = made_hits()
    same = replace(hits, heads=np.repeat(hits.heads[:, :1, :1], 3, axis=2))
    assert held_out(same).heads == ((0, 0), (0, 0))
    assert head_intervals(same).ties == ((0, 0), (0, 1), (0, 2))


def test_a_clearly_better_head_has_no_ties():
    hits = made_hits()
    heads = hits.heads.copy()
    heads[:, 1, 1] = True
    assert head_intervals(replace(hits, heads=heads)).ties == ((1, 1),)


def test_one_half_alone_gives_no_held_out_score():
    hits = made_hits()
    assert held_out(replace(hits, second_half=np.zeros(hits.n, dtype=bool))) is None
