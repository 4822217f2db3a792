"""Maps on their way to the browser: what arrives is what was sent, as closely as stated; masked stays masked."""

import base64
import json
import zlib

import numpy as np
import plotly.colors
import pytest

from tests.models import load
from viz.encoding import coarsen, colours, curve, encode
from viz.overview import MAX_BYTES, MAX_CELLS, Metric, overview_maps, overview_view, parse_head
from viz.token_strip import MAX_EXACT, LayerMaps, StripChoice, StripLook, reading_direction, strip_maps, strip_view

SENTENCE = "The teacher praised the students because they worked hard, "


def unpacked(sent):
    """What the browser makes of the message: weights, with NaN where a cell is masked."""
    data = zlib.decompress(base64.b64decode(sent["bytes"]))
    planes = np.frombuffer(data, np.uint8)
    codes = planes if sent["bits"] == 8 else planes[: planes.size // 2] * 256.0 + planes[planes.size // 2 :]
    weights = codes.reshape(sent["shape"]) / sent["top"] * sent["maximum"]
    return np.where(codes.reshape(sent["shape"]) > sent["top"], np.nan, weights)


@pytest.fixture(scope="module")
def minilm():
    return load("minilm")


def traced(model, n_tokens, mask="bidirectional"):
    """A real trace of about so many tokens."""
    return model.trace(SENTENCE * (n_tokens // 10 + 1), mask)


def message_of(n_layers, n_heads):
    return overview_maps(np.ones((n_layers, n_heads, 1, 1)), np.ones((1, 1), bool))


def viewed(labels, chosen, *, is_special=(), **words):
    n = len(labels)
    maps = LayerMaps(np.zeros((1, n, n)), np.ones((n, n), bool), labels, 0, is_special)
    return strip_view(maps, chosen, StripLook(), maps="x", **words)


@pytest.mark.parametrize("mask", ["bidirectional", "causal", "padding:16", "window:1"])
def test_a_layer_arrives_so_exactly_that_two_decimals_are_the_same(minilm, mask):
    trace = minilm.trace("The cat sat, because it was tired.", mask)
    for attention in trace.attention:
        arrived = unpacked(strip_maps(LayerMaps(attention, trace.allowed, trace.tokens, 0)))
        assert np.array_equal(np.isnan(arrived), np.broadcast_to(~trace.allowed, arrived.shape))
        np.testing.assert_allclose(
            arrived[:, trace.allowed], attention[:, trace.allowed], atol=0.5 / 65534 + 1e-7, rtol=0
        )


@pytest.mark.parametrize("bits", [8, 16])
def test_codes_of_a_small_map_worked_out_by_hand(bits):
    weights = np.array([[[1.0, 0.0], [0.25, 0.75]]])
    allowed = np.array([[True, False], [True, True]])
    expected = {8: [[254, 255], [64, 190]], 16: [[65534, 65535], [16384, 49150]]}  # 63.5 and 190.5 round to even
    assert encode(weights, allowed, bits=bits)[0].tolist() == expected[bits]


def test_weights_above_the_maximum_are_shown_as_the_maximum_and_nan_as_masked():
    weights = np.array([[2.0, 5.0], [np.nan, 0.0]])
    assert encode(weights, np.ones((2, 2), bool), bits=8, maximum=4.0).tolist() == [[127, 254], [255, 0]]
    with pytest.raises(ValueError, match="above 0"):
        encode(weights, np.ones((2, 2), bool), bits=8, maximum=0.0)


def test_a_coarse_cell_is_the_largest_weight_of_its_block_and_masked_only_if_all_of_it_is():
    codes = np.array([[[1, 2, 255], [3, 4, 255], [255, 0, 255]]], dtype=np.uint8)
    assert coarsen(codes, (2, 2)).tolist() == [[[4, 255], [0, 255]]]
    assert coarsen(codes, (1, 1)) is codes


def test_equal_maps_have_equal_ids_and_others_do_not(minilm):
    trace = minilm.trace("The cat sat.")
    layers = [LayerMaps(maps, trace.allowed, trace.tokens, 0) for maps in trace.attention]
    first, again, other = (strip_maps(layers[i])["id"] for i in (0, 0, 1))
    assert first == again != other


def test_colours_are_those_of_the_plotly_scale_and_curves_pull_small_weights_apart():
    table = np.frombuffer(base64.b64decode(colours("Cividis")), np.uint8).reshape(256, 3)
    for place, at in ((0, 0.0), (128, 128 / 255), (255, 1.0)):
        expected = plotly.colors.unlabel_rgb(plotly.colors.sample_colorscale("Cividis", [at])[0])
        np.testing.assert_allclose(table[place], expected, atol=0.51)
    linear, sqrt, log = (np.frombuffer(base64.b64decode(curve(name)), np.uint8) for name in ("linear", "sqrt", "log"))
    assert [linear[0], linear[254], sqrt[254], log[0], log[254]] == [0, 255, 255, 0, 255]
    assert linear[25] == 25 and sqrt[25] == 80 and log[25] == 169  # 0.0984: ×1, √, 1 + log10 / 3; of 255
    assert all(np.all(np.diff(places.astype(int)) >= 0) for places in (linear, sqrt, log))


# -- overview


def test_every_head_arrives_within_one_part_in_255(minilm):
    trace = traced(minilm, 40, "causal")
    sent = overview_maps(trace.attention, trace.allowed)
    arrived = unpacked(sent)
    assert sent["step"] == [1, 1] and arrived.shape == trace.attention.shape
    assert np.isnan(arrived[:, :, ~trace.allowed]).all()
    assert np.abs(arrived - trace.attention)[:, :, trace.allowed].max() <= 1 / 255


def test_144_heads_at_64_tokens_take_less_than_500_kb(minilm):
    trace = minilm.trace(SENTENCE * 7)
    attention = np.concatenate([trace.attention, trace.attention])[:, :, :64, :64]  # as many heads as BERT-base
    sent = overview_maps(attention, trace.allowed[:64, :64])
    assert attention.shape == (12, 12, 64, 64) and sent["step"] == [1, 1]
    assert len(json.dumps(sent)) <= 500_000


def test_maps_that_do_not_compress_are_made_coarser_until_they_fit():
    weights = np.random.default_rng(0).random(
        (24, 16, 64, 64), dtype=np.float32
    )  # noise: the worst case, not a picture
    sent = overview_maps(weights, np.ones((64, 64), bool))
    assert sent["step"] == [3, 3] and len(sent["bytes"]) <= MAX_BYTES


def test_512_tokens_are_coarse_and_say_so(minilm):
    trace = traced(minilm, 511)
    assert trace.n_tokens == 512
    sent = overview_maps(trace.attention, trace.allowed)
    assert (
        sent["step"] == [512 // MAX_CELLS] * 2 and sent["shape"] == [6, 12, 64, 64] and len(sent["bytes"]) <= MAX_BYTES
    )
    blocks = trace.attention.reshape(6, 12, 64, 8, 64, 8).max(axis=(3, 5))
    assert np.abs(unpacked(sent) - blocks).max() <= 1 / 255
    view = overview_view(sent, selected=(3, 1))
    assert view["text"]["coarse"] == "each cell: the largest of 8 × 8 weights"


def test_a_metric_brings_its_range_and_a_head_without_a_number_has_none():
    metric = Metric("distance", np.array([[1.5, np.nan]]), 0.0, 8.0, decimals=1)
    sent = overview_view(message_of(1, 2), selected=None, metric=metric)["metric"]
    assert sent["values"] == [[1.5, None]] and (sent["low"], sent["high"]) == (0.0, 8.0)
    json.dumps(sent, allow_nan=False)
    with pytest.raises(ValueError, match="2 × 2 heads"):
        overview_view(message_of(2, 2), selected=None, metric=metric)


def test_maps_with_other_keys_than_queries_keep_rows_and_columns():
    weights = np.random.default_rng(0).random((1, 2, 3, 130), dtype=np.float32)  # cross-attention: 3 rows, 130 columns
    sent = overview_maps(weights, np.ones((3, 130), bool))
    assert sent["step"] == [1, 3] and sent["shape"] == [1, 2, 3, 44]
    assert np.abs(unpacked(sent)[0, 0, :, 43] - weights[0, 0, :, 129]).max() <= 1 / 255


@pytest.mark.parametrize("name", ["4-2", "1-1", "6-12"])
def test_names_of_heads_are_read_back(name):
    assert str(parse_head(name, 6, 12)) == name


@pytest.mark.parametrize("name", ["0-1", "7-1", "1-13", "4", "4-2-1", "a-b", "", None, "4-²", "٤-٢", "1e1-1", object()])
def test_what_names_no_head_is_none(name):
    assert parse_head(name, 6, 12) is None


# -- token strip


def test_tokens_travel_as_they_are():
    labels = ["[CLS]", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{list}", "😀", "the", "the", "של"]
    view = json.loads(json.dumps(viewed(labels, StripChoice([0]), is_special=[True] + [False] * 7)))
    assert view["tokens"]["labels"] == labels
    assert view["tokens"]["special"] == [1, 0, 0, 0, 0, 0, 0, 0] and view["tokens"]["padding"] == [0] * 8


@pytest.mark.parametrize(
    ("labels", "way"),
    [(["the", "של"], "ltr"), (["[CLS]", "של", "תלמידים"], "rtl"), (["الطلاب"], "rtl"), (["…"], "ltr")],
)
def test_a_sentence_runs_the_way_most_of_its_letters_do(labels, way):
    assert reading_direction(labels) == way


def test_a_pin_that_is_no_token_is_dropped():
    pinned = [viewed("ab", StripChoice(pinned=pin))["pinned"] for pin in (0, 1, 2, -1, None)]
    assert pinned == [0, 1, None, None, None]


def test_tokens_beside_the_pinned_one_travel_with_it():
    assert viewed("abc", StripChoice(pinned=0, beside=(2,)))["beside"] == [2]
    assert viewed("a", StripChoice())["beside"] == []


def test_long_sentences_travel_in_one_byte_a_weight(minilm):
    trace = traced(minilm, 511)
    sent = strip_maps(LayerMaps(trace.attention[3], trace.allowed, trace.tokens, 3))
    assert trace.n_tokens > MAX_EXACT and sent["bits"] == 8 and len(sent["bytes"]) < 1_000_000
    assert np.abs(unpacked(sent) - trace.attention[3]).max() <= 1 / 255


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 4, 4)])
def test_maps_that_do_not_fit_the_mask_are_refused(shape):
    with pytest.raises(ValueError, match="N_q = 3 and N_k = 3"):
        LayerMaps(np.zeros(shape), np.ones((3, 3), bool), "abc", 0)


def test_every_word_of_the_components_goes_through_the_translation(minilm):
    strip = viewed("a", StripChoice(), t=str.upper)["text"]
    overview = overview_view(message_of(1, 1), selected=None, t=str.upper)["text"]
    assert all(text == text.upper() for text in [*strip.values(), *overview.values()])


def test_the_words_of_the_strip_are_translated_anew_for_each_reader():
    """A translator may be one function that asks whose session it is: nothing of one reader's may stay for the next."""
    language = ["en"]

    def say(text):
        return f"{language[0]}: {text}"

    said = []
    for language[0] in ("en", "zh"):
        said.append(viewed(["a"], StripChoice(), t=say)["text"]["mean"])
    assert said == ["en: mean", "zh: mean"]
