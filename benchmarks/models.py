"""The model that reads Chinese, beside the one the app opens with: how soon it is ready, how much memory it takes.

    python -m benchmarks.models             about a minute

Every round is a new process that has MiniLM in memory and has run it, as the app has when somebody chooses the other
model. Linux only (/proc/self/status).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.measure import Spread, describe_machine, markdown_table

BUDGET_SECONDS = 3.0
BUDGET_MIB = 250
SENTENCE = "小明把苹果递给了小红，因为她帮过他。"

_CHOOSE = """
import gc, json, sys, time
from pathlib import Path
import torch
from benchmarks.measure import status_mib
from model import load
torch.set_num_threads(1)
sentence = sys.argv[1]
load_minilm = load("minilm")
load_minilm.trace("The cat sat on the mat because it was tired. " * 60)  # 512 tokens: what a forward needs is in place
found = {}
def memory(name):
    gc.collect()
    found[name] = status_mib("VmRSS") - before
    found[name + ", peak"] = status_mib("VmHWM") - before
gc.collect()
Path("/proc/self/clear_refs").write_text("5")
before = status_mib("VmRSS")
wall, cpu = time.perf_counter(), time.process_time()
model = load("e5-small-4bit")
found["load"] = time.perf_counter() - wall
trace = model.trace(sentence)
found["ready"] = time.perf_counter() - wall
found["ready, CPU"] = time.process_time() - cpu
memory("sentence")
trace = model.trace(sentence * 60)
assert trace.n_tokens == 512
found["maps"] = trace.nbytes / 2**20
memory("512 tokens, maps kept")
del trace
memory("512 tokens, maps given back")
wall = time.perf_counter()
for _ in range(20):
    model.tokenizer.encode(sentence, limit=512)
found["encode, ms"] = (time.perf_counter() - wall) / 20 * 1000
print(json.dumps(found))
"""

_TOKENIZER = """
import gc, json, sys, time
import numpy as np
from tokenizers import Tokenizer, models
from benchmarks.measure import status_mib
from model.weights.e5 import e5_path
from model.weights.e5_file import read_e5_file
from model.tokenizers.unigram import UnigramTokenizer
before = status_mib("VmRSS")
cpu = time.process_time()
file = read_e5_file(e5_path())
if sys.argv[1] == "ours":
    kept = UnigramTokenizer(file.pieces, file.scores)
else:
    names = [file.pieces[id_] for id_ in range(len(file.pieces))]
    kept = Tokenizer(models.Unigram(list(zip(names, file.scores.tolist(), strict=True)), 3))
    del names
found = {"seconds": time.process_time() - cpu}
del file
gc.collect()
found["MiB"] = status_mib("VmRSS") - before
print(json.dumps(found))
"""


def measured(code: str, argument: str) -> dict[str, float]:
    """What a new process prints."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    said = subprocess.run([sys.executable, "-c", code, argument], env=environment, check=True, capture_output=True)
    found: dict[str, float] = json.loads(said.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)

    measured(_CHOOSE, SENTENCE)  # the file is in the disk's cache, as in an app that runs for a while
    rounds = [measured(_CHOOSE, SENTENCE) for _ in range(options.rounds)]
    spread = {name: Spread.of([found[name] for found in rounds]) for name in rounds[0]}
    print(f"{describe_machine()}; {options.rounds} rounds.\n")
    ready, sentence, kept, back = (
        spread[name] for name in ("ready", "sentence", "512 tokens, maps kept", "512 tokens, maps given back")
    )
    rows = [
        ["loaded, its file's sha256 checked", f"{spread['load']:.2f} s", ""],
        ["loaded, first map of a sentence", f"{ready:.2f} s", _judged(ready.median, BUDGET_SECONDS, "s")],
        ["the same, CPU time", f"{spread['ready, CPU']:.2f} s", ""],
        ["a sentence into tokens", f"{spread['encode, ms']:.1f} ms", ""],
        ["memory with it, one sentence read", f"{sentence:.0f} MiB", _judged(sentence.median, BUDGET_MIB, "MiB")],
        ["… after 512 tokens, maps given back", f"{back:.0f} MiB", _judged(back.median, BUDGET_MIB, "MiB")],
        [f"… after 512 tokens, maps kept ({rounds[0]['maps']:.0f} MiB)", f"{kept:.0f} MiB", ""],
        ["… peak until then", f"{spread['512 tokens, maps kept, peak']:.0f} MiB", ""],
    ]
    print(markdown_table(["multilingual-e5-small, 4-bit", "median (least–most)", "budget"], rows))

    rows = []
    for name, label in (("ours", "pieces of the text alone"), ("library", "all pieces in the library's tree")):
        found = [measured(_TOKENIZER, name) for _ in range(options.rounds)]
        seconds, mib = (Spread.of([each[key] for each in found]) for key in ("seconds", "MiB"))
        rows.append([label, f"{seconds:.2f}", f"{mib:.0f}"])
    print("\n" + markdown_table(["Unigram over 250,002 pieces", "CPU s, file read and tokenizer built", "MiB"], rows))


def _judged(found: float, budget: float, unit: str) -> str:
    return f"≤ {budget:g} {unit} {'holds' if found <= budget else 'MISSED'}"


if __name__ == "__main__":
    main()
