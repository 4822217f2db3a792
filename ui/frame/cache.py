"""The one kind of store for what is computed once for everybody: traces, readings, runs."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, TypeVar

from cachetools import LRUCache

T = TypeVar("T")


class ByteCache:
    """Results up to a number of bytes, least recently used out first. Who asks for the same one waits for one run.

    Of results that are larger than the whole cache the last one is kept beside it: every rerun of the page that shows
    it asks for it again. A cache of 0 bytes keeps nothing.

    Args:
        max_bytes: of all results together.
        at_once: runs at a time, for those that need much memory beside their result; None = any number, and then a
            run may ask the same cache for other results.
        n_bytes: of a result.
    """

    def __init__(
        self, max_bytes: int, at_once: int | None = None, n_bytes: Callable[[Any], int] = lambda result: result.nbytes
    ) -> None:
        self._results: LRUCache[Hashable, Any] = LRUCache(max_bytes, getsizeof=n_bytes)
        self._large: tuple[Hashable, Any] | None = None
        self._running: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()
        self._places = nullcontext() if at_once is None else threading.BoundedSemaphore(at_once)

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The result of `key`, computed at most once at a time. Errors go to everyone who waits, and are not kept."""
        with self._lock:
            if key in self._results:
                kept: T = self._results[key]
                return kept
            if self._large is not None and self._large[0] == key:
                large: T = self._large[1]
                return large
            running: Future[T] | None = self._running.get(key)
            if running is None:
                mine: Future[T] = Future()
                self._running[key] = mine
        if running is not None:
            return running.result()
        try:
            with self._places:
                result = compute()
            fits = self._results.getsizeof(result) <= self._results.maxsize
        except BaseException as error:
            with self._lock:
                del self._running[key]
            mine.set_exception(error)
            raise
        with self._lock:
            if fits:
                self._results[key] = result
            elif self._results.maxsize:
                self._large = (key, result)
            del self._running[key]
        mine.set_result(result)
        return result

    @property
    def max_bytes(self) -> int:
        """Of all results together."""
        return int(self._results.maxsize)

    def clear(self) -> None:
        """Forgets every result."""
        with self._lock:
            self._results.clear()
            self._large = None
