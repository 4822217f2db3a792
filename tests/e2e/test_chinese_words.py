"""Chinese in a real browser: words, the shapes of the characters, labels that don't touch, and life without a font."""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from model import HeadworkError
from tests.e2e.conftest import CHROMIUM, QUIET, settled, tokens
from tests.e2e.test_explorer import download, open_tab, ready, token
from tests.models import load

E5 = "e5-small-4bit"
TEXT = "小明把苹果递给了小红，因为她帮过他。"
SWAPPED = "小红把苹果递给了小明，因为他帮过她。"
TRADITIONAL = "小明把蘋果遞給了小紅，因為她幫過他。"
WORDS = ["小明", "把", "苹果", "递给了", "小红", "，", "因为", "她", "帮过", "他", "。"]
LOOKS = re.compile("她.*looks at .?小红.? 0.55")  # marks that isolate a token's direction stand around it
SIMPLIFIED = re.compile(r"SC$|GB$|YaHei|PingFang|WenQuanYi")
KEY_TICK = ":is(.xtick, .x2tick, .x3tick)"  # Latin keys lie, Chinese ones stand: on axes of their own


@pytest.fixture(scope="module", autouse=True)
def reader():
    try:
        load(E5)
    except HeadworkError as error:
        pytest.skip(str(error))


def has_font() -> bool:
    """Whether a font with simplified Chinese is installed."""
    listed = subprocess.run(["fc-list", ":lang=zh-cn", "family"], capture_output=True, text=True, check=False)
    return bool(listed.stdout.strip())


def address(server: str, text: str = TEXT, **link: str) -> str:
    choices = {"text": text, "model": E5, "layer": "8", "head": "1", "level": "words", **link}
    return f"{server}/?" + "&".join(f"{name}={value}" for name, value in choices.items())


def fonts_of(page: Page, selector: str) -> dict[str, int]:
    """Family → how many of the elements' characters the browser drew with it. ".label" is found in components too."""
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    if selector == ".label":  # behind a shadow root, where no selector of the page reaches
        nodes = session.send("DOM.getFlattenedDocument", {"depth": -1, "pierce": True})["nodes"]
        found_nodes = [node["nodeId"] for node in nodes if "label" in class_of(node.get("attributes", []))]
    else:
        root = session.send("DOM.getDocument", {"depth": -1})["root"]["nodeId"]
        found_nodes = session.send("DOM.querySelectorAll", {"nodeId": root, "selector": selector})["nodeIds"]
    found: dict[str, int] = {}
    for node in found_nodes:
        for used in session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]:
            found[used["familyName"]] = found.get(used["familyName"], 0) + int(used["glyphCount"])
    return found


def class_of(attributes: list[str]) -> list[str]:
    return dict(zip(attributes[::2], attributes[1::2], strict=True)).get("class", "").split()


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    return page.evaluate(
        """selector => Array.from(document.querySelectorAll(selector), e => {
               const box = e.getBoundingClientRect();
               return {left: box.left, right: box.right, top: box.top, bottom: box.bottom};
           })""",
        selector,
    )


def test_words_their_weights_and_labels_that_do_not_touch(page: Page, server: str):
    ready(page, address(server))
    assert tokens(page) == ["&lt;s&gt;", *WORDS, "&lt;/s&gt;"]
    expect(page.get_by_text("Chinese words by jieba.")).to_be_visible()
    token(page, "她").hover()
    expect(page.locator(".strip .says").first).to_contain_text(LOOKS)
    for axis, low, high in ((KEY_TICK, "left", "right"), (".ytick", "top", "bottom")):
        labels = boxes(page, f".st-key-head_map {axis} text")
        assert len(labels) == len(WORDS) + 2
        labels.sort(key=lambda box: box[low])
        for first, second in itertools.pairwise(labels):
            assert first[high] <= second[low] + 6, axis  # a line box is higher than the character in it


@pytest.mark.parametrize("text", [TEXT.replace("她", "直骨角"), TRADITIONAL], ids=["simplified", "traditional"])
def test_characters_have_the_shapes_of_simplified_chinese(page: Page, server: str, text: str):
    if not has_font():
        pytest.skip("no font with simplified Chinese is installed here")
    ready(page, address(server, text, lang="zh"))
    for selector in (".stMain h1", f".st-key-head_map {KEY_TICK} text", ".st-key-head_map .ytick text", ".label"):
        used = {family: n for family, n in fonts_of(page, selector).items() if "Source" not in family}
        assert used and all(SIMPLIFIED.search(family) for family in used), (selector, used)


def test_one_click_gives_a_pronoun_its_row(page: Page, server: str):
    ready(page, address(server, SWAPPED))
    assert "因为他" in tokens(page)
    page.get_by_role("button", name="Write “因为 他”").click()
    settled(page)
    expect(token(page, "他")).to_be_visible()
    assert "他" in tokens(page) and "因为他" not in tokens(page)
    expect(page.get_by_label("Sentence", exact=True)).to_have_value("小红把苹果递给了小明，因为 他帮过她。")
    expect(page.get_by_text("has no row of its own")).to_have_count(0)


def test_the_page_to_take_away_shows_chinese_in_its_own_maps(browser, page: Page, server: str, tmp_path: Path):
    ready(page, address(server))
    open_tab(page, "Export")
    _name, content = download(page, "Page that works offline (HTML)")
    saved = tmp_path / "page.html"
    saved.write_bytes(content)
    alone = browser.new_page()
    alone.goto(saved.as_uri())
    expect(alone.locator(".strip .label", has_text="小明")).to_be_visible()
    assert alone.locator(".strip .label").all_text_contents() == ["<s>", *WORDS, "</s>"]
    assert "words, Chinese by jieba" in alone.locator("dl").inner_text()
    if has_font():
        chinese = [family for family in fonts_of(alone, ".label") if "CJK" in family or SIMPLIFIED.search(family)]
        assert chinese and all(SIMPLIFIED.search(family) for family in chinese)
    alone.close()


def test_without_a_chinese_font_everything_else_stays_as_it_is(browser_type, server: str, tmp_path: Path):
    """Boxes stand for characters then, as everywhere on such a computer; text, numbers and layout are right."""
    folder = "/usr/share/fonts/truetype/dejavu"
    if not Path(folder).is_dir():
        pytest.skip(f"no fonts in {folder}")
    (tmp_path / "fonts.conf").write_text(
        f"<?xml version='1.0'?><fontconfig><dir>{folder}</dir><cachedir>{tmp_path}</cachedir></fontconfig>"
    )
    environment = {**os.environ, "FONTCONFIG_FILE": str(tmp_path / "fonts.conf")}
    browser = browser_type.launch(executable_path=CHROMIUM, args=QUIET, env=environment)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    ready(page, address(server))
    assert not any(SIMPLIFIED.search(family) for family in fonts_of(page, ".label"))
    assert tokens(page) == ["&lt;s&gt;", *WORDS, "&lt;/s&gt;"]
    token(page, "她").hover()
    expect(page.locator(".strip .says").first).to_contain_text(LOOKS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280 and not errors
    browser.close()
