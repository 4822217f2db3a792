"""Head numbers: worked by hand, under masks, and for sentences with little or nothing to count."""

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from analysis.maps.metrics import METRICS, head_metrics, metric_range, row_metrics, telling_metrics
from analysis.maps.patterns import RULES, find_patterns, metrics_table
from analysis.maps.readings import without_first
from analysis.words.units import by_pieces, by_words, drop_special
from tests.analysis.made import random_maps, tokens_of, trace_of
from tests.analysis.words.test_units import traces
from tests.models import load

#         [CLS]  a    b    .   [SEP]
MAP = [
    [1.00, 0.00, 0.00, 0.00, 0.00],
    [0.50, 0.00, 0.25, 0.25, 0.00],  # a
    [0.00, 0.75, 0.00, 0.25, 0.00],  # b
    [0.00, 0.50, 0.25, 0.00, 0.25],  # .
    [0.00, 0.00, 0.00, 0.00, 1.00],
]
TOKENS = tokens_of("[CLS]", "a", "b", ".", "[SEP]")
LN2, LN4 = np.log(2), np.log(4)
BY_HAND = {
    "entropy": (1.5 * LN2 + (LN4 - 0.75 * np.log(3)) + 1.5 * LN2) / 3,
    "normalised_entropy": (1.5 * LN2 + (LN4 - 0.75 * np.log(3)) + 1.5 * LN2) / 3 / np.log(5),
    # Wn: a → (b .5, . .5); b → (a .75, . .25); . → (a 2/3, b 1/3)
    "content_entropy": (LN2 + (LN4 - 0.75 * np.log(3)) + (np.log(3) - 2 / 3 * LN2)) / 3,
    "mean_distance": (1.5 + 1 + (2 * 2 / 3 + 1 / 3)) / 3,
    "previous_mass": (0.75 + 0.25) / 2,  # a has only [CLS] before it
    "next_mass": (0.25 + 0.25) / 2,  # the full stop has only [SEP] after it
    "self_mass": 0,
    "local_mass": (0.5 + 1 + 0.75) / 3,
    "previous_is_top": 1 / 2,  # b → a; the full stop's top is a
    "next_is_top": 1 / 2,  # a: b and "." tie, the earlier counts; b's top is a
    "start_mass": 0.5 / 3,
    "separator_mass": 0.25 / 3,
    "first_mass": 0.5 / 3,
    "punctuation_mass": 0.5 / 3,
    "special_mass": 0.75 / 3,
    "content_mass": 2.25 / 3,
    "confidence": (0.25 + 0.75 + 0.5) / 3,
    "content_confidence": (0.5 + 0.75 + 2 / 3) / 3,
}


@pytest.mark.parametrize("name", METRICS)
def test_by_hand(name):
    assert head_metrics(by_pieces(trace_of(MAP, TOKENS)), [name])[name][0, 0] == pytest.approx(BY_HAND[name], abs=1e-6)


def test_entropy_is_scipys():
    maps = random_maps(np.random.default_rng(0), (2, 3), np.ones((5, 5)))
    rows = row_metrics(by_pieces(trace_of(maps, TOKENS)), ["entropy"])["entropy"]
    np.testing.assert_allclose(rows[..., 1:4], stats.entropy(maps.astype(float), axis=-1)[..., 1:4], atol=1e-5)
    assert np.isnan(rows[..., [0, 4]]).all()  # special queries don't count


def test_causal_rows_are_measured_by_what_they_may_see():
    causal = np.tril(np.ones((5, 5), bool))
    even = causal / causal.sum(-1, keepdims=True)
    values = head_metrics(by_pieces(trace_of(even, TOKENS, causal)))
    assert values["normalised_entropy"][0, 0] == pytest.approx(1, abs=1e-6)  # even over visible keys, not over all five
    assert values["previous_mass"][0, 0] == pytest.approx((1 / 3 + 1 / 4) / 2)
    assert np.isnan(values["next_mass"][0, 0])  # no query may look at its next: nothing to average
    assert values["separator_mass"][0, 0] == 0


