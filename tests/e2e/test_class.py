"""A class in Chromium: a teacher asks, two phones guess, the wall shows what they guessed, the phones follow."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import settled, wider_than_shown

CHANGES = 12_000  # milliseconds in which a phone has looked again, on a busy machine


def phone(browser: Browser, link: str) -> Page:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(link)
    expect(page.locator(".prediction")).to_be_visible()
    return page


def guess(page: Page, *words: str) -> None:
    for word in words:
        page.locator(".prediction .tokens button").filter(has_text=re.compile(f"^{word}")).tap()
    page.get_by_role("button", name="Send").tap()
    expect(page.get_by_role("button", name="Sent")).to_be_visible()


def test_a_teacher_asks_two_phones_guess_and_follow(page: Page, browser: Browser, server: str):
    page.goto(f"{server}/lessons?lesson=find-the-head")
    settled(page)
    page.get_by_role("button", name="Ask the class").click()
    settled(page)
    link = page.locator("code").filter(has_text="/vote?room=").inner_text()
    bar = page.locator(".st-key-class-bar")
    one, other = phone(browser, link), phone(browser, link)
    try:
        assert max(wider_than_shown(one)) <= 0
        expect(one.get_by_test_id("stSidebar")).not_to_be_visible()
        guess(one, "they", "teacher")
        guess(one, "they", "students")  # another mind: still one guess
        guess(other, "they", "teacher")
        expect(bar).to_contain_text("2 guesses from 2 phones", timeout=CHANGES)
        expect(bar.locator(".js-plotly-plot")).to_have_count(0)
        assert "0.92" not in one.content() and "0.92" not in page.content()

        one.reload()
        expect(one.get_by_role("button", name="Sent")).to_be_visible()

        page.get_by_role("button", name="Reveal to all").click()
        settled(page)
        expect(bar.locator(".ytick text").filter(has_text="● they → students")).to_have_count(1)
        expect(one.locator(".prediction [data-mark=hit]")).to_have_count(2, timeout=CHANGES)
        expect(other.locator(".prediction [data-mark=miss]")).to_have_count(1, timeout=CHANGES)
        expect(other.get_by_text("Head 4-2 wins")).to_be_visible()

        page.reload()  # the teacher's tab keeps the room
        settled(page)
        expect(bar).to_contain_text("2 guesses from 2 phones", timeout=CHANGES)
        page.goto(f"{server}/lessons?lesson=find-the-head&step=2")
        expect(one.get_by_role("heading", name="How many of the 72 heads")).to_be_visible(timeout=CHANGES)

        page.get_by_role("button", name="End", exact=True).click()
        expect(one.get_by_text("The teacher has ended this room")).to_be_visible(timeout=CHANGES)
        expect(page.get_by_role("button", name="Ask the class")).to_be_visible()
    finally:
        one.context.close()
        other.context.close()
