"""Lessons: predict, then look. A file says questions; answers are computed by the model that runs.

from analysis.lessons import DIRECT, answer, say, setup_of, shelf
step = shelf().lesson("find-the-head").steps[0]
found = answer(step, setup_of(step.setup, "en"))
found.right, say(step, found, "en").why
"""

import model.command_line  # noqa: F401  first: it minds Ctrl-C while torch is imported
from analysis.lessons.answer import ANSWERS, Answer, Said, answer, say
from analysis.lessons.lesson import Choice, Lesson, Option, SelfTest, Step, Words, in_language
from analysis.lessons.marked import LessonError
from analysis.lessons.reading import read_file, read_lesson
from analysis.lessons.setup import DIRECT, Setup, Source, is_here, setup_of
from analysis.lessons.shelf import Shelf, shelf

__all__ = [
    "ANSWERS",
    "DIRECT",
    "Answer",
    "Choice",
    "Lesson",
    "LessonError",
    "Option",
    "Said",
    "SelfTest",
    "Setup",
    "Shelf",
    "Source",
    "Step",
    "Words",
    "answer",
    "in_language",
    "is_here",
    "read_file",
    "read_lesson",
    "say",
    "setup_of",
    "shelf",
]
