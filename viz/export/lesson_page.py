"""A lesson as one HTML file for paper: questions with space for answers, the computed answers on its last pages.

    python -m viz.export.lesson_page find-the-head one-head --lang zh --out printed

It opens without internet and without scripts. Pictures are SVG made from the same answers that the app shows.
"""

from __future__ import annotations

import argparse
import html
import string
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from analysis.lessons import DIRECT, Answer, Lesson, Said, Setup, Source, answer, read_file, say, setup_of, shelf
from analysis.lessons.lesson import LANGUAGES, Language
from analysis.lessons.questions import in_words, question_of
from model import HeadworkError
from model.command_line import EXIT_INPUT, EXIT_OK, command
from model.settings import threads
from model.version import app_version
from viz.export.lesson_pictures import picture
from viz.export.lesson_words import TO_DO, mask_in, pictures_in, said

STYLE = Path(__file__).with_suffix(".css")
MOST_CELLS = 400  # of an empty grid to be coloured by hand
LETTERS = string.ascii_lowercase


def lesson_page(lesson: Lesson, language: Language, source: Source = DIRECT) -> str:
    """The file. A step whose answer can't be computed here says why in its place.

    Args:
        lesson: the lesson.
        language: of the page.
        source: where models and traces come from; a page of the app puts its caches here.
    """
    steps = [_Printed(lesson, number, language, source) for number in range(len(lesson.steps))]
    title = html.escape(lesson.title.said(language))
    tests = "\n".join(_test(lesson, i, language) for i in range(len(lesson.self_test)))
    answers = "\n".join(each.answer(i) for i, each in enumerate(steps, 1))
    keys = "\n".join(_key(lesson, i, language) for i in range(len(lesson.self_test)))
    test_title = f"<h2>{_t('test', language)}</h2>" if lesson.self_test else ""
    return f"""<!doctype html>
<html lang="{_t("en", language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title} · Headwork</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header><h1>{title}</h1><p>{_t("name", language)} ______________</p></header>
<p class="model">{_t("minutes", language, n=lesson.minutes)}</p>
{"".join(each.question(i) for i, each in enumerate(steps, 1))}
{test_title}
{tests}
<div class="answers">
<h2>{_t("answers", language)}</h2>
{answers}
{test_title}
{keys}
<footer>{_t("computed", language, app=f"Headwork {app_version()}")}</footer>
</div>
</body>
</html>
"""


