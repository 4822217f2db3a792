"""Training without the app: `python -m model.training --task neighbours --heads 4 --seeds 10 --json OUT`."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from model.errors import HeadworkError
from model.settings import threads
from model.tasks import TASKS
from model.training import Settings, Training, winners
from model.training.runs import report, summary, write

EXIT_OK, EXIT_INPUT, EXIT_OUTPUT = 0, 2, 4
EXIT_STOPPED = 130  # as a shell reports Ctrl-C

_EPILOG = """\
json     {"task": …, "runs": [{"heads": 4, "seed": 0, "accuracy": …, "seconds": …, "share_per_head": [[…]]}, …]}:
         accuracy on 1,024 fresh sentences, CPU seconds, a row for each head with its mean weight on each relation's key
stopped  OUT holds every run that was finished, and says that it is not complete
exit     0 done; 2 an option is wrong; 4 a file can't be written; 130 stopped by hand
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    options = _parser().parse_args(arguments)
    changes = {name: value for name in _SETTINGS if (value := getattr(options, name)) is not None}
    try:
        torch.set_num_threads(threads())
        if options.seeds < 1:
            raise HeadworkError("--seeds is {n}: at least one run is needed.", n=options.seeds)
        all_settings = [Settings.of(options.task, **changes, seed=options.seed + i) for i in range(options.seeds)]
    except HeadworkError as error:
        return _fail(error, EXIT_INPUT)
    runs: list[dict[str, Any]] = []
    try:
        _keep(options.json, all_settings, runs)  # at once, so that a wrong path is known before the work
        for settings in all_settings:
            training = Training(settings)
            _train(training)
            runs.append(summary(training))
            print(_line(training, runs[-1]), flush=True)
            _keep(options.json, all_settings, runs)
    except OSError as error:
        return _fail(f"{error.filename or options.json} can't be written: {error.strerror or error}.", EXIT_OUTPUT)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return _fail(f"stopped after {len(runs)} of {len(all_settings)} runs.", EXIT_STOPPED)
    if len(runs) > 1:
        accuracies = [run["accuracy"] for run in runs]
        print(
            f"{len(runs)} seeds: accuracy {statistics.mean(accuracies):.3f} ± {statistics.stdev(accuracies):.3f} "
            f"[{min(accuracies):.3f}, {max(accuracies):.3f}]"
        )
    return EXIT_OK


def _keep(path: Path | None, all_settings: Sequence[Settings], runs: Sequence[dict[str, Any]]) -> None:
    if path is not None:
        write(path, report(all_settings[0], runs, len(all_settings)))


def _train(training: Training) -> None:
    """Trains to the end; a terminal sees how far it is."""
    steps = training.settings.steps
    while not training.done:
        training.step(max(1, steps // 40))
        if sys.stderr.isatty():
            point = training.curve[-1]
            end = "\r" if training.done else ""
            print(f"\r{training.step_number:6} of {steps} steps, {point.accuracy:6.1%} right", end=end, file=sys.stderr)


def _line(training: Training, run: dict[str, Any]) -> str:
    """A run in one line: how often it is right, by relation, and which head took which relation."""
    _, by_relation = training.test()
    found = winners(training.frames[-1])
    parts = [
        f"{relation.id}: {'' if not relation.asked else f'{right:.3f} '}head {layer + 1}-{head + 1} ({share:.2f})"
        for relation, right, (layer, head), share in zip(
            training.task.relations, by_relation, found.heads, found.shares, strict=True
        )
    ]
    reached = next((point.step for point in training.curve if point.accuracy >= 0.99), None)
    return (
        f"seed {run['seed']}: accuracy {run['accuracy']:.3f}, {run['seconds']:.1f} s, "
        f"99 % {'never' if reached is None else f'at step {reached}'}; {', '.join(parts)}"
    )


_SETTINGS = ("heads", "layers", "ffn", "mask", "steps", "learning_rate", "d_model", "batch")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model.training",
        description="Trains a small Transformer on a task and says which head took which part of it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", default="neighbours", help=f"one of {', '.join(TASKS)} (default: %(default)s)")
    parser.add_argument("--heads", type=int, help="heads in a layer (default: the task's)")
    parser.add_argument("--layers", type=int, help="layers (default: the task's)")
    parser.add_argument("--ffn", action="store_true", default=None, help="a feed-forward network after attention")
    parser.add_argument("--mask", help="who may attend to whom (default: the task's)")
    parser.add_argument("--steps", type=int, help="steps of training (default: the task's)")
    parser.add_argument("--learning-rate", type=float, help="the highest of the cycle (default: the task's)")
    parser.add_argument("--d-model", type=int, help="width (default: 32)")
    parser.add_argument("--batch", type=int, help="sentences a step (default: 64)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="how many runs, with seeds one after another")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every run to this file")
    return parser


def _fail(message: object, code: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
