"""A decoder in a real browser: from the model's name to a text that it wrote, by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from model.weights.smollm2 import smollm2_path
from tests.e2e.conftest import drawn, settled
from tests.e2e.test_journeys import choose

pytestmark = pytest.mark.skipif(smollm2_path() is None, reason="the package of SmolLM2-135M isn't installed")
MARY = "When Mary and John went to the store, John gave a drink to"


def labels(page: Page) -> list[str]:
    return page.locator(".strip .token .label").all_text_contents()


def test_mary_gets_the_drink_and_ten_tokens_follow(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(server)
    drawn(page)
    choose(page, "Model", "SmolLM2-135M-Instruct, 4-bit (built in, English)")
    box = page.get_by_role("textbox", name="Sentence")
    box.fill(MARY)
    box.press("Control+Enter")
    expect(page.locator(".next .where b")).to_contain_text("▁to", timeout=60_000)
    first = page.locator(".next li").first
    expect(first.locator(".token")).to_have_text("▁Mary")
    expect(first.locator(".number")).to_have_text("0.92")
    expect(page.get_by_role("combobox", name="Mask")).to_have_value("causal: itself and before")

    # What was expected after a token that is pointed at, and which token came: no message travels.
    page.locator(".strip .token").filter(has_text="▁store").hover()
    expect(page.locator(".next .came .token")).to_have_text(",")
    page.mouse.move(5, 5)

    begun = len(labels(page))
    page.get_by_role("button", name="Write on", exact=True).click()
    expect(page.locator(".strip .token.written")).to_have_count(1)
    more = page.get_by_role("button", name="Write 10", exact=True)
    more.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".strip .token.written")).to_have_count(11, timeout=60_000)
    settled(page)
    assert len(labels(page)) == begun + 11 and labels(page)[begun] == "▁Mary"
    rows = page.evaluate("document.querySelector('.st-key-head_map .js-plotly-plot')._fullData[0].z.length")
    assert rows == begun + 11
    expect(page.get_by_text(f"11 tokens written; the last step computed row {begun + 11} alone.")).to_be_visible()

    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Masks").click()
    expect(page.locator(".st-key-decoder_map .heatmaplayer .hm").first).to_be_attached(timeout=60_000)
    expect(page.get_by_text("in SmolLM2: it was trained never to see them.")).to_be_visible()


def test_heads_that_share_keys_say_so_where_they_are_pointed_at(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{server}/?model=smollm2-135m&text=Two+cats+slept.")
    drawn(page)
    page.locator(".overview .pointer").hover(position={"x": 5, "y": 5})
    expect(page.locator(".overview .near figcaption")).to_have_text("head 1-1 · same keys and values as 1-2, 1-3")
    page.mouse.move(5, 5)
    page.locator(".overview .pointer").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".overview .near figcaption")).to_have_text(re.compile("same keys and values as .-2, .-3"))


def test_a_model_of_fewer_layers_and_back_after_a_choice_in_the_picture(page: Page, server: str):
    """The slider of 30 layers gives way to buttons; a rerun of the picture alone must not mix up what they hold."""
    page.goto(f"{server}/?model=smollm2-135m&text=Two+cats+slept.")
    drawn(page)
    page.get_by_role("button", name="Write on", exact=True).click()
    expect(page.locator(".strip .token.written")).to_have_count(1)
    settled(page)
    for name in ("MiniLM", "SmolLM2"):
        page.get_by_role("combobox", name="Model").click()
        page.get_by_role("option", name=name).click()
        settled(page)
        drawn(page)
    expect(page.get_by_role("slider", name="Layer")).to_have_value("4")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
