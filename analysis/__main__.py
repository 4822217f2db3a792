"""Which heads do syntax, which coreference: `python -m analysis FILE... --model minilm --json OUT`."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from analysis.evidence.controls import CONTROLS
from analysis.evidence.coreference import left_out
from analysis.evidence.corpora.corpus import Corpus, read_corpus
from analysis.evidence.dependencies import DependencyScores
from analysis.evidence.gender import GenderScore
from analysis.evidence.held_out import HeldOut
from analysis.evidence.intervals import FEWEST_ARCS, Interval
from analysis.evidence.noun_pairs import Share
from analysis.evidence.progress import Progress
from analysis.evidence.report import Scores, as_text, report
from analysis.evidence.resume import Store
from analysis.evidence.scoring import WRITINGS, Conditions, Run, score
from model import HeadworkError
from model import load_one_part as load
from model.catalogue import DEFAULT_MODEL
from model.command_line import EXIT_MODEL, EXIT_OK, EXIT_STOPPED, MOST_SEED, command, fail, whole_number
from model.files import check_writable, write_whole
from model.settings import threads

SHOWN_PROBLEMS = 20

_EPILOG = """\
files    CoNLL-U (.conllu), or JSON lines with words, heads and deprels, or with words, pronoun, candidates, antecedents
         (fields: analysis/evidence/corpora/json_lines.py); a broken line is reported and the rest is scored
stopped  with --json, finished batches are kept beside OUT until OUT is written: the same command goes on there
exit     0 done; 2 a file, the mask or an option is wrong; 3 the model can't be loaded; 4 a file can't be written;
         130 stopped by hand; 141 whoever read the output has gone
