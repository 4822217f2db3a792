"""The lessons that are there: those that come with the app, and those of a folder that the server is given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from analysis.lessons.lesson import Lesson
from analysis.lessons.reading import read_file
from model import HeadworkError
from model.errors import first_line, shown

FOLDER = Path(__file__).parents[2] / "data" / "lessons"
LESSONS_VARIABLE = "HEADWORK_LESSONS"
ENDINGS = (".yaml", ".yml", ".json")
MOST_FILES = 200


@dataclass(frozen=True)
class Shelf:
    """Lessons in the order of their files, shipped ones first, and what is wrong with files that were left out."""

    lessons: tuple[Lesson, ...]
    problems: tuple[HeadworkError, ...] = ()

    def lesson(self, id_: str) -> Lesson:
        """The lesson with that id.

        Raises:
            HeadworkError: there is none.
        """
        for each in self.lessons:
            if each.id == id_:
                return each
        raise HeadworkError("There is no lesson {id}. Choose one from the list.", id=shown(id_))


@cache
def shipped() -> Shelf:
    """The lessons that come with the app."""
    return _shelf(list(_files(FOLDER)))


def shelf() -> Shelf:
    """All lessons. The files of HEADWORK_LESSONS are read again when they change."""
    folder = os.environ.get(LESSONS_VARIABLE, "").strip()
    if not folder:
        return shipped()
    try:
        path = Path(folder).expanduser()
        files = [(file, file.stat().st_mtime_ns, file.stat().st_size) for file in _files(path)]
    except (OSError, RuntimeError, ValueError) as error:
        problem = HeadworkError(
            "The folder in {variable} can't be read ({reason}), so its lessons are missing. Check it.",
            variable=LESSONS_VARIABLE,
            reason=first_line(error),
        )
        return Shelf(shipped().lessons, (*shipped().problems, problem))
    own = _own(tuple(files[:MOST_FILES]))
    lessons, problems = list(shipped().lessons), [*shipped().problems, *own.problems]
    if len(files) > MOST_FILES:
        problems.append(
            HeadworkError(
                "The folder in {variable} has {n} lesson files; the first {most} by name are here. Leave fewer in it.",
                variable=LESSONS_VARIABLE,
                n=len(files),
                most=MOST_FILES,
            )
        )
    for lesson in own.lessons:
        if any(lesson.id == other.id for other in shipped().lessons):
            problems.append(_taken(lesson))
        else:
            lessons.append(lesson)
    return Shelf(tuple(lessons), tuple(problems))


@lru_cache(maxsize=4)  # a teacher who writes saves often
def _own(files: tuple[tuple[Path, int, int], ...]) -> Shelf:
    """The lessons of files as they were at a time and size."""
    return _shelf([path for path, _time, _size in files])


def _files(folder: Path) -> Iterator[Path]:
    """The lesson files of a folder by name."""
    found = (path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and not path.name.startswith("."))
    yield from sorted(path for path in found if path.is_file())


def _shelf(files: list[Path]) -> Shelf:
    lessons: dict[str, Lesson] = {}
    problems: list[HeadworkError] = []
    for path in files:
        try:
            lesson = read_file(path)
        except HeadworkError as error:
            problems.append(error)
            continue
        if lesson.id in lessons:
            problems.append(_taken(lesson))
        else:
            lessons[lesson.id] = lesson
    return Shelf(tuple(lessons.values()), tuple(problems))


def _taken(lesson: Lesson) -> HeadworkError:
    return HeadworkError(
        "{file} is left out: there is a lesson with its id, {id}, already. Give it another id.",
        file=lesson.source,
        id=lesson.id,
    )
