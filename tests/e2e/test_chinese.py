"""The course's Chinese sentence as a new user meets it, offline: two clicks, the swap, the false friend, and [UNK]."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from model.catalogue import E5
from model.weights.e5 import e5_path
from tests.e2e.conftest import drawn, settled, tokens, weights, wider_than_shown
from tests.e2e.test_journeys import link, sentence, status, type_sentence
from tests.models import load

NO_E5 = "the package of multilingual-e5-small, 4-bit, is not installed"
pytestmark = pytest.mark.skipif(e5_path() is None, reason=NO_E5)

COURSE = "小明把苹果递给了小红，因为她帮过他。"
SWAPPED = "小红把苹果递给了小明，因为她帮过他。"
TOLERANCE = 0.02  # as in tests/ui/frame/test_examples.py


def arrows(page: Page, least: float) -> set[tuple[str, str]]:
    """The edges between words that stand for `least` or more, as (query, key). Their width says how much."""
    labels = tokens(page)
    drawn_edges = page.locator(".st-key-strip-strip svg.edges path[data-query]").evaluate_all(
        "paths => paths.map(p => [+p.dataset.query, +p.dataset.key, +p.getAttribute('stroke-width')])"
    )
    words = {i: label for i, label in enumerate(labels) if not label.startswith("&lt;")}
    return {
        (words[query], words[key])
        for query, key, width in drawn_edges
        if key in words and width >= 1.2 + 5 * least - 0.1  # viz/components/edges.js
    }


def asked(page: Page) -> dict[str, float]:
    """What the large map gives to each name from each pronoun."""
    labels, rows = tokens(page), weights(page)
    return {
        f"{pronoun}→{name}": rows[labels.index(pronoun)][labels.index(name)] for pronoun in "她他" for name in "红明"
    }


def said(page: Page) -> str:
    """The sentence beside the strip's switch, without the marks that keep right-to-left tokens apart."""
    return re.sub("[\u2068\u2069]", "", page.locator(".st-key-strip-strip .says").inner_text())


def bars(page: Page) -> list[str]:
    """What stands behind the bars of the lesson."""
    return page.locator(".st-key-agreement .bartext").all_text_contents()


def two_clicks(page: Page) -> None:
    page.get_by_role("combobox", name="Example sentences").click()
    page.get_by_role("option", name=COURSE, exact=True).click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("^multilingual-e5-small, 4-bit"))
    drawn(page)
    expect(status(page)).to_contain_text("head 8-1")


