"""Models trained here: to bytes and back, kept, in the catalogue, on the command line; broken files refused."""

import json
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors

from model import HeadworkError, catalogue, load
from model.__main__ import main
from model.tasks import TASKS
from model.training import Settings, Training, saved
from model.weights import trained


@cache
def training(task="neighbours", **changes):
    made = Training(Settings.of(task, **{"steps": 20} | changes))
    made.step(20)
    return made


@cache
def file(task="neighbours", **changes):
    return saved.to_bytes(training(task, **changes))


def altered(change_tensors=lambda tensors: None, **about):
    """The file of four neighbours with some of its tensors or of what it says about itself changed."""
    tensors = read_tensors(file())
    change_tensors(tensors)
    header = json.loads(file()[8 : 8 + int.from_bytes(file()[:8], "little")])["__metadata__"]
    said = json.loads(header["headwork"])
    for name, value in about.items():
        if value is None:
            del said[name]
        else:
            said[name] = value
    return write_tensors(tensors, {"headwork": json.dumps(said)})


# -- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("ffn", [False, True])
def test_the_maps_are_those_of_the_network_that_was_trained(task, ffn):
    made = training(task, ffn=ffn)
    model = trained.from_bytes(file(task, ffn=ffn))
    trace = model.trace(" ".join(made.words), made.settings.mask)
    assert trace.tokens == made.words
    np.testing.assert_allclose(trace.attention, made.frames[-1].maps, atol=1e-6)
    assert trace.attention.shape[:2] == (made.settings.layers, made.settings.heads)
    assert model.sha256 == trace.sha256 and model.trained


def test_the_file_says_what_it_is():
    found = saved.about(file())
    assert found.settings == training().settings and found.step == 20
    assert found.accuracy == pytest.approx(training().test()[0], abs=1e-6)
    assert found.vocabulary == TASKS["neighbours"].vocabulary and found.sample == TASKS["neighbours"].sample
    assert found.label == "Four neighbours, 4 heads, seed 0"
    assert saved.about(file("induction")).label == "Induction, 1 head, 2 layers, seed 0"
    assert file() == saved.to_bytes(training())  # the same training, the same bytes, the same id
    readout = read_tensors(file())["readout.weight"]
    assert torch.equal(readout, training().network.readout.weight) and len(file()) < 60_000


def test_a_network_without_a_step_is_not_called_trained():
    model = trained.from_bytes(saved.to_bytes(Training(Settings.of("neighbours"))))
    assert not model.trained


# -- the catalogue ---------------------------------------------------------------------------------------------------


def test_a_kept_model_is_one_of_the_catalogue(monkeypatch):
    id_ = trained.put(file("induction"))
    assert id_.startswith("trained:") and len(id_) == len("trained:") + 12 and trained.put(file("induction")) == id_
    entry = catalogue.resolve(id_)
    assert (entry.source, entry.trained_mask, entry.trained) == ("trained here", "causal", True)
    assert entry.label == "Induction, 1 head, 2 layers, seed 0 (trained here)"
    model = load(id_)
    assert model.id == id_ and model.label == entry.label and model.entry == entry
    assert model.trace(entry.sample, "causal").n_tokens == 16
    monkeypatch.setenv("HEADWORK_MODELS", "minilm")
    assert load(id_).id == id_  # on a server that offers only the built-in model, too


def test_a_file_is_a_model_where_folders_are(tmp_path, monkeypatch):
    path = tmp_path / "a b.safetensors"
    path.write_bytes(file())
    entry = catalogue.resolve(str(path))
    assert entry.id == str(path) and entry.folder == path and entry.label.endswith("seed 0 (file)")
    assert load(str(path)).trace("q w e r t y").n_tokens == 6


