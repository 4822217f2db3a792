"""The cache of traces: one forward for many visitors, bounded bytes, errors that are not kept."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from model import HeadworkError, Mask, load
from model.packed import pack
from model.trace import AttentionTrace
from model.training import Settings, Training, saved
from model.weights import trained
from tests.model.random_checkpoints import save_random
from ui.frame import loading
from ui.frame.cache import ByteCache
from ui.frame.loading import check

TOY = load("toy")


def trace(text="one two three"):
    return TOY.trace(text)


def test_a_trace_is_computed_once_and_is_the_same_object_afterwards():
    cache, ran = ByteCache(10**6, 1), []
    first = cache.get(("toy", "a", ""), lambda: ran.append(1) or trace())
    assert cache.get(("toy", "a", ""), lambda: ran.append(1) or trace()) is first
    assert len(ran) == 1


def test_many_at_once_wait_for_one_forward():
    cache, ran, got = ByteCache(10**6, 4), [], []
    started, go_on = threading.Event(), threading.Event()

    def compute() -> AttentionTrace:
        ran.append(1)
        started.set()
        go_on.wait(5)
        return trace()

    visitors = [threading.Thread(target=lambda: got.append(cache.get(("m", "t", ""), compute))) for _ in range(8)]
    for visitor in visitors:
        visitor.start()
    assert started.wait(5)
    go_on.set()
    for visitor in visitors:
        visitor.join(5)
    assert len(ran) == 1 and len(got) == 8 and all(one is got[0] for one in got)


def test_no_more_forwards_at_a_time_than_allowed():
    cache, running, most = ByteCache(10**6, 2), [], []
    lock = threading.Lock()

    def compute() -> AttentionTrace:
        with lock:
            running.append(1)
            most.append(len(running))
        threading.Event().wait(0.02)
        with lock:
            running.pop()
        return trace()

    visitors = [threading.Thread(target=cache.get, args=(("m", str(i), ""), compute)) for i in range(8)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(5)
    assert max(most) <= 2


def test_an_error_reaches_everyone_who_asked_and_the_next_one_tries_again():
    cache = ByteCache(10**6, 1)

    def fail() -> AttentionTrace:
        raise HeadworkError("no")

    for _ in range(2):
        with pytest.raises(HeadworkError):
            cache.get(("m", "t", ""), fail)
    assert cache.get(("m", "t", ""), trace).n_tokens == 3


def test_an_error_reaches_those_who_wait_for_it_too():
    cache, told = ByteCache(10**6, 4), []
    started, go_on = threading.Event(), threading.Event()

    def fail() -> AttentionTrace:
        started.set()
        go_on.wait(5)
        raise HeadworkError("no")

    def visit(compute) -> None:
        try:
            cache.get(("m", "t", ""), compute)
        except HeadworkError as error:
            told.append(str(error))

    first = threading.Thread(target=visit, args=(fail,), daemon=True)
    first.start()
    assert started.wait(5)
    second = threading.Thread(target=visit, args=(lambda: 1 / 0,), daemon=True)  # it waits, so this never runs
    second.start()
    second.join(0.1)
    assert second.is_alive() and not told
    go_on.set()
    for visitor in (first, second):
        visitor.join(5)
        assert not visitor.is_alive()
    assert told == ["no", "no"]


def test_bytes_are_bounded_and_the_oldest_goes_first():
    one = trace().nbytes
    cache, ran = ByteCache(2 * one, 1), []
    for text in ("a", "b", "a", "c", "a", "b"):  # b goes when c comes, since a was used after it
        cache.get(("m", text, ""), lambda text=text: ran.append(text) or trace())
    assert ran == ["a", "b", "c", "b"]


def test_a_cache_of_no_bytes_gives_out_and_keeps_nothing():
    cache, ran = ByteCache(0, 1), []
    for _ in range(2):
        assert cache.get(("m", "t", ""), lambda: ran.append(1) or trace()).n_tokens == 3
    assert len(ran) == 2


def test_of_traces_larger_than_the_cache_the_last_is_kept_beside_it_and_no_other():
    small, large, larger = "a", "one two three four", "one two three four five"
    cache, ran = ByteCache(trace(small).nbytes, 1), []

    def get(text):
        return cache.get(("m", text, ""), lambda: ran.append(text) or trace(text))

    shown = get(large)
    assert get(large) is shown and get(small).n_tokens == 1 and get(large) is shown and get(small).n_tokens == 1
    assert ran == [large, small]
    gone = weakref.ref(shown)
    del shown
    get(larger)
    gc.collect()
    assert gone() is None
    assert get(larger).n_tokens == 5 and get(large).n_tokens == 4
    assert ran == [large, small, larger, large]


def test_a_result_without_a_size_is_an_error_and_no_one_waits_for_it():
    cache = ByteCache(1000)
    for _ in range(2):
        with pytest.raises(AttributeError):
            cache.get("key", object)
    assert cache.get("key", lambda: trace("a")).n_tokens == 1


def test_the_check_is_measured_once_a_trace(monkeypatch):
    one, measured = trace(), []
    original = AttentionTrace.check
    monkeypatch.setattr(AttentionTrace, "check", lambda self: measured.append(1) or original(self))
    assert check(one) == check(one) and len(measured) == 1
    assert check(one).max_row_error < 1e-6 and not np.isnan(check(one).max_row_error)


@pytest.fixture
def settings(monkeypatch):
    """An empty server: nothing loaded, nothing set; torch's threads as they were afterwards."""
    n = torch.get_num_threads()
    for name in ("HEADWORK_THREADS", "HEADWORK_CACHE_MB", "HEADWORK_MODELS"):
        monkeypatch.delenv(name, raising=False)
    loading.models.clear()
    loading.trace_cache.clear()
    yield monkeypatch
    torch.set_num_threads(n)
    loading.models.clear()
    loading.trace_cache.clear()


