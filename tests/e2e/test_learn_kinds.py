"""Translate, Peek and the three architectures in a real browser: what opens, moves and is outlined there."""

from playwright.sync_api import Page, expect

from tests.e2e.conftest import complete, settled

# How often each head of the picture is solid or dashed can't be asked of a canvas: whether anything is drawn can.
INK = (
    """canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some(byte => byte > 0)"""
)


def test_translate_opens_with_the_alignment_outlined_and_goes_back_to_random_weights(page: Page, server: str):
    page.goto(f"{server}/learn?task=translate-en")
    settled(page)
    expect(page.locator(".learning")).to_have_attribute("data-step", "600", timeout=60_000)
    tile = page.locator(".learning .tile.named").first
    assert tile.locator(".keys span").all_text_contents() == ["big", "wise", "queens", "overlook", "old", "dogs"]
    assert tile.locator(".queries span").all_text_contents()[-1] == "</s>"
    assert tile.locator("canvas.over").evaluate(INK)
    expect(page.locator(".learning .result")).to_have_text(
        "4 heads: 100 % of sentences right; 1 head: 100 % of sentences right"
    )
    page.locator(".learning .scrub input").fill("0")
    expect(page.locator(".learning")).to_have_attribute("data-step", "0")
    expect(page.locator(".learning .result")).to_have_text(
        "4 heads: 0 % of sentences right; 1 head: 0 % of sentences right"
    )
    wide = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wide


def test_pointing_at_a_map_of_two_texts_names_the_target_word_and_the_source_word(page: Page, server: str):
    page.goto(f"{server}/learn?task=translate-en")
    settled(page)
    expect(page.locator(".learning")).to_have_attribute("data-step", "600", timeout=60_000)
    tile = page.locator(".learning .tile.named .map").last
    box = tile.bounding_box()
    tile.hover(position={"x": 0.5 * box["width"] / 6, "y": 2.5 * box["height"] / 8})  # row "biga", column "big"
    expect(page.locator(".learning .cell")).to_contain_text("“biga” looks at key (column) “big”")


def test_peek_draws_the_floor_and_the_line_above_the_diagonal(page: Page, server: str):
    page.goto(f"{server}/learn?task=peek")
    settled(page)
    expect(page.locator(".learning .chart .said")).to_have_text("floor 0.69", timeout=60_000)
    causal, peeking = (page.locator(".learning canvas.over").nth(place) for place in (0, 1))
    assert peeking.evaluate(INK) and not causal.evaluate(INK)  # the mask hides what would be outlined


def test_an_attention_of_the_three_architectures_opens_by_click_and_key(page: Page, server: str):
    page.goto(f"{server}/inside?source=pair")
    complete(page)
    drawn = page.get_by_role("group", name="Three architectures: choose an attention to open it")
    expect(drawn.get_by_role("button")).to_have_count(5)
    drawn.get_by_role("button").nth(1).click()
    expect(page.get_by_role("heading", name="Masked self-attention", exact=True)).to_be_visible()
    drawn.get_by_role("button").nth(4).press("Enter")
    expect(page.get_by_role("heading", name="Cross-attention", exact=True)).to_be_visible()
    expect(drawn.get_by_role("button").nth(4)).to_have_attribute("aria-pressed", "true")
    assert drawn.locator("svg.wires text").all_text_contents() == ["K, V"]
