"""An encoder–decoder in a real browser: two lines of tokens, edges between them, and the target that is typed."""

from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from model import load
from tests.e2e.conftest import drawn, settled, weights, wider_than_shown
from tests.model.random_pairs import bart

SOURCE, TARGET = "a cat", "un chat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("bart")
    bart(found)
    return found


def numbers(page: Page, line: str) -> list[str]:
    """The weights that stand below the tokens of a line."""
    return page.locator(f".st-key-strip-strip {line} .token .number").all_text_contents()


def said(weights_of) -> list[str]:
    """As the strip says them: nothing below 0.005."""
    return [f"{weight:.2f}" if weight >= 0.005 else "" for weight in weights_of]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_target_looks_at_the_source_by_mouse_and_by_keyboard(page: Page, server: str, folder, width):
    cross = load(folder).trace(SOURCE, TARGET).cross
    page.set_viewport_size({"width": width, "height": 844})
    link = {"model": folder, "text": SOURCE, "target": TARGET, "layer": 2, "head": 3}
    page.goto(f"{server}/?{urlencode(link)}")
    drawn(page)
    np.testing.assert_allclose(weights(page), cross.attention[1, 2], atol=2e-5)
    upper, lower = (page.locator(f".st-key-strip-strip .line{which} .token") for which in (".keys", ":not(.keys)"))
    expect(upper).to_have_count(cross.n_keys)
    expect(lower).to_have_count(cross.n_queries)
    assert upper.first.bounding_box()["y"] < lower.first.bounding_box()["y"] and max(wider_than_shown(page)) <= 0

    lower.nth(2).hover()  # a query: what it looks at stands above it
    expect(page.locator(".st-key-strip-strip .edges path[data-query='2']").first).to_be_attached()
    assert numbers(page, ".line.keys") == said(cross.attention[1, 2, 2]) and not any(numbers(page, ".line:not(.keys)"))
    key = int(cross.attention[1, 2].sum(axis=0).argmax())
    upper.nth(key).hover()  # a key: what looks at it
    expect(page.locator(".st-key-strip-strip .edges path").first).to_have_attribute("data-key", str(key))
    expect(page.locator(".st-key-strip-strip .line.keys .token.source")).to_have_attribute(
        "data-index", str(cross.n_queries + key)
    )
    assert numbers(page, ".line:not(.keys)") == said(cross.attention[1, 2, :, key]) and not any(
        numbers(page, ".line.keys")
    )

    upper.nth(1).click()
    settled(page)
    assert f"pinned={cross.n_queries + 2}" in page.url
    page.mouse.move(5, 5)
    expect(page.locator(".st-key-strip-strip .says")).to_contain_text("(key) is looked at by")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-strip-strip .token.source")).to_have_attribute("data-index", str(cross.n_queries + 2))
    page.keyboard.press("ArrowDown")  # to the other text
    expect(page.locator(".st-key-strip-strip .line:not(.keys) .token.source")).to_have_count(1)
    page.keyboard.press("Home")
    expect(page.locator(".st-key-strip-strip .token.source")).to_have_attribute("data-index", "0")
    page.keyboard.press("Escape")
    settled(page)
    assert "pinned" not in page.url


def test_a_click_in_each_line_ranks_the_heads_and_another_target_is_read(page: Page, server: str, folder):
    page.set_viewport_size({"width": 1280, "height": 844})
    link = {"model": folder, "text": SOURCE, "target": TARGET, "colour": "find"}
    page.goto(f"{server}/?{urlencode(link)}")
    drawn(page)
    page.locator(".st-key-strip-strip .line:not(.keys) .token").nth(2).click()
    settled(page)
    page.locator(".st-key-strip-strip .line.keys .token").nth(3).click()
    settled(page)
    assert "find=3-4" in page.url and "pinned=3" in page.url
    attention = load(folder).trace(SOURCE, TARGET).cross.attention[:, :, 2, 3]
    layer, head = np.unravel_index(attention.argmax(), attention.shape)
    expect(page.get_by_text(f"{layer + 1}-{head + 1} {attention.max():.2f}")).to_be_visible()

    field = page.get_by_role("textbox", name="Target")
    field.fill("der")
    field.press("Enter")
    expect(page.locator(".st-key-strip-strip .line:not(.keys) .token")).to_have_count(5)  # </s> <s> d e r
    page.get_by_role("button", name="Let the model write").click()
    settled(page)
    assert "target=" not in page.url
    written = load(folder).trace(SOURCE).cross
    expect(page.locator(".st-key-strip-strip .line:not(.keys) .token")).to_have_count(written.n_queries)