def test_a_row_without_a_choice_does_not_count():
    causal = np.tril(np.ones((3, 3), bool))
    tokens = tokens_of("a", "b", "c")  # no special token: the first word can only look at itself
    maps = [[1, 0, 0], [0.75, 0.25, 0], [0, 0.5, 0.5]]
    values = head_metrics(by_pieces(trace_of(maps, tokens, causal)))
    assert values["self_mass"][0, 0] == pytest.approx((0.25 + 0.5) / 2)
    assert values["first_mass"][0, 0] == pytest.approx(0.75 / 2)
    only_self = by_pieces(trace_of(np.eye(3), tokens, np.eye(3)))
    assert all(np.isnan(value).all() for value in head_metrics(only_self).values())


@pytest.mark.parametrize("mask", ["causal", "bidirectional"])
def test_padding_changes_no_number(minilm, mask):
    plain = head_metrics(by_words(minilm.trace("He said, she sang.", mask)))
    padded = head_metrics(by_words(minilm.trace("He said, she sang.", f"{mask}+padding:16")))
    for name, value in plain.items():
        np.testing.assert_allclose(padded[name], value, atol=2e-4, err_msg=name)  # float32 of another matrix size


def test_empty_rows_don_t_count():
    allowed = np.ones((5, 5), bool)
    allowed[2] = False
    maps = np.array(MAP)
    maps[2] = 0
    values = row_metrics(by_pieces(trace_of(maps, TOKENS, allowed)))
    for name, rows in values.items():
        assert np.isnan(rows[0, 0, 2]), name
    assert values["entropy"][0, 0, 1] == pytest.approx(1.5 * LN2)


@pytest.mark.parametrize("pieces", [("[CLS]", "[SEP]"), ("[CLS]", "[SEP]", "[SEP]"), ("a",), ("[PAD]",)])
def test_nothing_to_count_gives_nan_without_a_warning(pieces, recwarn):
    n_tokens = len(pieces)
    units = by_pieces(trace_of(np.full((2, 3, n_tokens, n_tokens), 1 / n_tokens), tokens_of(*pieces)))
    assert all(value.shape == (2, 3) and np.isnan(value).all() for value in head_metrics(units).values())
    assert find_patterns(units) == [[()] * 3] * 2
    assert len(metrics_table(units)) == 6
    assert not recwarn.list


def test_one_word_has_no_neighbours():
    values = head_metrics(by_pieces(trace_of(np.full((3, 3), 1 / 3), tokens_of("[CLS]", "a", "[SEP]"))))
    undefined = {name for name, value in values.items() if np.isnan(value).all()}
    assert undefined == {
        "previous_mass",
        "next_mass",
        "previous_is_top",
        "next_is_top",
        "mean_distance",
        "content_entropy",
        "content_confidence",
    }
    assert values["self_mass"][0, 0] == pytest.approx(1 / 3)


@given(traces())
def test_any_trace_stays_within_the_stated_ranges(trace):
    for units in (by_pieces(trace), by_words(trace)):
        values = head_metrics(units)
        for name, value in values.items():
            least, most = metric_range(name, len(units.units))
            known = value[~np.isnan(value)]
            assert (known >= least - 1e-6).all() and (known <= most + 1e-5).all(), name
        np.testing.assert_allclose(
            values["special_mass"] + values["content_mass"], 1 + 0 * values["special_mass"], atol=1e-5
        )


def test_dropped_special_tokens_are_refused():
    with pytest.raises(ValueError, match="before they are dropped"):
        head_metrics(drop_special(by_pieces(trace_of(MAP, TOKENS))))


def chain(offset, weight, n_tokens=8):
    """A head that puts `weight` on the neighbour at `offset` and the rest on [CLS]."""
    maps = np.zeros((n_tokens, n_tokens))
    for i in range(n_tokens):
        if 1 <= i + offset < n_tokens - 1:
            maps[i, i + offset] = weight
        maps[i, 0] += 1 - maps[i].sum()
    return maps


