"""Gender on a balanced set, worked out by hand: made heads whose habits are known, on real sentences of the set."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from analysis.evidence import noun_pairs
from analysis.evidence.arrows import Arrows, Choices
from analysis.evidence.coreference import left_out, score_coreference
from analysis.evidence.corpora.corpus import read_content
from analysis.evidence.gender import score_gender
from analysis.evidence.noun_pairs import Share
from analysis.evidence.report import report
from analysis.evidence.scoring import Conditions, Run
from analysis.sentences.gender import CHINESE, ENGLISH, sentences
from model.head_id import HeadId

MATCHES, FIRST, MAN, OTHER = range(4)  # the four heads of `made`


def made(lines, *, heads=4, wrong=(), unclear=(), unseen=()):
    """A run of one layer over lines: a head that matches genders, one for the first noun, one for the man, one wrong.

    `wrong`, `unclear`, `unseen`: ids of sentences that the first head gets wrong, whose pieces are shared, or whose
    second noun can't be seen.
    """
    corpus = read_content("made.jsonl", "\n".join(json.dumps(line) for line in lines).encode())
    assert not corpus.problems
    picks, asked, seen = [], [], []
    for number, passage in enumerate(corpus.passages):
        right = passage.candidates.index(passage.antecedents[0])
        man = passage.cell.order
        matching = 1 - right if passage.id in wrong else right
        picks += [[matching, 0, man, 1 - right][:heads], [0] * heads]  # from the pronoun, and from one other word
        asked += [number, number]
        seen += [[True, passage.id not in unseen]] * 2
    rows = np.array(picks, dtype=np.int16)[:, None]  # (Q, 1, h)
    shared = np.array([passage.id in unclear for passage in corpus.passages], dtype=bool)
    choices = Choices(np.array(asked), {"all": rows, "noun": rows}, np.array(seen), rows[:, 0, 0], shared)
    arrows = Arrows(np.zeros(1, int), np.empty((0, 1, heads), np.int16), (), np.empty(0, bool))
    passages = corpus.passages
    return Run("m", "M", None, True, 1, heads, Conditions(), "apart", (), passages, arrows, choices, ()), corpus


@pytest.fixture(scope="module")
def lines():
    return sentences(ENGLISH)


@pytest.fixture(scope="module")
def score(lines):
    run, _corpus = made(lines)
    (found,) = score_gender(run)
    return found


def test_habits_that_are_no_matching_get_exactly_half(score):
    assert (score.n, score.n_unclear, score.n_incomplete) == (12 * 9 * 4, 0, 0)
    assert score.accuracy.tolist() == [[1.0, 0.5, 0.5, 0.0]]
    assert score.mean_of_heads == 0.5 and score.mean_map == 1.0
    assert score.hits.baseline_accuracy().tolist() == [0.5]
    assert len(score.pairs) == 12 and len(score.rarer) == 4 and len(score.templates) == 9
    assert (score.by_pair[:, 0, FIRST] == 0.5).all() and (score.by_template[:, 0, MAN] == 0.5).all()


def test_swapping_nouns_and_pronouns_tells_habits_apart_that_get_half(score):
    # of two sentences with swapped nouns; of two with the other pronoun
    assert score.follows_noun.tolist() == [[1.0, 0.0, 1.0, 1.0]]
    assert score.follows_pronoun.tolist() == [[1.0, 0.0, 0.0, 1.0]]


def test_the_query_control_asks_the_other_words(score):
    np.testing.assert_allclose(score.query_control, 0.5)  # they always pick the first noun


def test_the_matching_head_is_chosen_on_other_nouns_and_sure_of_its_interval(score):
    assert score.chosen.heads == (((0, MATCHES), 1.0),)
    assert score.chosen.other_nouns == Share(432, 12, 1.0, (1.0, 1.0))
    assert score.chosen.new_templates == Share(432, 12, 1.0, (1.0, 1.0))


def test_four_pairs_of_nouns_give_a_share_without_an_interval(score, lines):
    assert score.chosen.rarer_nouns == Share(144, 4, 1.0, None)
    names = list(dict.fromkeys(line["pair"] for line in lines if not line["rarer"]))
    for n_pairs, has_interval in ((9, False), (10, True)):
        (found,) = score_gender(made([line for line in lines if line["pair"] in names[:n_pairs]])[0])
        assert found.chosen.other_nouns.n_pairs == n_pairs
        assert (found.chosen.new_templates.interval is not None) is has_interval


def test_nothing_is_chosen_on_what_it_is_scored_on(lines):
    """A head for each pair, right in that pair's sentences alone: in-sample the best looks good, held out none does."""
    names = [pair.name for pair in ENGLISH.pairs if not pair.rarer]
    run, _corpus = made(lines, heads=1)
    rows = np.zeros((len(run.choices.passage), 1, len(names)), dtype=np.int16)
    for i, number in enumerate(run.choices.passage):
        passage = run.passages[number]
        right = passage.candidates.index(passage.antecedents[0])
        for head, name in enumerate(names):
            rows[i, 0, head] = right if passage.cell.pair == name else 1 - right
    run = replace(run, n_heads=len(names), choices=replace(run.choices, picks={"all": rows, "noun": rows}))
    (found,) = score_gender(run)
    assert found.accuracy.max() == pytest.approx(1 / 12)
    assert found.chosen.other_nouns.accuracy == 0.0 == found.chosen.new_templates.accuracy
    assert sum(share for _head, share in found.chosen.heads) == pytest.approx(1)


