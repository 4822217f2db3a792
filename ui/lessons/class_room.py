"""The teacher's bar of a class: nothing yet."""

from analysis.lessons import Answer, Lesson


def bar(lesson: Lesson, step: int, answer: Answer) -> None:
    """Drawn below a step's question. `step` counts from 0."""