def test_a_limited_server_does_not_touch_a_file_that_it_does_not_offer(tmp_path, monkeypatch):
    offered, other = tmp_path / "offered.safetensors", tmp_path / "other.safetensors"
    for path in (offered, other):
        path.write_bytes(file())
    monkeypatch.setenv("HEADWORK_MODELS", f"minilm,{offered}")
    monkeypatch.chdir(tmp_path)
    read_file, is_file = trained.read_file, Path.is_file
    touched = []
    monkeypatch.setattr(trained, "read_file", lambda path: touched.append(path) or read_file(path))
    monkeypatch.setattr(Path, "is_file", lambda path: touched.append(path) or is_file(path))
    for asked in (str(other), "other.safetensors", "./other.safetensors", f"{tmp_path}/x/../other.safetensors"):
        with pytest.raises(HeadworkError, match="does not offer"):
            load(asked)
    assert set(touched) == {offered}
    for asked in (str(offered), "offered.safetensors", f" {tmp_path}/x/../offered.safetensors"):
        assert load(asked).trace("a b c").n_tokens == 3
    assert set(touched) == {offered}


@pytest.mark.parametrize("id_", ["trained:0123456789ab", "trained:", "trained:../../etc/passwd"])
def test_a_forgotten_model_says_how_to_get_it_back(id_, monkeypatch):
    for offered in ("", "minilm"):
        monkeypatch.setenv("HEADWORK_MODELS", offered)
        with pytest.raises(
            HeadworkError, match=r"no longer kept on this server.*64 used last.*Open it again from its file"
        ):
            load(id_)


def test_the_store_is_bounded_and_the_least_used_goes_first():
    store = trained.Store(most=2)
    first, second, third = (file("neighbours", seed=seed) for seed in range(3))
    ids = [store.put(first), store.put(second)]
    assert store.get(ids[0]) == first  # used again: the second is now the one to go
    store.put(third)
    assert store.get(ids[0]) == first
    with pytest.raises(HeadworkError, match="no longer kept on this server"):
        store.get(ids[1])


def test_other_bytes_of_the_same_id_replace_nothing(monkeypatch):
    store, (first, second) = trained.Store(), [file("neighbours", seed=seed) for seed in range(2)]
    monkeypatch.setattr(trained, "model_id", lambda data: "trained:0123456789ab")
    id_ = store.put(first)
    with pytest.raises(HeadworkError, match="Another model with the id 'trained:0123456789ab'"):
        store.put(second)
    assert store.put(first) == id_ and store.get(id_) == first


def test_the_store_keeps_nothing_that_is_no_model():
    store = trained.Store()
    with pytest.raises(HeadworkError):
        store.put(file()[:-1])
    assert not store._files


def test_many_threads_put_and_get():
    store, files = trained.Store(most=3), [file("neighbours", seed=seed) for seed in range(3)]
    faults = []

    def work(data):
        try:
            for _ in range(5):
                assert store.get(store.put(data)) == data
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(data,)) for data in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


# -- its words -------------------------------------------------------------------------------------------------------


def test_words_are_parted_by_spaces_in_chinese_too():
    model = trained.from_bytes(file("agreement-zh"))
    tokens = model.tokenizer.encode("  男医生 来了\t。\n女老师们 ", limit=10)
    assert tokens.labels == ("男医生", "来了", "。", "女老师们") and tokens.words == tokens.labels
    assert [tokens.text[start:end] for start, end in tokens.spans] == list(tokens.labels)
    assert not any(tokens.is_special) and tokens.n_unknown == 0


def test_unknown_words_are_named_with_a_sentence_to_try():
    model = trained.from_bytes(file("agreement-en"))
    with pytest.raises(HeadworkError) as told:
        model.trace("The actor sleeps . <b>x</b> again The")
    assert "not The, sleeps, <b>x</b>." in str(told.value)
    assert str(told.value).endswith(TASKS["agreement-en"].sample)
    with pytest.raises(HeadworkError, match=r"not X, Y, Z\. A sentence"):
        model.trace("X Y X Z V W")
    assert model.trace(told.value.values["sample"]).n_tokens == 12  # what it proposes works


