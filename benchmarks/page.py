"""The Attention page in real Chromium: how long a change takes to be drawn, what pointing sends, and how many bytes.

    pip install -r benchmarks/requirements.txt      bertviz, for the sizes beside ours
    python -m benchmarks.page                       about two minutes
    python -m benchmarks.page --model e5-small-4bit     the changes with another model, and how soon it is there

The clock runs in the browser, from the click to the frame in which the new map stands.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import plotly.io
import torch
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import Spread, describe_machine, markdown_table
from model import load
from model.catalogue import DEFAULT_MODEL, resolve
from ui.frame.controls import SEGMENTS
from viz.heatmaps import head_heatmap
from viz.layer_grid import layer_grid
from viz.maps import Maps
from viz.overview import overview_maps, overview_view
from viz.token_strip import LayerMaps, StripChoice, StripLook, strip_maps, strip_view

CHROMIUM = os.environ.get("HEADWORK_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
BUDGETS = {"head": 300, "layer": 300, "sentence": 700, "model": 3000}  # milliseconds, medians
MOST_BYTES = {"layer grid": 300_000, "all heads": 500_000}
LONG = "the quick brown fox jumped over a lazy dog and then it slept " * 5  # cut to 64 tokens below
CHINESE = "小明把苹果递给了小红，因为她帮过他。"
SUBJECTS = ("cat", "dog", "teacher", "student", "river", "king", "child", "farmer", "train", "storm", "bird", "baker")

# Starts an action and waits, frame by frame, until the large map is another one than before and says what is wanted.
WAIT = """async ([selector, wanted]) => {
    const plot = () => document.querySelector('.st-key-head_map .js-plotly-plot');
    const said = () => plot()?._fullLayout?.annotations?.[0]?.text + ' ' + plot()?._fullLayout?.xaxis?.ticktext;
    const stands = () => plot()?.querySelector('.heatmaplayer .hm') && said().includes(wanted);
    if (stands()) throw Error('already there: ' + wanted);
    const start = performance.now();
    document.querySelector(selector).click();
    while (!stands()) {
        await new Promise(requestAnimationFrame);
        if (performance.now() - start > 20000) throw Error('not drawn: ' + wanted + ' but ' + said());
    }
    await new Promise(requestAnimationFrame);
    return performance.now() - start;
}"""
# The same for a sentence: the clock starts with Ctrl+Enter. The word may stand in several pieces.
TYPED = """async (wanted) => {
    const plot = () => document.querySelector('.st-key-head_map .js-plotly-plot');
    const said = () => Array.from(plot()?._fullLayout?.xaxis?.ticktext ?? []).join('').replace(/##|▁/g, '');
    const stands = () => plot()?.querySelector('.heatmaplayer .hm') && said().includes(wanted);
    const box = document.querySelector('textarea');
    const start = await new Promise(resolve => box.addEventListener('keydown', event => {
        if (event.ctrlKey && event.key === 'Enter') resolve(performance.now());
    }));
    while (!stands()) {
        await new Promise(requestAnimationFrame);
        if (performance.now() - start > 20000) throw Error('not drawn: ' + wanted);
    }
    await new Promise(requestAnimationFrame);
    window.took = performance.now() - start;
}"""


# The same for a model: from the click on its name in the menu until a token of its own stands on the axis.
CHOSEN = """async ([option, wanted]) => {
    const tokens = () => document.querySelector('.st-key-head_map .js-plotly-plot')?._fullLayout?.xaxis?.ticktext ?? [];
    const start = performance.now();
    option.click();
    while (!tokens().includes(wanted)) {
        await new Promise(requestAnimationFrame);
        if (performance.now() - start > 60000) throw Error('not drawn: ' + tokens());
    }
    await new Promise(requestAnimationFrame);
    return performance.now() - start;
}"""


@contextmanager
def running_app() -> Iterator[str]:
    """A server of the app on a free port, with the built-in model warm after the first page."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.address", "127.0.0.1"]
    command += ["--server.port", str(port), "--server.fileWatcherType", "none"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                    break
            except OSError:
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def settled(page: Page) -> None:
    page.wait_for_timeout(400)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=90_000)
    page.wait_for_timeout(400)


