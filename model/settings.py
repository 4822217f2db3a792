"""What an operator sets through the environment, read here only. A value that makes no sense is told, not guessed."""

from __future__ import annotations

import os

from model.errors import HeadworkError, shown

THREADS_VARIABLE = "HEADWORK_THREADS"
CACHE_VARIABLE = "HEADWORK_CACHE_MB"
TRAININGS_VARIABLE = "HEADWORK_TRAININGS"
MOST_THREADS = 1024
CACHE_MB = 256.0  # BERT-base at 512 tokens takes 151 MB, an example sentence with the built-in model 0.04 MB
MOST_CACHE_MB = 1e9


def threads() -> int:
    """Torch threads for one forward, from HEADWORK_THREADS; 1 where it is not set or empty.

    Raises:
        HeadworkError: it is set to anything but a whole number from 1 on.
    """
    return _whole(THREADS_VARIABLE, 1)


def trainings() -> int:
    """Trainings that run at a time, from HEADWORK_TRAININGS; where it is not set one for every two CPUs, from 1 to 4.

    They are threads of one Python: two at once are about as fast as one after the other, so more CPUs don't ask for
    many more.

    Raises:
        HeadworkError: it is set to anything but a whole number from 1 on.
    """
    return _whole(TRAININGS_VARIABLE, min(4, max(1, (os.cpu_count() or 1) // 2)))


def _whole(variable: str, default: int) -> int:
    value = os.environ.get(variable, "").strip()
    if not value:
        return default
    if value.isascii() and value.isdigit() and len(value) < 10 and 1 <= int(value) <= MOST_THREADS:
        return int(value)
    raise HeadworkError(
        "{variable} is {value}, but it takes a whole number from 1 to {most}. Leave it out for {default}.",
        variable=variable,
        value=shown(value, 60),
        most=MOST_THREADS,
        default=default,
    )


def cache_bytes() -> int:
    """Bytes of maps that the app keeps, from HEADWORK_CACHE_MB in megabytes (10⁶ bytes); 0 keeps none.

    Raises:
        HeadworkError: it is set to anything but a number from 0 on.
    """
    value = os.environ.get(CACHE_VARIABLE, "").strip()
    try:
        megabytes = float(value) if value else CACHE_MB
    except ValueError:
        megabytes = -1.0
    if 0 <= megabytes <= MOST_CACHE_MB:  # false for "nan" too
        return int(megabytes * 1e6)
    raise HeadworkError(
        "{variable} is {value}, but it takes a number of megabytes without a unit, for example {example}.",
        variable=CACHE_VARIABLE,
        value=shown(value, 60),
        example=f"{CACHE_MB:.0f}",
    )