def test_longer_text_is_cut_and_shorter_is_read():
    model = trained.from_bytes(file())
    trace = model.trace("a b c d e f g h i j k l m n")
    assert trace.n_tokens == 12 and trace.tokenized.n_cut == 2
    assert model.trace("a").attention.shape == (1, 4, 1, 1)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_no_text_is_told(text):
    with pytest.raises(HeadworkError, match="no text"):
        trained.from_bytes(file()).trace(text)


def test_there_is_nothing_to_pad_with():
    with pytest.raises(HeadworkError, match="no padding token"):
        trained.from_bytes(file()).trace("a b c", "padding:6")


# -- broken files ----------------------------------------------------------------------------------------------------


@given(st.data())
def test_a_file_cut_anywhere_is_refused_with_a_sentence(data):
    cut = data.draw(st.integers(0, len(file()) - 1))
    with pytest.raises(HeadworkError, match=r"damaged or incomplete|not of a model trained"):
        trained.from_bytes(file()[:cut])


@given(st.binary(max_size=64), st.integers(0, 4000))
def test_a_damaged_header_is_refused_or_harmless(noise, at):
    """Whatever stands in the header: a sentence or a model, never another fault."""
    damaged = file()[:at] + noise + file()[at + len(noise) :]
    try:
        trained.from_bytes(damaged)
    except HeadworkError as error:
        assert len(str(error)) < 600


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "damaged or incomplete"),
        (b"PK\x03\x04" + bytes(100), "damaged or incomplete"),
        (b"\x80\x04\x95" + bytes(100), "damaged or incomplete"),  # a pickle
        (bytes([255] * 64), "damaged or incomplete"),
        ((2).to_bytes(8, "little") + b"[]", "damaged or incomplete"),
        ((60_000).to_bytes(8, "little") + b"[" * 60_000, "damaged or incomplete"),
        (write_tensors({"x": torch.zeros(2)}), "not of a model trained in this app"),
        (write_tensors({"x": torch.zeros(2)}, {"format": "pt"}), "not of a model trained in this app"),
        (write_tensors({"x": torch.zeros(2)}, {"headwork": "{"}), "damaged or incomplete"),
        (write_tensors({"x": torch.zeros(2)}, {"headwork": "[" * 100_000}), "damaged or incomplete"),
        (bytes(4_000_001), "4.0 MB.*at most 4 MB"),
    ],
)
def test_foreign_files_are_refused(data, said):
    with pytest.raises(HeadworkError, match=said):
        trained.from_bytes(data)


