"""Where models of the Hugging Face hub lie on this computer: the cache that huggingface_hub and others share.

HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE and HF_TOKEN are read at each call, not at import.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from model.errors import HeadworkError
from model.files import read_json
from model.tokenizers.tokenizer_json import TOKENIZER_FILES
from model.weights.checkpoints import CONFIG, INDEX, WEIGHTS

_REPO_ID = re.compile(r"(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?/)?[A-Za-z0-9_](?:[\w.-]*\w)?", re.ASCII)


@dataclass(frozen=True)
class Place:
    """Where to ask and where to keep."""

    endpoint: str
    cache: Path
    token: str | None
    offline: bool

    @classmethod
    def now(cls) -> Place:
        """As the environment says at this moment."""
        home = os.environ.get("HF_HOME") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "huggingface"
        )
        cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
        offline = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
        return cls(
            endpoint=(os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/"),
            cache=Path(os.path.expandvars(os.path.expanduser(cache))),
            token=os.environ.get("HF_TOKEN") or None,
            offline=offline.upper() in ("1", "ON", "YES", "TRUE"),
        )

    def storage(self, repo_id: str) -> Path:
        """The cache folder of a repository: models--owner--name."""
        return self.cache / "--".join(["models", *repo_id.split("/")])


def is_repo_id(text: str) -> bool:
    """Whether `text` has the form of a hub id, "owner/name" (or a bare name, from the hub's first years)."""
    return (
        len(text) <= 96
        and _REPO_ID.fullmatch(text) is not None
        and "--" not in text
        and ".." not in text
        and not text.endswith(".git")
    )


def local(repo_id: str) -> Path | None:
    """The folder of a model that was fetched before, complete; None otherwise. Asks no network."""
    if not is_repo_id(repo_id):
        return None
    storage = Place.now().storage(repo_id)
    try:
        commit = (storage / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    folder = storage / "snapshots" / commit
    is_complete = (
        re.fullmatch(r"[0-9a-f]{40}", commit) is not None
        and (folder / CONFIG).is_file()
        and any((folder / name).is_file() for name in TOKENIZER_FILES)
        and _has_weights(folder)
    )
    return folder if is_complete else None


def shards(folder: Path) -> set[str]:
    """The files that the index of sharded weights names."""
    try:
        return set(map(str, read_json(folder / INDEX)["weight_map"].values()))
    except (HeadworkError, KeyError, TypeError, AttributeError):
        return set()


def _has_weights(folder: Path) -> bool:
    names = shards(folder)
    return (folder / WEIGHTS).is_file() or (bool(names) and all((folder / name).is_file() for name in names))
