"""The token strip as SVG: the numbers, edges and tokens are those of the maps."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from viz.export import fonts
from viz.export.strip_svg import WIDTH, strip_svg
from viz.token_strip import LayerMaps, StripChoice

SVG = "{http://www.w3.org/2000/svg}"
LABELS = ["I", "saw", "<b>&her</b>"]
MAPS = np.array(
    [
        [[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.49, 0.01]],
        [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.1, 0.21, 0.69]],
    ],
    dtype=np.float32,
)
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))


def drawn(pinned=2, heads=(0,), direction="looks_at", labels=LABELS, maps=MAPS, allowed=CAUSAL, **more):
    chosen = StripChoice(heads, pinned, direction=direction)
    return ElementTree.fromstring(strip_svg(LayerMaps(maps, allowed, labels, 0), chosen, **more))


def edges(picture):
    found = [path for path in picture.iter(f"{SVG}path") if path.get("data-key")]
    return {(int(path.get("data-query")), int(path.get("data-key"))): float(path.get("data-weight")) for path in found}


def texts(picture):
    return [text.text for text in picture.iter(f"{SVG}text")]


def test_edges_are_the_weights_of_the_pinned_query_that_can_be_seen():
    assert edges(drawn()) == {(2, 0): 0.5, (2, 1): pytest.approx(0.49)}


def test_edges_of_a_key_come_from_the_queries_that_look_at_it():
    found = edges(drawn(pinned=0, direction="looked_at_by"))
    assert found == {(0, 0): 1.0, (1, 0): 0.25, (2, 0): 0.5}


def test_every_token_is_there_as_it_is_with_its_weight_below():
    assert texts(drawn()) == [*LABELS, "0.50", "0.49", "0.01"]


def test_what_the_mask_hides_has_no_number_and_no_edge():
    picture = drawn(pinned=0)
    assert texts(picture) == [*LABELS, "1.00"]
    assert edges(picture) == {(0, 0): 1.0}


def test_of_several_heads_each_number_names_its_own():
    assert texts(drawn(heads=(0, 1))) == [*LABELS, "0.50 (1)", "0.49 (1)", "0.69 (2)"]


def test_no_head_chosen_is_the_mean_of_all():
    assert texts(drawn(heads=()))[3:] == ["0.30", "0.35", "0.35"]


def test_nothing_pinned_is_the_sentence_alone():
    picture = drawn(pinned=None)
    assert texts(picture) == LABELS
    assert not edges(picture)


@pytest.mark.parametrize("width", [200.0, WIDTH])
def test_a_long_sentence_takes_lines_that_are_no_wider_than_asked_for(width):
    labels = ["word"] * 40
    picture = drawn(39, labels=labels, maps=np.full((1, 40, 40), 1 / 40), allowed=np.ones((40, 40), bool), width=width)
    tokens = [rect for rect in picture.iter(f"{SVG}rect") if rect.get("data-token")]
    assert len(tokens) == 40
    assert max(float(rect.get("x")) + float(rect.get("width")) for rect in tokens) <= width
    assert len({rect.get("y") for rect in tokens}) > 1
    assert float(picture.get("width")) <= width + 8


def test_a_sentence_read_from_the_right_begins_at_the_right():
    picture = drawn(labels=["אני", "ראיתי", "אותה"])
    left = [float(rect.get("x")) for rect in picture.iter(f"{SVG}rect") if rect.get("data-token")]
    assert left == sorted(left, reverse=True)


def test_a_title_and_where_it_comes_from_stand_in_the_picture_and_in_the_file():
    picture = drawn(title="4-2 & more", source={"model": "MiniLM", "mask": "causal", "weights_sha256": "53aa"})
    assert texts(picture)[-2:] == ["4-2 & more", "model: MiniLM · mask: causal"]
    assert '"weights_sha256": "53aa"' in picture.find(f"{SVG}metadata").text


def test_marked_tokens_have_the_strongest_frame():
    strokes = [float(rect.get("stroke-width")) for rect in drawn(marked=(1,)).iter(f"{SVG}rect") if rect.get("rx")]
    assert int(np.argmax(strokes)) == 1


def test_text_is_within_the_picture():
    picture = drawn(heads=(0, 1), labels=["I", "s", "h"])
    for text in picture.iter(f"{SVG}text"):
        half = fonts.width(text.text, float(text.get("font-size"))) / 2
        assert half - 1 <= float(text.get("x")) <= float(picture.get("width")) - half + 1, text.text


def test_nothing_is_fetched_from_anywhere():
    assert not re.findall(
        r"(?:href|src)=|url\((?!#)", strip_svg(LayerMaps(MAPS, CAUSAL, LABELS, 0), StripChoice((0,), 2))
    )
