"""The cache of traces: one forward for many visitors, bounded bytes, errors that are not kept."""

import threading

import numpy as np
import pytest

from model import HeadworkError, load
from model.tracing import AttentionTrace
from ui.loading import TraceCache, check

TOY = load("toy")


def trace(text="one two three"):
    return TOY.trace(text)


def test_a_trace_is_computed_once_and_is_the_same_object_afterwards():
    cache, ran = TraceCache(10**6, 1), []
    first = cache.get(("toy", "a", ""), lambda: ran.append(1) or trace())
    assert cache.get(("toy", "a", ""), lambda: ran.append(1) or trace()) is first
    assert len(ran) == 1


def test_many_at_once_wait_for_one_forward():
    cache, ran, got = TraceCache(10**6, 4), [], []
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
    cache, running, most = TraceCache(10**6, 2), [], []
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
    cache = TraceCache(10**6, 1)

    def fail() -> AttentionTrace:
        raise HeadworkError("no")

    for _ in range(2):
        with pytest.raises(HeadworkError):
            cache.get(("m", "t", ""), fail)
    assert cache.get(("m", "t", ""), trace).n_tokens == 3


def test_bytes_are_bounded_and_the_oldest_goes_first():
    one = trace().nbytes
    cache, ran = TraceCache(2 * one, 1), []
    for text in ("a", "b", "a", "c", "a", "b"):  # b goes when c comes, since a was used after it
        cache.get(("m", text, ""), lambda text=text: ran.append(text) or trace())
    assert ran == ["a", "b", "c", "b"]


def test_a_trace_larger_than_the_cache_is_given_out_and_not_kept():
    cache, ran = TraceCache(10, 1), []
    for _ in range(2):
        assert cache.get(("m", "t", ""), lambda: ran.append(1) or trace()).n_tokens == 3
    assert len(ran) == 2


def test_the_check_is_measured_once_a_trace(monkeypatch):
    one, measured = trace(), []
    original = AttentionTrace.check
    monkeypatch.setattr(AttentionTrace, "check", lambda self: measured.append(1) or original(self))
    assert check(one) == check(one) and len(measured) == 1
    assert check(one).max_row_error < 1e-6 and not np.isnan(check(one).max_row_error)