def cpu_ms() -> float:
    """CPU time so far of every process that this one started: the server and all of the browser."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(entry.name)] = int(fields[1])
        ticks[int(entry.name)] = int(fields[11]) + int(fields[12])  # user and system (proc(5))

    def is_ours(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return 1000 * sum(n for pid, n in ticks.items() if is_ours(pid)) / os.sysconf("SC_CLK_TCK")


@dataclass
class Took:
    """Milliseconds of each change: on the clock, and of CPU in server and browser together."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, page: Page, wait: Callable[[], float]) -> None:
        before = cpu_ms()
        self.wall.append(wait())
        self.cpu.append(cpu_ms() - before)
        settled(page)


def changes(page: Page, what: str, n: int, rounds: int) -> Took:
    """From a click on another layer or head to the frame with its map."""
    took = Took()
    other = {"head": "layer", "layer": "head"}[what]
    fixed = 4 if other == "layer" else 2
    for i in range(rounds):
        number = (i * 5) % n + 1
        now = page.evaluate(
            "() => document.querySelector('.st-key-head_map .js-plotly-plot')._fullLayout.annotations[0].text"
        )
        wanted = f"Head {fixed}-{number}<" if other == "layer" else f"Head {number}-{fixed}<"
        if wanted in now:
            continue
        selector = f".st-key-{what} button:nth-of-type({number})"
        took.add(page, lambda selector=selector, wanted=wanted: float(page.evaluate(WAIT, [selector, wanted])))
    return took


def sentences(page: Page, rounds: int) -> Took:
    """From Ctrl+Enter to the frame with the new sentence's map: sentences that nobody asked for before."""
    took = Took()

    def typed() -> float:
        box.press("Control+Enter")
        page.wait_for_function("() => window.took !== null", timeout=60_000)
        return float(page.evaluate("() => window.took"))

    box = page.get_by_role("textbox", name="Sentence")
    for i in range(rounds):
        word = SUBJECTS[i % len(SUBJECTS)]
        box.fill(f"The {word} went home early because the weather was bad and it had been a long day {i} for everyone.")
        page.evaluate(f"() => {{ window.took = null; ({TYPED})({json.dumps(word)}); }}")
        took.add(page, typed)
    return took


def choices(browser: Browser, model_id: str, rounds: int) -> Took:
    """From the choice of a model that nobody has used since the server started to its first map."""
    label = resolve(model_id).label
    sentence = CHINESE if "zh" in resolve(model_id).languages else "cat"
    shown = load(model_id).trace(sentence).tokens
    others = load(DEFAULT_MODEL).trace(sentence).tokens
    wanted = next(token for token in shown if token.isalpha() and token not in others)
    took = Took()
    for _ in range(rounds):
        with running_app() as address:
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(f"{address}/?text={sentence}")
            page.wait_for_selector(".st-key-head_map .heatmaplayer .hm", timeout=90_000)
            settled(page)
            page.get_by_role("combobox", name="Model").click()
            option = page.get_by_role("option", name=label, exact=True).element_handle()
            took.add(page, lambda page=page, option=option: float(page.evaluate(CHOSEN, [option, wanted])))
            page.close()
    return took


def frames_while_pointing(page: Page, frames: list[object]) -> int:
    """Websocket messages while the pointer goes over tokens, thumbnails and the large map."""
    page.wait_for_timeout(800)
    frames.clear()
    for i in range(12):
        page.locator(".st-key-strip-strip .strip .token").nth(i).hover()
    for x in range(20, 380, 20):
        page.locator(".overview .pointer").hover(position={"x": x, "y": 60})
    page.wait_for_timeout(500)
    return len(frames)


def sizes() -> list[list[str]]:
    """Bytes to the browser for the same maps: 12 layers × 12 heads at 64 tokens, as BERT-base has them."""
    trace = load("minilm").trace(LONG)
    attention = np.concatenate([trace.attention[:, :, :64, :64]] * 2)  # the built-in model's six layers, twice
    attention = attention / attention.sum(axis=-1, keepdims=True)
    allowed, labels = trace.allowed[:64, :64], list(trace.tokens[:64])
    small = overview_maps(attention, allowed)
    view = overview_view(small, selected=(3, 1))
    shown = LayerMaps(attention[3], allowed, labels, 3)
    strip = strip_maps(shown)
    strip_words = strip_view(shown, StripChoice([1]), StripLook(tile=0), maps=strip["id"])
    ours = {
        "one head, large (Plotly)": size_of_figure(head_heatmap(Maps(attention[3, 1], allowed, labels))),
        "layer grid, 12 heads (Plotly)": size_of_figure(layer_grid(Maps(attention[3], allowed, labels), layer=3)),
        "token strip, a layer's 12 heads": len(json.dumps(strip)) + len(json.dumps(strip_words)),
        "overview, all 144 heads": len(json.dumps(small)) + len(json.dumps(view)),
    }
    rows = [["ours: " + name, f"{n / 1000:,.0f}", ""] for name, n in ours.items()]
    theirs = sizes_of_bertviz(attention, labels)
    rows += [[f"bertviz: {name}", f"{n / 1000:,.0f}", f"{n / of:,.0f} ×"] for name, n, of in theirs(ours)]
    assert ours["layer grid, 12 heads (Plotly)"] <= MOST_BYTES["layer grid"], ours
    assert ours["overview, all 144 heads"] <= MOST_BYTES["all heads"], ours
    return rows


