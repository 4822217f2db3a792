"""Maps from one text at another, and masks per layer: between units, in metrics, readings, comparison and export."""

import io
from dataclasses import replace

import numpy as np
import pytest

from analysis import (
    METRICS,
    by_pieces,
    by_words,
    compare,
    find_patterns,
    head_metrics,
    head_similarity,
    metrics_table,
    provenance,
    read,
    rollout,
    row_metrics,
    tidy,
)
from analysis.maps.export import npz_bytes
from model import HeadworkError
from tests.analysis.made import random_maps, tokens_of, trace_of

QUERIES = tokens_of("[CLS]", "the", "cat", "##s", "[SEP]")
KEYS = tokens_of("[CLS]", "die", "Katz", "##en", "schla", "##fen", "[SEP]", "[PAD]")
N_Q, N_K = len(QUERIES.ids), len(KEYS.ids)
PLACES = {name for name, metric in METRICS.items() if metric.by_place}


@pytest.fixture(scope="module")
def cross():
    allowed = np.ones((N_Q, N_K), dtype=bool)
    allowed[:, -1] = False
    rng = np.random.default_rng(0)
    maps = rng.gamma(0.3, size=(2, 3, N_Q, N_K)) * allowed
    maps = (maps / maps.sum(-1, keepdims=True)).astype(np.float32)
    square = trace_of(np.zeros((2, 3, N_Q, N_Q)), QUERIES)
    return replace(square, attention=maps, allowed=allowed, context=KEYS)


def test_rows_are_the_queries_words_and_columns_the_keys(cross):
    words = by_words(cross)
    assert words.labels == ("[CLS]", "the", "cats", "[SEP]")
    assert words.keys == ("[CLS]", "die", "Katzen", "schlafen", "[SEP]", "[PAD]")
    expected = np.stack(
        [cross.attention[..., columns].sum(-1) for columns in ([0], [1], [2, 3], [4, 5], [6], [7])], axis=-1
    )
    expected = np.stack([expected[:, :, rows].mean(2) for rows in ([0], [1], [2, 3], [4])], axis=2)
    np.testing.assert_allclose(words.attention, expected, atol=1e-6)
    np.testing.assert_allclose(words.attention.sum(-1), 1, atol=1e-6)
    assert words.allowed.shape == (4, 6) and not words.allowed[:, -1].any()
    pieces = by_pieces(cross)
    assert pieces.attention is cross.attention and len(pieces.key_units) == N_K


def test_special_tokens_leave_rows_and_columns_each_of_their_own_text(cross):
    reading = read(cross, level="words", hide_special=True)
    assert (reading.trace.labels, reading.trace.keys) == (("the", "cats"), ("die", "Katzen", "schlafen"))
    words = by_words(cross)
    np.testing.assert_allclose(reading.removed, words.attention[:, :, 1:3][..., [0, 4, 5]].sum(-1), atol=1e-6)
    assert reading.removed_labels == ("[CLS]", "[SEP]", "[PAD]")
    norms = np.full((2, 3, N_K), 2.0)
    np.testing.assert_allclose(read(cross, norms=norms).trace.attention, 2 * cross.attention)
    with pytest.raises(HeadworkError, match=f"{N_Q} tokens.*{N_K}"):
        read(cross, norms=np.ones((2, 3, N_Q)))


def test_metrics_of_places_are_left_out_and_the_others_hold(cross):
    pieces = by_pieces(cross)
    found = row_metrics(pieces)
    assert found.keys() == METRICS.keys() - PLACES and "mean_distance" in PLACES
    np.testing.assert_allclose(found["special_mass"][0, 0, 1], cross.attention[0, 0, 1, [0, 6]].sum(), atol=1e-6)
    content = cross.attention[0, 0, 1, 1:6] / cross.attention[0, 0, 1, 1:6].sum()
    np.testing.assert_allclose(found["content_entropy"][0, 0, 1], -(content * np.log(content)).sum(), atol=1e-5)
    with pytest.raises(HeadworkError, match="another text"):
        head_metrics(pieces, ["previous_mass"])
    labels = {pattern.label for layer in find_patterns(pieces) for head in layer for pattern in head}
    assert labels <= {"broad", "sink"}
    assert set(metrics_table(pieces)) == {"name", "layer", "head", "patterns"} | found.keys()


def test_two_maps_are_compared_where_rows_and_columns_match(cross):
    a = by_pieces(cross)
    found = compare(a, a, (0, 0), (1, 2))
    assert found.labels_a == QUERIES.labels and found.keys_b == KEYS.labels[:-1]  # without [PAD]
    np.testing.assert_allclose(found.difference, (cross.attention[1, 2] - cross.attention[0, 0])[:, :-1])
    with pytest.raises(HeadworkError, match="A has 7 tokens and B has 5"):
        compare(a, by_pieces(trace_of(np.zeros((2, 3, N_Q, N_Q)), QUERIES)), (0, 0), (0, 0))
    assert head_similarity(a).bits.shape == (6, 6)


def test_tables_and_files_name_both_texts(cross):
    table = tidy(by_pieces(cross), [(1, 2)])
    assert len(table) == N_Q * N_K
    cell = table[(table["query"] == 2) & (table["key"] == 5)].iloc[0]
    assert (cell["query_token"], cell["key_token"]) == ("cat", "##fen") and cell["allowed"]
    assert cell["weight"] == cross.attention[1, 2, 2, 5]
    source = provenance(cross)
    assert (source["text"], source["context"]) == (QUERIES.text, KEYS.text)
    arrays = np.load(io.BytesIO(npz_bytes(cross, source)))
    assert arrays["queries"].tolist() == list(QUERIES.labels) and arrays["keys"].tolist() == list(KEYS.labels)
    assert "tokens" not in arrays and arrays["key_is_special"].tolist() == list(KEYS.is_special)
    np.testing.assert_array_equal(arrays["attention"], cross.attention)


def test_rollout_says_why_it_cant(cross):
    with pytest.raises(HeadworkError, match=f"from {N_Q} tokens at {N_K} of another text"):
        rollout(cross.attention)


@pytest.fixture(scope="module")
def per_layer():
    """The first layer causal, the second not."""
    masks = np.stack([np.tril(np.ones((N_Q, N_Q), dtype=bool)), np.ones((N_Q, N_Q), dtype=bool)])
    rng = np.random.default_rng(1)
    maps = np.stack([random_maps(rng, (3,), allowed) for allowed in masks])
    return replace(trace_of(maps, QUERIES), allowed=masks), [
        replace(trace_of(maps[layer], QUERIES), allowed=masks[layer]) for layer in range(2)
    ]


def test_each_layer_is_read_under_its_own_mask(per_layer):
    both, alone = per_layer
    words = by_words(both)
    assert words.allowed.shape == (2, 4, 4)
    for layer, single in enumerate(by_words(each) for each in alone):
        np.testing.assert_allclose(words.attention[layer], single.attention[0], atol=1e-6)
        np.testing.assert_array_equal(words.allowed_in(layer), single.allowed)
        rows, rows_alone = row_metrics(words), row_metrics(single)
        for name in METRICS:
            np.testing.assert_array_equal(rows[name][layer], rows_alone[name][0])
        table, table_alone = tidy(words, [(layer, 1)]), tidy(single, [(0, 1)])
        assert table["allowed"].tolist() == table_alone["allowed"].tolist()
        np.testing.assert_array_equal(compare(words, words, (layer, 0), (layer, 1)).allowed_a, single.allowed)
