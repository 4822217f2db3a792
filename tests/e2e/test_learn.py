"""Watch heads learn in a real browser: train to 99 %, go back through the training, and a class that starts at once."""

import re
import time
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.conftest import complete, settled, widest

TRAINED = re.compile("Trained here in")
LONG = 120_000  # milliseconds: two busy cores train the usual run in 6 to 60 s


def opened(page: Page, address: str, query: str = "") -> None:
    page.goto(f"{address}/learn{query}")
    settled(page)
    expect(page.get_by_role("button", name=re.compile("^Train "))).to_be_visible(timeout=60_000)


def start(page: Page) -> None:
    page.get_by_role("button", name=re.compile("^Train ")).click()


def finished(page: Page) -> None:
    expect(page.get_by_text(TRAINED)).to_be_visible(timeout=LONG)
    settled(page)


def said(page: Page) -> str:
    return page.locator(".learning .says").inner_text()


def step(page: Page) -> int:
    return int(page.locator(".learning").get_attribute("data-step"))


def numbers(page: Page) -> list[list[float]]:
    """The table as it stands: a row for each relation, the single head first."""
    rows = page.locator(".learning tbody tr")
    return [[float(cell) for cell in row.locator("td").all_text_contents() if cell] for row in rows.all()]


def watch_runs(page: Page) -> None:
    """Counts from here on how often the server draws the page."""
    page.evaluate(
        """() => {
            window.runs = 0;
            const app = document.querySelector('[data-testid=stApp]');
            const count = () => { window.runs += app.dataset.testScriptState === 'running' ? 1 : 0; };
            new MutationObserver(count).observe(app, {attributeFilter: ['data-test-script-state']});
        }"""
    )


def test_opens_on_a_run_that_was_made_before_and_says_so(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server)
    expect(page.locator(".learning")).to_have_attribute("data-step", "800")
    assert "4 heads: 100 % right; 1 head: 34 % right" in said(page)
    assert "Each relation has a head of its own." in said(page)
    assert "of 5,376 answers; the baseline gets 4 %" in said(page)
    expect(page.locator(".learning .chart .said")).to_have_text("baseline 4 %")
    page.get_by_role("button", name="right key").click()
    hits = numbers(page)
    assert [max(row) for row in hits] == [100] * 4 and all(row[0] < 100 for row in hits)
    page.get_by_role("button", name="weight", exact=True).click()
    assert all(max(row) <= 1 for row in numbers(page))
    for part in (".says", ".scrub", ".chart", "table", ".stage"):
        box = page.locator(f".learning {part}").bounding_box()
        assert box["y"] + box["height"] <= 720, f"{part} needs scrolling"
    page.get_by_role("tab", name="Export").click()
    expect(page.get_by_text("python -m model.training --task neighbours")).to_be_visible()


def test_trains_to_99_percent_and_goes_back_to_where_nothing_was_learnt(page: Page, server: str):
    opened(page, server)
    node = page.locator(".learning").element_handle()
    began = time.monotonic()
    start(page)
    expect(page.get_by_role("button", name="Pause", exact=True).first).to_be_visible()
    expect(page.locator(".learning")).not_to_have_attribute("data-step", "800")  # the run that was there before
    expect(page.locator(".learning .result")).to_have_text(re.compile(r"^4 heads: (99|100) % right"), timeout=LONG)
    assert re.search(r"1 head: 3\d % right", said(page)), "the single head is stuck"
    print(f"99 % after {time.monotonic() - began:.1f} s")
    finished(page)
    assert page.evaluate("node => node.isConnected", node), "the picture was drawn anew instead of being added to"
    assert step(page) == 800
    for row in numbers(page):
        assert row[0] < 0.35 and max(row[1:]) > 0.8
    assert len({row[1:].index(max(row[1:])) for row in numbers(page)}) == 4, "each relation has a head of its own"

    watch_runs(page)
    slider = page.get_by_role("slider", name="Go back through the training")
    slider.focus()
    page.keyboard.press("Home")
    assert step(page) == 0 and "No head gives any relation half of its weight yet." in said(page)
    assert all(value < 0.5 for row in numbers(page) for value in row)
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    assert 40 < step(page) < 140
    chart = page.locator(".learning .chart").bounding_box()
    page.mouse.click(chart["x"] + chart["width"] - 4, chart["y"] + 60)
    assert step(page) == 800
    page.keyboard.press("Home")
    play = page.locator(".learning .play")
    play.click()
    expect(play).to_have_text("Pause")
    expect(page.locator(".learning")).to_have_attribute("data-step", "800", timeout=30_000)
    expect(play).to_have_text("Play")
    assert page.evaluate("window.runs") == 0, "going back asked the server"


def test_pointing_says_who_looks_at_whom_and_outlines_a_relation(page: Page, server: str):
    opened(page, server)
    tile = page.locator(".learning .tile .map").nth(1)
    box = tile.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 3.5 / 12, box["y"] + box["height"] * 4.5 / 12)
    cell = page.locator(".learning .cell")
    expect(cell).to_have_text(re.compile(r"^4 heads, 1-1 · query \(row\) “\w” looks at key \(column\) “\w”: \d\.\d\d$"))
    words = page.locator(".learning .tokens span").all_text_contents()
    assert f"query (row) “{words[4]}” looks at key (column) “{words[3]}”" in cell.inner_text()
    page.locator(".learning th.row button").nth(2).focus()
    page.mouse.move(5, 5)
    expect(cell).to_have_text("Outlined: the key of +1 for each query, in every map.")
    drawn = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"
    assert page.locator(".learning .over").nth(0).evaluate(drawn)


