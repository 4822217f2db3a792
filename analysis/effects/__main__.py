"""What each head does to the prediction: `python -m analysis.effects PROMPTS --model smollm2-135m --json OUT`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from analysis.effects.effects import Effects, measure
from analysis.effects.questions import Problem, encode_questions
from analysis.effects.reading import MOST_QUESTIONS, read_questions
from analysis.effects.report import as_text, report, state_report
from analysis.effects.runs import OFF
from analysis.effects.states import StateEffects, encode_text, measure_states
from analysis.effects.sweep import PARTS
from analysis.evidence.progress import Progress
from analysis.evidence.resume import Store
from model import HeadworkError
from model import load_one_part as load
from model.catalogue import SMOLLM2
from model.command_line import EXIT_MODEL, EXIT_OK, EXIT_STOPPED, MOST_SEED, command, fail, whole_number
from model.files import check_writable, sha256_of, write_whole
from model.masks import Mask
from model.settings import MOST_THREADS, THREADS_VARIABLE, threads

SHOWN_PROBLEMS = 20
SHOWN_HEADS = 5

_EPILOG = f"""\
prompts  a question a line: prompt | right | wrong, or JSON with prompt, right, wrong (the answers with the space before
         them) and, where they help, cue (the word that decides) and other (the prompt changed so that the wrong answer
         is right). A line that is no question is reported and the rest is measured; beyond {MOST_QUESTIONS} questions
         the rest is left out. For a model that predicts nothing, only the prompts are read
stopped  with --json, finished parts are kept beside OUT until OUT is written: the same command with --resume goes on
exit     0 done; 2 the prompts, the mask or an option is wrong; 3 the model can't be loaded; 4 a file can't be written;
         130 stopped by hand; 141 whoever read the output has gone
"""


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    options = _parser().parse_args(arguments)
    torch.set_num_threads(1)  # each worker has one
    mask = None if options.mask is None else Mask.of(options.mask)
    store = _store(options.json, resume=options.resume)  # before the work, not after it
    found = read_questions(options.prompts)
    _print_problems(found.problems)
    if found.n_left_out:
        print(
            f"left out: {found.n_left_out} questions beyond the first {MOST_QUESTIONS}, since every head is switched "
            f"off on each",
            file=sys.stderr,
        )
    try:
        model = load(options.model, download=options.download)
    except HeadworkError as error:
        return fail(error, EXIT_MODEL)
    if store is not None and not options.resume:
        store.remove()
    progress = Progress()
    settings: dict[str, Any] = {
        "off": options.off,
        "mask": mask,
        "parts": options.parts,
        "workers": options.workers,
        "store": store,
        "progress": progress,
        "seed": options.seed,
    }
    effects: Effects | StateEffects
    about: dict[str, Any] = {"file": options.prompts.name, "file_sha256": sha256_of(options.prompts)}
    about["n_left_out"] = found.n_left_out
    try:
        if model.has_output:
            asked, problems = encode_questions(model, found.questions, shorten=options.shorten)
            problems = tuple(Problem(found.lines[each.line - 1], each.error) for each in problems)
            _print_problems(problems)
            if not asked:
                raise problems[0].error
            about["left_out"] = [str(problem) for problem in (*found.problems, *problems)]
            effects = measure(model, asked, **settings)
            result = report(effects, about)
        else:
            effects = measure_states(model, [encode_text(model, each.prompt) for each in found.questions], **settings)
            result = state_report(effects, about)
        progress.end()
    except KeyboardInterrupt:
        progress.end()
        hint = "" if store is None else " The same command with --resume goes on from here."
        return fail(f"stopped.{hint}", EXIT_STOPPED)
    if options.json is not None:
        write_whole(options.json, as_text(result))
    if store is not None:
        store.remove()
    print(summary(effects) if isinstance(effects, Effects) else state_summary(effects))
    return EXIT_OK


def summary(effects: Effects) -> str:
    """What is printed: the answers with everything on, the strongest heads, and attention beside effect."""
    bounds, mean, looks = effects.interval(), effects.effect(), effects.attention_to_answer()
    lines = [
        f"model     {effects.model_label}",
        f"prompts   {effects.n}; right for {int(effects.right.sum())}; difference of logits "
        f"{effects.difference.mean():+.2f}; p right {effects.p_right.mean():.3f}, wrong {effects.p_wrong.mean():.3f}",
    ]
    if n := int(effects.unlikely.sum()):
        lines.append(f"          for {n} of them neither answer is likely: effects on their difference say little")
    if effects.heads.size:
        lines += ["", f"off: {effects.off:8} effect on the difference       attention   direct"]
    direct = effects.direct()
    ranked = effects.ranked()
    for head in [*ranked[:SHOWN_HEADS], *ranked[-1:]]:
        interval = "" if bounds is None else f"[{bounds[0][head]:+.2f}, {bounds[1][head]:+.2f}]"
        attention = "" if looks[head] != looks[head] else f"{looks[head]:.2f}"
        written = "" if direct is None else f"{direct[head]:+.2f}"
        lines.append(f"{head!s:>12}  {mean[head]:+.2f} {interval:20}    {attention:>8}  {written:>8}")
    lines += _layer_lines(effects, "+.2f")
    found = effects.rank_correlation()
    if found is not None:
        interval = "" if found.interval is None else f" [{found.interval[0]:+.2f}, {found.interval[1]:+.2f}]"
        lines += ["", f"rank correlation of attention and drop: {found.value:+.2f}{interval}, n = {found.n}"]
    chosen = effects.held_out(1)
    lines += [
        f"held out: {each.head} chosen on one half ({each.chosen_effect:+.2f}, n = {each.n_chosen}), on the other "
        f"{each.effect:+.2f} (n = {each.n})"
        for each in chosen
    ]
    return "\n".join(lines)


def state_summary(effects: StateEffects) -> str:
    """Likewise for a model that predicts nothing: the heads that turn the sentence's vector most."""
    mean, bounds = effects.sentence.mean(axis=0), effects.interval()
    order = sorted(((mean[i, j], i, j) for i in range(mean.shape[0]) for j in range(mean.shape[1])), reverse=True)
    lines = [
        f"model     {effects.model_label}",
        f"sentences {effects.n}; it predicts no token, so the measure is how far the sentence's vector turns",
    ]
    if order:
        lines += ["", f"off: {effects.off:8} cosine distance"]
    for value, layer, head in order[:SHOWN_HEADS]:
        interval = "" if bounds is None else f"[{bounds[0, layer, head]:.4f}, {bounds[1, layer, head]:.4f}]"
        lines.append(f"{f'{layer + 1}-{head + 1}':>12}  {value:.4f} {interval}")
    return "\n".join(lines + _layer_lines(effects, ".4f"))


