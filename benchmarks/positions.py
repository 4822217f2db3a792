"""The page Positions in real Chromium: how long each control takes until what it says stands on the page.

python -m benchmarks.positions [--model e5-small-4bit] [--tokens 64] [--rounds 9]

The clock runs in the browser, from the click to the frame in which the awaited words stand.
"""

from __future__ import annotations

import argparse
from urllib.parse import quote

from playwright.sync_api import Page, sync_playwright

from benchmarks.measure import Spread, describe_machine, markdown_table
from benchmarks.page import CHROMIUM, running_app, settled

BUDGET = 300  # milliseconds, medians
WORDS = "the cat saw a dog by the river and then it ran home to tell all its friends what it had seen there "

# Clicks, and waits frame by frame until what `look` gives is another than before.
CHANGED = """async ([selector, look]) => {
    const seen = () => document.querySelector(look)?.textContent ?? '';
    const before = seen(), start = performance.now();
    document.querySelector(selector).click();
    while (seen() === before || !seen()) {
        await new Promise(requestAnimationFrame);
        if (performance.now() - start > 20000) throw Error('nothing changed: ' + before.slice(0, 80));
    }
    await new Promise(requestAnimationFrame);
    return performance.now() - start;
}"""


def text_of(n_tokens: int) -> str:
    """A sentence of about so many tokens."""
    return " ".join((WORDS * 8).split()[: n_tokens - 2])


def clicks(page: Page, selectors: list[str], look: str, rounds: int) -> list[float]:
    """Milliseconds of each click, going through the selectors in turns."""
    times = []
    for number in range(rounds + 1):  # the first is thrown away: it loads what the browser lacks
        took = page.evaluate(CHANGED, [selectors[number % len(selectors)], look])
        settled(page)
        times.append(took)
    return times[1:]


def measure(page: Page, address: str, model: str, text: str, rounds: int) -> dict[str, list[float]]:
    """Each control's times."""
    link = f"{address}/positions?model={quote(model)}&text={quote(text)}"
    off, on = (f".st-key-positions_on button:nth-of-type({i})" for i in (1, 2))
    page.goto(link)
    settled(page)
    found = {"Shuffle": clicks(page, [".st-key-positions_again button"], ".st-key-order_copy", rounds)}
    main = "[data-testid=stMain]"
    found["Positions off / on"] = clicks(page, [on, off], main, rounds)
    page.goto(f"{link}&tab=ways&way=rotary")
    settled(page)
    ways = [f".st-key-positions_way button:nth-of-type({i})" for i in (1, 4, 3, 5)]
    found["Way"] = clicks(page, ways, main, rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(describe_machine())
    with running_app() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-US")
        found = measure(page, address, options.model, text_of(options.tokens), options.rounds)
        browser.close()
    rows = []
    for name, times in found.items():
        rows.append([name, f"{Spread.of(times):.0f}", f"≤ {BUDGET}"])
    print(markdown_table(["control", f"{options.model}, N = {options.tokens}: ms", "budget"], rows))


if __name__ == "__main__":
    main()
