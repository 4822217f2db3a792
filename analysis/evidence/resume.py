"""Finished batches on disk, so that a long run that was stopped can go on where it was.

A folder holds run.json, which says what is being computed, and one file a batch, written beside its place and then
moved there: a batch is whole or absent, whenever the process is killed.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]
ABOUT = "run.json"


class Store:
    """The finished batches of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_found = 0  # batches that an earlier run left here

    def open(self, about: dict[str, object]) -> None:
        """Makes the folder ready for the run that `about` describes; batches of any other run are removed.

        Raises:
            OSError: the folder can't be made or written.
        """
        text = json.dumps(about, sort_keys=True)
        path = self.folder / ABOUT
        try:
            same = path.read_text(encoding="utf-8") == text
        except (OSError, UnicodeDecodeError):
            same = False
        self.folder.mkdir(parents=True, exist_ok=True)
        if not same:
            for old in self.folder.glob("batch-*"):
                old.unlink()
            _write(path, text.encode())
        self.n_found = sum(1 for _ in self.folder.glob("batch-*.npz"))

    def load(self, number: int) -> Arrays | None:
        """A finished batch, or None."""
        try:
            with np.load(self._path(number), allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, zipfile.BadZipFile):
            return None

    def save(self, number: int, arrays: Arrays) -> None:
        """Keeps a batch."""
        path = self._path(number)
        beside = path.with_suffix(".part")
        with beside.open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]
        os.replace(beside, path)

    def remove(self) -> None:
        """Deletes the folder with everything that this class wrote."""
        for path in [*self.folder.glob("batch-*"), self.folder / ABOUT]:
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            shutil.rmtree(self.folder)

    def _path(self, number: int) -> Path:
        return self.folder / f"batch-{number:06d}.npz"


def _write(path: Path, content: bytes) -> None:
    beside = path.with_suffix(".part")
    beside.write_bytes(content)
    os.replace(beside, path)
