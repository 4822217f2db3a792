"""The explorer in a real browser: from opening the app to the SVG in hand, by mouse and by keyboard."""

import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from analysis import read_csv
from tests.e2e.conftest import complete, drawn, settled, weights, wider_than_shown
from tests.e2e.test_journeys import FIRST, choose, link, status, type_sentence
from tests.models import load


def ready(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".st-key-strip-strip .strip .token").first).to_be_visible(timeout=60_000)
    expect(page.locator(".overview[data-draw-ms]")).to_be_visible(timeout=60_000)
    settled(page)
    expect(page.locator(".st-key-head_map .heatmaplayer .hm").first).to_be_attached(timeout=60_000)


def token(page: Page, text: str):
    return (
        page.locator(".strip")
        .first.locator(".token")
        .filter(has=page.locator(".label", has_text=re.compile(f"^{re.escape(text)}$")))
    )


def says(page: Page):
    return page.locator(".strip .says").first


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    settled(page)


def download(page: Page, label: str) -> tuple[str, bytes]:
    with page.expect_download(timeout=60_000) as waiting:
        page.get_by_role("button", name=label, exact=True).click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def test_from_opening_the_app_to_the_svg_in_hand(page: Page, server: str):
    ready(page, server)
    # Which head? The overview shows all of them; another one first, then 4-2.
    pointer = page.locator(".overview .pointer")
    box = pointer.bounding_box()
    pointer.click(position={"x": box["width"] * 8.5 / 12, "y": box["height"] * 2.5 / 6})
    expect(status(page)).to_contain_text("head 3-9")
    pointer.click(position={"x": box["width"] * 1.5 / 12, "y": box["height"] * 3.5 / 6})
    expect(status(page)).to_contain_text("head 4-2")
    # What does "they" look at?
    expect(says(page)).to_contain_text(re.compile("“.*they.*” .*looks at .*students.* 0.92"))
    # How much goes to [CLS] instead?
    expect(page.get_by_text("Head 4-2 gives 66% of its words' weight to [CLS] and 1% to [SEP].")).to_be_visible()
    # And under a causal mask?
    open_tab(page, "Compare A | B")
    expect(page.get_by_role("combobox", name="Mask of B")).to_be_visible()
    expect(page.locator(".st-key-compare_difference .heatmaplayer .hm").first).to_be_attached()
    expect(page.get_by_text("Total variation distance of each row")).to_be_visible()
    # The picture, exported.
    open_tab(page, "Export")
    name, content = download(page, "SVG")
    assert name == "headwork-4-2.svg"
    root = ET.fromstring(content)
    (cell,) = [e for e in root.iter() if e.get("data-query") == "7" and e.get("data-key") == "5"]
    assert np.float32(cell.get("data-weight")) == load("minilm").trace(FIRST).attention[3, 1, 7, 5]
    assert json.loads(root.find("{http://www.w3.org/2000/svg}metadata").text)["text"] == FIRST
    shared = page.locator("[data-testid=stCode] code").inner_text()
    assert link(page).keys() == {"view"} and shared == page.url


def test_by_keyboard_alone(page: Page, server: str):
    ready(page, server)
    page.get_by_role("button", name="what it looks at").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    focused = page.locator(".st-key-strip-strip .strip .token:focus .label")
    expect(focused).to_have_text("they")  # the token that is pinned
    page.keyboard.press("Home")
    expect(focused).to_have_text("[CLS]")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    expect(focused).to_have_text("they")
    page.keyboard.press("Enter")  # pinned from the start: the example is there to show it
    expect(page).to_have_url(re.compile("pinned=none"))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("pinned=7"))
    page.locator(".overview .pointer").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("head 3-2")
    expect(page).to_have_url(re.compile("layer=3"))
    page.get_by_role("tab", name="More maps").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("What head 3-2 does in this sentence")).to_be_visible()


def test_pointing_sends_nothing_to_the_server(page: Page, server: str):
    frames: list[object] = []

    def listen(socket):
        socket.on("framesent", lambda frame: frames.append(frame))
        socket.on("framereceived", lambda frame: frames.append(frame))

    page.on("websocket", listen)
    ready(page, server)
    page.wait_for_timeout(800)
    assert frames  # so that an empty list below means something
    frames.clear()
    for i in range(12):
        page.locator(".st-key-strip-strip .strip .token").nth(i).hover()
    for x in range(20, 380, 40):
        page.locator(".overview .pointer").hover(position={"x": x, "y": 60})
    plot = page.locator(".st-key-head_map .nsewdrag").bounding_box()
    for step in range(1, 10):
        page.mouse.move(plot["x"] + plot["width"] * step / 10, plot["y"] + plot["height"] * step / 10)
    expect(page.locator(".st-key-head_map .hoverlayer .hovertext")).to_have_count(1)
    page.wait_for_timeout(500)
    assert not frames