def test_two_clicks_show_which_head_links_the_pronouns_the_swap_and_the_false_friend(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(server)
    drawn(page)
    page.get_by_role("combobox", name="Example sentences").click()
    expect(page.get_by_role("option", name=COURSE, exact=True)).to_be_in_viewport()  # without scrolling the list
    page.keyboard.press("Escape")
    two_clicks(page)
    assert link(page) == {"text": COURSE, "model": E5, "layer": "8", "head": "1"}
    assert said(page) == "head 8-1: “她” (query) looks at 红 0.34 · 小 0.21 | “他” looks at 明 0.23 · <s> 0.14"
    found = {"她→红": 0.34, "她→明": 0.02, "他→明": 0.23, "他→红": 0.06}
    assert asked(page) == pytest.approx(found, abs=TOLERANCE)
    assert {("她", "红"), ("他", "明")} <= arrows(page, 0.2) <= {("她", "红"), ("他", "明"), ("她", "小")}

    page.get_by_role("button", name="Swap the two nouns").click()
    expect(sentence(page)).to_have_value(SWAPPED)
    settled(page)
    drawn(page)
    labels = tokens(page)
    assert (labels.index("红"), labels.index("明")) == (2, 8)  # and yet:
    found = {"她→红": 0.30, "她→明": 0.03, "他→明": 0.26, "他→红": 0.06}
    assert asked(page) == pytest.approx(found, abs=TOLERANCE)
    assert {("她", "红"), ("他", "明")} <= arrows(page, 0.2)

    page.get_by_role("button", name="Look at 12-5").click()
    expect(status(page)).to_contain_text("head 12-5")
    settled(page)
    drawn(page)
    found = {"她→红": 0.37, "她→明": 0.01, "他→明": 0.01, "他→红": 0.37}
    assert asked(page) == pytest.approx(found, abs=TOLERANCE)
    assert arrows(page, 0.2) == {("她", "红"), ("他", "红")}
    assert [text for text in bars(page) if "✕" in text] == ["✕ 红 0.37", "✕ 红 0.39"]
    expect(page.get_by_text("12-5 only seems to: “她” finds “红” in either order, but so does “他”.")).to_be_visible()
    expect(page.get_by_text("This is matching of gender, not understanding.")).to_be_visible()
    page.get_by_role("button", name="Look at 8-1").click()
    expect(status(page)).to_contain_text("head 8-1")


def test_pointing_at_another_token_puts_the_pair_away(page: Page, server: str):
    page.goto(f"{server}/?text={COURSE}&model={E5}&layer=8&head=1")
    drawn(page)
    expect(page.locator(".st-key-strip-strip .token.source .label")).to_have_text("她")
    expect(page.locator(".st-key-strip-strip .token.other .label")).to_have_text("他")
    assert ("他", "明") in arrows(page, 0.2)
    page.locator(".st-key-strip-strip .token", has_text="苹果").hover()
    expect(page.locator(".st-key-strip-strip .token.source .label")).to_have_text("苹果")
    page.wait_for_timeout(100)
    assert ("他", "明") not in arrows(page, 0.0)
    expect(page.locator(".st-key-strip-strip .token.other")).to_have_count(0)


def test_an_unreadable_sentence_is_read_with_one_click(page: Page, server: str):
    page.goto(f"{server}/?mask=causal&view=numbers")
    drawn(page)
    type_sentence(page, "老师表扬了学生，因为他们很努力。")
    expect(page.get_by_text("11 of 18 tokens are [UNK]")).to_be_visible()
    page.get_by_role("button", name="Read it with multilingual-e5-small").click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("^multilingual-e5-small, 4-bit"))
    drawn(page)
    expect(status(page)).to_contain_text("multilingual-e5-small, 4-bit")
    expect(page.get_by_text("[UNK]")).to_have_count(0)
    expect(sentence(page)).to_have_value("老师表扬了学生，因为他们很努力。")
    assert {name: link(page)[name] for name in ("mask", "view", "model")} == {
        "mask": "causal",
        "view": "numbers",
        "model": E5,
    }


def test_a_chinese_browser_opens_on_the_courses_sentence(browser: Browser, server: str):
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if "://127.0.0.1:" in request.url else wrong.append(request.url))
    page.goto(server)
    drawn(page)
    expect(page.get_by_role("textbox", name="句子")).to_have_value(COURSE)
    expect(status(page)).to_contain_text("头 8-1")
    assert link(page) == {"lang": "zh", "text": COURSE, "model": E5, "layer": "8", "head": "1"}
    computed = load(E5).trace(COURSE).attention[7, 0]
    assert weights(page)[11] == pytest.approx(computed[11].tolist(), abs=1e-4)
    page.reload()
    drawn(page)
    expect(status(page)).to_contain_text("头 8-1")
    context.close()
    assert not wrong, wrong


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_lesson_fits_the_screen(page: Page, server: str, width: int, lang: str):
    page.set_viewport_size({"width": width, "height": 720})
    page.goto(f"{server}/?text={COURSE}&model={E5}&layer=8&head=1&large=on&lang={lang}")
    drawn(page)
    expect(page.locator(".st-key-agreement .bartext").first).to_be_attached()
    assert wider_than_shown(page) == [0, 0]


def test_the_picture_of_a_deep_model_is_seen_at_1280_by_720(page: Page, server: str):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server}/?text={COURSE}&model={E5}&layer=8&head=1")
    drawn(page)
    for place in (".st-key-strip-strip .strip", ".st-key-head_map .js-plotly-plot", ".st-key-layer-head"):
        box = page.locator(place).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 720, place


def test_a_map_with_upright_keys_grows_with_the_window_and_zooms_with_its_labels(page: Page, server: str):
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{server}/?text={COURSE}&model={E5}&layer=8&head=1")
    drawn(page)
    plot = page.locator(".st-key-head_map .nsewdrag").first
    page.wait_for_function(
        "() => document.querySelector('.st-key-head_map .nsewdrag').getBoundingClientRect().height > 400"
    )
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.6 * box["height"], steps=5)
    page.mouse.up()
    ranges = """() => ['xaxis', 'xaxis2', 'xaxis3'].map(name =>
        document.querySelector('.st-key-head_map .js-plotly-plot')._fullLayout[name].range.map(Math.round))"""
    page.wait_for_function(f"() => ({ranges})()[0][0] > 0")
    cells, *labels = page.evaluate(ranges)
    assert labels == [cells, cells]
