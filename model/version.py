"""Which version of the app this is."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def app_version() -> str:
    """The version in pyproject.toml; "unknown" where the file is missing."""
    try:
        settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
        return str(settings["project"]["version"])
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return "unknown"
