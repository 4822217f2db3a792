"""What the tests of the model share: the built-in weights, found without importing their package."""

from pathlib import Path

import pytest

from model.weights import minilm as built_in
from model.weights.checkpoints import load_folder


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    """The folder of the built-in weights, found without importing their package."""
    return built_in.minilm_folder()


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    """The built-in model, unpacked; read only."""
    return load_folder(minilm_folder).transformer
