"""Journeys through the Attention page in a real browser."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import ROOT, drawn, settled, tokens, weights, wider_than_shown
from tests.models import load
from ui.frame.shell import APART

FIRST = "The teacher praised the students because they worked hard."


def link(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def type_sentence(page: Page, text: str) -> None:
    sentence(page).fill(text)
    sentence(page).press("Control+Enter")


def sentence(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Sentence")


def status(page: Page) -> Locator:
    """The line under the picture."""
    return page.get_by_text(re.compile("rows sum to 1 [(]|每行之和为 1（"))


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).click()


def hover(page: Page, query: int, key: int) -> str:
    """What the large map says when the pointer rests on a cell."""
    n = len(weights(page))
    plot = page.locator(".st-key-head_map .nsewdrag").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] * (key + 0.5) / n, plot["y"] + plot["height"] * (query + 0.4) / n)
    label = page.locator(".st-key-head_map .hoverlayer .hovertext")
    expect(label).to_have_count(1)
    return label.text_content()


def test_open_type_and_change_the_mask(page: Page, server: str):
    page.goto(server)
    drawn(page)
    assert hover(page, 7, 5) == "query 'they' → key 'students': 0.92"

    type_sentence(page, "The cat sat, because the cat was tired <s>.")
    expect(status(page)).to_contain_text("N = 15")
    drawn(page)
    assert tokens(page).count("cat") == 2 and "&lt;" in tokens(page)

    choose(page, "Mask", "causal: itself and before")
    expect(status(page)).to_contain_text("mask causal")
    drawn(page)
    expected = load("minilm").trace("The cat sat, because the cat was tired <s>.", "causal")
    for row, (shown, computed) in enumerate(zip(weights(page), expected.attention[3, 1], strict=True)):
        assert shown[row + 1 :] == [None] * (14 - row)
        assert shown[: row + 1] == pytest.approx(computed[: row + 1], abs=1e-5)
    assert hover(page, 2, 9).endswith(": masked: may not attend")
    assert link(page) == {"text": "The cat sat, because the cat was tired <s>.", "mask": "causal"}


def test_layer_head_and_language_change_the_picture_and_the_link(page: Page, server: str):
    page.goto(server)
    drawn(page)
    page.get_by_role("radiogroup", name="Layer").get_by_text("3", exact=True).click()
    page.get_by_role("radiogroup", name="Head").get_by_text("9", exact=True).click()
    expect(status(page)).to_contain_text("head 3-9")
    assert link(page) == {"layer": "3", "head": "9"}
    page.get_by_text("简体中文").click()
    expect(page.get_by_role("heading", name="每个注意力头在看什么？")).to_be_visible()
    expect(status(page)).to_contain_text("头 3-9")
    assert link(page) == {"layer": "3", "head": "9", "lang": "zh"}
    page.get_by_text("English").click()  # and back: the names in the menus are not taken for something typed
    expect(page.get_by_role("heading", name="What does each head look at?")).to_be_visible()
    expect(status(page)).to_contain_text("MiniLM-L6 (built in) · head 3-9")
    expect(page.get_by_role("alert")).to_have_count(0)


# The first page is at "/"; every other one at the name of its file, where Streamlit would run it without the app.
PATHS = ["", *sorted(path.stem for path in (ROOT / "pages").glob("[!_]*.py") if path.stem not in ("attention", *APART))]


@pytest.mark.parametrize("path", PATHS)
def test_a_link_opened_first_on_a_fresh_server_keeps_the_frame_and_the_settings(
    page: Page, fresh_server: str, path: str
):
    page.goto(f"{fresh_server}/{path}?text=Two+cats+slept.&mask=causal%2Bpadding:8&lang=zh")
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar.get_by_text("简体中文")).to_be_visible(timeout=60_000)
    settled(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert link(page) == {"text": "Two cats slept.", "mask": "causal+padding:8", "lang": "zh"}
    sidebar.get_by_role("link", name="注意力").click()  # not every page shows the sentence, but each keeps it
    expect(sidebar.get_by_role("textbox", name="句子")).to_have_value("Two cats slept.")
    settled(page)
    expect(sidebar.get_by_role("spinbutton", name="填充后的长度")).to_have_value("8")
    assert link(page) == {"text": "Two cats slept.", "mask": "causal+padding:8", "lang": "zh"}


# The first click on a server that was just started (ui/frame/shell.py says what is special about it).
def test_the_first_click_on_the_language_counts_on_a_fresh_server(page: Page, fresh_server: str):
    page.goto(fresh_server)
    drawn(page)
    page.get_by_text("简体中文").click()
    expect(page.get_by_role("heading", name="每个注意力头在看什么？")).to_be_visible()


def test_the_first_mask_counts_on_a_fresh_server(page: Page, fresh_server: str):
    page.goto(fresh_server)
    drawn(page)
    choose(page, "Mask", "causal: itself and before")
    expect(status(page)).to_contain_text("mask causal")


def test_the_first_sentence_counts_on_a_fresh_server(page: Page, fresh_server: str):
    page.goto(fresh_server)
    drawn(page)
    type_sentence(page, "Two cats slept.")
    expect(status(page)).to_contain_text("N = 6")
    expect(sentence(page)).to_have_value("Two cats slept.")


def test_the_first_model_counts_on_a_fresh_server(page: Page, fresh_server: str):
    page.goto(fresh_server)
    drawn(page)
    choose(page, "Model", "Toy (untrained)")
    expect(status(page)).to_contain_text("Toy (untrained)")


def test_the_first_click_counts_on_a_page_that_a_link_opened_on_a_fresh_server(page: Page, fresh_server: str):
    page.goto(f"{fresh_server}/masks")
    expect(page.get_by_role("heading", name="What does a mask change?")).to_be_visible(timeout=60_000)
    settled(page)
    page.get_by_text("简体中文").click()
    expect(page.get_by_test_id("stSidebar").get_by_role("textbox", name="句子")).to_be_visible()


def test_a_link_restores_layer_head_and_mask(page: Page, server: str):
    page.goto(f"{server}/?text=Two+cats+slept.&mask=causal%2Bpadding:8&layer=3&head=9")
    drawn(page)
    expect(status(page)).to_contain_text("head 3-9 · mask causal+padding:8 · N = 8")
    assert len(weights(page)) == 8


def test_empty_and_long_text_are_answered(page: Page, server: str):
    page.goto(server)
    drawn(page)
    type_sentence(page, "   ")
    expect(page.get_by_role("alert")).to_have_text(re.compile("There is no text to look at. Type a sentence."))
    type_sentence(page, "word " * 5000)
    expect(page.get_by_text("This model reads 512 tokens: the last 3,490 tokens of the text were cut.")).to_be_visible()
    expect(page.get_by_text("its last 5,000 characters were left out")).to_be_visible()
    drawn(page)
    assert len(weights(page)) == 128  # the largest of 4 × 4 weights each
    assert hover(page, 75, 50).startswith("query 'word … word' → key 'word … word': ")
    assert "text" not in link(page)


def test_an_example_brings_its_head(page: Page, server: str):
    page.goto(server)
    drawn(page)
    choose(page, "Example sentences", "A big dog chased the black cat.")
    expect(status(page)).to_contain_text("head 3-9")
    expect(sentence(page)).to_have_value("A big dog chased the black cat.")
    assert link(page) == {"text": "A big dog chased the black cat.", "layer": "3", "head": "9"}


def test_a_toy_typed_with_its_sizes_fills_the_controls(page: Page, server: str):
    page.goto(server)
    drawn(page)
    page.get_by_role("combobox", name="Model").fill("toy:layers=1,heads=2")
    page.get_by_role("combobox", name="Model").press("Enter")
    expect(page.get_by_text("Untrained model")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="heads")).to_have_value("2")
    expect(status(page)).to_contain_text("head 1-2")


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_scrolls_sideways(page: Page, server: str, width: int):
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{server}/?text={'word%20' * 60}")
    drawn(page)
    assert wider_than_shown(page) == [0, 0]


def test_what_was_typed_is_text_and_never_a_page_of_its_own(page: Page, server: str):
    page.goto(server)
    drawn(page)
    type_sentence(page, "<img src=x onerror=alert(1)> ![i](http://example.org/i.png) <script>1</script>")
    settled(page)
    drawn(page)
    assert page.locator("[data-testid=stMain] img").count() == 0
    page.get_by_role("combobox", name="Model").fill("![i](http://example.org/i.png)")
    page.get_by_role("combobox", name="Model").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("There is no model '![i](http:\u2060//example.org/i.png)'")
    assert page.locator("[data-testid=stMain] img").count() == 0
    for typed in ("www.example.org/a/b", "a@b.org", "http://example.org/a"):
        page.get_by_role("combobox", name="Model").fill(typed)
        page.get_by_role("combobox", name="Model").press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(re.compile("There is no model '" + typed[:2]))
        assert page.get_by_role("alert").locator("a").count() == 0
