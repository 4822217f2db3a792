"""Does it matter? in a real browser: what is seen at once, a head switched off, and the table in one's hands."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from analysis.effects import sets
from model.catalogue import SMOLLM2
from tests.e2e.conftest import settled, widest

N_HEADS = 9


def opened(page: Page, server: str, query: str = "") -> None:
    page.goto(f"{server}/effects{query}")
    settled(page)
    expect(page.locator(".st-key-effects_points .scatterlayer .points").first).to_be_attached(timeout=60_000)


def link(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def bottom(page: Page, key: str) -> float:
    box = page.locator(f".st-key-{key}").bounding_box()
    return box["y"] + box["height"]


def click_cell(page: Page, key: str, layer: int, head: int) -> None:
    """Clicks the cell of a head, counted from 1: the last trace of the figure has a mark over each."""
    marks = page.locator(f".st-key-{key} .scatterlayer .trace").last.locator(".points path")
    box = marks.nth((layer - 1) * N_HEADS + head - 1).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settled(page)


def test_looking_beside_mattering_on_the_first_screen_and_the_answer_falls_without_the_head(page: Page, server: str):
    record = sets.record("indirect_object", SMOLLM2)
    assert record is not None
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server)
    expect(page.get_by_text("The head that looks most isn't the one that matters most.")).to_be_visible()
    assert max(bottom(page, key) for key in ("effects_grid", "effects_looks", "effects_points")) < 720
    best = record.ranked()[0]
    expect(page.get_by_text(f"Without head {best}")).to_be_attached()

    page.get_by_text(f"Switch {best} off").click()
    settled(page)
    bars = page.locator(".st-key-effects-question .stProgress")
    expect(bars.first).to_contain_text("→", timeout=60_000)
    before, after = map(float, re.findall(r"([\d.]+) %", bars.first.inner_text()))
    assert after < before

    looks = divmod(int(record.attention.argmax()), N_HEADS)
    click_cell(page, "effects_grid", looks[0] + 1, looks[1] + 1)
    assert link(page)["at"] == f"{looks[0] + 1}-{looks[1] + 1}" and link(page)["switched"] == "on"
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Heads as a table (CSV)").click()
    lines = download.value.path().read_text("utf-8-sig").splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == 1 + record.effect.size


def test_on_a_phone_question_and_effects_stand_on_the_first_screen(page: Page, server: str):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server)
    assert widest(page) == 390
    assert bottom(page, "effects_grid") < 844
