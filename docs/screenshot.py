"""Takes the README's picture of the running app: `python -m docs.screenshot` (needs the test requirements)."""

from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.e2e.conftest import CHROMIUM, QUIET, running_app

PICTURE = Path(__file__).parent / "attention.png"

with running_app() as address, sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
    page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5)
    page.goto(address)
    page.locator(".js-plotly-plot .heatmaplayer .hm").first.wait_for(timeout=60_000)
    page.wait_for_timeout(3_000)
    page.screenshot(path=PICTURE)
    browser.close()
