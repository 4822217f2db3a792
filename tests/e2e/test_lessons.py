"""Lessons in a real browser: by mouse, by keyboard, by finger on a phone, and on a projector."""

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import settled, wider_than_shown


def opened(page: Page, server: str, query: str) -> None:
    page.goto(f"{server}/lessons{query}")
    settled(page)
    expect(page.locator(".prediction .ask > *, .shelf li").first).to_be_visible(timeout=60_000)


def tokens(page: Page):
    return page.locator(".prediction .tokens button")


def token(page: Page, word: str):
    return tokens(page).filter(has_text=re.compile(rf"^\W*{word}"))


def test_a_lesson_by_mouse_and_its_progress_after_a_reload(page: Page, server: str):
    opened(page, server, "")
    page.get_by_role("button", name=re.compile("Find the head")).click()
    settled(page)
    expect(page).to_have_url(re.compile("lesson=find-the-head"))

    reveal = page.get_by_role("button", name="Reveal")
    expect(reveal).to_have_attribute("aria-disabled", "true")
    token(page, "they").click()
    token(page, "teacher").click()
    reveal.click()
    settled(page)
    expect(token(page, "students")).to_have_attribute("data-mark", "right")
    expect(token(page, "teacher")).to_have_attribute("data-mark", "miss")
    expect(page.get_by_text("Head 4-2 wins, with the weight 0.92")).to_be_visible()
    expect(page.locator(".overview canvas").first).to_be_visible()

    page.reload()
    settled(page)
    expect(page.locator(".steps .dots button").first).to_have_text("✓1")
    page.get_by_role("button", name="All lessons").click()
    settled(page)
    expect(page.locator(".shelf li").filter(has_text="Find the head")).to_contain_text("1 of 6 steps")
    page.go_back()
    settled(page)
    expect(page.locator(".steps .title")).to_have_text("Find the head")


def test_a_broken_record_of_progress_is_left_alone(page: Page, server: str):
    page.goto(f"{server}/lessons")
    page.evaluate("localStorage.setItem('headwork-lessons', 'one-head.1.0.0~<b>x</b>.1.1.1~one-head~∞')")
    page.reload()
    settled(page)
    expect(page.locator(".shelf li").first).to_contain_text("1 of 5 steps")


def test_by_keyboard_order_number_cells_and_the_projector(page: Page, server: str):
    opened(page, server, "?lesson=cut-and-reshape&step=2&projector=on")
    expect(page.get_by_test_id("stSidebar")).not_to_be_visible()
    cells = page.locator(".prediction .cell")
    cells.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(cells.nth(8)).to_have_attribute("aria-checked", "true")
    expect(page.locator(".prediction .live")).to_have_text("Your guess: 1 cell.")
    page.keyboard.press("Escape")
    settled(page)
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    page.locator(".steps .title").click()
    page.keyboard.press("p")
    settled(page)
    expect(page).to_have_url(re.compile("projector=on"))
    page.keyboard.press("Space")  # shows the answer, and only then steps on
    settled(page)
    expect(cells.nth(4)).to_have_attribute("data-mark", "right")
    page.locator("body").press("ArrowRight")
    settled(page)
    expect(page).to_have_url(re.compile("step=3"))
    page.locator("body").press("ArrowLeft")
    page.wait_for_timeout(300)
    settled(page)
    page.locator("body").press("ArrowLeft")
    settled(page)

    items = page.locator(".prediction .order li")
    first = items.first.locator(".words").inner_text()
    items.first.get_by_role("button", name=f"Move down: {first}").press("Enter")
    expect(items.nth(1).locator(".words")).to_have_text(first)


def test_a_phone_in_chinese(browser: Browser, server: str):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, locale="zh-CN")
    page = context.new_page()
    opened(page, server, "?lesson=one-head")
    small = page.locator(".prediction button, .steps button").evaluate_all(
        "all => all.filter(b => b.offsetWidth && (b.offsetWidth < 32 || b.offsetHeight < 32)).map(b => b.textContent)"
    )
    assert not small
    token(page, "小红").tap()
    page.get_by_role("button", name="揭晓").tap()
    settled(page)
    expect(token(page, "小红")).to_have_attribute("data-mark", "hit")
    expect(page.locator(".prediction .live")).to_have_text("预测正确：“小红”。")
    assert max(wider_than_shown(page)) <= 0
    page.get_by_role("button", name="下一步").tap()
    settled(page)
    page.locator(".prediction .typed").fill("0.45")
    page.locator(".prediction .typed").press("Enter")
    settled(page)
    expect(page.locator(".prediction .at.hit")).to_contain_text("0.45")
    context.close()


def test_a_word_is_changed_there_and_back_and_a_curtain_is_drawn_shut(page: Page, server: str):
    opened(page, server, "?lesson=whose-size&step=2")
    page.locator(".prediction .choices button").first.click()
    page.get_by_role("button", name="Reveal").click()
    settled(page)
    before = page.locator(".flip .weight").all_inner_texts()
    page.locator(".flip .turn button").nth(1).click()
    expect(page.locator(".flip .turn button").nth(1)).to_have_attribute("aria-pressed", "true")
    assert page.locator(".flip .weight").all_inner_texts() != before
    page.locator(".flip .turn button").nth(0).click()
    assert page.locator(".flip .weight").all_inner_texts() == before

    opened(page, server, "?lesson=three-masks&step=2")
    tokens(page).first.click()
    page.get_by_role("button", name="Reveal").click()
    settled(page)
    rows = page.locator(".curtain tr")
    last, first = rows.last.locator(".cell").all_inner_texts(), rows.nth(1).locator(".cell").all_inner_texts()
    page.locator(".curtain input").focus()
    page.keyboard.press("Home")
    expect(page.locator(".curtain .says")).to_contain_text("11 of 11 rows are frozen")
    assert rows.last.locator(".cell").all_inner_texts() == last
    assert rows.nth(1).locator(".cell").all_inner_texts() == ["100"] + [""] * 10 != first


def test_a_link_plays_a_training_once_and_not_for_who_wants_no_motion(page: Page, server: str):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{server}/learn?play=once")
    settled(page)
    expect(page.locator(".learning")).to_have_attribute("data-step", "800")
    page.emulate_media(reduced_motion="no-preference")
    page.goto(f"{server}/learn?play=once")
    expect(page.locator(".learning.plays")).to_be_visible(timeout=60_000)
    expect(page.locator(".learning:not(.plays)")).to_have_attribute("data-step", "800", timeout=60_000)
