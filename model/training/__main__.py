"""Training without the app: `python -m model.training --task neighbours --heads 4 --seeds 10 --json OUT`."""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from model.command_line import EXIT_OK, EXIT_STOPPED, command, fail
from model.errors import HeadworkError
from model.files import check_writable, write_whole
from model.head_id import HeadId
from model.settings import threads
from model.tasks import TASKS, find_task
from model.training import Settings, Training, winners
from model.training.record import write_record
from model.training.runs import report, summary, write
from model.training.saved import to_bytes

MOST_SEEDS = 1000

_EPILOG = """\
json     {"task": …, "runs": [{"heads": 4, "seed": 0, "accuracy": …, "seconds": …, "share_per_head": [[…]]}, …]}:
         accuracy on 1,024 fresh sentences, CPU seconds, a row for each head with its mean weight on each relation's key
stopped  OUT holds every run that was finished, and says that it is not complete
exit     0 done; 2 an option is wrong; 4 a file can't be written; 130 stopped by hand; 141 the output's reader has gone
"""


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    options = _parser().parse_args(arguments)
    changes = {name: value for name in _SETTINGS if (value := getattr(options, name)) is not None}
    torch.set_num_threads(threads())
    if not 1 <= options.seeds <= MOST_SEEDS:
        raise HeadworkError("--seeds is {n}: it must be from 1 to {most}.", n=options.seeds, most=MOST_SEEDS)
    if options.record is not None:
        return _record(options, changes)
    all_settings = [Settings.of(options.task, **changes, seed=options.seed + i) for i in range(options.seeds)]
    for path in filter(None, (options.json, options.save)):
        check_writable(path)  # before the work, not after it
    return _run(all_settings, options.json, options.save)


def _run(all_settings: Sequence[Settings], json: Path | None, save: Path | None) -> int:
    """Trains with one seed after another."""
    runs: list[dict[str, Any]] = []
    try:
        for settings in all_settings:
            training = Training(settings)
            _train(training)
            runs.append(summary(training))
            if json is not None:
                write(json, report(all_settings[0], runs, len(all_settings)))
            print(_line(training, runs[-1]), flush=True)
    except KeyboardInterrupt:
        if json is not None:
            write(json, report(all_settings[0], runs, len(all_settings)))
        print(file=sys.stderr)
        return fail(f"stopped after {len(runs)} of {len(all_settings)} runs.", EXIT_STOPPED)
    if len(runs) > 1:
        accuracies = [run["accuracy"] for run in runs]
        print(
            f"{len(runs)} seeds: accuracy {statistics.mean(accuracies):.3f} ± {statistics.stdev(accuracies):.3f} "
            f"[{min(accuracies):.3f}, {max(accuracies):.3f}]"
        )
    if save is not None:
        write_whole(save, to_bytes(training))
        print(f'{save}: python -m model "{training.task.sample}" --model {save} --mask {training.settings.mask}')
    return EXIT_OK


def _record(options: argparse.Namespace, changes: dict[str, Any]) -> int:
    """Trains the networks that a task compares, and keeps them with every frame."""
    if options.json or options.save or options.seeds > 1 or changes.keys() & {"heads", "layers"}:
        raise HeadworkError(
            "--record trains the sizes that the task compares, with one seed: it doesn't go together with --heads, "
            "--layers, --seeds, --json or --save."
        )
    check_writable(options.record)
    sizes = find_task(TASKS, options.task).defaults.compare
    trainings = []
    for size in sizes:
        settings = Settings.of(options.task, **changes, heads=size.heads, layers=size.layers, seed=options.seed)
        trainings.append(Training(settings))
        _train(trainings[-1])
        print(_line(trainings[-1], summary(trainings[-1])), flush=True)
    command = ["python -m model.training --task", options.task]
    command += [
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in changes.items()
    ]
    command += [f"--seed {options.seed}"] if options.seed else []
    write_record(
        options.record,
        trainings,
        date=datetime.date.today().isoformat(),
        command=" ".join([*command, "--record", options.record.as_posix()]),
        versions=f"Python {platform.python_version()}, torch {torch.__version__}",
    )
    return EXIT_OK


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
    """A run in two lines: how often it is right, which head took which relation, and what is left without each head."""
    _, by_relation = training.test()
    found = winners(training.frames[-1])
    parts = [
        f"{relation.id}: {'' if not relation.asked else f'{right:.3f} '}head {HeadId(layer, head)} ({share:.2f})"
        for relation, right, (layer, head), share in zip(
            training.task.relations, by_relation, found.heads, found.shares, strict=True
        )
    ]
    reached = next((point.step for point in training.curve if point.accuracy >= 0.99), None)
    return (
        f"seed {run['seed']}: accuracy {run['accuracy']:.3f}, {run['seconds']:.1f} s, "
        f"99 % {'never' if reached is None else f'at step {reached}'}; {', '.join(parts)}\n"
        f"    right without one head: {_without(training)}"
    )


def _without(training: Training) -> str:
    """Such as "1-1 left 1.00 twin 0.05; 1-2 left 0.04 twin 1.00"."""
    without = training.switched_off().without  # (L, h, R)
    return "; ".join(
        f"{HeadId(layer, head)} "
        + " ".join(f"{training.task.relations[i].id} {without[layer, head, i]:.2f}" for i in training.task.asked)
        for layer in range(without.shape[0])
        for head in range(without.shape[1])
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
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the last trained model, as safetensors")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="train the sizes that the task compares, and write them with every frame: what the page opens with",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
