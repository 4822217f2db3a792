"""Nothing moves once it is seen: the layout shift of a first visit, as browsers measure it (web.dev/cls)."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import drawn
from tests.e2e.test_frame import QUESTIONS
from ui.frame.first_paint import HIDDEN

GOOD = 0.1  # web.dev/cls; it was 0.3 to 1.4
WATCH = """
    window.shifts = [];
    new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(entry => entry.value)))
        .observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("path", QUESTIONS)
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_first_visit_of_a_page_is_still(browser: Browser, server: str, path: str, width: int, height: int):
    context = browser.new_context(viewport={"width": width, "height": height})  # nothing is in its store
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(f"{server}/{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=60_000)
    expect(page.locator("html[data-stands]")).to_be_attached()
    if path == "":
        drawn(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=60_000)
    assert sum(page.evaluate("window.shifts")) < GOOD
    context.close()


def test_the_page_is_seen_in_the_end_even_if_no_script_shows_it(page: Page):
    page.set_content(f"<style>{HIDDEN}</style><div class='stApp'><p>Here</p></div>")
    here = page.get_by_text("Here")
    expect(here).to_be_hidden()
    assert here.evaluate("e => e.getAnimations().map(one => (one.finish(), one.effect.getTiming().delay))") == [4000]
    expect(here).to_be_visible()
