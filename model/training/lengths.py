"""Five ways to give places, trained on short sentences and read on longer ones.

Each network is one causal layer of four heads; only its positions differ. It is trained on sentences of 12 tokens and
then asked on 12, 24, 48 and 96, without training again (as Press et al. 2022, section 2, asks of language models).
`python -m model.training.lengths --seeds 5 --json OUT` writes what the page Positions opens with.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from model.command_line import EXIT_OK, MOST_SEED, command, whole_number
from model.files import check_writable, json_by_lines, write_whole
from model.masks import Mask
from model.settings import threads
from model.tasks import NO_KEY, NOTHING_ASKED, Batch
from model.tasks.task import Defaults, Relation, Size, Task
from model.training.adamw import AdamW
from model.training.frames import loss_of
from model.training.network import Network, new_network
from model.training.run import one_cycle
from model.transformer import TransformerConfig
from model.version import app_version

Way = Literal["none", "sinusoidal", "learned", "rotary", "alibi"]
WAYS: tuple[Way, ...] = get_args(Way)
LENGTHS = (12, 24, 48, 96)  # trained on the first
STEPS = 400
BATCH = 64
LEARNING_RATE = 1e-2
N_TEST = 256  # sentences behind each accuracy
MOST_SEEDS = 100

N_LETTERS, N_NUMBERS, BACK = 48, 8, 2
SHIPPED = Path(__file__).parents[2] / "data" / "learning" / "lengths.json"


def neighbour(n_tokens: int) -> Task:
    """Answer with the word two places back: only places tell which one that is."""

    def make(generator: torch.Generator, size: int) -> Batch:
        ids = torch.randint(N_NUMBERS, (size, n_tokens), generator=generator)
        keys = torch.arange(n_tokens) - BACK  # (N,)
        has_key = keys >= 0
        targets = torch.where(has_key, ids[:, keys.clamp(min=0)], NOTHING_ASKED)
        keys = torch.where(has_key, keys, NO_KEY).expand(size, -1)
        return Batch(ids, targets[..., None], keys[..., None])

    return _task("neighbour", n_tokens, _NUMBERS, make)


def match(n_tokens: int) -> Task:
    """Each letter stands twice, with a number each time; answer at the second with the first one's number.

    Only letters tell where to look; places don't.
    """

    def make(generator: torch.Generator, size: int) -> Batch:
        letters = torch.rand(size, N_LETTERS, generator=generator).argsort(dim=1)[:, : n_tokens // 2]
        order = torch.rand(size, n_tokens, generator=generator).argsort(dim=1)
        letters = torch.cat([letters, letters], dim=1).gather(1, order)  # (B, N)
        numbers = torch.randint(N_NUMBERS, (size, n_tokens), generator=generator)
        earlier = torch.ones(n_tokens, n_tokens, dtype=torch.bool).tril(-1)
        same = (letters[:, :, None] == letters[:, None, :]) & earlier  # (B, N, N)
        key, has_key = same.int().argmax(dim=-1), same.any(dim=-1)
        targets = torch.where(has_key, numbers.gather(1, key), NOTHING_ASKED)
        return Batch(letters * N_NUMBERS + numbers, targets[..., None], torch.where(has_key, key, NO_KEY)[..., None])

    words = tuple(f"{letter}{number}" for letter in _LETTERS for number in _NUMBERS)
    return _task("match", n_tokens, words, make, parts=(N_LETTERS, N_NUMBERS))


_NUMBERS = tuple(str(number) for number in range(1, N_NUMBERS + 1))
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv")
TASKS = {"neighbour": neighbour, "match": match}


def _task(task_id: str, n_tokens: int, words: tuple[str, ...], make: Any, *, parts: Any = None) -> Task:
    return Task(
        id=task_id,
        title=task_id,
        about="",
        note="",
        n_tokens=n_tokens,
        vocabulary=words,
        answers=_NUMBERS,
        relations=(Relation("answer", "the answer"),),
        chance=1 / N_NUMBERS,
        defaults=Defaults((Size(4),), mask="causal", steps=STEPS, learning_rate=LEARNING_RATE),
        make=make,
        parts=parts,
    )


@dataclass(frozen=True)
class Run:
    """One network: what it was trained on, and how often it is right at each of LENGTHS."""

    task: str
    way: Way
    seed: int
    accuracy: tuple[float, ...]  # of N_TEST fresh sentences, for each length
    seconds: float  # of CPU


class Trial:
    """One network on its way: `work` trains it in slices, then `run` holds what came out."""

    def __init__(self, task: str, way: Way, seed: int, steps: int = STEPS) -> None:
        self.task, self.way, self.seed, self.steps = task, way, seed, steps
        self.run: Run | None = None

    def work(self) -> Iterator[float]:
        """Trains and asks; yields the share that is done."""
        began, spent = time.thread_time(), 0.0
        task = TASKS[self.task](LENGTHS[0])
        weights, data, fresh = (torch.Generator().manual_seed(3 * self.seed + i) for i in range(3))
        with torch.inference_mode(False):
            network = new_network(config_of(self.way, len(task.vocabulary)), task, weights)
            optimizer, mask = AdamW(network), _causal(LENGTHS[0])
        for step in range(self.steps):
            with torch.inference_mode(False), torch.enable_grad():  # not over the yield: it is the caller's mode too
                batch = task.batch(data, BATCH)
                loss = loss_of(network(batch.ids, mask)[0], batch.targets)
                optimizer.forget_gradients()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step(one_cycle(step, self.steps, LEARNING_RATE))
            if step % 20 == 19:
                spent += time.thread_time() - began
                yield (step + 1) / self.steps
                began = time.thread_time()
        accuracy = tuple(_right(network, TASKS[self.task](n), fresh) for n in LENGTHS)
        self.run = Run(self.task, self.way, self.seed, accuracy, round(spent + time.thread_time() - began, 2))


def config_of(way: Way, vocab_size: int) -> TransformerConfig:
    """One pre-LN layer of four heads; learned positions have a row for the longest sentence."""
    return TransformerConfig(
        vocab_size=vocab_size,
        d_model=32,
        num_heads=4,
        num_layers=1,
        d_ff=64,
        max_tokens=LENGTHS[-1],
        norm="pre",
        positions=way,
        embedding_norm=False,
        final_norm=True,
        layer_norm_eps=1e-5,
        dropout=0.0,
    )


def _causal(n_tokens: int) -> Tensor:
    return Mask.causal().allowed(n_tokens)


@torch.no_grad()
def _right(network: Network, task: Task, generator: torch.Generator) -> float:
    batch = task.batch(generator, N_TEST)
    found = network(batch.ids, _causal(task.n_tokens))[0].argmax(dim=-1)  # (B, N, 1)
    asked = batch.targets != NOTHING_ASKED
    return round(float((found == batch.targets)[asked].float().mean()), 4)


def trials(seeds: Sequence[int], steps: int = STEPS) -> list[Trial]:
    """Every task and way with each seed, seed after seed."""
    return [Trial(task, way, seed, steps) for seed in seeds for task in TASKS for way in WAYS]


def report(runs: Sequence[Run], n_asked_for: int) -> dict[str, Any]:
    """What the command writes: a line for each run, and what is needed to make them again."""
    return {
        "runs": [asdict(run) for run in runs],
        "complete": len(runs) == n_asked_for,
        "provenance": {
            "program": f"headwork {app_version()}",
            "lengths": list(LENGTHS),
            "steps": STEPS,
            "batch": BATCH,
            "learning_rate": LEARNING_RATE,
            "test_sentences": N_TEST,
            "chance": 1 / N_NUMBERS,
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
    }


def shipped(path: Path = SHIPPED) -> tuple[Run, ...]:
    """The runs that come with the app."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return tuple(Run(**{**run, "accuracy": tuple(run["accuracy"])}) for run in runs)


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m model.training.lengths",
        description="Trains five ways to give places on sentences of 12 tokens and reads longer ones with them.",
    )
    seed, seeds = whole_number(0, MOST_SEED), whole_number(1, MOST_SEEDS)
    parser.add_argument("--seed", type=seed, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--seeds", type=seeds, default=1, help="how many, one after another (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write each run to this file when it is done")
    options = parser.parse_args(arguments)
    if options.json is not None:
        check_writable(options.json)
    torch.set_num_threads(threads())
    runs: list[Run] = []
    all_trials = trials(range(options.seed, options.seed + options.seeds))
    for trial in all_trials:
        for _share in trial.work():
            pass
        assert trial.run is not None
        runs.append(trial.run)
        accuracy = "  ".join(f"{n}: {right:.3f}" for n, right in zip(LENGTHS, trial.run.accuracy, strict=True))
        print(f"{trial.task:9} {trial.way:10} seed {trial.seed}  {accuracy}  {trial.run.seconds:.1f} s", flush=True)
        if options.json is not None:
            write_whole(options.json, json_by_lines(report(runs, len(all_trials)), ("runs",)))
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