"""


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    options = _parser().parse_args(arguments)
    torch.set_num_threads(threads())
    conditions = Conditions.of(
        options.mask, restrict=options.restrict, writing=options.words, control=options.control, seed=options.seed
    )
    corpus = read_corpus(options.files)
    store = _store(options.resume, options.json)  # before the work, not after it
    _print_problems(corpus)
    try:
        model = load(options.model, download=options.download)
    except HeadworkError as error:
        return fail(error, EXIT_MODEL)
    progress = Progress()
    try:
        run = score(model, corpus, conditions, progress=progress, store=store)
        progress.end()
        scores = Scores.of(run, seed=options.seed)
    except KeyboardInterrupt:
        progress.end()
        hint = "" if store is None else " The same command goes on from here."
        return fail(f"stopped.{hint}", EXIT_STOPPED)
    if options.json is not None:
        write_whole(options.json, as_text(report(run, corpus, scores)))
    if store is not None:
        store.remove()
    print(summary(run, scores))
    return EXIT_OK


def summary(run: Run, scores: Scores) -> str:
    """What is printed: a line for each relation from 30 arcs on, and what balanced sets say about gender."""
    conditions, restricted = run.conditions, run.conditions.restrict
    lines = [
        f"model    {run.model_label}",
        f"mask     {conditions.mask}" + (f", scored on what {restricted} shows" if restricted else ""),
        f"corpus   {len(run.sentences)} sentences, {len(run.passages)} passages; {len(run.skipped)} skipped",
        *([f"start    {run.start} before each"] if run.start else []),
    ]
    lines += _left_out(run, scores.dependencies)
    shown = [each for each in scores.dependencies.relations if each.n >= FEWEST_ARCS and each.held_out]
    if shown:
        lines += ["", f"{'relation':22} {'n':>6}  head        held-out accuracy     best offset  gain"]
    for each in shown:
        lines.append(f"{each.relation + ', ' + each.direction:22} {each.n:6}  {_result(each.held_out)}")
    for score_ in scores.coreference:
        if score_.held_out is not None:
            hidden = f", {score_.n_unseen} passages hidden by the mask" if score_.n_unseen else ""
            lines += ["", f"coreference, {score_.subset} mentions: n {score_.n}, chance {score_.chance:.1%}{hidden}"]
            lines.append(" " * 31 + _result(score_.held_out))
            lines.append("  " + ", ".join(f"{name} {value:.1%}" for name, value in score_.baselines.items()))
    for balanced in scores.gender:
        lines += ["", *_gender(balanced)]
    return "\n".join(lines)


def _left_out(run: Run, dependencies: DependencyScores) -> list[str]:
    """What was not scored: what the mask hides, and in text without spaces words that share a piece."""
    hidden = [
        f"hidden   {n} of {dependencies.n_arcs} arcs can't be asked {direction}: the right word isn't in sight"
        for direction, n in dependencies.n_unseen.items()
        if n
    ]
    said = []
    if dependencies.n_unclear:
        n_words = int(run.arrows.unclear.sum())
        said.append(
            f"{n_words} of {len(run.arrows.unclear)} words share a piece with another; "
            f"{dependencies.n_unclear} of {dependencies.n_arcs} arcs left out"
        )
    if n := dependencies.n_incomplete:
        said.append(f"{n} questions from head to dependent left out: another of the right words shares a piece")
    if n_passages := left_out(run):
        said.append(f"{n_passages} of {len(run.passages)} passages left out: pronoun or mention shares a piece")
    return hidden + [f"pieces   {each}" for each in said]


def _gender(score: GenderScore) -> list[str]:
    """One balanced set: what heads reach that were chosen on other nouns, and in other templates."""
    lines = [
        f"gender, {score.file}: n {score.n}, {len(score.pairs)} pairs of nouns, {len(score.templates)} templates, "
        f"chance 50.0%",
    ]
    if score.n_unclear or score.n_incomplete:
        lines.append(
            f"  left out: {score.n_unclear} (pronoun or noun shares a piece), {score.n_incomplete} (cell incomplete)"
        )
    found = score.chosen
    if found is None:
        return [*lines, "  a head can't be chosen: two pairs of nouns and both parts of the templates are needed"]
    heads = " / ".join(f"{head} ({share:.0%})" for head, share in found.heads)
    lines.append(f"  chosen, in how many divisions: {heads}")
    for name, share in (
        ("other nouns", found.other_nouns),
        ("other nouns, new templates", found.new_templates),
        ("rarer nouns, new templates", found.rarer_nouns),
    ):
        if share is not None:
            lines.append(f"  {name:27}{_share(share)}")
    head = found.heads[0][0]
    lines += [
        f"  {'mean of all maps':27}{score.mean_map:6.1%}   (mean over heads {score.mean_of_heads:.1%})",
        f"  {head}: nouns swapped, the arrow goes along {score.follows_noun[head]:.1%}; other pronoun, it "
        f"changes {score.follows_pronoun[head]:.1%}; asked from other words {score.query_control[head]:.1%}",
    ]
    return lines


def _share(share: Share) -> str:
    if share.interval is None:
        return f"{share.accuracy:6.1%} of {share.n}, {share.n_pairs} pairs of nouns"
    return f"{share.accuracy:6.1%} {_bounds(share.interval)} of {share.n}"


def _result(result: HeldOut | None) -> str:
    if result is None:
        return ""
    heads = " / ".join(dict.fromkeys(str(head) for head in result.heads))
    baselines = " / ".join(dict.fromkeys(result.baselines))
    return (
        f"{heads:11} {result.accuracy:6.1%} {_bounds(result.interval):13} {result.baseline:6.1%} ({baselines})  "
        f"{100 * result.gain:+.1f} {_bounds(result.gain_interval)}"
    )


def _bounds(bounds: Interval | None) -> str:
    return "" if bounds is None else f"[{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Scores every head of a model on dependency relations and on coreference.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="annotated text")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="which model (default: %(default)s)")
    parser.add_argument("--mask", help="which mask (default: the one that the model was trained under)")
    parser.add_argument(
        "--restrict",
        metavar="MASK",
        help="let heads choose only among words that this mask shows too: with causal, a bidirectional model is scored "
        "on the arcs that a causal one can be scored on",
    )
    parser.add_argument(
        "--words",
        choices=WRITINGS,
        help="apart: a space between all words (do n't); written: the text as people write it (default: written for "
        "files in a script without spaces, such as Chinese, and apart for all others)",
    )
    parser.add_argument("--control", choices=CONTROLS, help="run with [MASK] for every word, or with random weights")
    parser.add_argument(
        "--seed",
        type=whole_number(0, MOST_SEED),
        default=0,
        help="of the halves, the intervals and random weights (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every score to this file")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FOLDER",
        help="where finished batches are kept (default with --json: OUT.partial)",
    )
    parser.add_argument("--download", action="store_true", help="fetch the model from the hub if it isn't here yet")
    return parser


def _store(folder: Path | None, out: Path | None) -> Store | None:
    """Where finished batches are kept, if anywhere.

    Raises:
        OSError: they or the result can't be written there.
    """
    if out is not None:
        check_writable(out)
        if folder is None and (out.is_file() or not out.exists()):  # nothing is kept beside a pipe or a device
            place = out.resolve()
            folder = place.with_name(place.name + ".partial")
    if folder is None:
        return None
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    check_writable(folder / "batch" if folder.is_dir() else folder)
    return Store(folder)


def _print_problems(corpus: Corpus) -> None:
    for problem in corpus.problems[:SHOWN_PROBLEMS]:
        print(f"skipped: {problem}", file=sys.stderr)
    if len(corpus.problems) > SHOWN_PROBLEMS:
        print(f"skipped: {len(corpus.problems) - SHOWN_PROBLEMS} more (all are in the JSON)", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
