"""Training without the app: `python -m model.training --task neighbours --heads 4 --seeds 10 --json OUT`."""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from model.command_line import EXIT_OK, EXIT_STOPPED, command, fail
from model.errors import HeadworkError
from model.files import check_writable, write_whole
from model.settings import threads
from model.tasks import PEEK, TRANSLATIONS
from model.training.kinds import ALL_TASKS, AnyRun, AnySettings, new_run, recorded_settings, settings_of
from model.training.peek import MASKS
from model.training.record import write_record
from model.training.runs import line, over_seeds, report, summary, write
from model.training.saved import to_bytes
from model.training.translate import Translating

MOST_SEEDS = 1000

_EPILOG = """\
json     {"task": …, "runs": [{"heads": 4, "seed": 0, "accuracy": …, "seconds": …, "share_per_head": [[…]]}, …]}:
         accuracy on 1,024 fresh sentences, CPU seconds, a row for each head with its mean weight on each relation's key
         translate-…: accuracy of whole sentences never trained on, "alignment_error" of the best head and of each head
         peek: one run for each mask with "mask", "loss", "floor" (nats a word), "teacher_forced" (next words right, the
         true ones given), "generating" (words that the grammar allows while it writes by itself)
depth    python -m model.training.depth: 1 to 24 layers with and without residuals
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
    all_settings = _all_settings(options, changes)
    for path in filter(None, (options.json, options.save)):
        check_writable(path)  # before the work, not after it
    return _run(all_settings, options.json, options.save)


def _all_settings(options: argparse.Namespace, changes: dict[str, Any]) -> list[AnySettings]:
    """Of every run: one for each seed, of Peek one for each seed and mask."""
    masks = MASKS if options.task == PEEK.id and options.mask is None else (None,)
    return [
        settings_of(options.task, **changes | ({} if mask is None else {"mask": mask}), seed=options.seed + i)
        for i in range(options.seeds)
        for mask in masks
    ]


def _run(all_settings: Sequence[AnySettings], json: Path | None, save: Path | None) -> int:
    """Trains with one seed after another."""
    runs: list[dict[str, Any]] = []
    try:
        for settings in all_settings:
            run = new_run(settings)
            _train(run)
            runs.append(summary(run))
            if json is not None:
                write(json, report(all_settings[0], runs, len(all_settings)))
            print(line(run, runs[-1]), flush=True)
    except KeyboardInterrupt:
        if json is not None:
            write(json, report(all_settings[0], runs, len(all_settings)))
        print(file=sys.stderr)
        return fail(f"stopped after {len(runs)} of {len(all_settings)} runs.", EXIT_STOPPED)
    if spread := over_seeds(runs):
        print(spread)
    if save is not None:
        write_whole(save, to_bytes(run))
        mask = "" if isinstance(run, Translating) else f" --mask {run.settings.mask}"
        print(f'{save}: python -m model "{run.task.sample}" --model {save}{mask}')
    return EXIT_OK


def _record(options: argparse.Namespace, changes: dict[str, Any]) -> int:
    """Trains the networks that a task compares, and keeps them with every frame."""
    compared = changes.keys() & _COMPARED.get(options.task, {"heads", "layers"})
    if options.json or options.save or options.seeds > 1 or compared:
        raise HeadworkError(
            "--record trains what the task compares (sizes, or masks), with one seed: it doesn't go together with an "
            "option for that, nor with --seeds, --json or --save."
        )
    check_writable(options.record)
    trainings = []
    for settings in recorded_settings(options.task, **changes, seed=options.seed):
        trainings.append(new_run(settings))
        _train(trainings[-1])
        print(line(trainings[-1], summary(trainings[-1])), flush=True)
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


def _train(run: AnyRun) -> None:
    """Trains to the end; a terminal sees how far it is."""
    steps = run.settings.steps
    while not run.done:
        run.step(max(1, steps // 40))
        if sys.stderr.isatty():
            end = "\r" if run.done else ""
            right = run.curve[-1].accuracy
            print(f"\r{run.step_number:6} of {steps} steps, {right:6.1%} right", end=end, file=sys.stderr)


_COMPARED = {PEEK.id: {"mask"}} | {task: {"heads"} for task in TRANSLATIONS}  # other tasks: heads and layers
_SETTINGS = ("heads", "layers", "ffn", "mask", "steps", "learning_rate", "d_model", "batch")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model.training",
        description="Trains a small Transformer on a task and says which head took which part of it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", default="neighbours", help=f"one of {', '.join(ALL_TASKS)} (default: %(default)s)")
    parser.add_argument("--heads", type=int, help="heads in a layer (default: the task's)")
    parser.add_argument("--layers", type=int, help="layers; of a translator, its encoder's (default: the task's)")
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
