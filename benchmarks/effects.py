"""Every head of SmolLM2 off in turn on sixteen prompts of 14 tokens, beside a full run for each head.

    python -m benchmarks.effects            two minutes on two free cores
    python -m benchmarks.effects --naive 270    the other way in full too; four minutes

Full runs are made for a part of the heads, half of them before and half after, and scaled to all: a full run takes the
same whichever head is off. Both ways have the same threads, and leave out loading. Effects are compared with those of
transformers where the reference lies beside the project.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from analysis.effects.effects import Effects, directions, measure
from analysis.effects.questions import EncodedQuestion, Question, encode_questions
from analysis.effects.reading import read_questions
from analysis.effects.side_by_side import side_by_side
from benchmarks.measure import describe_machine, markdown_table, status_mib
from model import AttentionModel, load

BUDGET_SECONDS = 90
BUDGET_RATIO = 0.55
SHARED = Path(__file__).parents[2] / "shared" / "data"
NAMES = ("Mary", "John", "Kate", "Mark", "Anna", "Paul", "Emma", "Tom")


def questions(model: AttentionModel) -> tuple[EncodedQuestion, ...]:
    """The sixteen of the reference; where they aren't here, sixteen alike."""
    path = SHARED / "indirect_object_16.jsonl"
    sentence = "When {} and {} went to the store, {} gave a drink to"
    pairs = [(NAMES[i], NAMES[j]) for i in range(4) for j in range(4, 8)]
    alike = [Question(sentence.format(a, b, b), f" {a}", f" {b}") for a, b in pairs]
    asked, _ = encode_questions(model, read_questions(path).questions if path.is_file() else alike)
    assert [len(each.ids) for each in asked] == [14] * 16
    return asked


def full_runs(
    model: AttentionModel, asked: Sequence[EncodedQuestion], heads: Sequence[tuple[int, int]], workers: int
) -> np.ndarray:
    """The difference of logits (heads, n) with each head off, every layer of every run computed."""
    ids = torch.tensor([each.ids for each in asked])
    mask, direction = model.default_mask.allowed(ids.size(1)), directions(model, asked)

    @torch.inference_mode()
    def run(number: int) -> np.ndarray:
        factors = torch.ones(model.n_layers, model.n_heads)
        factors[heads[number]] = 0
        hidden = model.transformer(ids, mask, head_mask=factors).hidden[:, -1]
        return (hidden * direction).sum(dim=-1).numpy()

    found = dict(side_by_side(run, range(len(heads)), workers, threading.Event()))
    return np.stack([found[i] for i in range(len(heads))])


def timed(work: Callable[[], object]) -> tuple[object, float, float]:
    """What it returns, and seconds of wall and CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--naive", type=int, default=30, help="full runs (default: %(default)s, scaled to all heads)")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    model = load("smollm2-135m")
    asked = questions(model)
    every = [(layer, head) for layer in range(model.n_layers) for head in range(model.n_heads)]
    some = [every[i] for i in np.linspace(0, len(every) - 1, options.naive).round().astype(int)]
    full_runs(model, asked, some[:2], options.workers)  # memory is in place

    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    at_rest = status_mib("VmRSS")
    before, wall_1, cpu_1 = timed(lambda: full_runs(model, asked, some[::2], options.workers))
    effects, wall, cpu = timed(lambda: measure(model, asked, workers=options.workers))
    after, wall_2, cpu_2 = timed(lambda: full_runs(model, asked, some[1::2], options.workers))
    assert isinstance(effects, Effects) and isinstance(before, np.ndarray) and isinstance(after, np.ndarray)
    scale = len(every) / len(some)
    naive_wall, naive_cpu = scale * (wall_1 + wall_2), scale * (cpu_1 + cpu_2)
    ours = np.stack([effects.heads[:, layer, head] for layer, head in [*some[::2], *some[1::2]]]) + effects.difference
    print(describe_machine(), f"{options.workers} threads, {len(some)} of {len(every)} full runs", sep="\n")
    header = ["", "wall s", "CPU s"]
    rows = [
        ["a full run for each head", f"{naive_wall:.0f}", f"{naive_cpu:.0f}"],
        ["from the head's layer on", f"{wall:.0f}", f"{cpu:.0f}"],
        ["ratio", f"{wall / naive_wall:.2f}", f"{cpu / naive_cpu:.2f}"],
        ["budget", f"≤ {BUDGET_SECONDS} s, ratio ≤ {BUDGET_RATIO}", ""],
    ]
    print(markdown_table(header, rows))
    print(f"peak memory over the loaded model: {status_mib('VmHWM') - at_rest:.0f} MiB")
    print(f"largest difference of the two ways: {np.abs(ours - np.concatenate([before, after])).max():.1e}")
    print(f"parts − difference of logits, largest: {np.abs(effects.parts.total() - effects.difference).max():.1e}")
    path = SHARED / "indirect_object_16_reference.json"
    if path.is_file():
        drop = np.array(json.loads(path.read_text())["drop_of_logit_difference"])
        print(f"largest deviation from transformers' effects, all heads: {np.abs(effects.effect() + drop).max():.4f}")


if __name__ == "__main__":
    main()
