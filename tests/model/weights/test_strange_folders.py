"""Folders that hold other weights than they seem to, or set a trap: a sentence each, and the right numbers."""

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from safetensors.torch import load_file, save_file

from model import HeadworkError, load, loading
from model.tokenizers import tokenizer_json
from model.tokenizers.time_limit import TimeLimit
from model.weights.checkpoints import load_folder
from tests.hub_stand_in import hub_stand_in
from tests.model.random_checkpoints import edit_config, edit_weights, write_tokenizer

QUERY = "encoder.layer.0.attention.self.query.weight"


@pytest.fixture
def sharded(bert, tmp_path):
    """The same BERT in several files, as transformers parts it."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "sharded"
    transformers.BertModel.from_pretrained(bert).save_pretrained(folder, max_shard_size="6KB")
    return folder


def shard_of(folder, tensor):
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    return folder / index["weight_map"][tensor]


# In several files


def test_the_index_says_from_which_file_a_tensor_comes_whatever_else_the_files_hold(bert, sharded):
    own = shard_of(sharded, QUERY)
    others = [path for path in sorted(sharded.glob("model-*.safetensors")) if path != own]
    for path in others:  # old copies before and after the right one, and a tensor that nobody names
        stale = load_file(path) | {QUERY: torch.zeros(24, 24), "encoder.layer.9.output.dense.bias": torch.zeros(24)}
        save_file(stale, path, metadata={"format": "pt"})
    assert len(others) > 1
    expected = load_folder(bert).transformer.state_dict()
    for name, tensor in load_folder(sharded).transformer.state_dict().items():
        assert tensor.equal(expected[name]), name


def test_a_tensor_that_is_not_where_the_index_says_is_named_with_its_file(sharded):
    path = shard_of(sharded, QUERY)
    tensors = load_file(path)
    del tensors[QUERY]
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(HeadworkError, match=f"the tensor {QUERY} is in {path.name}, but it isn't"):
        load_folder(sharded)


def test_a_tensor_in_two_spellings_is_refused(folder):
    edit_weights(folder, lambda tensors: tensors.update({f"bert.{QUERY}": torch.zeros(24, 24)}))
    with pytest.raises(HeadworkError, match=f"tensor {QUERY} twice"):
        load_folder(folder)


# Numbers that are none


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_weights_that_are_not_finite_are_refused_and_named(folder, value, dtype):
    def damage(tensors):
        tensors.update({name: tensor.to(dtype) for name, tensor in tensors.items()})
        tensors[QUERY][3, 5] = value

    edit_weights(folder, damage)
    with pytest.raises(HeadworkError, match=f"tensor {QUERY} holds numbers that are not finite"):
        load_folder(folder)


def test_large_numbers_that_only_add_up_to_infinity_are_taken(folder):
    edit_weights(folder, lambda tensors: tensors[QUERY].fill_(3e38))
    assert load_folder(folder).transformer.blocks[0].attention.W_q.weight.min() == torch.tensor(3e38)


def test_weights_that_lead_to_maps_of_nan_are_told_and_not_drawn(whole):
    edit_weights(whole, lambda tensors: tensors[QUERY].fill_(3e38))
    with pytest.raises(HeadworkError, match="grow beyond float32"):
        load(str(whole)).trace("abc")


# Quantised, or not a model


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float8_e4m3fn, torch.float8_e5m2])
def test_weights_in_eight_bits_without_their_scales_are_called_quantised(folder, dtype):
    edit_weights(folder, lambda tensors: tensors.update({QUERY: tensors[QUERY].to(dtype)}))
    with pytest.raises(HeadworkError, match=f"quantised .*{QUERY}.*Take the model in float32"):
        load_folder(folder)


@pytest.mark.parametrize("scale", ["weight_scale", "weight_scale_inv", "SCB", "scale", "weight.absmax", "qzeros"])
def test_scales_beside_weights_are_called_quantised(folder, scale):
    name = f"encoder.layer.0.attention.self.query.{scale}"

    def quantise(tensors):
        tensors[QUERY] = tensors[QUERY].to(torch.int8)
        tensors[name] = torch.ones(24)

    edit_weights(folder, quantise)
    with pytest.raises(HeadworkError, match=f"quantised .*{name}"):
        load_folder(folder)


def test_a_config_that_says_quantised_is_believed_before_the_weights_are_read(folder):
    edit_config(folder, quantization_config={"quant_method": "fp8"})
    (folder / "model.safetensors").unlink()
    with pytest.raises(HeadworkError, match=r"quantised \(says config\.json\)"):
        load(str(folder))


def adapter_folder(folder):
    """What peft's save_pretrained writes."""
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "base_model_name_or_path": "bert"}))
    lora = {f"base_model.model.{QUERY.removesuffix('.weight')}.lora_{part}.weight": torch.zeros(4, 4) for part in "AB"}
    save_file(lora, folder / "adapter_model.safetensors")
    return folder


@pytest.mark.usefixtures("no_hub")
def test_an_adapter_says_what_to_do_with_it(tmp_path, folder, monkeypatch):
    with pytest.raises(HeadworkError, match=r"lora is an adapter .*Merge it into its base model first"):
        load(str(adapter_folder(tmp_path / "lora")))
    with hub_stand_in(tmp_path / "lora", "someone/lora") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        with pytest.raises(HeadworkError, match="someone/lora is an adapter"):
            load("someone/lora", download=True)
    (folder / "model.safetensors").unlink()
    with pytest.raises(HeadworkError, match="is an adapter"):  # beside the config of its base model
        load_folder(adapter_folder(folder))


def test_lora_weights_under_the_name_of_a_models_are_an_adapter(folder):
    edit_weights(folder, lambda tensors: tensors.update({"encoder.layer.0.query.lora_A.weight": torch.zeros(4, 24)}))
    with pytest.raises(HeadworkError, match="is an adapter"):
        load_folder(folder)


