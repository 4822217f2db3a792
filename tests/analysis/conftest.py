"""What the tests of the analysis share: the built-in model, and corpora that lie beside the project."""

import json
from pathlib import Path

import pytest

from tests.models import load

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def minilm():
    """The built-in model, as the app loads it; read only."""
    return load("minilm")


@pytest.fixture(scope="session")
def dependency_sentences():
    """The 869 sentences that the reference figures were measured on."""
    files = [DATA / f"ud_en_{name}.jsonl" for name in ("ewt_dev_500", "gum_dev_400")]
    if not all(file.is_file() for file in files):
        pytest.skip("the corpora in ../shared/data aren't here")
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