def test_patterns_come_from_the_thresholds_and_carry_their_numbers():
    tokens = tokens_of("[CLS]", *"abcdef", "[SEP]")
    maps = np.stack([chain(-1, 0.9), chain(1, 0.3), np.full((8, 8), 1 / 8), chain(0, 0.55)])
    previous, weak_next, broad, none = find_patterns(by_pieces(trace_of(maps, tokens)))[0]
    assert [pattern.label for pattern in previous] == ["previous"]
    assert [(rule.source[:5], value, n) for rule, value, n in previous[0].evidence] == [
        ("Voita", 1.0, 5),
        ("Clark", pytest.approx(0.9), 5),
    ]
    assert [pattern.label for pattern in weak_next] == ["next", "sink"]  # two labels; .3 is too little for Clark's rule
    assert len(weak_next[0].evidence) == 1
    assert weak_next[1].evidence[0][1] == pytest.approx((5 * 0.7 + 1) / 6)
    assert [pattern.label for pattern in broad] == ["broad"]
    assert none == ()  # .55 on itself, .45 on [CLS]: no clear pattern
    assert {rule.label for rule in RULES} == {"previous", "next", "broad", "sink"}


def test_a_head_that_rests_on_itself_is_no_previous_word_head():
    tokens = tokens_of("[CLS]", *"abcdef", "[SEP]")
    maps = 0.95 * np.eye(8) + 0.05 * chain(-1, 1)
    assert find_patterns(by_pieces(trace_of(maps, tokens)))[0][0] == ()


def test_metrics_of_what_a_text_does_not_have_are_not_told():
    whole, plain = by_pieces(trace_of(MAP, TOKENS)), by_pieces(trace_of(np.full((3, 3), 1 / 3), tokens_of(*"abc")))
    assert telling_metrics(whole) == list(METRICS)
    absent = {"start_mass", "separator_mass", "punctuation_mass", "special_mass", "content_mass"}
    assert set(METRICS).difference(telling_metrics(plain)) == absent
    causal = by_pieces(trace_of(np.eye(5), TOKENS, np.tri(5)))
    assert set(METRICS).difference(telling_metrics(causal)) == {"next_mass", "next_is_top"}
    rest = without_first(trace_of(MAP, TOKENS), rescale=True).trace
    assert set(METRICS).difference(telling_metrics(rest)) == {"first_mass"}


def test_without_the_first_token_metrics_are_about_the_rest():
    maps = [[1.0, 0, 0, 0], [0.8, 0.2, 0, 0], [0.5, 0.1, 0.4, 0], [0.5, 0.1, 0.3, 0.1]]
    values = head_metrics(without_first(trace_of(maps, tokens_of(*"abcd"), np.tri(4)), rescale=True).trace)
    assert values["previous_mass"][0, 0] == pytest.approx((0.2 + 0.6) / 2)  # c → b and d → c; b sees only itself
    assert values["self_mass"][0, 0] == pytest.approx((0.8 + 0.2) / 2)


def test_a_head_that_rests_on_the_first_token():
    sink = np.tri(6) * 0.0
    sink[:, 0] = 1
    (found,) = find_patterns(by_pieces(trace_of(sink, tokens_of(*"abcdef"), np.tri(6))))[0][0]
    assert (found.label, found.title, found.evidence[0][1:]) == ("sink", "rests on the first token", (1.0, 5))
    sink[:, 0], sink[0, 0] = 0.5, 1
    sink[1:] += 0.5 * np.eye(6)[1:]
    assert find_patterns(by_pieces(trace_of(sink, tokens_of(*"abcdef"), np.tri(6))))[0][0] == ()


def test_the_table_has_a_row_for_each_head(minilm):
    table = metrics_table(by_words(minilm.trace("The cat sat on the mat.")))
    assert table.shape == (72, len(METRICS) + 4)
    assert list(table.columns[:3]) == ["name", "layer", "head"]
    assert table.iloc[13][["name", "layer", "head"]].tolist() == ["2-2", 2, 2]
    assert table.set_index("name").loc["1-3", "patterns"] == ["previous word"]
    assert table.set_index("name").loc["1-3", "previous_mass"] > 0.99


def test_a_model_without_special_tokens():
    values = head_metrics(by_words(load("toy:d_model=16,heads=2,layers=2").trace("one two three")))
    assert (values["special_mass"] == 0).all()
    assert (values["start_mass"] == 0).all()
    assert (values["first_mass"] > 0).all()
