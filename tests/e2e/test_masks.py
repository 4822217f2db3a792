"""The mask lab in a real browser: a lesson on masks, and a mask drawn by clicking."""

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from model import Mask, parse_mask
from tests.e2e.conftest import settled
from tests.models import load

FIRST = "The teacher praised the students because they worked hard."


def opened(page: Page, server: str, query: str = "") -> None:
    page.goto(f"{server}/masks{query}{'&' if query else '?'}compare=masks")  # one model under two masks
    settled(page)
    expect(
        page.locator(".st-key-difference .heatmaplayer .hm, .st-key-difference_grid .heatmaplayer .hm")
    ).to_be_attached(timeout=60_000)


def shown(page: Page, key: str) -> np.ndarray:
    """A map as the browser drew it; NaN where it is masked."""
    rows = page.evaluate(
        """key => Array.from(document.querySelector(`.st-key-${key} .js-plotly-plot`)._fullData[0].z,
                             row => Array.from(row, w => Number.isNaN(w) ? null : w))""",
        key,
    )
    return np.array([[np.nan if cell is None else cell for cell in row] for row in rows])


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    settled(page)


def second_mask(page: Page) -> Mask:
    return parse_mask(parse_qs(urlsplit(page.url).query).get("with", ["causal"])[0])


def cell(page: Page, query: str, key: str):
    return page.get_by_role("switch", name=f"query '{query}' may look at key '{key}'", exact=True)


def test_draw_a_mask_by_clicking_and_by_keyboard(page: Page, server: str):
    opened(page, server)
    page.get_by_role("combobox", name="Compare with").click()
    page.get_by_role("option", name="drawn").click()
    settled(page)
    tab(page, "Who may look at whom")

    may_look = cell(page, "[CLS]", "[SEP]")
    expect(may_look).to_have_attribute("aria-checked", "false")
    may_look.click()
    expect(may_look).to_have_attribute("aria-checked", "true")
    settled(page)
    expected = Mask.causal().allowed(12)
    expected[0, 11] = True
    assert second_mask(page) == Mask.matrix(expected)

    may_look.press("ArrowDown")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    settled(page)
    expected[1, 0] = False
    assert second_mask(page) == Mask.matrix(expected)

    page.get_by_role("button", name="Query 'praised': show or hide the whole row").click()  # fills it
    page.get_by_role("button", name="Query 'praised': show or hide the whole row").click()  # and empties it
    settled(page)
    expected[3] = False
    assert second_mask(page) == Mask.matrix(expected)
    expect(page.get_by_text("Rows that see nothing: 1 (praised).")).to_be_visible()

    computed = load("minilm").trace(FIRST, Mask.matrix(expected))
    page.wait_for_timeout(500)
    drawn = shown(page, "second")
    np.testing.assert_array_equal(np.isnan(drawn), ~computed.allowed)
    np.testing.assert_allclose(drawn[computed.allowed], computed.attention[3, 1][computed.allowed], atol=1e-5)

    page.reload()  # the link holds the drawing
    settled(page)
    tab(page, "Who may look at whom")
    expect(cell(page, "[CLS]", "[SEP]")).to_have_attribute("aria-checked", "true")
    expect(cell(page, "praised", "praised")).to_have_attribute("aria-checked", "false")


def test_many_quick_clicks_are_all_kept(page: Page, server: str):
    opened(page, server, f"?with={Mask.matrix(np.eye(12, dtype=bool).tolist())}")
    tab(page, "Who may look at whom")
    for row in range(12):
        page.get_by_role("grid").locator("tbody tr").nth(row).get_by_role("switch").nth((row + 5) % 12).click()
    settled(page)
    page.wait_for_timeout(1000)
    expected = np.eye(12, dtype=bool)
    expected[np.arange(12), (np.arange(12) + 5) % 12] = True
    assert second_mask(page) == Mask.matrix(expected.tolist())


def test_a_lesson_the_future_then_the_order_then_padding(page: Page, server: str):
    opened(page, server)
    allowed = Mask.causal().allowed(12).numpy()
    np.testing.assert_array_equal(~np.isnan(shown(page, "second")), allowed)
    assert not np.isnan(shown(page, "first")).any()

    expect(page.get_by_text(re.compile("Right: rows sum to 1.00. Wrong: .* sum to less"))).to_be_visible()

    tab(page, "The future")
    expect(page.get_by_text("nothing before the edit moves (largest change 0)")).to_be_visible()
    slider = page.get_by_role("slider", name="Tokens revealed")
    slider.focus()
    slider.press("ArrowRight")
    settled(page)
    arrival = re.compile("causal.*: the arrival of “students” changes the rows above it by at most 0")
    expect(page.get_by_text(arrival)).to_be_visible()

    tab(page, "Padding")
    expect(page.get_by_text("A causal mask is not a padding mask.")).to_be_visible()
    page.get_by_role("radio", name="left").click()
    settled(page)
    expect(page.get_by_text(re.compile("On the left, causal alone leaves up to .* on padding"))).to_be_visible()


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_nothing_scrolls_sideways_and_every_figure_fits_a_projector(page: Page, server: str, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    opened(page, server, f"?with={Mask.matrix(Mask.causal().allowed(12))}")
    for name in ("Before the softmax", "The future", "Padding", "Who may look at whom"):
        tab(page, name)
        page.wait_for_timeout(300)
        width, room, tallest = page.evaluate(
            """() => {
                const main = document.querySelector('[data-testid=stMain]');
                const plots = [...document.querySelectorAll('.js-plotly-plot')];
                return [main.scrollWidth, main.clientWidth, Math.max(...plots.map(plot => plot.clientHeight))];
            }"""
        )
        assert width <= room, name
        assert tallest <= 460, name


def test_both_maps_and_the_difference_are_seen_at_once_on_a_projector(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server)
    page.wait_for_timeout(500)
    for key in ("first", "second", "difference"):
        box = page.locator(f".st-key-{key}").bounding_box()
        assert box["y"] + box["height"] <= 720


def test_what_is_compared_stands_side_by_side_and_on_a_phone_under_one_switch(page: Page, server: str):
    opened(page, server)
    columns = page.locator(".st-key-mask_map-beside .stColumn")
    switch = page.locator(".st-key-mask_map")
    assert [column.is_visible() for column in columns.all()] == [True, True, True] and not switch.is_visible()
    assert len({round(column.bounding_box()["y"]) for column in columns.all()}) == 1

    page.set_viewport_size({"width": 390, "height": 844})
    expect(switch).to_be_visible()
    assert [column.is_visible() for column in columns.all()] == [True, False, False]
    switch.get_by_text("change").click()
    settled(page)
    expect(columns.nth(2).locator(".heatmaplayer .hm").first).to_be_visible()
    assert [column.is_visible() for column in columns.all()] == [False, False, True]
    box = columns.nth(2).locator(".js-plotly-plot").bounding_box()
    assert box["x"] >= 0 and 300 < box["width"] <= 390