def _set(name, tensor):
    return lambda tensors: tensors.update({name: tensor})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda: altered(lambda t: t.pop("transformer.embeddings.position")), "embeddings.position"),
        (lambda: altered(_set("transformer.embeddings.position", torch.zeros(12, 31))), "embeddings.position"),
        (lambda: altered(_set("transformer.blocks.0.attention.W_q.bias", torch.zeros(32).half())), "W_q.bias"),
        (lambda: altered(_set("transformer.blocks.9.attention.W_q.bias", torch.zeros(32))), "blocks.9"),
        (lambda: altered(_set("transformer.embeddings.position", torch.full((12, 32), torch.nan))), "not finite"),
        (lambda: altered(_set("transformer.embeddings.token.weight", torch.zeros(25, 32))), "embeddings.token.weight"),
        (lambda: altered(_set("readout.weight", torch.zeros(104, 31))), "readout.weight"),
        (lambda: altered(_set("readout.bias", torch.zeros(103))), "readout.bias"),
        (lambda: altered(lambda t: t.pop("readout.bias")), "readout.bias"),
        (lambda: altered(_set("extra", torch.zeros(2))), r"\(extra\)"),
        (lambda: altered(_set("readout.extra" * 1000, torch.zeros(2))), "readout.extra"),
        (lambda: altered(vocabulary=["a", "b"]), "vocabulary"),
        (lambda: altered(vocabulary=["a b", *"bcdefghijklmnopqrstuvwxyz"]), "vocabulary"),
        (lambda: altered(vocabulary=["\u3000", *"bcdefghijklmnopqrstuvwxyz"]), "vocabulary"),
        (lambda: altered(vocabulary=["\ud800", *"bcdefghijklmnopqrstuvwxyz"]), "vocabulary"),
        (lambda: altered(sample=""), "sample"),
        (lambda: altered(sample=" "), "sample"),
        (lambda: altered(sample="a b <b>c</b>"), "sample"),
        (lambda: altered(sample="a " * 13), "sample"),
        (lambda: altered(sample=None), "sample"),
        (lambda: altered(settings={"task": "neighbours", "ffn": "x"}), "ffn"),
        (lambda: altered(settings={"task": "neighbours", "heads": "9" * 300_000}), "heads is '9999"),
        (lambda: altered(settings={"task": "neighbours", "heads": [9] * 100_000}), r"heads is \[9, 9"),
        (lambda: altered(settings={"task": "neighbours", "learning_rate": 10**400}), "The learning rate is 1000"),
        (lambda: altered(settings={"task": "neighbours", "learning_rate": "9" * 300_000}), "The learning rate is '99"),
        (lambda: altered(settings={"task": "x" * 300_000}), "no task"),
        (lambda: altered(settings={"task": "neighbours", "mask": "x" * 300_000}), "no mask"),
        (lambda: altered(settings={"task": "neighbours", "x" * 300_000: 1}), "unexpected keyword"),
        (lambda: altered(vocabulary=["a"] * 26), "vocabulary"),
        (lambda: altered(vocabulary=[1] * 26), "vocabulary"),
        (lambda: altered(vocabulary=["x" * 41, *"bcdefghijklmnopqrstuvwxyz"]), "vocabulary"),
        (lambda: altered(vocabulary=None), "vocabulary"),
        *((lambda x=x: altered(accuracy=x), "accuracy") for x in (float("nan"), float("inf"), -0.1, 1.1)),
        (lambda: altered(accuracy=10**400), "too large"),
        *((lambda x=x: altered(step=x), "step") for x in (10**9, 21, -1, 1.5, True, "3", float("inf"))),
        (lambda: altered(settings={"task": "neighbours", "layers": 10**6}), "layers is 1000000"),
        (lambda: altered(settings={"task": "neighbours", "unheard": 1}), "unheard"),
        (lambda: altered(settings={"task": "elsewhere"}), "no task 'elsewhere'"),
        (lambda: altered(settings=[]), "damaged or incomplete"),
    ],
)
def test_files_that_contradict_themselves_are_refused(data, said):
    with pytest.raises(HeadworkError, match=said) as told:
        trained.from_bytes(data())
    assert len(str(told.value)) < 400  # nothing is echoed whole


def test_an_altered_file_is_another_model():
    other = altered(sample="a b c")
    assert trained.from_bytes(other).id == trained.model_id(other) != trained.model_id(file())


# -- files by path ---------------------------------------------------------------------------------------------------


def test_paths_that_hold_no_model_are_told(tmp_path, minilm_folder):
    with pytest.raises(HeadworkError, match=r"There is no file '\./none\.safetensors'"):
        load("./none.safetensors")
    with pytest.raises(HeadworkError, match=r"90\.\d MB.*save_pretrained"):
        load(str(minilm_folder / "model.safetensors"))
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(file()[:1000])
    with pytest.raises(HeadworkError, match="damaged or incomplete"):
        load(str(broken))


def test_command_line(tmp_path, capsys):
    path = tmp_path / "twins.safetensors"
    path.write_bytes(file("twins"))
    assert main(["a1 b2 a3 b4", "--model", str(path), "--npz", str(tmp_path / "out.npz")]) == 0
    assert "1 × 2 × 4 × 4" in capsys.readouterr().out
    assert np.load(tmp_path / "out.npz")["tokens"].tolist() == ["a1", "b2", "a3", "b4"]
    assert main(["a1 zz", "--model", str(path)]) == 2
    assert "knows only its words, not zz" in capsys.readouterr().err
    path.write_bytes(b"")
    assert main(["a1", "--model", str(path)]) == 3
