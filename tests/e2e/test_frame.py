"""The frame around the pages: one place for titles, text that can be read, a Back that goes back, nothing sent out."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import ROOT, drawn, settled
from tests.e2e.test_journeys import FIRST, link, sentence, status

QUESTIONS = {
    "": ("Attention", "What does each head look at?"),
    "lessons": ("Lessons", "Predict, then look"),
    "masks": ("Masks", "What does a mask change?"),
    "inside": ("Inside a block", "Where does the map come from?"),
    "positions": ("Positions", "How does attention know where a token stands?"),
    "cost": ("Parameters and cost", "How many parameters, and how much computation?"),
    "heads": ("Heads at work", "Which head does what, and how sure are we?"),
    "learn": ("Watch heads learn", "Do heads split the work by themselves?"),
}
CONTRAST = (ROOT / "tests" / "e2e" / "contrast.js").read_text(encoding="utf-8")


def opened(page: Page, server: str, path: str) -> None:
    page.goto(f"{server}/{path}")
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=60_000)
    settled(page)


@pytest.fixture
def wide(page: Page) -> Page:
    page.set_viewport_size({"width": 1280, "height": 720})
    return page


def test_title_sidebar_and_name_stand_at_one_place_and_the_tab_bears_the_pages_name(wide: Page, server: str):
    places = {}
    for path, (name, question) in QUESTIONS.items():
        opened(wide, server, path)
        expect(wide.get_by_role("heading", level=1)).to_have_text(question)
        expect(wide).to_have_title(f"{name} · Headwork")
        expect(wide.get_by_text("Headwork · how attention heads split their work")).to_be_in_viewport()
        title = wide.get_by_role("heading", level=1).bounding_box()
        sidebar = wide.get_by_test_id("stSidebar").bounding_box()
        size = wide.get_by_role("heading", level=1).evaluate("e => getComputedStyle(e).fontSize")
        places[path] = (round(title["x"]), round(title["y"]), size, round(sidebar["width"]))
    assert len(set(places.values())) == 1, places


def test_the_menu_has_three_sections(wide: Page, server: str):
    opened(wide, server, "")
    menu = wide.get_by_test_id("stSidebarNav").inner_text().split("\n")
    names = [name for name, _question in QUESTIONS.values()]
    said = [line.strip() for line in menu if line.strip() in ("Look", "Evidence", "Learn", *names)]
    assert said == ["Look", *names[:-2], "Evidence", names[-2], "Learn", names[-1]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_can_be_read(browser: Browser, server: str, theme: str):
    """4.5 : 1 (WCAG 2.2, 1.4.3) by the computed colours; figures, and what can't be pressed, aside."""
    page = browser.new_page(color_scheme=theme, viewport={"width": 1280, "height": 720})
    faint = {}
    for path in QUESTIONS:
        opened(page, server, path)
        faint[path] = page.evaluate(CONTRAST)
    page.close()
    assert not any(faint.values()), faint


def test_what_is_chosen_is_seen_in_high_contrast(browser: Browser, server: str):
    page = browser.new_page(forced_colors="active")
    opened(page, server, "")
    drawn(page)
    ground = "e => getComputedStyle(e).backgroundColor"
    for role, state in (("radio", "checked"), ("tab", "selected")):
        on = page.locator(f'[role={role}][aria-{state}="true"]').first.evaluate(ground)
        off = page.locator(f'[role={role}][aria-{state}="false"]').first.evaluate(ground)
        assert on != off, role
    here = page.locator("[data-testid=stSidebarNavLink][aria-current=page] p")
    assert here.evaluate("e => getComputedStyle(e).color === getComputedStyle(e.closest('a')).color")
    track = page.locator("[data-testid=stCheckbox] label > div:not([data-testid])").first
    assert track.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.close()


def test_the_focus_on_a_page_of_the_menu_is_seen(wide: Page, server: str):
    opened(wide, server, "")
    item = wide.get_by_test_id("stSidebarNav").get_by_role("link", name="Masks")
    wide.keyboard.press("Tab")
    item.focus()
    assert item.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    assert float(item.evaluate("e => parseFloat(getComputedStyle(e).outlineWidth)")) >= 2


def test_a_language_changes_every_word_and_nothing_else(wide: Page, server: str):
    opened(wide, server, "")
    drawn(wide)
    wide.get_by_text("简体中文").click()
    expect(wide.get_by_role("heading", name="每个注意力头在看什么？")).to_be_visible()
    settled(wide)
    said = [menu.input_value() for menu in wide.get_by_role("combobox").all()]
    assert said and not re.search("[a-z]{3}", " ".join(said).replace("cividis", "").replace("MiniLM", "")), said
    wide.reload()
    expect(wide.get_by_role("heading", name="每个注意力头在看什么？")).to_be_visible(timeout=60_000)
    settled(wide)
    expect(wide.get_by_role("textbox", name="句子")).to_have_value(FIRST)
    assert [menu.input_value() for menu in wide.get_by_role("combobox").all()] == said


