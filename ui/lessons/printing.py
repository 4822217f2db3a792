"""A lesson to print: nothing yet."""

from analysis.lessons import Lesson


def button(lesson: Lesson) -> None:
    """Offers a lesson as a file to print."""
