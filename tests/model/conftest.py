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


@pytest.fixture
def no_hub(monkeypatch, tmp_path):
    """No limits by the operator, an empty cache of the hub, and an address at which nobody answers."""
    for name in ("HEADWORK_MODELS", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # whoever asks the network unasked fails
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
