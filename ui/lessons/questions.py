"""Questions are `analysis.lessons.questions`."""

from analysis.lessons.questions import Question, checked, in_words

__all__ = ["Question", "checked", "in_words"]