def test_scripts_of_the_components_are_sent_once(page: Page, server: str):
    frames: list[bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    ready(page, server)
    assert sum(b"class Overview" in frame for frame in frames) == 1
    frames.clear()
    page.locator(".st-key-head button").nth(8).click()
    expect(status(page)).to_contain_text("head 4-9")
    settled(page)
    assert frames and not any(b"class Overview" in frame for frame in frames)
    choose(page, "Mask", "causal: itself and before")  # the whole page runs
    settled(page)
    assert not any(b"class Overview" in frame for frame in frames)


def outlined(page: Page) -> list[list[int] | None]:
    """The row and the column outlined in the large map, in cells: [first, the one after the last]."""
    return page.evaluate(
        """() => {
            const [area, row, column] = ['.nsewdrag', '.headwork-mark:nth-last-child(2)', '.headwork-mark:last-child']
                .map(part => document.querySelector(`.st-key-head_map ${part}`));
            const n = document.querySelector('.st-key-head_map .js-plotly-plot')._fullData[0].z.length;
            const outer = area.getBoundingClientRect();
            return [[row, 'y', 'height'], [column, 'x', 'width']].map(([mark, at, size]) => {
                const box = mark.getBoundingClientRect(), first = (box[at] - outer[at]) / outer[size] * n;
                return box[size] ? [first, first + box[size] / outer[size] * n].map(Math.round) : null;
            });
        }"""
    )


def test_pointing_lights_up_every_view_and_sends_nothing(page: Page, server: str):
    frames: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: frames.append(frame)))
    ready(page, f"{server}/?pinned=none")
    page.wait_for_timeout(800)
    frames.clear()
    assert outlined(page) == [None, None]
    token(page, "they").hover()  # in the sentence: its row in the large map, and in every thumbnail
    page.wait_for_timeout(100)
    assert outlined(page) == [[7, 8], None]
    painted = "marks => marks.getContext('2d').getImageData(0, 0, marks.width, marks.height).data.some(value => value)"
    assert page.locator(".overview .marks").evaluate(painted)
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)
    assert outlined(page) == [None, None] and not page.locator(".overview .marks").evaluate(painted)
    area = page.locator(".st-key-head_map .nsewdrag").bounding_box()  # in the large map: both tokens of the sentence
    page.mouse.move(area["x"] + area["width"] * 5.5 / 12, area["y"] + area["height"] * 7.5 / 12)
    strip = page.locator(".st-key-strip-strip .strip")
    expect(strip.locator(".source .label")).to_have_text("they")
    expect(strip.locator(".other .label")).to_have_text("students")
    assert outlined(page) == [[7, 8], [5, 6]]
    expect(page.locator(".overview .linked")).to_be_visible()  # which head it is, among all of them
    thumbnail = page.locator(".overview .pointer")
    box = thumbnail.bounding_box()
    thumbnail.hover(
        position={"x": box["width"] * 8.5 / 12, "y": box["height"] * 3.5 / 6}
    )  # a thumbnail: its large tile
    expect(page.locator(".st-key-tiles-strip .strip .head.pointed .name")).to_have_text("9")
    page.wait_for_timeout(300)
    assert not frames


def test_a_pinned_token_stays_outlined_when_another_head_is_drawn(page: Page, server: str):
    ready(page, server)
    assert outlined(page) == [[7, 8], None]
    page.locator(".st-key-head button").nth(8).click()
    drawn(page)
    page.wait_for_timeout(300)
    assert outlined(page) == [[7, 8], None]


def test_a_link_restores_heads_reading_and_view(page: Page, server: str):
    choices = "layer=3&head=9&heads=2,9&reading=norm&level=words&pinned=6&direction=looked_at_by&view=numbers"
    ready(page, f"{server}/?{choices}")
    expect(status(page)).to_contain_text("head 3-9")
    expect(page.get_by_role("combobox", name="Reading")).to_have_value("Norm-weighted")
    expect(page.get_by_role("tab", name="Numbers")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".st-key-strip-strip .strip .head.on .name")).to_have_count(2)
    expect(says(page)).to_contain_text("is looked at by")
    assert link(page) == {
        "layer": "3", "head": "9", "heads": "2,9", "reading": "norm", "level": "words", "pinned": "6",
        "direction": "looked_at_by", "view": "numbers",
    }  # fmt: skip


