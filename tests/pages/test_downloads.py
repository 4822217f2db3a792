"""A model that is on the hub and not here: what the page offers, over real connections to a stand-in for the hub."""

import pytest
from transformers import BertConfig, BertModel

from tests.hub_stand_in import hub_stand_in
from tests.model.random_checkpoints import save_random
from ui.frame import loading

REPO = "someone/tiny-bert"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "teacher", "praised", "students", "because", "they", "."]


@pytest.fixture
def hub(app, tmp_path, monkeypatch):
    """A hub with one small random BERT, and an empty cache."""
    from huggingface_hub.utils import close_session

    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    save_random(BertConfig(vocab_size=len(WORDS), max_position_embeddings=40, **sizes), BertModel, tmp_path / "repo")
    (tmp_path / "repo" / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    close_session()
    with hub_stand_in(tmp_path / "repo", REPO) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running
    loading.models.clear()


def click(app, label):
    (button,) = [button for button in app.test.button if button.label.startswith(label)]
    button.click()
    return app.run()


def test_nothing_is_asked_before_the_person_asks_then_the_size_is_told_and_the_download_ends_in_the_picture(app, hub):
    app.open(model=REPO)
    assert "someone/tiny-bert is not on this computer yet." in app.words and not hub.requests
    assert len(app.test.button) == 1

    click(app, "Ask the hub for its size")
    assert not hub.bytes_sent_for("model.safetensors")
    (button,) = app.test.button
    assert button.label.startswith("Download ") and button.label.endswith(" kB")

    click(app, "Download")
    assert hub.bytes_sent_for("model.safetensors") and not app.errors
    assert app.head_map().shape == (12, 12) and f"{REPO} · head 2-2" in app.words


def test_a_broken_download_says_so_and_can_be_tried_again(app, hub):
    app.open(model=REPO)
    click(app, "Ask the hub for its size")
    hub.corrupt = True
    click(app, "Download")
    assert len(app.errors) == 1 and "arrived damaged" in app.errors[0] and not app.figures()
    hub.corrupt = False
    click(app, "Try again")
    click(app, "Download")
    assert app.figures() and not app.errors


def test_a_hub_that_knows_no_such_model_is_told_in_one_sentence(app, hub):
    app.open(model="someone/else")
    click(app, "Ask the hub for its size")
    assert app.errors == [f"There is no model someone/else at {hub.endpoint}. Check the spelling of owner/name."]
