"""The page Positions in a real browser: a sentence shuffled, hands turned by keyboard, Back, and a phone."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.conftest import complete, settled, widest

TEXT = "A+big+dog+chased+the+black+cat."


def rows(page: Page, key: str) -> list[str]:
    return page.locator(f".st-key-{key} .ytick text").all_text_contents()


def test_shuffle_the_sentence_and_the_map_follows(page: Page, server: str):
    page.goto(f"{server}/positions?text={TEXT}")
    settled(page)
    expect(page.get_by_text("Order is lost")).to_be_visible(timeout=60_000)
    first = rows(page, "order_copy")
    assert sorted(first) == sorted(rows(page, "order_text")) and first != rows(page, "order_text")
    page.get_by_role("button", name="Shuffle").click()
    expect(page).to_have_url(re.compile("shuffle=2"))
    settled(page)
    assert sorted(rows(page, "order_copy")) == sorted(first)
    page.get_by_role("radio", name="on", exact=True).click()
    expect(page.get_by_text("Order counts")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Order is lost")).to_be_visible()


def test_turn_the_hands_by_keyboard_and_send_the_link(page: Page, server: str):
    page.goto(f"{server}/positions?tab=ways&way=rotary&m=9&n=4&text={TEXT}")
    settled(page)
    expect(page.get_by_text("m − n = +5")).to_be_visible(timeout=60_000)
    page.get_by_role("slider", name="Query at place m").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("m − n = +6")).to_be_visible()
    expect(page).to_have_url(re.compile("m=10"))


def test_nothing_scrolls_sideways_on_a_phone(page: Page, server: str):
    page.set_viewport_size({"width": 390, "height": 844})
    for address in ("", "&tab=ways", "&tab=ways&way=alibi", "&tab=longer", "&tab=heads"):
        page.goto(f"{server}/positions?text={TEXT}{address}")
        complete(page)
        assert widest(page) <= 390, address
