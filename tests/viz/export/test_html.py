"""The page that opens without internet: its data equal the arrays, and no token can become markup."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

from analysis import by_pieces, by_words, provenance
from tests.models import load
from viz.export.html import page_html

HARD = 'She said </script><img src=x onerror="window.hit=1"> {list} 😀 <script>window.hit=1</script>'


def block(page, name):
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)
    return json.loads(found)


def decoded(maps):
    """The codes of a message, as the browser unpacks them (viz/encoding.py)."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(maps["bytes"])), np.uint8)
    if maps["bits"] == 8:
        return raw.reshape(maps["shape"])
    high, low = raw.reshape(2, -1).astype(np.uint16)
    return (high << 8 | low).reshape(maps["shape"])


@pytest.mark.parametrize("mask", ["bidirectional", "causal"])
def test_every_map_is_in_the_page(mask):
    trace = load("minilm").trace("The cat sat on the mat.", mask)
    page = page_html(by_pieces(trace), provenance(trace), layer=3, head=1)
    data = block(page, "data")
    for layer, maps in enumerate(data["layers"]):
        codes = decoded(maps)
        np.testing.assert_array_equal(codes[0] > maps["top"], ~trace.allowed)
        weights = np.where(codes > maps["top"], 0, codes / maps["top"])
        np.testing.assert_allclose(weights, trace.attention[layer], atol=1e-5)
    assert data["strip_view"]["tokens"]["labels"] == list(trace.tokens)
    assert block(page, "provenance") == provenance(trace)


def test_words_and_the_chosen_head_are_kept():
    of = by_words(load("minilm").trace("Unbelievably good."))
    data = block(page_html(of, {}, layer=2, head=8, pinned=1), "data")
    assert (data["layer"], data["head"], data["strip_view"]["pinned"]) == (2, 8, 1)
    assert data["strip_view"]["tokens"]["labels"] == list(of.labels)


def test_no_token_ends_the_script_and_nothing_is_fetched():
    trace = load("toy").trace(HARD)
    page = page_html(by_pieces(trace), provenance(trace), layer=0, head=0)
    assert block(page, "data")["strip_view"]["tokens"]["labels"] == list(trace.tokens)
    assert page.count("<script") == page.count("</script>") == 3
    assert "<img" not in page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert "default-src 'none'" in page


def test_each_helper_of_the_browser_has_one_home_and_stands_in_the_file_once():
    trace = load("toy").trace("the cat sat")
    page = page_html(by_pieces(trace), provenance(trace), layer=0, head=0)
    for helper in ("const bytesOf =", "async function unpack", "const fill =", "atob(", "DecompressionStream"):
        assert page.count(helper) == 1, helper


def test_512_tokens_stay_below_ten_megabytes():
    trace = load("minilm").trace("the cat sat on a mat and slept " * 80)
    page = page_html(by_pieces(trace), provenance(trace), layer=3, head=1)
    assert len(page) < 10_000_000
    data = block(page, "data")
    assert data["layers"][3]["shape"] == [12, 512, 512]
    assert data["overview"]["step"] == [8, 8]


def test_the_page_can_say_what_a_cell_of_its_large_map_stands_for():
    of = by_pieces(load("toy").trace("the cat sat"))
    said = block(page_html(of, {}, layer=0, head=0), "data")["text"]["blocks"]
    assert said.format(rows=3, columns=2) == "each cell: the largest of 3 × 2 weights"
