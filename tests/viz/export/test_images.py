"""SVG and PNG of a map, read back and compared with the arrays; every letter drawn or visibly replaced."""

import io
import itertools
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from analysis import by_pieces, provenance
from tests.models import load
from viz.export import fonts
from viz.export.images import PNG_CHUNK, PNG_SCALE, png_bytes, square, svg_text
from viz.export.layout import HATCH, MASKED, map_layout
from viz.maps import MOST_CELLS, Maps
from viz.style import COLORSCALES, Style, nice_maximum, scale_colours
from viz.theme import ACCENT, MAX_LABEL, columns, tick_text

SVG = "{http://www.w3.org/2000/svg}"
TEXT = "The teacher praised the students because they worked hard."


def made(text=TEXT, mask="causal", style=None, **more):
    trace = load("minilm").trace(text, mask)
    layout = map_layout(
        Maps(trace.attention[3, 1], trace.allowed, trace.tokens),
        style or Style(),
        title="Head 4-2",
        source=provenance(trace, head="4-2", reading="raw"),
        measure=fonts.width,
        **more,
    )
    return trace, layout


def cells(svg):
    """(query, key) → (weight or None, fill) of every cell."""
    root = ET.fromstring(svg)
    (group,) = [g for g in root.iter(f"{SVG}g") if g.get("class") == "cells"]
    found = {}
    for rect in group:
        weight = rect.get("data-weight")
        place = int(rect.get("data-query")), int(rect.get("data-key"))
        found[place] = None if weight == "masked" else float(weight), rect.get("fill")
    return found


def test_svg_holds_every_weight_exactly():
    trace, layout = made()
    found = cells(svg_text(layout))
    assert len(found) == trace.n_tokens**2
    for (query, key), (weight, fill) in found.items():
        if trace.allowed[query, key]:
            assert np.float32(weight) == trace.attention[3, 1, query, key]
            assert fill == "#{:02x}{:02x}{:02x}".format(*layout.rgb[query, key])
        else:
            assert weight is None and fill == "url(#masked)"


def test_svg_has_titles_of_both_axes_every_token_and_a_scale():
    trace, layout = made()
    root = ET.fromstring(svg_text(layout))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    for wanted in ("Head 4-2", "key (looked at)", "query (looks)", "attention weight", "0", "0.5", "1", "masked"):
        assert wanted in texts
    for token in trace.tokens:
        assert texts.count(token) >= 2 * trace.tokens.count(token)  # on both axes
    assert root.find(f"{SVG}defs/{SVG}linearGradient") is not None
    assert not list(root.iter(f"{SVG}image"))  # vectors throughout


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_files_say_model_weights_mask_text_and_app(kind):
    trace, layout = made()
    if kind == "svg":
        said = json.loads(ET.fromstring(svg_text(layout)).find(f"{SVG}metadata").text)
    else:
        said = json.loads(Image.open(io.BytesIO(png_bytes(layout))).text[PNG_CHUNK])
    assert said == provenance(trace, head="4-2", reading="raw")
    assert said["weights_sha256"] == trace.sha256 and said["text"] == TEXT and said["mask"] == "causal"
    printed = " ".join(words.text for words in layout.words)
    assert trace.sha256 in printed and TEXT in printed and "causal" in printed and said["app"] in printed


def test_png_shows_the_colour_of_every_weight_and_hatching_where_it_is_masked():
    trace, layout = made()
    image = np.array(Image.open(io.BytesIO(png_bytes(layout))))
    assert image.shape[:2] == (layout.height * PNG_SCALE, layout.width * PNG_SCALE)
    left, top, _right, _bottom = square(layout)
    expected = Style().colours(trace.attention[3, 1])
    grey = {tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in (MASKED, HATCH)}
    side = layout.cell[0] * PNG_SCALE
    for query in range(trace.n_tokens):
        for key in range(trace.n_tokens):
            y, x = int(top * PNG_SCALE + (query + 0.5) * side), int(left * PNG_SCALE + (key + 0.5) * side)
            cell = image[y - 8 : y + 8, x - 8 : x + 8].reshape(-1, 3)
            if trace.allowed[query, key]:
                assert (cell == expected[query, key]).all()
            else:
                assert {tuple(map(int, pixel)) for pixel in cell} == grey


def test_nothing_is_called_masked_where_nothing_is():
    _, layout = made(mask="bidirectional")
    assert "masked" not in [words.text for words in layout.words]
    assert svg_text(layout).count("url(#masked)") == 0


