"""The token strip and the overview in a real browser: by mouse, keyboard and touch, and no message while pointing."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import running_app, settled
from tests.models import load

SENTENCE = "The teacher praised the students because they worked hard."
HARD = 'She said <img src=x onerror="window.hit=1"> {list} 😀 <script>window.hit=1</script>'


@pytest.fixture(scope="module")
def address():
    """The test page on a free port."""
    with running_app("tests/e2e/apps/components_app.py") as found:
        yield found


def show(page: Page, address: str, **query: object) -> None:
    page.goto(f"{address}/?{urlencode(query)}")
    expect(page.locator(".strip .token").first).to_be_visible(timeout=60_000)
    expect(page.locator(".overview[data-draw-ms]")).to_be_visible()
    settled(page)


def token(page: Page, text: str) -> Locator:
    return page.locator(".strip .token").filter(has=page.locator(".label", has_text=re.compile(f"^{re.escape(text)}$")))


def numbers(page: Page) -> list[str]:
    return page.locator(".strip .token .number").all_text_contents()


def said(page: Page) -> str:
    """The sentence beside the switch, without the marks that keep right-to-left tokens apart."""
    return re.sub("[\u2068\u2069]", "", page.locator(".strip .says").inner_text())


def edges(page: Page) -> list[tuple[int, int]]:
    """(query, key) of each edge drawn."""
    drawn = page.eval_on_selector_all(
        ".strip .edges path[data-query]", "paths => paths.map(p => [+p.dataset.query, +p.dataset.key])"
    )
    return [tuple(pair) for pair in drawn]


def heard(page: Page, said: str) -> None:
    """Waits until Python has heard this."""
    expect(page.get_by_text(re.compile(r"^layer \d+ heads"))).to_contain_text(said)
    settled(page)


def rest(page: Page) -> None:
    """The pointer leaves the components."""
    page.mouse.move(5, 5)
    page.wait_for_timeout(60)


def marked(page: Page, way: str) -> list[str]:
    return page.eval_on_selector_all(f".strip .mark.{way}", "marks => marks.map(m => m.style.display)")


@pytest.fixture(scope="module")
def attention():
    return load("minilm").trace(SENTENCE).attention[3]


def test_pointing_shows_the_weights_of_the_chosen_head(page: Page, address: str, attention):
    show(page, address)
    assert "Point at a token" in said(page) and not edges(page)
    token(page, "they").hover()
    expect(page.locator(".strip .source .label")).to_have_text("they")
    assert numbers(page) == [f"{w:.2f}" if w >= 0.005 else "" for w in attention[1, 7]]
    assert said(page).startswith("head 4-2: “they” (query) looks at students 0.92 · the 0.03")
    assert (7, 5) in edges(page) and all(query == 7 and attention[1, 7, key] >= 0.02 for query, key in edges(page))
    assert marked(page, "row") == ["block"] * 13 and marked(page, "column") == ["none"] * 13
    rest(page)
    assert not edges(page) and numbers(page) == [""] * 12


def test_the_switch_turns_it_round(page: Page, address: str, attention):
    show(page, address)
    page.get_by_role("button", name="what looks at it").click()
    settled(page)
    token(page, "students").hover()
    page.wait_for_timeout(60)
    assert numbers(page) == [f"{w:.2f}" if w >= 0.005 else "" for w in attention[1, :, 5]]
    assert said(page).startswith("head 4-2: “students” (key) is looked at by they 0.92")
    assert all(key == 5 for _query, key in edges(page)) and marked(page, "column") == ["block"] * 13
    heard(page, "looked_at_by")


def test_hovering_sends_nothing_to_the_server(page: Page, address: str):
    frames: list[object] = []

    def listen(socket):
        socket.on("framesent", lambda frame: frames.append(frame))
        socket.on("framereceived", lambda frame: frames.append(frame))

    page.on("websocket", listen)
    show(page, address)
    runs = page.get_by_text(re.compile(r"^runs \d+")).inner_text()
    assert frames  # so that an empty list below means something
    page.wait_for_timeout(500)
    frames.clear()
    for i in range(12):
        page.locator(".strip .token").nth(i).hover()
    for i in range(13):
        page.locator(".strip .map").nth(i).hover()
    for x in range(10, 400, 40):
        page.locator(".overview .pointer").hover(position={"x": x, "y": 40})
    page.wait_for_timeout(500)
    assert not frames and page.get_by_text(re.compile(r"^runs \d+")).inner_text() == runs


def test_a_click_pins_a_second_click_and_escape_free(page: Page, address: str):
    show(page, address)
    token(page, "they").click()
    rest(page)
    heard(page, "pinned 7")
    assert (7, 5) in edges(page)
    token(page, "hard").hover()  # pointing at another token shows that one meanwhile
    page.wait_for_timeout(60)
    assert "“hard”" in said(page)
    rest(page)
    assert "“they”" in said(page)
    token(page, "they").click()
    rest(page)
    heard(page, "pinned None")
    assert not edges(page)
    token(page, "hard").click()
    heard(page, "pinned 9")
    page.keyboard.press("Escape")
    rest(page)
    heard(page, "pinned None")
    assert not edges(page)


def test_a_link_with_a_pinned_token_shows_it_and_a_new_layer_keeps_it(page: Page, address: str):
    show(page, address, pinned=7)
    assert said(page).startswith("head 4-2: “they” (query) looks at students 0.92")
    page.get_by_role("button", name="Next layer").click()
    settled(page)
    expect(page.locator(".strip .says")).to_contain_text("head 5-1")
    assert "“they”" in said(page) and page.locator(".strip .head.on .name").all_inner_texts() == ["1"]


def test_keyboard(page: Page, address: str):
    show(page, address)
    page.get_by_role("button", name="what looks at it").focus()
    page.keyboard.press("Tab")
    focused = page.locator(".strip .token:focus .label")
    expect(focused).to_have_text("[CLS]")
    page.keyboard.press("ArrowRight")
    expect(focused).to_have_text("the")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")  # nothing before the first
    expect(focused).to_have_text("[CLS]")
    page.keyboard.press("End")
    expect(focused).to_have_text("[SEP]")
    page.keyboard.press("Home")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    expect(focused).to_have_text("they")
    expect(page.locator(".strip .live")).to_contain_text("students\u2069 0.92")  # what a screen reader says
    assert (7, 5) in edges(page)
    page.keyboard.press("Enter")
    heard(page, "pinned 7")
    expect(page.locator(".strip .token:focus")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    heard(page, "pinned None")
    expect(focused).to_have_text("they")  # the focus stays where it was
    outline = page.locator(".strip .token:focus").evaluate("token => getComputedStyle(token).outlineStyle")
    assert outline == "solid"


def test_several_heads_and_the_mean(page: Page, address: str, attention):
    show(page, address)
    for head in (9, 11):
        page.get_by_role("button", name=f"Show head 4-{head} too, or hide it").click()
        settled(page)
    heard(page, "heads [1, 8, 10]")
    widths = page.eval_on_selector_all(".strip .token", "all => all.map(t => t.getBoundingClientRect().x)")
    token(page, "they").hover()
    page.wait_for_timeout(60)
    assert said(page).startswith("heads 4-2, 4-9, 4-11: “they” (query) looks at 4-2 students 0.92 · 4-9 because 0.49")
    colours = page.eval_on_selector_all(".strip .edges path[data-head]", "p => p.map(x => x.getAttribute('stroke'))")
    heads = page.eval_on_selector_all(".strip .edges path[data-head]", "p => p.map(x => x.dataset.head)")
    assert set(heads) == {"2", "9", "11"} and len(set(zip(heads, colours, strict=True))) == 3
    after = page.eval_on_selector_all(".strip .token", "all => all.map(t => t.getBoundingClientRect().x)")
    assert widths == after  # numbers push no token
    page.get_by_role("button", name="Show the mean over the layer's heads").click()
    settled(page)
    heard(page, "heads []")
    token(page, "they").hover()
    page.wait_for_timeout(60)
    assert numbers(page) == [f"{w:.2f}" if w >= 0.005 else "" for w in attention.mean(axis=0)[7]]
    page.locator(".strip .map").nth(4).click()
    heard(page, "heads [4]")


def test_pointing_at_a_cell_of_a_small_map_marks_both_tokens(page: Page, address: str, attention):
    show(page, address)
    small = page.locator(".strip .map").nth(8)
    box = small.bounding_box()
    small.hover(position={"x": box["width"] * 6.5 / 12, "y": box["height"] * 7.5 / 12})
    expect(page.locator(".strip .source .label")).to_have_text("they")
    expect(page.locator(".strip .other .label")).to_have_text("because")
    assert said(page) == f"head 4-9: “they” (query) looks at “because” (key): {attention[8, 7, 6]:.2f}"
    assert edges(page) == [(7, 6)]
    assert marked(page, "row") == marked(page, "column") == ["block"] * 13


def test_masked_keys_are_greyed_and_get_no_edge(page: Page, address: str):
    show(page, address, mask="causal")
    token(page, "students").hover()
    page.wait_for_timeout(60)
    masked = page.eval_on_selector_all(".strip .token", "all => all.map(t => t.classList.contains('masked'))")
    assert masked == [False] * 6 + [True] * 6
    assert all(key <= 5 for _query, key in edges(page)) and numbers(page)[6:] == [""] * 6
    show(page, address, mask="padding:16")
    assert page.locator(".strip .token.padding").count() == 4 and page.locator(".strip .token.special").count() == 6


def test_tokens_are_text_and_never_markup(page: Page, address: str):
    show(page, address, text=HARD, model="toy", pinned=5)
    expected = list(load("toy").trace(HARD).tokens)
    assert page.locator(".strip .token .label").all_text_contents() == expected
    for i in range(len(expected)):
        page.locator(".strip .token").nth(i).hover()
    page.wait_for_timeout(100)
    assert page.locator(".strip img, .strip script").count() == 0
    assert page.evaluate("window.hit") is None


def test_repeated_words_stay_apart(page: Page, address: str):
    show(page, address, text="the the the the")
    assert page.locator(".strip .label").all_text_contents() == ["[CLS]", *["the"] * 4, "[SEP]"]
    token(page, "the").nth(2).hover()
    page.wait_for_timeout(60)
    assert {query for query, _key in edges(page)} == {3}


def test_right_to_left_arrows_move_the_way_they_point(page: Page, address: str):
    show(page, address, text="המורה שיבח את התלמידים")
    first, second = (page.locator(".strip .token").nth(i) for i in (0, 1))
    assert second.bounding_box()["x"] < first.bounding_box()["x"]
    first.focus()
    page.keyboard.press("ArrowLeft")
    expect(second).to_be_focused()


def test_tokens_read_their_own_way_in_a_right_to_left_sentence(page: Page, address: str):
    show(page, address, text="المعلمة شكرت الطالب لأنه عمل بجد.", model="e5-small-4bit")
    places = """label => [...label.textContent].map((_, i) => {
        const range = document.createRange();
        range.setStart(label.firstChild, i);
        range.setEnd(label.firstChild, i + 1);
        return range.getBoundingClientRect().x;
    })"""
    end = page.locator(".strip .label", has_text="</s>").evaluate(places)
    assert end == sorted(end)  # </s>, not <s/>
    word = page.locator(".strip .label").nth(1).evaluate(places)
    assert word[0] == max(word)  # ▁ stands where the word begins: at its right


def test_a_long_sentence_shows_that_more_lines_follow(page: Page, address: str):
    show(page, address, text=" ".join([SENTENCE] * 12))
    scroll = page.locator(".strip .scroll")
    expect(scroll).to_have_class(re.compile("more"))
    scroll.evaluate("lines => { lines.scrollTop = lines.scrollHeight; }")
    expect(scroll).not_to_have_class(re.compile("more"))
    show(page, address)
    expect(page.locator(".strip .scroll")).not_to_have_class(re.compile("more"))


def test_another_head_draws_no_thumbnail_again(page: Page, address: str):
    """None of them has changed; in other colours of the page each has."""
    show(page, address)
    page.locator(".overview .grid").evaluate("""grid => {
        const pen = grid.getContext("2d"), draw = pen.drawImage;
        window.n = 0;
        pen.drawImage = (...what) => (window.n += 1, draw.apply(pen, what));
    }""")
    page.get_by_role("button", name="Next layer").click()
    heard(page, "layer 4 heads [0]")
    expect(page.locator(".overview .option[aria-selected=true]")).to_have_attribute("aria-label", "head 5-1")
    assert page.evaluate("() => window.n") == 0
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Next layer").click()
    heard(page, "layer 5 heads [0]")
    assert page.evaluate("() => window.n") == 72
    page.emulate_media(color_scheme="light")


def test_overview_by_mouse_and_by_keyboard(page: Page, address: str):
    show(page, address)
    pointer = page.locator(".overview .pointer")
    box = pointer.bounding_box()
    pointer.hover(position={"x": box["width"] * 8.4 / 12, "y": box["height"] * 2.4 / 6})
    expect(page.locator(".overview .near figcaption")).to_have_text("head 3-9")
    near, cell = page.locator(".overview .near").bounding_box(), page.locator(".overview .cursor").bounding_box()
    assert (
        near["x"] + near["width"] <= cell["x"] or near["x"] >= cell["x"] + cell["width"]
    )  # it hides not what it shows
    pointer.click(position={"x": box["width"] * 8.4 / 12, "y": box["height"] * 2.4 / 6})
    heard(page, "layer 2 heads [8]")
    assert page.locator(".overview .option[aria-selected=true]").get_attribute("aria-label") == "head 3-9"
    rest(page)

    page.get_by_role("button", name="Next layer").click()
    heard(page, "layer 3 heads [0]")
    expect(page.locator(".overview .option[aria-selected=true]")).to_have_attribute("aria-label", "head 4-1")
    pointer.click(position={"x": box["width"] * 8.4 / 12, "y": box["height"] * 2.4 / 6})
    heard(page, "layer 2 heads [8]")  # the same head again is heard again

    page.get_by_role("button", name="Next layer").focus()
    page.keyboard.press("Tab")
    expect(pointer).to_be_focused()
    for key in ("ArrowDown", "ArrowLeft", "End", "ArrowRight", "Home"):
        page.keyboard.press(key)
    expect(page.locator(".overview .near figcaption")).to_have_text("head 4-1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    heard(page, "layer 3 heads [1]")


def test_overview_draws_the_maps_in_their_colours(page: Page, address: str):
    show(page, address, mask="causal")
    read = """(canvas, cell) => {
        const at = v => Math.round(v * devicePixelRatio), area = document.querySelector('.st-key-overview');
        const box = canvas.getBoundingClientRect(), p = cell.getBoundingClientRect();
        const pixel = (x, y) => [...canvas.getContext('2d').getImageData(at(p.x - box.x + x * p.width),
            at(p.y - box.y + y * p.height), 1, 1).data];
        return [pixel(0.04, 0.04), pixel(0.9, 0.1)];
    }"""
    canvas = page.locator(".overview .grid").element_handle()
    first, masked = page.locator(".overview .chosen").evaluate(f"(cell, canvas) => ({read})(canvas, cell)", canvas)
    assert first == [255, 234, 70, 255] or first[0] > 240  # [CLS] looks at itself alone: the end of cividis
    assert masked[3] == 0  # nothing drawn: the hatching behind the canvas shows


def test_colour_by_a_number(page: Page, address: str):
    show(page, address)
    page.get_by_text("Colour by a number").click()
    settled(page)
    expect(page.locator(".overview .legend .what")).to_have_text("confidence")
    page.locator(".overview .pointer").hover(position={"x": 60, "y": 10})
    confidence = load("minilm").trace(SENTENCE).attention.max(axis=-1).mean(axis=-1)
    name = page.locator(".overview .near figcaption").inner_text()
    head = int(re.search(r"1-(\d+)", name)[1]) - 1
    assert name == f"head 1-{head + 1} · confidence {confidence[0, head]:.2f}"


def test_144_heads_are_drawn_within_a_second_and_512_tokens_stay_usable(page: Page, address: str):
    show(page, address, text=(SENTENCE + " ") * 6, repeat=2)
    assert page.locator(".overview .option").count() == 144
    assert float(page.locator(".overview").get_attribute("data-draw-ms")) < 1000
    show(page, address, text=(SENTENCE + " ") * 60)
    assert page.locator(".strip .token").count() == 512
    assert "each cell: the largest of 8 × 8 weights" in page.locator(".overview .legend").inner_text()
    box = page.locator(".strip .scroll").bounding_box()
    assert box["height"] <= 300
    page.locator(".strip .token").nth(500).hover()  # scrolls inside the strip
    expect(page.locator(".strip .source")).to_have_attribute("data-index", "500")


@pytest.mark.parametrize("long", [False, True])
def test_phone_touch(browser: Browser, address: str, long: bool):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    show(page, address, text=" ".join([SENTENCE] * 6) if long else SENTENCE)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    token(page, "they").first.tap()
    heard(page, "pinned 7")
    assert edges(page)
    token(page, "they").first.tap()
    heard(page, "pinned None")
    sizes = page.eval_on_selector_all(
        ".strip .token, .strip .turn button, .strip .name",
        "all => all.map(b => b.getBoundingClientRect()).map(r => Math.min(r.width, r.height))",
    )
    assert min(sizes) >= 32
    pointer = page.locator(".overview .pointer")
    pointer.scroll_into_view_if_needed()
    box = pointer.bounding_box()
    pointer.tap(position={"x": box["width"] * 1.4 / 12, "y": box["height"] * 0.4 / 6})
    heard(page, "layer 0 heads [1]")
    assert box["width"] / 12 >= 32 and box["height"] / 6 >= 32
    # They are wider than the phone: they scroll in their own strip, and the layers' numbers stay.
    scroller, layers = page.locator(".overview .scroller"), page.locator(".overview .layers")
    room, at = scroller.bounding_box(), layers.bounding_box()
    assert box["x"] + box["width"] > room["x"] + room["width"]
    scroller.evaluate("strip => { strip.scrollLeft = 1000; }")
    assert layers.bounding_box() == at and pointer.bounding_box()["x"] < box["x"]
    page.touchscreen.tap(room["x"] + room["width"] - 20, box["y"] + box["height"] * 2.5 / 6)
    heard(page, "layer 2 heads [11]")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert not errors
    context.close()


def test_on_a_phone_the_chosen_head_is_scrolled_to(browser: Browser, address: str):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    show(page, address, repeat=2)
    overview = page.locator(".overview")
    chosen, room = overview.locator(".chosen").bounding_box(), overview.locator(".scroller").bounding_box()
    assert chosen["x"] >= room["x"] + 30  # not under the layers' numbers
    overview.locator(".pointer").focus()
    page.keyboard.press("End")
    expect(overview.locator(".near figcaption")).to_have_text("head 4-12")
    cursor = overview.locator(".cursor").bounding_box()
    assert cursor["x"] > 300 and cursor["x"] + cursor["width"] <= room["x"] + room["width"]
    near = overview.locator(".near").bounding_box()
    assert near["x"] >= room["x"] and near["x"] + near["width"] <= cursor["x"]
    page.keyboard.press("Home")
    expect(overview.locator(".near figcaption")).to_have_text("head 4-1")
    cursor = overview.locator(".cursor").bounding_box()
    assert room["x"] + 30 <= cursor["x"] < 80
    context.close()


def test_light_and_dark_switch_by_themselves_and_text_stays_readable(page: Page, address: str):
    page.emulate_media(color_scheme="light")
    show(page, address)
    token(page, "they").click()
    settled(page)
    ground = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    light = page.evaluate(ground)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(800)
        assert (page.evaluate(ground) == light) == (scheme == "light")
        worst = page.evaluate(CONTRAST, page.evaluate(ground))
        assert worst["ratio"] >= 4.5, worst


def test_what_is_chosen_is_seen_in_high_contrast(page: Page, address: str):
    page.emulate_media(forced_colors="active")
    show(page, address, pinned=7)
    ground = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    for place in (".overview .chosen", ".strip .source .label", ".strip .head.on .map"):
        style = page.locator(place).first.evaluate(
            "e => (({outlineStyle, outlineColor}) => [outlineStyle, outlineColor])(getComputedStyle(e))"
        )
        assert style[0] in ("solid", "dashed") and style[1] not in (ground, "rgba(0, 0, 0, 0)"), place
    pressed, other = (
        page.locator(f'.strip .turn button[aria-pressed="{state}"]').evaluate(
            "e => getComputedStyle(e).backgroundColor"
        )
        for state in ("true", "false")
    )
    assert pressed != other


# The lowest contrast of any text of the strip with what lies behind it.
CONTRAST = """ground => {
    const strip = [...document.querySelectorAll('*')].map(e => e.shadowRoot?.querySelector('.strip')).find(Boolean);
    const rgb = css => css.startsWith('color(srgb')
        ? css.slice(10).match(/[\\d.]+/g).map((v, i) => i < 3 ? 255 * v : +v)
        : css.match(/[\\d.]+/g).map(Number);
    const linear = v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const over = (top, below) => below.map((v, i) => v + (top[i] - v) * (top[3] ?? 1));
    let worst = {ratio: 99};
    for (const e of strip.querySelectorAll('.label, .number, .says span, .turn button, .name, .top')) {
        if (!e.textContent.trim()) continue;
        const style = getComputedStyle(e);
        const [colour, behind] = [rgb(style.color), over(rgb(style.backgroundColor), rgb(ground).slice(0, 3))];
        const [a, b] = [light(colour), light(behind)].sort((x, y) => x - y);
        const ratio = (b + 0.05) / (a + 0.05);
        if (ratio < worst.ratio) worst = {ratio, text: e.textContent, className: e.className, colour, behind};
    }
    return worst;
}"""
