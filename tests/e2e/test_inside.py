"""Inside a block and Parameters and cost in a real browser. Any request to another host fails the test (`watch`)."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import complete
from tests.models import load


def numbers(page: Page, key: str) -> list[float]:
    """The numbers that the browser holds for a figure of matrices, without the gaps between tiles."""
    page.wait_for_selector(f".st-key-{key} .js-plotly-plot .heatmaplayer .hm", timeout=60_000, state="attached")
    return page.evaluate(
        """key => Array.from(document.querySelector(`.st-key-${key} .js-plotly-plot`)._fullData[0].z)
                   .flatMap(row => Array.from(row)).filter(z => !Number.isNaN(z))""",
        key,
    )


def test_formulas_render_from_x_to_the_output_without_another_host(page: Page, server: str):
    page.goto(f"{server}/inside")
    complete(page)
    assert len(numbers(page, "inside_matrix")) == 24
    for step in ("2 Q, K, V", "3 split", "4 QKᵀ", "7 softmax", "10 W_o"):
        page.get_by_text(step, exact=True).click()
        complete(page)
        expect(page.locator(".katex-html").first).to_be_visible()
        expect(page.locator(".katex-error")).to_have_count(0)
        assert numbers(page, "inside_matrix")


def test_boxes_of_the_diagram_open_by_click_and_by_key(page: Page, server: str):
    page.goto(f"{server}/inside")
    complete(page)
    page.get_by_role("tab", name="The block").click()
    complete(page)
    diagram = page.get_by_role("group", name="A block: choose a box to open it")
    expect(diagram.get_by_role("button")).to_have_count(7)
    for name, heading in (("LayerNorm 1", "LayerNorm 1"), ("FFN", "FFN"), ("x", "x"), ("Sum after attention", None)):
        diagram.locator(f'button[aria-label^="{name} ("]').click()
        expect(page.get_by_role("heading", name=heading or name, exact=True)).to_be_visible()
        complete(page)
        assert numbers(page, "box_tensors")
    diagram.locator('button[aria-label^="Multi-head attention"]').press("Enter")
    expect(page.get_by_text("All 3 outputs move.")).to_be_visible()
    diagram.locator('button[aria-label^="FFN ("]').press("Enter")
    expect(page.get_by_text("1 of 3 outputs move.")).to_be_visible()
    assert "box=ffn" in page.url


def test_a_link_restores_one_cell_of_the_trained_model(page: Page, fresh_server: str):
    page.goto(f"{fresh_server}/inside?source=model&layer=4&head=2&query=8&key=6&step=softmax")
    complete(page)
    trace = load("minilm").trace("The teacher praised the students because they worked hard.")
    assert sorted(numbers(page, "inside_matrix")) == pytest.approx(
        sorted(trace.attention[3].ravel().tolist()), abs=1e-5
    )
    page.get_by_role("tab", name="One cell").click()
    complete(page)
    expect(page.locator(".katex-html").filter(has_text="0.92").first).to_be_visible()
    assert "query=8" in page.url  # 4-2 is where the app opens, so the link needn't say it


def test_impossible_sizes_say_so_and_keep_the_picture(page: Page, server: str):
    page.goto(f"{server}/inside?source=sentence&step=softmax")
    complete(page)
    before = numbers(page, "inside_matrix")
    page.get_by_label("heads h").fill("7")
    page.get_by_label("heads h").press("Enter")
    expect(page.get_by_text("16 / 7 is not whole")).to_be_visible()
    complete(page)
    assert numbers(page, "inside_matrix") == before


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_scrolls_sideways(page: Page, server: str, width: int):
    page.set_viewport_size({"width": width, "height": 800})
    for address in ("inside?step=project", "cost"):
        page.goto(f"{server}/{address}")
        complete(page)
        for tab in page.get_by_role("tab").all():
            tab.click()
            complete(page)
            wide = page.evaluate(
                """() => { const main = document.querySelector('[data-testid=stMain]');
                           return main.scrollWidth - main.clientWidth; }"""
            )
            assert wide <= 1, (address, tab.inner_text())


def test_the_ledger_agrees_and_a_preset_fills_the_sizes(page: Page, server: str):
    page.goto(f"{server}/cost")
    complete(page)
    expect(page.get_by_text("agree to the last parameter: 109,482,240.")).to_be_visible()
    page.get_by_role("combobox", name="Sizes of").click()
    page.get_by_role("option", name="bert-base-multilingual-cased").click()
    expect(page.get_by_text("agree to the last parameter: 177,853,440.")).to_be_visible()
    assert "vocabulary=119547" in page.url
    page.get_by_role("tab", name="One head or several").click()
    expect(page.get_by_text("Medians of")).to_be_visible(timeout=60_000)
    expect(page.locator(".katex-error")).to_have_count(0)