@pytest.mark.parametrize("text", ['<b>&x</b> "quoted"', "山上有水，水中有月。", "😀 ok", "a\x01b", "המורה שיבח"])
def test_odd_text_makes_a_readable_file(text):
    _, layout = made(text=text, mask="bidirectional")
    texts = [words.text for words in ET.fromstring(svg_text(layout)).iter(f"{SVG}text")]
    assert "[CLS]" in texts
    assert Image.open(io.BytesIO(png_bytes(layout))).size[0] > 600


def test_512_tokens_are_coarsened_and_the_picture_says_so():
    trace, layout = made(text="word " * 600)
    assert layout.steps == (4, 4) and layout.weights.shape == (MOST_CELLS, MOST_CELLS)
    assert "each cell: the largest of 4 × 4 weights" in [words.text for words in layout.words]
    found = cells(svg_text(layout))
    block = np.where(trace.allowed, trace.attention[3, 1], 0)[200:204, 100:104]
    assert np.float32(found[50, 25][0]) == block.max()
    assert len(svg_text(layout)) < 4_000_000


def test_labels_never_overlap():
    _, layout = made(text="the cat sat on the mat and " * 15)
    (first, second) = [w for w in layout.words if w.anchor == "end" and not w.turn][:2]
    assert second.y - first.y >= first.size


def test_everything_stands_inside_the_picture():
    _, layout = made(text="Donaudampfschifffahrtsgesellschaftskapitän " * 4)
    for words in layout.words:
        assert 0 <= words.x <= layout.width and 0 <= words.y <= layout.height
        if words.anchor == "start":
            assert words.x + fonts.width(words.text, words.size) <= layout.width


# -- fonts -----------------------------------------------------------------------------------------------------------


def test_without_a_font_for_it_a_letter_is_written_as_its_code_point(monkeypatch):
    for cached in (fonts._shown, fonts._has):
        cached.cache_clear()
    monkeypatch.setattr(fonts, "installed", tuple)
    try:
        assert fonts.readable("a山") == "aU+5C71"
        _, layout = made(text="山 water", mask="bidirectional")
        assert png_bytes(layout)
    finally:
        for cached in (fonts._shown, fonts._has):
            cached.cache_clear()


def test_chinese_is_drawn_where_a_font_has_it():
    if fonts.readable("山") != "山":
        pytest.skip("no Chinese font is installed here")
    assert fonts.readable("山水 蘋遞，。「」…… ok") == "山水 蘋遞，。「」…… ok"
    assert len({font.getname() for _, font in fonts.runs("ok 山", 20)}) == 2


def test_of_a_collection_the_face_for_simplified_chinese_is_taken():
    collections = [face for face in fonts.installed() if "NotoSansCJK" in face.path]
    if not collections:
        pytest.skip("Noto Sans CJK is not installed here")
    (face,) = collections
    assert fonts.font(face, 20).getname()[0] == "Noto Sans CJK SC"
    japanese = fonts.font(fonts.Face(face.path, 0), 40)
    for letter in "骨直角":  # the same code points, other strokes
        assert bytes(fonts.font(face, 40).getmask(letter)) != bytes(japanese.getmask(letter)), letter


def test_full_width_marks_are_a_character_wide_and_latin_ones_are_not():
    if fonts.readable("山") != "山":
        pytest.skip("no Chinese font is installed here")
    for mark in "，。「」（）：":
        assert fonts.width(mark, 20) == pytest.approx(fonts.width("山", 20)), mark
    assert fonts.width(",", 20) < fonts.width("，", 20) / 2


def test_chinese_labels_do_not_run_into_each_other_or_out_of_the_picture():
    _, layout = made(text="小明把蘋果遞給了小紅，因為她幫過他。" * 3, mask="bidirectional")
    rows = [words for words in layout.words if words.anchor == "end" and not words.turn]
    columns = [words for words in layout.words if words.anchor == "end" and words.turn]
    for first, second in itertools.pairwise(rows):
        assert second.y - first.y >= first.size
    for first, second in itertools.pairwise(columns):  # turned by 90 degrees: one is as wide as it is high
        assert second.x - first.x >= first.size
    for words in (*rows, *columns):
        length = fonts.width(words.text, words.size)
        assert (words.y if words.turn else words.x) - length >= 0 or words.turn
        assert words.y + (length if words.turn else 0) <= layout.height


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("床前明月光疑是地", "床前明月光疑是地"),
        ("床前明月光疑是地上霜", "床前明月光疑是地…"),
        ("x" * 18, "x" * 18),
        ("x" * 19, "x" * 17 + "…"),
        ("ＷＩＤＥ因为", "ＷＩＤＥ因为"),
    ],
)
def test_a_chinese_character_is_two_columns_wide(label, expected):
    assert tick_text(label) == expected
    assert columns(expected) <= MAX_LABEL


