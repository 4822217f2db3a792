"""Folders that set a trap, chosen in the sidebar: a sentence on the page, and the session goes on."""

import os

import pytest

from model.tokenizers import tokenizer_json
from tests.model.random_checkpoints import small_bert, write_tokenizer


def goes_on(app):
    """Another model is a click away, and draws its map."""
    app.pick("model", "toy")
    assert not app.errors and app.figures()


def test_a_tokenizer_that_panics(app, tmp_path):
    app.open(model=str(write_tokenizer(small_bert(tmp_path), r"(a+)+$")), text="a" * 30 + "b")
    assert len(app.errors) == 1 and "can't read this text" in app.errors[0]
    goes_on(app)


def test_a_tokenizer_that_does_not_come_to_an_end(app, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizer_json, "SECONDS", 0.2)
    app.open(model=str(write_tokenizer(small_bert(tmp_path), r"(a+)+$")), text=("a" * 20 + "b") * 60)
    assert len(app.errors) == 1 and "so it was stopped" in app.errors[0]
    goes_on(app)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_pipe_in_the_place_of_a_file(app, tmp_path, name):
    folder = write_tokenizer(small_bert(tmp_path))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    app.open(model=str(folder))
    assert len(app.errors) == 1 and f"{name} in the folder {folder.name} is not a regular file" in app.errors[0]
    goes_on(app)
