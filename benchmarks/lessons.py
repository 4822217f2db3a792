"""The page of lessons in real Chromium: how long the next step takes to be drawn, and the answer after the guess.

    python -m benchmarks.lessons                    about a minute: all steps of lessons 1, 5, 7 and 9
    python -m benchmarks.lessons --lang zh          with the model that reads Chinese

The clock runs in the browser, from the click to the frame in which the new question, or the picture, stands. Each step
is opened twice: its answer is computed the first time and kept for the second. Models are loaded before.
"""

from __future__ import annotations

import argparse
import os

from playwright.sync_api import Page, sync_playwright

from analysis.lessons import shelf
from benchmarks.measure import Spread, describe_machine, markdown_table
from benchmarks.page import CHROMIUM, running_app, settled

LESSONS = ("one-head", "mask-first", "find-the-head", "inside-a-block")
BUDGET = 300  # milliseconds from step to step, sentences of up to 64 tokens
GUESS = ".tokens button, .choices button, .cell, .order li:nth-child(2) button"

PARTS = """
    const within = (selector, of) => {
        for (const host of document.querySelectorAll('.stMain [data-testid^=stBidiComponent], .stMain *')) {
            const found = host.shadowRoot?.querySelector(selector);
            if (found) return found;
        }
    };
    const frame = () => new Promise(requestAnimationFrame);
    const until = async (stands, start) => {
        while (!stands()) {
            await frame();
            if (performance.now() - start > 20000) throw Error('not drawn');
        }
        await frame();
        return performance.now() - start;
    };
"""
# To another step: until another question can be answered.
NEXT = (
    "async (to) => {"
    + PARTS
    + """
    const question = () => within('.prediction')?.getAttribute('aria-label');
    const before = question();
    const start = performance.now();
    within(`.dots li:nth-child(${to}) button`).click();
    return until(() => question() !== before && within('.ask')?.children.length, start);
}"""
)
# The answer: until the picture stands.
REVEAL = (
    "async () => {"
    + PARTS
    + """
    const picture = () => document.querySelector('.st-key-lesson-picture .js-plotly-plot .main-svg')
        ?? within('.strip .edges path') ?? within('.overview canvas');
    const start = performance.now();
    within('.go').click();
    return until(() => within('.prediction')?.classList.contains('locked') && picture(), start);
}"""
)


def guess(page: Page) -> None:
    """Any guess that the step takes."""
    typed = page.locator(".prediction .typed")
    if typed.count():
        typed.fill(str(float(typed.get_attribute("min") or 0)))
        typed.dispatch_event("change")
        return
    taps = page.locator(f".prediction :is({GUESS})")
    taps.nth(0).click()
    if page.locator(".prediction .go[aria-disabled=true]").count():  # a pair takes two
        taps.nth(1).click()


def measure(page: Page, address: str, lesson: str, language: str) -> dict[str, list[float]]:
    """Milliseconds of each step, the first time and again, and of each answer."""
    took: dict[str, list[float]] = {"first": [], "again": [], "answer": []}
    n_steps = len(shelf().lesson(lesson).steps)
    page.goto(f"{address}/lessons?lang={language}&lesson={lesson}")
    settled(page)
    for kind in ("first", "again"):
        for step in [*range(2, n_steps + 1), 1] if kind == "first" else range(2, n_steps + 1):
            took[kind].append(page.evaluate(NEXT, step))
            settled(page)
            if kind == "again":
                guess(page)
                took["answer"].append(page.evaluate(REVEAL))
                settled(page)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a step of a lesson takes to be drawn.")
    parser.add_argument("--lang", default="en", choices=("en", "zh"))
    language = parser.parse_args().lang
    os.environ.pop("HEADWORK_MODELS", None)
    rows = []
    with running_app() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(f"{address}/lessons?lang={language}&lesson=one-head")  # loads the model
        settled(page)
        for lesson in LESSONS:
            took = measure(page, address, lesson, language)
            spreads = [Spread.of(took[kind]) for kind in ("first", "again", "answer")]
            rows.append(
                [
                    lesson,
                    *(
                        f"{spread.median:.0f} ({max(took[kind]):.0f})"
                        for kind, spread in zip(took, spreads, strict=True)
                    ),
                ]
            )
        browser.close()
    print(describe_machine())
    print(markdown_table(["lesson", "step → step, first time", "step → step, kept", "guess → picture"], rows))
    print(f"Milliseconds: median (slowest). Budget from step to step: {BUDGET}.")


if __name__ == "__main__":
    main()