def test_the_svg_names_fonts_with_chinese_and_holds_the_characters():
    _, layout = made(text="小明把苹果递给了小红。", mask="bidirectional")
    svg = svg_text(layout)
    assert "PingFang SC" in svg and "Microsoft YaHei" in svg and "Noto Sans CJK SC" in svg
    assert "明" in [words.text for words in ET.fromstring(svg).iter(f"{SVG}text")]


# -- styles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", COLORSCALES)
def test_scales_grow_evenly_from_one_end_to_the_other(scale):
    rgb = scale_colours(scale, np.linspace(0, 1, 32)) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    steps = np.diff(luminance)
    assert (steps > -1e-3).all() or (steps < 1e-3).all()


def test_places_by_hand():
    weights = np.array([0, 0.001, 0.01, 0.25, 1.0])
    np.testing.assert_allclose(Style(curve="sqrt").places(weights)[3:], [0.5, 1])
    np.testing.assert_allclose(Style(curve="log").places(weights)[:3], [0, 0, 1 / 3], atol=1e-6)
    np.testing.assert_allclose(Style(maximum=0.5).places(weights)[3:], [0.5, 1])


@pytest.mark.parametrize(("largest", "expected"), [(3.81, 3.9), (0.0123, 0.013), (1.0, 1.0), (0, 1), (12.3, 13)])
def test_the_stated_maximum_has_two_digits(largest, expected):
    assert nice_maximum(np.array([0, largest])) == pytest.approx(expected)


def test_the_accent_is_in_no_scale():
    accent = np.array([int(ACCENT[i : i + 2], 16) for i in (1, 3, 5)])
    for scale in ("Cividis", "Viridis", "Greys"):
        rgb = scale_colours(scale, np.linspace(0, 1, 64)).astype(int)
        assert np.abs(rgb - accent).sum(axis=-1).min() > 100


def test_source_of_pieces_is_what_was_traced():
    trace, layout = made()
    np.testing.assert_array_equal(np.isnan(layout.weights), ~by_pieces(trace).allowed)


# -- other scripts and other shapes ------------------------------------------------------------------------------------


def placed(queries, keys=()):
    n_keys = len(keys or queries)
    weights = np.full((len(queries), n_keys), 1 / n_keys, dtype=np.float32)
    shown = Maps(weights, np.ones(weights.shape, dtype=bool), queries, keys)
    return map_layout(shown, title="Head 1-1", source={}, measure=fonts.width)


def test_labels_from_right_to_left_are_kept_to_themselves_alike_on_axis_svg_and_png():
    arabic, end = "▁المعلمة", "</s>"
    assert tick_text(arabic) == f"\u2068{arabic}\u2069" and tick_text(end) == "&lt;/s&gt;"
    texts = [words.text for words in placed([arabic, end]).words]
    assert texts.count(f"\u2068{arabic}\u2069") == texts.count(end) == 2
    assert "".join(piece for piece, _ in fonts.runs(f"\u2068{end}\u2069", 20)) == end


def test_chinese_keys_stand_upright_under_the_map():
    words = placed(["[CLS]", "小明", "把", "[SEP]"]).words
    below = [one for one in words if one.anchor == "middle" and one.text in "小明把"]
    assert [one.text for one in below] == ["小", "明", "把"] and not any(one.turn for one in below)
    assert below[0].x == below[1].x and below[1].y - below[0].y >= below[0].size


def test_a_map_between_two_texts_has_its_own_rows_and_columns():
    layout = placed(["Katze", "saß"], ["the", "cat", "sat"])
    left, top, right, bottom = square(layout)
    assert right - left == pytest.approx(1.5 * (bottom - top))
    assert set(cells(svg_text(layout))) == {(row, column) for row in range(2) for column in range(3)}
    texts = [words.text for words in layout.words]
    assert texts.count("Katze") == texts.count("cat") == 1
    assert Image.open(io.BytesIO(png_bytes(layout))).size == (layout.width * PNG_SCALE, layout.height * PNG_SCALE)