def test_step_by_step_pause_and_reset(page: Page, server: str):
    """The picture stays one and the same: what is scrubbed to stays, and nothing flashes."""
    opened(page, server, "?steps=200")
    node = page.locator(".learning").element_handle()
    page.get_by_role("button", name="Step ahead").click()
    expect(page.get_by_text("Paused at step")).to_be_visible(timeout=LONG)
    settled(page)
    first = step(page)
    assert 0 < first <= 20
    slider = page.get_by_role("slider", name="Go back through the training")
    assert slider.evaluate("range => range.value / range.max") < 0.5, "it stands at the end of what is yet to come"
    one, other = (box.bounding_box() for box in page.locator(".learning .chart .name").all())
    assert abs(one["y"] - other["y"]) >= min(one["height"], other["height"]) - 2, "names of curves on each other"
    page.get_by_role("button", name="Step ahead").click()
    expect(page.locator(".learning")).not_to_have_attribute("data-step", str(first), timeout=LONG)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Pause", exact=True).first.click()
    expect(page.get_by_role("button", name="Continue")).to_be_visible(timeout=LONG)
    page.get_by_role("slider", name="Go back through the training").press("Home")
    page.get_by_role("button", name="Continue").click()
    finished(page)
    assert step(page) == 0, "somebody went back: it stays there"
    for _ in range(50):  # the last checkpoint may arrive a moment after the words that say so
        page.get_by_role("slider", name="Go back through the training").press("End")
        if step(page) == 200:
            break
        page.wait_for_timeout(200)
    assert step(page) == 200
    assert page.evaluate("node => node.isConnected", node)
    page.get_by_role("button", name="Reset").click()
    settled(page)
    expect(page.get_by_text("Came with the app")).to_be_visible()


def status(page: Page) -> str:
    """Whether this session trains, or its place in line."""
    bar = page.locator(".st-key-learn-status [data-testid=stProgress]")
    return bar.inner_text() if bar.count() else ""


def soon(condition, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.2)


def in_order(pages: list[Page]) -> bool:
    """One trains; the others are next, or have 1, 2, … before them. They take turns, so it may be anyone."""
    said = [status(page) for page in pages]
    waiting = ["yours is next", "1 training before", "2 trainings before", "3 trainings before"][: len(pages) - 1]
    is_training = sum(words.startswith("Training: ") for words in said) == 1
    return is_training and all(sum(place in words for words in said) == 1 for place in waiting)


def test_a_class_that_starts_at_once_stands_in_line_and_who_leaves_frees_the_place(
    context: BrowserContext, server: str
):
    """Five sessions, one place. Closed tabs, another page and a pause leave it to the last one, which keeps it."""
    pages = [context.new_page() for _ in range(5)]
    try:
        for page in pages:
            opened(page, server, "?heads=8&layers=2&steps=4000")
        for page in pages:
            start(page)
        soon(lambda: in_order(pages))
        pages[0].close()
        pages[1].close()
        soon(lambda: in_order(pages[2:]))
        pages[2].get_by_test_id("stSidebarNav").get_by_role("link", name="Parameters and cost").click()
        pages[3].get_by_role("button", name="Pause", exact=True).first.click()
        expect(pages[3].get_by_text("Paused at step")).to_be_visible()
        soon(lambda: status(pages[4]).startswith("Training: "))
        for _ in range(50):  # longer than a turn: nobody is left to take one
            assert status(pages[4]).startswith("Training: ")
            time.sleep(0.25)
        pages[2].get_by_test_id("stSidebarNav").get_by_role("link", name="Watch heads learn").click()
        expect(pages[2].get_by_text("You were away.")).to_be_visible(timeout=20_000)
    finally:
        for page in pages:
            page.close()


def test_what_was_learnt_opens_on_the_attention_page_and_its_file_opens_again(page: Page, server: str, tmp_path):
    opened(page, server, "?view=take")
    with page.expect_download() as download:
        page.get_by_role("button", name="Weights, 4 heads (safetensors)").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "headwork-neighbours-4-heads-1-layers-seed-0.safetensors" and file.stat().st_size < 100_000
    page.locator(".st-key-learn_upload input[type=file]").set_input_files(file)
    expect(page.get_by_text("100% right after 800 steps.")).to_be_visible()
    page.locator(".st-key-learn_open_file_attention").get_by_role("button").click()
    expect(page.locator(".st-key-head_map .heatmaplayer .hm").first).to_be_attached(timeout=60_000)
    query = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    assert query["model"].startswith("trained:") and len(query["text"].split()) == 12
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(file.read_bytes()[:300])
    opened(page, server, "?view=take")
    page.locator(".st-key-learn_upload input[type=file]").set_input_files(broken)
    expect(
        page.get_by_text("broken.safetensors: The file of the trained model is damaged or incomplete")
    ).to_be_visible()


def test_nothing_scrolls_sideways_on_a_phone(page: Page, server: str):
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, server, "?heads=8")
    for tab in page.get_by_role("tab").all():
        tab.click()
        complete(page)
        assert widest(page) <= 390, tab.inner_text()
