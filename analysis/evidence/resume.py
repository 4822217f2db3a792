"""Finished batches on disk, so that a long run that was stopped can go on where it was.

One file a batch, which also says of which run it is. A batch is whole or absent, whatever stops the process or the
machine; one of another run, or one that can't be read after all, is computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.files import write_whole

Arrays = dict[str, NDArray[np.generic]]
_RUN = "run"  # beside a batch's own arrays


class Store:
    """The finished batches of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run = ""

    def open(self, about: dict[str, object]) -> None:
        """Makes the folder ready for the run that `about` describes; batches of any other run don't count.

        Raises:
            OSError: the folder can't be made (the one that it lies in must be there) or written.
        """
        self._run = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        self.folder.mkdir(exist_ok=True)

    def load(self, number: int) -> Arrays | None:
        """A finished batch of this run; None where there is none, or one that is torn."""
        try:
            with np.load(self._path(number), allow_pickle=False) as file:
                arrays = dict(file)
            return arrays if arrays.pop(_RUN).item() == self._run else None
        except Exception:  # zipfile, zlib, numpy: each has its own for an empty, cut or damaged file
            return None

    def save(self, number: int, arrays: Arrays) -> None:
        """Keeps a batch.

        Raises:
            OSError: it can't be written.
        """
        stream = io.BytesIO()
        np.savez(stream, **arrays, **{_RUN: np.array(self._run)})  # type: ignore[arg-type]
        write_whole(self._path(number), stream.getvalue())

    def remove(self) -> None:
        """Deletes everything that this class wrote, and the folder if nothing else is in it."""
        for path in self.folder.glob(f"batch-{'[0-9]' * 6}.npz*"):
            path.unlink()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _path(self, number: int) -> Path:
        return self.folder / f"batch-{number:06d}.npz"