def test_the_strip_adds_heads_and_one_alone_becomes_the_large_map(page: Page, server: str):
    ready(page, server)
    page.get_by_role("button", name="Show head 4-9 too, or hide it").first.click()
    settled(page)
    assert link(page)["heads"] == "2,9"
    expect(status(page)).to_contain_text("head 4-2")
    page.get_by_role("button", name="Show head 4-2 too, or hide it").first.click()
    expect(status(page)).to_contain_text("head 4-9")
    settled(page)
    assert link(page) == {"head": "9"}


def test_the_sentence_stands_once_and_the_layers_maps_point_with_it(page: Page, server: str):
    ready(page, f"{server}/?pinned=none")
    tiles = page.locator(".st-key-tiles-strip .strip")
    expect(tiles.locator(".map").nth(12)).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("they.*8 of 12"))).to_have_count(1)
    for name in ("what it looks at", "Show head 4-9 too, or hide it"):
        expect(page.get_by_role("button", name=name)).to_have_count(1)
    expect(tiles.get_by_role("img", name="Heads of layer 4")).to_be_visible()
    token(page, "they").hover()  # in the sentence: its row, in every map
    expect(tiles.locator(".mark.row:visible")).to_have_count(13)
    expect(tiles.locator(".top").nth(1)).to_contain_text("students")
    page.mouse.move(5, 5)
    expect(tiles.locator(".mark:visible")).to_have_count(0)
    cell = tiles.locator(".map").nth(8)  # in a map: both tokens, in the sentence, and named where one looks
    box = cell.bounding_box()
    cell.hover(position={"x": box["width"] * 6.5 / 12, "y": box["height"] * 7.5 / 12})
    strip = page.locator(".st-key-strip-strip .strip")
    expect(strip.locator(".source .label")).to_have_text("they")
    expect(strip.locator(".other .label")).to_have_text("because")
    expect(tiles.locator(".says")).to_contain_text(re.compile("head 4-9: “.they.” .query. looks at “.because.” .key."))
    expect(tiles.locator(".says")).to_be_in_viewport()
    cell.click()
    expect(status(page)).to_contain_text("head 4-9")


