"""The app in Debian's Chromium: servers of our own on the loopback, and pages on which nothing may go wrong.

A page fails its test when the browser reports an error of the page, or when it asks any other host for anything.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.forked import PROCESSES, arguments, serve

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("HEADWORK_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # and one renderer for all pages: what one has compiled serves the next
    "--renderer-process-limit=1",
]
HARMLESS = ("_stcore/host-config", "_stcore/health")  # Streamlit asks for them below a page's path too, and gets 404

expect.set_options(timeout=15_000)


def pytest_itemcollected(item):
    """What lies in this folder can be chosen and left out: `pytest -m "not browser"`."""
    item.add_marker(pytest.mark.browser)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    chosen = [item for item in items if item.get_closest_marker("browser")]
    if not chosen or Path(CHROMIUM).exists():
        return
    if os.environ.get("CI"):
        pytest.exit("The browser tests need Chromium: apt-get install chromium, or name one in HEADWORK_CHROMIUM.", 1)
    for item in chosen:
        item.add_marker(pytest.mark.skip(reason=f"no Chromium at {CHROMIUM}; HEADWORK_CHROMIUM names another"))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": QUIET}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_app(script: str = "app.py", **environment: str):
    """A server of this app, or of one of `apps/`, on a free port; yields its address. An empty variable is not set."""
    port = free_port()
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    variables = {name: value for name, value in variables.items() if value or name not in environment}
    command = [sys.executable, "-m", "streamlit", *arguments(script, port)]
    server = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield started(port, lambda: server.poll() is None)
    finally:
        server.terminate()
        server.wait(20)


def started(port: int, is_alive: Callable[[], bool]) -> str:
    """The address of a server, once it answers."""
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while not _answers(address):
        assert is_alive() and time.monotonic() < deadline, "the server did not start"
        time.sleep(0.05)
    return address


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all journeys that don't care what happened before: no model of the hub, one training at a time."""
    offline = {"HF_HOME": str(tmp_path_factory.mktemp("hub")), "HF_ENDPOINT": "http://127.0.0.1:9"}
    with running_app(HEADWORK_TRAININGS="1", **offline) as address:
        yield address


@pytest.fixture(scope="session")
def fresh_port():
    """One for all fresh servers: the browser has the scripts of this address already."""
    return free_port()


@pytest.fixture
def fresh_server(fresh_port):
    """A server on which nobody has opened anything yet. It has the libraries in memory, but nothing of the app."""
    server = PROCESSES.Process(target=serve, args=(fresh_port,), daemon=True)
    server.start()
    try:
        yield started(fresh_port, server.is_alive)
    finally:
        server.terminate()
        server.join(20)


@pytest.fixture(scope="session")
def context(browser: Browser, browser_context_args: dict):
    """One for all tests: what it has fetched and compiled it needn't again. Its blank page keeps the window open."""
    context = browser.new_context(**browser_context_args)
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext):
    """A page that knows nothing of those before it."""
    page = context.new_page()
    yield page
    if page.url.startswith("http"):
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.close()
    context.clear_cookies()


@pytest.fixture(autouse=True)
def watch(page: Page):
    """Fails a test whose page threw an error, or asked another host for anything."""
    errors: list[str] = []
    foreign: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: None if _is_local(request.url) else foreign.append(request.url))
    page.on("websocket", lambda socket: None if "://127.0.0.1:" in socket.url else foreign.append(socket.url))
    yield
    assert not errors, errors
    assert not foreign, foreign


def _is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "blob:"))


def settled(page: Page) -> None:
    """Waits until Streamlit has run the script for what was just done, and until the page is shown (first_paint.py)."""
    page.wait_for_timeout(250)  # widgets wait a moment before they report
    page.wait_for_selector(
        "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]", timeout=60_000
    )
    page.wait_for_selector(".stMainBlockContainer", state="visible", timeout=10_000)


def complete(page: Page) -> None:
    """Waits until the script has run and nothing stands in for what is still being drawn."""
    settled(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=60_000)


def drawn(page: Page) -> None:
    """Waits until the script has run and both maps stand."""
    settled(page)
    expect(page.locator(".js-plotly-plot .heatmaplayer .hm").first).to_be_attached(timeout=60_000)


def wider_than_shown(page: Page) -> list[int]:
    """Pixels to which the whole page, and its main part, could be scrolled sideways."""
    return page.evaluate(
        """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
                     .map(e => e.scrollWidth - e.clientWidth)"""
    )


def widest(page: Page) -> int:
    """Pixels that the page or its main part takes."""
    main = "document.querySelector('[data-testid=stMain]').scrollWidth"
    return page.evaluate(f"Math.max(document.documentElement.scrollWidth, {main})")


def weights(page: Page) -> list[list[float | None]]:
    """The large map as the browser drew it; None where it is masked."""
    return page.evaluate(
        """() => Array.from(document.querySelector('.st-key-head_map .js-plotly-plot')._fullData[0].z,
                            row => Array.from(row, w => Number.isNaN(w) ? null : w))"""
    )


def tokens(page: Page) -> list[str]:
    """The token names of the large map, as the browser has them."""
    return page.evaluate(
        "() => Array.from(document.querySelector('.st-key-head_map .js-plotly-plot')._fullLayout.xaxis.ticktext)"
    )
