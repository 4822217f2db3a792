"""Bootstrap by groups: against the exact answer, for coverage, and that groups stay whole."""

import numpy as np
import pytest

from analysis.evidence.intervals import bootstrap, group_sums, groups_of, halves, interval, percentile_interval


def test_sums_by_group_with_their_counts():
    values = np.array([[1, 0], [1, 1], [0, 1]])
    assert group_sums(values, np.array([7, 2, 7])).tolist() == [[1, 1, 1], [1, 1, 2]]


def test_the_same_seed_gives_the_same_draws_however_many_are_made_at_once(monkeypatch):
    sums = group_sums(np.random.default_rng(0).random((50, 2)), np.arange(50) // 2)
    whole = bootstrap(sums, draws=200, seed=3)
    monkeypatch.setattr("analysis.evidence.intervals._CELLS", 25 * 30)
    np.testing.assert_allclose(bootstrap(sums, draws=200, seed=3), whole, rtol=1e-12)  # sums in another order
    assert not np.array_equal(bootstrap(sums, draws=200, seed=4), whole)


def test_the_interval_of_independent_arcs_is_the_binomial_one():
    n, share = 500, 0.7
    sums = group_sums((np.arange(n) < n * share)[:, None], np.arange(n))
    low, high = interval(bootstrap(sums, draws=4000)[:, 0])
    half = 1.96 * np.sqrt(share * (1 - share) / n)
    assert low == pytest.approx(share - half, abs=0.006) and high == pytest.approx(share + half, abs=0.006)


@pytest.mark.parametrize(("spread", "size"), [(0.0, 1), (0.15, 8)])
def test_intervals_cover_the_truth_as_often_as_they_say(spread, size):
    """Groups of arcs with a share of their own. 300 corpora: 95 % ± 3 standard errors, and a little for few groups."""
    generator = np.random.default_rng(1)
    n_groups, truth, covered = 80, 0.6, 0
    group = np.repeat(np.arange(n_groups), size)
    for _ in range(300):
        own = np.clip(generator.normal(truth, spread, n_groups), 0, 1)
        hits = generator.random(n_groups * size) < own[group]
        low, high = interval(bootstrap(group_sums(hits[:, None], group), draws=400)[:, 0])
        covered += low <= truth <= high
    assert 0.90 <= covered / 300 <= 0.985, covered / 300


def test_ignoring_groups_would_cover_too_seldom():
    generator = np.random.default_rng(1)
    group = np.repeat(np.arange(30), 20)
    covered = 0
    for _ in range(200):
        hits = generator.random(600) < np.clip(generator.normal(0.6, 0.2, 30), 0, 1)[group]
        low, high = interval(bootstrap(group_sums(hits[:, None], np.arange(600)), draws=300)[:, 0])
        covered += low <= 0.6 <= high
    assert covered / 200 < 0.85


def test_pairing_makes_a_gain_surer_than_its_parts():
    generator = np.random.default_rng(0)
    easy = generator.random(400) < 0.5
    ours, theirs = easy | (generator.random(400) < 0.1), easy
    values = np.stack([ours, theirs, ours.astype(int) - theirs], axis=1)
    low, high = percentile_interval(bootstrap(group_sums(values, np.arange(400))))
    assert high[2] - low[2] < 0.7 * (high[0] - low[0])


def test_documents_are_groups_where_enough_are_known():
    documents = [("f", f"d{i % 10}") for i in range(40)] + [None, None]
    groups, unit = groups_of(documents)
    assert unit == "document" and len(set(groups[:40])) == 10 and len(set(groups)) == 12
    groups, unit = groups_of(documents[:9])
    assert unit == "sentence" and len(set(groups)) == 9
    groups, _ = groups_of([("f", f"d{i}") for i in range(10)] + [("g", "d0")])
    assert groups[0] != groups[10]


@pytest.mark.parametrize("seed", range(6))
def test_halves_keep_groups_whole_and_are_about_equal(seed):
    groups = np.repeat(np.arange(20), np.random.default_rng(seed).integers(1, 60, 20))
    second = halves(groups, seed)
    assert all(len(set(second[groups == g])) == 1 for g in range(20))
    assert abs(second.mean() - 0.5) < 0.2
    np.testing.assert_array_equal(second, halves(groups, seed))
    assert not np.array_equal(second, halves(groups, seed + 1))
