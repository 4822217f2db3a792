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
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("HEADWORK_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
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


@contextmanager
def running_app(script: str = "app.py", **environment: str):
    """A server of this app, or of one of `apps/`, on a free port; yields its address. An empty variable is not set."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.address", "127.0.0.1"]
    command += ["--server.port", str(port), "--server.fileWatcherType", "none"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    variables = {name: value for name, value in variables.items() if value or name not in environment}
    server = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while not _answers(address):
            assert server.poll() is None and time.monotonic() < deadline, "the server did not start"
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


@pytest.fixture(scope="session")
def server():
    """One server for all journeys that don't care what happened before."""
    with running_app() as address:
        yield address


@pytest.fixture
def fresh_server():
    """A server on which nobody has opened anything yet."""
    with running_app() as address:
        yield address


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
    """Waits until Streamlit has run the script for what was just done."""
    page.wait_for_timeout(250)  # widgets wait a moment before they report
    page.wait_for_selector(
        "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]", timeout=60_000
    )


def drawn(page: Page) -> None:
    """Waits until the script has run and both maps stand."""
    settled(page)
    expect(page.locator(".js-plotly-plot .heatmaplayer .hm").first).to_be_attached(timeout=60_000)


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
