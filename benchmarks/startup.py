"""From the start of a process to the first map of the built-in model, beside the same with transformers.

    python -m benchmarks.startup            about a minute

Every run is a new process, and the disk is warm: one uncounted run of each comes first.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measure import Spread, describe_machine, markdown_table, ratios
from model.weights.minilm import minilm_folder

SENTENCE = "The cat sat on the mat because it was tired."
BUDGET_SECONDS = 4.0

_WITH_TRANSFORMERS = """
import sys
import torch
from transformers import AutoModel, AutoTokenizer
torch.set_num_threads(1)
folder, text = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModel.from_pretrained(folder, attn_implementation="eager")
with torch.inference_mode():
    maps = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
print(len(maps), *maps[0].shape)
"""


@dataclass(frozen=True)
class Times:
    """Seconds of each run of one command."""

    wall: list[float]
    cpu: list[float]


def commands() -> dict[str, list[str]]:
    """What is compared, by name."""
    return {
        "import torch, nothing else": [sys.executable, "-c", "import torch"],
        "ours: python -m model": [sys.executable, "-m", "model", SENTENCE],
        "transformers": [sys.executable, "-c", _WITH_TRANSFORMERS, str(minilm_folder()), SENTENCE],
    }


def run(command: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one process, from start to end."""
    environment = os.environ | {"HEADWORK_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compare(candidates: dict[str, list[str]], rounds: int) -> dict[str, Times]:
    """Runs every command once a round, the order reversed from round to round. An uncounted round comes first."""
    times = {name: Times([], []) for name in candidates}
    order = list(candidates)
    for name in order:
        run(candidates[name])
    for _ in range(rounds):
        for name in order:
            wall, cpu = run(candidates[name])
            times[name].wall.append(wall)
            times[name].cpu.append(cpu)
        order.reverse()
    return times


def imported(command: Sequence[str], package: str) -> bool:
    """Whether a Python command imports a package (asked of -X importtime)."""
    python, *rest = command
    log = subprocess.run([python, "-X", "importtime", *rest], capture_output=True, text=True, check=True).stderr
    names = {line.rpartition("|")[2].strip() for line in log.splitlines() if line.startswith("import time:")}
    return package in {name.partition(".")[0] for name in names}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)

    candidates = commands()
    _, ours, theirs = candidates
    if imported(candidates[ours], "transformers"):
        raise SystemExit("the first map of the built-in model waits for an import of transformers")
    times = compare(candidates, options.rounds)

    print(f"{describe_machine()}; {options.rounds} rounds.\n")
    rows = [
        [name, f"{Spread.of(of.wall):.2f}", f"{Spread.of(of.cpu):.2f}", f"{ratios(of.cpu, times[theirs].cpu):.2f}"]
        for name, of in times.items()
    ]
    print(markdown_table(["whole process", "wall s", "CPU s", "CPU / transformers"], rows))
    median = Spread.of(times[ours].wall).median
    print("\n- transformers is not imported for the first map of the built-in model (-X importtime).")
    judgement = "holds" if median <= BUDGET_SECONDS else "MISSED"
    print(f"- Start to first map ≤ {BUDGET_SECONDS:.0f} s {judgement}: {median:.2f} s.")


if __name__ == "__main__":
    main()
