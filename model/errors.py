"""The errors that a person can cause: one sentence that says what was wrong and what to do.

A page shows the sentence (translated through `template` and `values`), the command line prints it, and a
notebook sees an ordinary ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def of_two_parts(model: str) -> HeadworkError:
    """The error for an encoder–decoder where a model of one part is asked for."""
    return HeadworkError(
        "{model} is an encoder–decoder, and what was asked for takes a model of one part. Look at it on the page "
        "Attention, or with python -m model.",
        model=model,
    )


def shown(value: object, most: int = 50) -> str:
    """What a person gave, as Python writes it, short enough for a sentence."""
    return repr(clipped(value, most)) if isinstance(value, str) else clipped(value, most)


def clipped(value: object, most: int = 50) -> str:
    """`value` as text, without quotes, short enough for a sentence."""
    try:
        text = str(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits; lists in lists in lists
        return "…"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def first_line(error: BaseException) -> str:
    """What an error says, short enough to stand in a sentence; its kind where it says nothing. Paths are left out."""
    said = getattr(error, "strerror", None) or str(error)
    return clipped((said.strip().splitlines() or [type(error).__name__])[0], 200)


def is_fault(error: BaseException) -> bool:
    """Whether something broke, and nobody asked to stop: an Exception, or a panic in a library written in Rust.

    Such a panic (in tokenizers, safetensors) comes as a BaseException of a class that can't be imported.
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def check_whole_numbers(owner: object, bounds: Mapping[str, tuple[int, int]]) -> None:
    """Raises HeadworkError unless each attribute in `bounds` is a whole number from its least to its most."""
    for name, (least, most) in bounds.items():
        value = getattr(owner, name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise HeadworkError(
                "{name} is {value}: it must be a whole number from {least} to {most}.",
                name=name,
                value=shown(value),
                least=least,
                most=most,
            )


def _rebuild(kind: type[HeadworkError], template: str, values: dict[str, Any]) -> HeadworkError:
    return kind(template, **values)