def test_back_shows_what_was_chosen_before_one_step_for_each_choice(wide: Page, server: str):
    wide.goto(f"{server}/?layer=5&head=9")
    drawn(wide)
    steps = wide.evaluate("history.length")
    wide.get_by_test_id("stSidebarNav").get_by_role("link", name="Inside a block").click()
    expect(wide.get_by_role("heading", name="Where does the map come from?")).to_be_visible()
    settled(wide)
    wide.get_by_text("Model in the sidebar").click()
    settled(wide)
    expect(wide.get_by_role("combobox", name="Layer")).to_have_value("5")
    expect(wide.get_by_role("combobox", name="Head")).to_have_value("9")
    wide.get_by_test_id("stSidebarNav").get_by_role("link", name="Attention").click()
    drawn(wide)
    expect(status(wide)).to_contain_text("head 5-9")
    assert wide.evaluate("history.length") == steps + 3
    wide.get_by_role("radiogroup", name="Layer").get_by_text("3", exact=True).click()
    expect(status(wide)).to_contain_text("head 3-9")
    settled(wide)
    assert wide.evaluate("history.length") == steps + 4
    wide.locator(".overview .pointer").click(position={"x": 12, "y": 12})
    settled(wide)
    assert wide.evaluate("history.length") == steps + 5
    for seen in ("head 3-9", "head 5-9"):
        wide.go_back()
        expect(status(wide)).to_contain_text(seen)
        settled(wide)
    wide.go_back()
    expect(wide.get_by_role("heading", name="Where does the map come from?")).to_be_visible()


def test_a_page_shows_the_shared_controls_that_do_something_on_it(wide: Page, server: str):
    def shown() -> list[str]:
        labels = {"Sentence": "textbox", "Model": "combobox", "Mask": "combobox"}
        sidebar = wide.get_by_test_id("stSidebar")
        return [name for name, role in labels.items() if sidebar.get_by_role(role, name=name, exact=True).count()]

    wide.goto(f"{server}/?text=Two+cats+slept.&mask=causal")
    drawn(wide)
    assert shown() == ["Sentence", "Model", "Mask"]
    for name, expected in {
        "Parameters and cost": [],
        "Watch heads learn": [],
        "Inside a block": ["Mask"],
        "Heads at work": ["Model"],
    }.items():
        wide.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
        expect(wide.get_by_role("heading", level=1)).to_have_text(dict(QUESTIONS.values())[name])
        settled(wide)
        assert shown() == expected, name
    wide.get_by_role("tab", name="In a sentence").click()
    settled(wide)
    assert shown() == ["Sentence", "Model", "Mask"]
    wide.get_by_test_id("stSidebarNav").get_by_role("link", name="Attention").click()
    drawn(wide)
    expect(sentence(wide)).to_have_value("Two cats slept.")
    expect(status(wide)).to_contain_text("mask causal")
    assert link(wide) == {"text": "Two cats slept.", "mask": "causal"}


class Proxy(BaseHTTPRequestHandler):
    """Answers nobody, and keeps what was asked."""

    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(503)

    do_CONNECT = do_POST = do_HEAD = do_GET

    def log_message(self, *_args):
        pass


def test_nothing_is_asked_of_another_host_at_start_page_and_foreign_websocket(page: Page):
    """The server as the README starts it, behind a proxy that sees whatever leaves."""
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    through = dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), f"http://127.0.0.1:{proxy.server_port}"
    )
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
        cwd=ROOT,
        env={**os.environ, **through, "NO_PROXY": "", "no_proxy": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        page.goto(f"http://127.0.0.1:{port}")
        drawn(page)
        with socket.create_connection(("127.0.0.1", port), 5) as knock:
            knock.sendall(
                f"GET /_stcore/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://example.org\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            knock.settimeout(20)
            assert b" 403 " in knock.recv(200)
        assert Proxy.asked == []
    finally:
        server.terminate()
        server.wait(20)
        proxy.shutdown()


def test_the_count_of_characters_covers_neither_the_text_nor_the_label(page: Page, server: str):
    page.goto(f"{server}/?lang=zh&layer=4")
    settled(page)
    box = page.locator(".st-key-text textarea")
    box.press("End")
    box.type(" And so on.")
    count = page.locator(".st-key-text [data-testid=InputInstructions]")
    expect(count).to_have_text(re.compile(r"^\d+/\d+$"), use_inner_text=True)  # no English beside it
    at, text, label = (each.bounding_box() for each in (count, box, page.locator(".st-key-text label p").first))
    assert at["y"] + at["height"] <= text["y"] + 1
    assert at["x"] >= label["x"] + label["width"]