# Traps


@pytest.mark.parametrize(
    "config",
    [
        '{"model_type": ["bert"]}',
        '{"model_type": {"bert": 1}}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"model_type": "bert", "vocab_size": ' + "9" * 5000 + "}",
        '{"model_type": "bert", "hidden_size": ' + "9" * 4000 + ', "vocab_size": 3}',
        '{"model_type": "' + "x" * 1_000_000 + '"}',
        '{"model_type": ' + "[" * 900 + "]" * 900 + "}",
        " " * 20_000_000,
        "\ud800".encode("utf-16", "surrogatepass").decode("latin-1"),
    ],
)
def test_a_hostile_config_is_one_short_sentence(folder, config):
    (folder / "config.json").write_text(config)
    for read in (load_folder, lambda path: load(str(path))):
        with pytest.raises(HeadworkError) as told:
            read(folder)
        assert len(str(told.value)) < 350 and "can't be loaded" not in str(told.value)  # what is wrong, not where


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "new"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_folder_with_a_pipe_or_a_device_is_refused_and_nothing_waits(whole, name, kind):
    (whole / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(whole / name)
    else:
        (whole / name).symlink_to("/dev/zero")
    with pytest.raises(HeadworkError, match=f"{name} in the folder copy is not a regular file"):
        load(str(whole))


def test_a_file_that_leads_to_another_file_is_ordinary(whole, tmp_path):
    (whole / "model.safetensors").rename(tmp_path / "blob")
    (whole / "model.safetensors").symlink_to(tmp_path / "blob")
    (whole / "broken").symlink_to(tmp_path / "nowhere")
    assert load(str(whole)).trace("abc").n_tokens == 3


class PanicException(BaseException):
    """As pyo3 names what Rust code raises."""


@pytest.mark.parametrize("error", [PanicException("a\nb"), MemoryError(), RuntimeError("x" * 5000), OSError(5, "gone")])
def test_whatever_a_loader_raises_ends_in_a_sentence(monkeypatch, folder, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(loading.checkpoints, "load", broken)
    with pytest.raises(HeadworkError, match=r"The model copy \(folder\) can't be loaded") as told:
        load(str(folder))
    assert len(str(told.value)) < 350


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_asks_to_stop_is_obeyed(monkeypatch, folder, error):
    def stopped(*_, **__):
        raise error

    monkeypatch.setattr(loading.checkpoints, "load", stopped)
    with pytest.raises(error):
        load(str(folder))


def test_a_pattern_that_backtracks_is_told_and_other_texts_go_on(folder):
    model = load(str(write_tokenizer(folder, r"(a+)+$")))
    with pytest.raises(HeadworkError, match=r"tokenizer .* can't read this text \(.*retry-limit"):
        model.trace("a" * 30 + "b")
    assert model.trace("bc").n_tokens == 2


def test_a_text_that_takes_too_long_is_given_up_by_the_clock(folder, monkeypatch):
    """Each place where the pattern starts takes a while, and stays below the library's own limit."""
    monkeypatch.setattr(tokenizer_json, "SECONDS", 0.2)
    model = load(str(write_tokenizer(folder, r"(a+)+$")))
    started = time.monotonic()
    for _ in range(2):  # the second is refused at once, since the first goes on
        with pytest.raises(HeadworkError, match="takes more than 0 seconds for a text"):
            model.trace(("a" * 20 + "b") * 60)
    assert time.monotonic() - started < 5


def test_an_id_of_thousands_of_millions_in_tokenizer_json_takes_no_time(whole):
    path = whole / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"]["abc"] = 4_000_000_000
    path.write_text(json.dumps(tokenizer))
    started = time.monotonic()
    with pytest.raises(HeadworkError, match=r"the id 4000000000, but the model has vectors for ids below 60"):
        load(str(whole)).trace("abc")
    assert time.monotonic() - started < 20  # minutes, and gigabytes, where each id up to it is passed


def test_a_call_that_was_given_up_is_waited_for_by_nobody_and_the_next_runs_when_it_ends():
    limit = TimeLimit(0.05)
    with pytest.raises(TimeoutError):
        limit.run(lambda: time.sleep(0.5))
    with pytest.raises(TimeoutError):
        limit.run(lambda: 1)
    for thread in limit._given_up:
        thread.join()
    assert limit.run(lambda: 1) == 1
    with pytest.raises(ZeroDivisionError):
        limit.run(lambda: 1 / 0)


def test_of_many_calls_at_once_that_never_end_only_a_few_ever_start_and_each_is_waited_for():
    limit, end, started = TimeLimit(0.1, at_once=2), [threading.Event(), threading.Event()], []

    def call():
        started.append(threading.current_thread())
        end[len(started) - 1].wait(20)

    def given_up(_):
        with pytest.raises(TimeoutError):
            limit.run(call)
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(given_up, range(6)))
    assert len(started) == 2
    first, last = started
    end[1].set()
    last.join()
    with pytest.raises(TimeoutError):  # the first one goes on, although the last has ended
        limit.run(lambda: 1)
    end[0].set()
    first.join()
    assert limit.run(lambda: 1) == 1


def test_no_sentence_shows_where_a_folder_lies(whole, tmp_path):
    secret = str(tmp_path)
    for file in ("tokenizer.json", "model.safetensors", "config.json"):
        for content in (None, b"\xff{"):
            kept = (whole / file).read_bytes()
            (whole / file).unlink() if content is None else (whole / file).write_bytes(content)
            with pytest.raises(HeadworkError) as told:
                load(str(whole))
            assert secret not in str(told.value), told.value
            (whole / file).write_bytes(kept)
