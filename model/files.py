"""Writing a file so that it is whole at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes `text` as UTF-8; until it is all there, what was there before stays.

    Raises:
        OSError: the file can't be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):  # such as /dev/stdout: nothing may take its place
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