class _Printed:
    """A step with its answer, or with the reason why there is none."""

    def __init__(self, lesson: Lesson, number: int, language: Language, source: Source) -> None:
        self.step = step = lesson.steps[number]
        self.language = language
        self.setup: Setup | None = None
        self.found: Answer | None = None
        self.said = Said(step.context.unfilled(language), step.question.unfilled(language), "")
        self.fault = ""
        try:
            self.setup = setup_of(step.setup, language, source)
            found = answer(step, self.setup)
            self.said = say(step, found, language)
            self.asked = question_of(lesson, number, found, language)
            self.found = found
        except HeadworkError as error:
            self.fault = str(error)

    def question(self, number: int) -> str:
        context, question = (html.escape(text) for text in (self.said.context, self.said.question))
        return f"""<section class="step" id="question-{number}">
<h3>{number}</h3>
<p>{context}</p>
<p class="question">{question}</p>
<p class="to-do">{html.escape(getattr(TO_DO[self.step.predict], self.language))}</p>
{"".join(self._space())}
<div class="room" data-label="{_t("because", self.language)}"></div>
</section>
"""

    def _space(self) -> Iterator[str]:
        """Where the guess goes."""
        step, labels = self.step, self.found.labels if self.found else ()
        if step.predict in ("token", "pair"):
            yield f'<div class="words">{"".join(f"<span>{html.escape(label)}</span>" for label in labels)}</div>'
        elif step.predict in ("choice", "order"):
            texts = [html.escape(text) for _, text in self._choices()]
            kind = "choices order" if step.predict == "order" else "choices"
            yield f'<ul class="{kind}">{"".join(f"<li>{text}</li>" for text in texts)}</ul>'
        elif step.predict == "number" and step.range is not None:
            yield f'<p class="number">{html.escape(getattr(step.range.unit, self.language))}</p>'
        elif self.found is not None:
            yield from _grid(labels, self.found.columns or labels)

    def _choices(self) -> Sequence[tuple[str, str]]:
        if self.found is not None:
            return self.asked.choices
        return [(choice.id, choice.text.unfilled(self.language)) for choice in self.step.choices]

    def answer(self, number: int) -> str:
        if self.found is None or self.setup is None:
            return f"<section><h3>{number}</h3><p>{_t('no answer', self.language, reason=self.fault)}</p></section>"
        right = html.escape(self._right(self.found))
        drawn = picture(self.found, self.language, pictures_in(self.language), self.said.question)
        return f"""<section class="answer" id="answer-{number}">
<h3>{number}</h3>
<p class="to-do">{html.escape(self.said.question)}</p>
<p class="right">{right}</p>
{drawn}
<p>{html.escape(self.said.why)}</p>
{"".join(self._mistakes())}{self._model()}
</section>"""

    def _right(self, found: Answer) -> str:
        """The right answer, to be read."""
        if isinstance(found.right, frozenset):
            return said("cells", self.language, n=len(found.right))
        return in_words(self.asked, found.right)

    def _mistakes(self) -> Iterator[str]:
        for id_, text in self._choices():
            if id_ in self.said.mistakes and self.found is not None and id_ != self.found.right:
                line = _t("mistakes", self.language, text=text, wrong=self.said.mistakes[id_])
                yield f'<p class="to-do">{line}</p>'

    def _model(self) -> str:
        assert self.setup is not None
        if not self.setup.text:
            return ""
        try:
            trace = self.setup.trace
        except HeadworkError:  # what was measured before needs no model here
            return ""
        line = _t("numbers of", self.language, model=trace.model_label, mask=mask_in(self.language, str(trace.mask)))
        stands_in = " " + _t("stands in", self.language) if self.setup.is_stand_in else ""
        return f'<p class="model">{line} · {html.escape(self.setup.text)}{stands_in}</p>'


def _grid(rows: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """An empty grid to be coloured."""
    if not rows or len(rows) * len(columns) > MOST_CELLS:
        return
    head = "".join(f"<th>{html.escape(label)}</th>" for label in columns)
    body = "".join(f"<tr><th>{html.escape(label)}</th>{'<td></td>' * len(columns)}</tr>" for label in rows)
    yield f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def _test(lesson: Lesson, i: int, language: Language) -> str:
    test = lesson.self_test[i]
    choices = "".join(
        f"<li>{LETTERS[j]}) {html.escape(getattr(choice.text, language))}</li>" for j, choice in enumerate(test.choices)
    )
    question = html.escape(getattr(test.question, language))
    return f"""<section class="test"><h3>{i + 1}</h3>
<p class="question">{question}</p><ul class="choices">{choices}</ul></section>"""


def _key(lesson: Lesson, i: int, language: Language) -> str:
    lines = []
    for letter, choice in zip(LETTERS, lesson.self_test[i].choices, strict=False):
        mark, kind = ("●", "right") if choice.right else ("✕", "wrong")
        why = html.escape(getattr(choice.why, language))
        lines.append(f'<p class="{kind}-choice"><b>{letter}) {mark}</b> {why}</p>')
    return f'<section class="key"><h3>{i + 1}</h3>{"".join(lines)}</section>'


def _t(name: str, language: Language, **values: object) -> str:
    return html.escape(said(name, language, **values))


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m viz.export.lesson_page", description="Makes pages of lessons to print, one HTML file each."
    )
    parser.add_argument(
        "lessons", nargs="*", help="ids of lessons, or lesson files; default: all that come with the app"
    )
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="in which language (en)")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the files (this one)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(threads())
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for lesson in _asked(options.lessons):
            file = options.out / f"{lesson.id}-{options.lang}.html"
            file.write_text(lesson_page(lesson, options.lang), encoding="utf-8")
            print(file)
    except (HeadworkError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_INPUT
    return EXIT_OK


def _asked(names: Sequence[str]) -> Iterator[Lesson]:
    if not names:
        yield from shelf().lessons
    for name in names:
        path = Path(name)
        yield read_file(path) if path.suffix else shelf().lesson(name)


if __name__ == "__main__":
    sys.exit(main())
