"""Checks lesson files and prints the computed answer of every step: `python -m analysis.lessons FILE... --lang zh`."""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from analysis.lessons.answer import ANSWERS, Answer, answer, parameters, say
from analysis.lessons.lesson import LANGUAGES, Lesson, Step
from analysis.lessons.reading import read_file
from analysis.lessons.setup import setup_of
from analysis.lessons.shelf import FOLDER, shipped
from model import HeadworkError
from model.command_line import EXIT_INPUT, EXIT_OK, command
from model.settings import threads


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m analysis.lessons",
        description="Checks lesson files (docs/lessons.md) and prints what each step's answer comes to.",
        epilog="exit     0 all is well; 2 a file or a step has a mistake",
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help=f"YAML or JSON; default: all of {FOLDER.name}/"
    )
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="in which language (en)")
    parser.add_argument("--answers", action="store_true", help="print the answers that a step can ask for, and stop")
    options = parser.parse_args(arguments)
    if options.answers:
        print("\n".join(map(as_help, sorted(ANSWERS))))
        return EXIT_OK
    torch.set_num_threads(threads())
    lessons: list[Lesson] = []
    n_wrong = 0
    if options.files:
        for path in options.files:
            try:
                lessons.append(read_file(path))
            except HeadworkError as error:
                print(f"error: {error}", file=sys.stderr)
                n_wrong += 1
    else:
        lessons = list(shipped().lessons)
        n_wrong += len(shipped().problems)
        for problem in shipped().problems:
            print(f"error: {problem}", file=sys.stderr)
    for lesson in lessons:
        print(f"{lesson.id}: {lesson.title.said(options.lang)} ({lesson.minutes} min, {lesson.source})")
        for number, step in enumerate(lesson.steps, start=1):
            try:
                lines = list(_told(step, options.lang))
            except HeadworkError as error:
                print(f"error: {lesson.source}, line {step.line}: {error}", file=sys.stderr)
                n_wrong += 1
                continue
            print(f"  {number} {step.id} ({step.predict})", *lines, sep="\n      ")
        print(f"  {len(lesson.self_test)} questions in the self-test")
    return EXIT_INPUT if n_wrong else EXIT_OK


def _told(step: Step, language: str) -> Iterator[str]:
    """The lines about one step."""
    lang = LANGUAGES[LANGUAGES.index(language)]
    setup = setup_of(step.setup, lang)
    if setup.text:
        _ = setup.trace  # load and run first: the time is that of the answer
        yield f"{setup.model_id}: {setup.text}" + (" (stands in)" if setup.is_stand_in else "")
    start = time.perf_counter()
    found = answer(step, setup)
    took = time.perf_counter() - start
    said = say(step, found, lang)
    yield said.context
    yield said.question
    yield f"→ {as_text(found, step)}   [{1000 * took:.0f} ms, {found.picture or step.picture}]"
    yield said.why


def as_text(found: Answer, step: Step) -> str:
    """The right answer, to be read."""
    right = found.right
    if step.predict == "token" and isinstance(right, int):
        return found.labels[right]
    if step.predict == "pair" and isinstance(right, tuple):
        return " → ".join(found.labels[int(i)] for i in right)
    if step.predict == "cells" and isinstance(right, frozenset):
        return ", ".join(f"({row + 1}, {column + 1})" for row, column in sorted(right)) or "none"
    return " < ".join(map(str, right)) if isinstance(right, tuple) else str(right)


def as_help(name: str) -> str:
    """What one answer takes and says."""
    taken = [
        f"{each}{'' if parameter.is_needed else '?'}: {'list of ' * parameter.is_list}{parameter.kinds[0].__name__}"
        for each, parameter in parameters(name).items()
    ]
    said = textwrap.indent(inspect.getdoc(ANSWERS[name]) or "", "    ")
    return f"{name}({', '.join(taken)})\n{said}\n"


if __name__ == "__main__":
    sys.exit(main())
