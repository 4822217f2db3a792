"""What the tests of the model share: the built-in weights, found without importing their package."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from model.weights import minilm as built_in
from model.weights.checkpoints import load_folder

IN_A_FRESH_PROCESS = """
import json, sys
import model.weights.hub
found = {"hub": list(sys.modules)}
from model import load
load("minilm").trace("The cat sat.")
found["minilm"] = list(sys.modules)
from model.weights.e5 import e5_path
if e5_path() is not None:
    load("e5-small-4bit").trace("小明爱小红。")
    found["e5"] = list(sys.modules)
    found["mapped"] = [*open("/proc/self/maps")] if sys.platform == "linux" else []
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def imported() -> dict[str, set[str]]:
    """The modules of a fresh process after each of a few steps: one start of torch serves all tests that ask."""
    command = [sys.executable, "-X", "utf8", "-c", IN_A_FRESH_PROCESS]
    ran = subprocess.run(command, cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True)
    return {step: set(names) for step, names in json.loads(ran.stdout).items()}


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