@pytest.mark.parametrize(("value", "n"), [(None, 1), ("2", 2)])
def test_loading_a_model_sets_the_threads(settings, value, n):
    torch.set_num_threads(3)
    if value:
        settings.setenv("HEADWORK_THREADS", value)
    loading.load_model("toy")
    assert torch.get_num_threads() == n


def test_the_cache_is_as_large_as_the_operator_says(settings):
    settings.setenv("HEADWORK_CACHE_MB", "0.001")
    small = TOY.trace("one")  # 2 × 4 × 9 × 4 bytes and the mask
    assert small.nbytes < 1000 < TOY.trace("one two three four five six").nbytes
    ran = []
    long, longer = "one two three four five six", "one two three four five six seven"
    for text in ("one", "one", long, longer, longer, long, "one"):  # of the large ones only the last is kept
        loading.trace_cache().get(("toy", text, ""), lambda text=text: ran.append(text) or TOY.trace(text))
    assert ran == ["one", long, longer, long]


@pytest.mark.parametrize(("name", "value"), [("HEADWORK_THREADS", "auto"), ("HEADWORK_CACHE_MB", "256MB")])
def test_a_setting_that_makes_no_sense_is_told_at_the_first_trace(settings, name, value):
    settings.setenv(name, value)
    with pytest.raises(HeadworkError, match=name):
        loading.trace("one", "toy", Mask.bidirectional())


class Thing:
    """Garbage that only the collector finds: it holds itself."""

    def __init__(self):
        self.me = self


def test_a_load_freezes_what_lives_and_frees_what_an_earlier_load_froze(settings):
    loading.load_model("toy")
    frozen = gc.get_freeze_count()
    assert frozen > 10_000
    thing = Thing()
    gone = weakref.ref(thing)
    loading.load_model("toy:seed=1")
    del thing
    gc.collect()
    assert gone() is not None  # frozen: a collection leaves it alone
    loading.load_model("toy:seed=2")
    assert gone() is None and gc.get_freeze_count() > 10_000


