"""From the start of a process to the first page that it draws: opened in English, and opened in Chinese.

    python -m benchmarks.opening            about two minutes

In Chinese the app opens on a Chinese sentence and the model that reads it, which has more to load. Every run is a new
process that runs app.py as for a first visitor, without a browser, on a warm disk.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Spread, describe_machine, markdown_table, ratios
from benchmarks.startup import compare
from model.catalogue import DEFAULT_MODEL, E5

APP = Path(__file__).parents[1] / "app.py"

_VISIT = """
import sys
from streamlit.testing.v1 import AppTest
app, language, model = sys.argv[1:]
test = AppTest.from_file(app, default_timeout=120)
test.query_params["lang"] = language
test.run()
assert not test.exception and not test.error
assert test.get_by_key("model").value == model and test.get("plotly_chart")
"""


def commands() -> dict[str, list[str]]:
    """What is compared, by name."""
    visits = {"in English": ("en", DEFAULT_MODEL), "in Chinese": ("zh", E5)}
    return {name: [sys.executable, "-c", _VISIT, str(APP), *said] for name, said in visits.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opening", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)

    times = compare(commands(), options.rounds)
    english, chinese = times.values()
    print(f"{describe_machine()}; {options.rounds} rounds.\n")
    rows = [
        [name, f"{Spread.of(of.wall):.2f}", f"{Spread.of(of.cpu):.2f}", f"{ratios(of.cpu, english.cpu):.2f}"]
        for name, of in times.items()
    ]
    print(markdown_table(["opened", "wall s", "CPU s", "CPU / English"], rows))
    more = Spread.of(chinese.cpu).median - Spread.of(english.cpu).median
    print(f"\n- In Chinese the first visitor waits for {more:.1f} s of CPU more; later ones share the loaded model.")


if __name__ == "__main__":
    main()