def _layer_lines(effects: Effects | StateEffects, digits: str) -> list[str]:
    """The layers whose FFN, and those which whole, do most when they are off; nothing for what wasn't asked for."""
    lines: list[str] = []
    for name, values in (("FFNs", effects.ffns), ("layers", effects.layers)):
        if values is not None:
            mean = values.mean(axis=0)  # (L,)
            strongest = np.argsort(-np.abs(mean), kind="stable")[:SHOWN_HEADS]
            listed = ", ".join(f"{layer + 1} ({mean[layer]:{digits}})" for layer in strongest.tolist())
            lines += ["", f"{name} off: {listed}"] if not lines else [f"{name} off: {listed}"]
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis.effects",
        description="Switches off every head of a model in turn, and says what that does to the prediction.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("prompts", type=Path, metavar="PROMPTS", help="a file of questions")
    parser.add_argument("--model", default=SMOLLM2, help="which model (default: %(default)s)")
    parser.add_argument("--mask", help="which mask (default: the model's own)")
    parser.add_argument(
        "--off",
        choices=OFF,
        default="zero",
        help="what stands in for a head that is off: 0, its mean over all tokens of the prompts, or its mean at each "
        "position (default: %(default)s)",
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=["heads", "ffns", "layers"],
        help="what is switched off: FFNs and whole layers take as long as two more heads a layer (default: all)",
    )
    parser.add_argument(
        "--shorten", action="store_true", help="where answers are several tokens, ask about the first that differ"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, MOST_SEED),
        default=0,
        help="of the halves and the intervals (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=whole_number(1, MOST_THREADS),
        default=_workers(),
        help=f"threads (default: {THREADS_VARIABLE}, or the processors of this process: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything to this file")
    parser.add_argument("--resume", action="store_true", help="go on where a run into the same OUT was stopped")
    parser.add_argument("--download", action="store_true", help="fetch the model from the hub if it isn't here yet")
    return parser


def _workers() -> int:
    return threads() if os.environ.get(THREADS_VARIABLE) else len(os.sched_getaffinity(0))


def _store(out: Path | None, *, resume: bool) -> Store | None:
    """Where finished parts are kept: beside a file, not beside a pipe.

    Raises:
        OSError: they or the result can't be written there.
        HeadworkError: nothing can be taken up without a file.
    """
    if out is not None:
        check_writable(out)
    if out is None or (out.exists() and not out.is_file()):
        if resume:
            raise HeadworkError("--resume goes on with what is kept beside a file: give that file with --json.")
        return None
    place = out.resolve()
    folder = place.with_name(place.name + ".partial")
    check_writable(folder / "batch" if folder.is_dir() else folder)
    return Store(folder)


def _print_problems(problems: Sequence[Problem]) -> None:
    for problem in problems[:SHOWN_PROBLEMS]:
        print(f"skipped: {problem}", file=sys.stderr)
    if len(problems) > SHOWN_PROBLEMS:
        print(f"skipped: {len(problems) - SHOWN_PROBLEMS} more", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
