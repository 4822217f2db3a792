"""A small BERT as transformers writes it."""

import shutil

import pytest

from tests.model.random_checkpoints import small_bert, write_tokenizer


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """A folder with config.json and model.safetensors; read only."""
    return small_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def folder(bert, tmp_path):
    """A copy that a test may break."""
    shutil.copytree(bert, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def whole(folder):
    """The same with a tokenizer."""
    return write_tokenizer(folder)
