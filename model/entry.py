"""What is known about a model before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Source = Literal["built in", "toy", "hub", "folder", "trained here"]


@dataclass(frozen=True)
class Entry:
    """A model that a person can choose.

    Attributes:
        id: canonical, so that two spellings of one model are one key in a cache.
        about: one sentence for the person who chooses.
        download_bytes: about how much has to be fetched the first time; 0 = nothing, None = not known yet.
        trained: False for random weights.
        languages: codes of the languages it was trained on; empty when not known.
        trained_mask: the mask it was trained under; None when untrained or not known.
        repo_ids: hub repositories that hold it, the current name first.
        folder: where it lies, for a folder; for a model trained in this app, its file.
        sample: a sentence of its task, for a model trained in this app.
    """

    id: str
    label: str
    about: str
    source: Source
    download_bytes: int | None = 0
    trained: bool = True
    languages: tuple[str, ...] = ()
    trained_mask: str | None = "bidirectional"
    repo_ids: tuple[str, ...] = ()
    folder: Path | None = None
    sample: str | None = None


class Named:
    """What every loaded model says of itself, off its entry."""

    entry: Entry

    @property
    def id(self) -> str:
        """The entry's."""
        return self.entry.id

    @property
    def label(self) -> str:
        """The entry's."""
        return self.entry.label

    @property
    def trained(self) -> bool:
        """False for random weights."""
        return self.entry.trained