def test_a_head_that_knows_one_part_of_the_templates_fails_in_the_other(lines):
    part = {template.name: template.part for template in ENGLISH.templates}
    wrong = {line["id"] for line in lines if part[line["template"]] == 2}
    run, _corpus = made(lines, wrong=wrong)
    (found,) = score_gender(run)
    # Chosen on the first part: the head that is right there; on the second: the best that is left, for the first noun.
    assert {str(HeadId(*head)) for head, _ in found.chosen.heads} == {"1-1", "1-2"}
    n_first, n_second = 12 * 4 * 4, 12 * 5 * 4  # the second part has five templates
    n = n_first + n_second
    assert found.chosen.other_nouns.accuracy == pytest.approx((n_first + n_second / 2) / n)
    assert found.chosen.new_templates.accuracy == pytest.approx(n_first / 2 / n)
    assert found.accuracy[0, MATCHES] == pytest.approx(n_first / n)


def test_intervals_draw_whole_pairs(lines):
    """One pair of twelve all wrong: drawn k times of 12, the share is 1 − k / 12."""
    wrong = {line["id"] for line in lines if line["pair"] == "king/queen"}
    (found,) = score_gender(made(lines, wrong=wrong)[0])
    low, high = found.chosen.new_templates.interval
    assert found.chosen.new_templates.accuracy == pytest.approx(11 / 12)
    assert low == pytest.approx(9 / 12) and high == pytest.approx(1)
    assert found.by_pair[0, 0, MATCHES] == 0.0
    np.testing.assert_allclose(found.intervals.accuracy[:, 0, MATCHES], (9 / 12, 1))
    np.testing.assert_allclose(found.intervals.gain[:, 0, MATCHES], (9 / 12 - 0.5, 0.5))


def test_a_cell_with_a_shared_piece_is_left_out_whole_and_counted():
    lines = sentences(CHINESE)
    unclear = {line["id"] for line in lines if line["template"] == "because" and line["words"][line["pronoun"]] == "他"}
    run, corpus = made(lines, unclear=unclear)
    (found,) = score_gender(run)
    assert (found.n, found.n_unclear) == (12 * 8 * 4, 16 * 4)
    assert "because" not in found.templates
    assert found.accuracy.tolist() == [[1.0, 0.5, 0.5, 0.0]]  # half stays half
    assert report(run, corpus)["skipped"]["unclear"]["passages"] == 64


def test_what_is_missing_or_hidden_takes_its_cell_with_it(lines):
    gone = lines[0]["id"]
    hidden = next(line["id"] for line in lines if line["template"] == "ask")
    run, _corpus = made([line for line in lines if line["id"] != gone], unseen={hidden})
    (found,) = score_gender(run)
    assert (found.n, found.n_incomplete) == (432 - 8, 3 + 4)
    assert found.accuracy[0, FIRST] == 0.5


def test_one_pair_or_one_part_gives_no_choice_and_no_crash(lines):
    few = [line for line in lines if line["pair"] == "king/queen"]
    (found,) = score_gender(made(few)[0])
    assert found.chosen is None and found.intervals is None and found.accuracy[0, MATCHES] == 1.0
    (found,) = score_gender(made([line for line in lines if line["part"] == 1])[0])
    assert found.chosen is None
    assert score_gender(made([line for line in lines if line["rarer"]])[0]) == ()


def test_many_pairs_are_divided_at_random_and_the_same_way_each_time():
    one, again = noun_pairs._halves(20, 3), noun_pairs._halves(20, 3)
    assert one.shape == (noun_pairs.MOST_DIVISIONS, 20) and (one.sum(axis=1) == 10).all()
    np.testing.assert_array_equal(one, again)
    every = noun_pairs._halves(12, 0)
    assert len(every) == 924 == len(np.unique(every, axis=0))


def test_candidates_in_another_order_change_nothing(lines, score):
    turned = [
        line | {name: line[name][::-1] for name in ("candidates", "candidate_spans")} if i % 3 else line
        for i, line in enumerate(lines)
    ]
    corpus = read_content("made.jsonl", "\n".join(json.dumps(line) for line in turned).encode())
    run, _corpus = made(lines)
    rows = run.choices.picks["all"].copy()
    mean = run.choices.mean.copy()
    for i, number in enumerate(run.choices.passage):
        if number % 3:
            rows[i] = 1 - rows[i]
            mean[i] = 1 - mean[i]
    choices = replace(run.choices, picks={"all": rows, "noun": rows}, mean=mean)
    (found,) = score_gender(replace(run, passages=corpus.passages, choices=choices))
    np.testing.assert_array_equal(found.accuracy, score.accuracy)
    np.testing.assert_array_equal(found.follows_noun, score.follows_noun)
    assert found.mean_map == score.mean_map


def test_the_sets_are_no_part_of_coreference(lines):
    run, _corpus = made(lines)
    assert score_coreference(run) == () and left_out(run) == 0


def test_the_report_has_the_sets_and_only_where_there_are_some(lines):
    run, corpus = made(lines)
    result = report(run, corpus)
    (each,) = result["gender"]
    assert each["held_out"]["heads"] == ["1-1"] and each["held_out"]["gain"] == 0.5
    assert each["held_out"]["other_nouns"] == {
        "n": 432,
        "pairs": 12,
        "accuracy": 1.0,
        "interval": [1.0, 1.0],
    }
    assert each["held_out"]["rarer_nouns"] == {"n": 144, "pairs": 4, "accuracy": 1.0, "interval": None}
    assert Counter(pair["rarer"] for pair in each["by_pair"]) == {False: 12, True: 4}
    assert result["provenance"]["unit"] == {"gender": "pair of nouns"}
    assert json.loads(json.dumps(result)) == result