def test_everything_a_person_came_for_is_seen_at_1280_by_720(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    ready(page, server)
    for place in (".st-key-strip-strip .strip", ".st-key-head_map .js-plotly-plot", ".overview", ".st-key-layer-head"):
        box = page.locator(place).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 720, place
    for name in ("Reading", "Rows and columns"):
        expect(page.get_by_role("combobox", name=name)).to_be_in_viewport()
    expect(page.get_by_text("of its words' weight to [CLS]")).to_be_in_viewport()
    for last in (status(page), page.get_by_test_id("stSidebar").get_by_text("简体中文")):
        box = last.bounding_box()
        assert box["y"] + box["height"] <= 720


def test_a_phone_shows_sentence_map_and_pickers_on_its_first_screen(browser, server: str):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    ready(page, server)
    for place in (".st-key-strip-strip .strip", ".st-key-layer-head", ".st-key-head_map .js-plotly-plot"):
        box = page.locator(place).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 844, place
    more = page.locator(".overview .scroller")  # of twelve heads the last don't fit: a fade says so
    expect(more).to_have_class(re.compile("more"))
    more.evaluate("heads => { heads.scrollLeft = heads.scrollWidth; }")
    expect(more).not_to_have_class(re.compile("more"))
    context.close()


def test_the_large_map_grows_with_the_window(page: Page, server: str):
    sizes = []
    for width, height in ((1280, 720), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        ready(page, server)
        page.wait_for_timeout(300)
        sizes.append(page.locator(".st-key-head_map .nsewdrag").bounding_box()["height"])
    assert sizes[1] >= sizes[0] + 300


def test_a_head_is_found_by_two_clicks(page: Page, server: str):
    ready(page, f"{server}/?layer=1&head=1&colour=find")
    token(page, "students").click()  # “they” is pinned from the start
    expect(status(page)).to_contain_text("head 4-2")
    expect(page.get_by_text("Most weight from “they” to “students” in this sentence: 4-2 0.92")).to_be_visible()
    expect(page.locator(".overview .legend .what")).to_have_text("“they” → “students”")
    assert link(page)["find"] == "8-6" and "pinned" not in link(page)


@pytest.mark.parametrize("width", [390, 1280])
def test_no_tab_scrolls_the_page_sideways(page: Page, server: str, width: int):
    page.set_viewport_size({"width": width, "height": 844})
    ready(page, f"{server}/?large=on")
    for tab in page.get_by_role("tab").all():
        tab.click()
        complete(page)
        assert wider_than_shown(page) == [0, 0], tab.inner_text()


def test_every_file_arrives_and_equals_the_maps(page: Page, server: str, browser, tmp_path):
    ready(page, f"{server}/?view=take&mask=causal")
    trace = load("minilm").trace(FIRST, "causal")
    name, content = download(page, "CSV")
    table, source = read_csv(content)
    assert name == "headwork-4-2.csv" and source["mask"] == "causal" and source["weights_sha256"] == trace.sha256
    np.testing.assert_array_equal(table["weight"].to_numpy(np.float32).reshape(12, 12), trace.attention[3, 1])
    _, content = download(page, "All heads (CSV)")
    assert len(read_csv(content)[0]) == 72 * 144
    _, content = download(page, "All maps (NPZ)")
    assert zipfile.is_zipfile(io.BytesIO(content))
    np.testing.assert_array_equal(np.load(io.BytesIO(content))["attention"], trace.attention)
    name, content = download(page, "PNG")
    assert content.startswith(b"\x89PNG") and name == "headwork-4-2.png"
    _, content = download(page, "Page that works offline (HTML)")
    saved = tmp_path / "headwork.html"
    saved.write_bytes(content)
    offline(browser, saved)


def offline(browser, saved: Path) -> None:
    """The saved page, opened as a file in a browser without a network."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else wrong.append(request.url))
    page.goto(saved.as_uri())
    expect(page.locator(".overview[data-draw-ms]")).to_be_visible()
    token(page, "they").hover()
    expect(says(page)).to_contain_text("students")
    box = page.locator(".overview .pointer").bounding_box()
    page.locator(".overview .pointer").click(position={"x": box["width"] * 8.5 / 12, "y": box["height"] * 2.5 / 6})
    expect(page.locator("#large figcaption")).to_have_text("Head 3-9")
    expect(page.locator("#large canvas")).to_have_attribute("aria-label", re.compile("Head 3-9"))
    expect(page.locator("dl")).to_contain_text("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
    context.close()
    assert not wrong, wrong


def test_512_tokens_are_drawn_and_answered(page: Page, server: str):
    ready(page, server)
    type_sentence(page, "the cat sat on a mat " * 200)
    expect(status(page)).to_contain_text("N = 512", timeout=60_000)
    settled(page)
    assert len(weights(page)) == 128  # of 4 × 4 weights the largest, said in the picture
    expect(page.locator(".st-key-head_map .infolayer")).to_contain_text("4 × 4")
    expect(page.locator(".overview .legend")).to_contain_text("each cell: the largest of 8 × 8 weights")
    page.locator(".st-key-strip-strip .strip .token").nth(3).hover()
    expect(page.locator(".st-key-strip-strip .strip .source")).to_have_attribute("data-index", "3")


def test_a_new_reading_keeps_the_strip_where_it_is(page: Page, server: str):
    ready(page, server)
    before = page.locator(".st-key-strip-strip .strip").bounding_box()
    choose(page, "Reading", "Small weights")
    settled(page)
    drawn(page)
    assert page.locator(".st-key-strip-strip .strip").bounding_box() == before


def test_components_draw_again_when_one_comes_back_to_their_page(page: Page, server: str):
    """Their scripts are sent once a session, and each component is mounted anew on the page that one returns to."""
    seen = {"Attention": ".st-key-strip-strip .token", "Watch heads learn": ".learning .chart polyline"}
    ready(page, server)
    for name in ("Watch heads learn", "Attention", "Parameters and cost", "Attention", "Watch heads learn"):
        page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
        settled(page)
        if name in seen:
            expect(page.locator(seen[name]).first).to_be_attached()
    page.go_back()
    drawn(page)
    expect(page.locator(".overview canvas").first).to_be_visible()
    token(page, "worked").hover()
    expect(page.locator(".st-key-strip-strip .says")).to_contain_text("worked")
