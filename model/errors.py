"""The errors that a person can cause: one sentence that says what was wrong and what to do.

A page shows the sentence (translated through `template` and `values`), the command line prints it, and a
notebook sees an ordinary ValueError.
"""

from __future__ import annotations

from typing import Any


class HeadworkError(ValueError):
    """A mistake with a remedy. `str(error)` is the sentence in English.

    Args:
        template: the sentence, with `{name}` where a value goes; it is the key for translations.
        values: what is filled in.
    """

    def __init__(self, template: str, **values: Any) -> None:
        super().__init__(template.format(**values))
        self.template = template
        self.values = values

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from `args`, which hold the finished sentence: its braces may be the person's own.
        return _rebuild, (type(self), self.template, self.values)


class NotDownloaded(HeadworkError):
    """The model is on the hub and not on this computer. `repo_id` names it: a page offers to download it."""

    def __init__(self, template: str, *, repo_id: str, **values: Any) -> None:
        super().__init__(template, repo_id=repo_id, **values)
        self.repo_id = repo_id


def _rebuild(kind: type[HeadworkError], template: str, values: dict[str, Any]) -> HeadworkError:
    return kind(template, **values)