def size_of_figure(figure: object) -> int:
    return len(plotly.io.to_json(figure, validate=False))


def sizes_of_bertviz(
    attention: np.ndarray, labels: list[str]
) -> Callable[[dict[str, int]], list[tuple[str, int, int]]]:
    """(view, bytes, bytes of ours that show the same); nothing where bertviz is not installed."""
    try:
        from bertviz import head_view, model_view
    except ImportError as missing:
        print(f"bertviz is left out: {missing}. pip install -r benchmarks/requirements.txt\n")
        return lambda ours: []
    layers = [torch.from_numpy(maps[None].copy()) for maps in attention]
    head = len(head_view(attention=[layers[3]], tokens=labels, html_action="return").data)
    every = len(head_view(attention=layers, tokens=labels, html_action="return").data)
    model = len(model_view(attention=layers, tokens=labels, html_action="return").data)
    return lambda ours: [
        ("head_view, one layer", head, ours["token strip, a layer's 12 heads"]),
        ("head_view, all layers", every, ours["overview, all 144 heads"]),
        ("model_view, all 144 heads", model, ours["overview, all 144 heads"]),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    options = parser.parse_args(arguments)
    link = f"model={options.model}&text="
    sentence = " ".join(LONG.split()[:62])  # 64 tokens with [CLS] and [SEP]

    with running_app() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        frames: list[object] = []

        def listen(socket: object) -> None:
            for way in ("framesent", "framereceived"):
                socket.on(way, lambda frame: frames.append(frame))  # type: ignore[attr-defined]

        page.on("websocket", listen)
        page.goto(f"{address}/?{link}{sentence}")
        page.wait_for_selector(".st-key-head_map .heatmaplayer .hm", timeout=90_000)
        settled(page)
        took = {"head": changes(page, "head", load(options.model).n_heads, options.rounds)}
        page.goto(f"{address}/?{link}{sentence}")
        page.wait_for_selector(".st-key-head_map .heatmaplayer .hm", timeout=90_000)
        settled(page)
        if load(options.model).n_layers <= SEGMENTS:  # more layers stand on a slider
            took["layer"] = changes(page, "layer", load(options.model).n_layers, options.rounds)
        page.goto(f"{address}/?{link.removesuffix('&text=')}")
        page.wait_for_selector(".st-key-head_map .heatmaplayer .hm", timeout=90_000)
        settled(page)
        took["sentence"] = sentences(page, options.rounds)
        n_frames = frames_while_pointing(page, frames)
        if options.model != DEFAULT_MODEL:
            took["model"] = choices(browser, options.model, 3)
        browser.close()

    print(f"{describe_machine()}; load {os.getloadavg()[0]:.1f}.\n")
    names = {
        "head": "another head → drawn, N = 64",
        "layer": "another layer → drawn, N = 64",
        "sentence": "new sentence → drawn, N = 24",
        "model": "the model chosen → loaded and drawn, N = 17",
    }
    rows = []
    for key, each in took.items():
        wall, cpu = Spread.of(each.wall), Spread.of(each.cpu)
        judgement = "holds" if wall.median <= BUDGETS[key] else "MISSED on this clock"
        rows.append([names[key], str(len(each.wall)), f"{wall:.0f}", f"{cpu:.0f}", str(BUDGETS[key]), judgement])
    print(markdown_table(["what", "n", "ms (median, range)", "CPU ms, server + browser", "budget ms", ""], rows))
    print(f"\n- Websocket messages while pointing at tokens and thumbnails: {n_frames}.\n")
    if options.model == DEFAULT_MODEL:
        print(markdown_table(["to the browser, 12 × 12 heads, N = 64", "KB", "beside ours"], sizes()))


if __name__ == "__main__":
    main()