def test_models_trained_here_dont_drive_out_the_others(settings):
    """A class in which each opens a network of their own: the large models are read once."""
    large = loading.load_model("toy")
    frozen = gc.get_freeze_count()
    ids = [trained.put(saved.to_bytes(Training(Settings("neighbours", steps=1, seed=seed)))) for seed in range(4)]
    opened = [loading.load_model(model_id) for model_id in ids]
    assert loading.load_model("toy") is large and loading.load_model(ids[0]) is opened[0]
    # What dies meanwhile leaves the count; a load that collects and freezes would raise it by thousands.
    assert gc.get_freeze_count() <= frozen, "no collection for a model of some kilobytes"


TOYS = [f"toy:d_model=64,heads=4,layers=2,seed={seed}" for seed in range(4)]
ONE_TOY = loading.weight_bytes(load(TOYS[0]))


def test_models_are_bounded_by_the_bytes_of_their_weights_and_the_least_recently_used_goes_first(settings):
    settings.setattr(loading, "MOST_BYTES", 2 * ONE_TOY)
    settings.setattr(gc, "collect", lambda *_: 0)  # frozen or not: counting references is enough to free a model
    kept = [weakref.ref(loading.load_model(model_id)) for model_id in TOYS[:2]]
    traces = [loading.trace("one two three", model_id, Mask.bidirectional()) for model_id in TOYS[:2]]
    assert loading.load_model(TOYS[0]) is kept[0]()  # so the second is the older one
    loading.load_model(TOYS[2])
    assert kept[0]() is not None and kept[1]() is None
    loading.load_model(TOYS[3])
    assert kept[0]() is None

    shown = loading.trace("one two three", TOYS[1], Mask.bidirectional())
    assert shown is traces[1], "what was computed stays"
    again = loading.trace("four five", TOYS[1], Mask.bidirectional())  # a visitor who still has it chosen
    assert np.array_equal(again.attention, load(TOYS[1]).trace("four five").attention)


def test_a_models_bytes_are_those_of_its_numbers_shared_ones_once():
    toy = load("toy:d_model=64,heads=4,layers=2")  # an own one: it is changed below
    plain = sum(numbers.nbytes for numbers in toy.transformer.parameters())
    buffers = sum(numbers.nbytes for numbers in toy.transformer.buffers())
    assert loading.weight_bytes(toy) == plain + buffers
    toy.transformer.few_bits = np.zeros(1000, dtype=np.uint8)  # as model.weights.quantised keeps an embedding
    assert loading.weight_bytes(toy) == plain + buffers + 1000
    pack(toy.transformer.blocks)  # where oneDNN is there; its layout may take a little more
    assert plain + buffers + 1000 <= loading.weight_bytes(toy) < 1.5 * plain + buffers + 1000


def test_a_folder_that_was_written_again_is_read_again(settings, tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "one"]
    sizes = {"num_attention_heads": 2, "intermediate_size": 16, "hidden_size": 8, "max_position_embeddings": 40}

    def save(n_layers: int) -> None:
        save_random(BertConfig(vocab_size=len(words), num_hidden_layers=n_layers, **sizes), BertModel, tmp_path)
        (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")

    save(1)
    first = loading.trace("one", str(tmp_path), Mask.bidirectional())
    assert loading.trace("one", str(tmp_path), Mask.bidirectional()) is first
    save(2)
    second = loading.trace("one", str(tmp_path), Mask.bidirectional())
    assert (first.n_layers, second.n_layers) == (1, 2) and second.sha256 != first.sha256
    os.utime(tmp_path / "config.json", (0, 0))  # other contents of the same size, as far as anyone can tell
    assert loading.trace("one", str(tmp_path), Mask.bidirectional()) is not second
    assert loading.named("minilm") == "minilm"
