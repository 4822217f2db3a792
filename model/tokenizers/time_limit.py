"""A call that may go on for hours, given up after some seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

AT_ONCE = 4  # calls that run beside each other, and so the threads that can be given up at most

T = TypeVar("T")


class TimeLimit(Generic[T]):
    """Runs calls in threads of their own, each for so many seconds at most, and a few of them at once.

    Nothing can stop a thread, so one that was given up goes on, and keeps a processor busy; until it ends, further
    calls are refused at once. The call has to let go of Python's lock, or nobody else gets to run, the clock neither.
    """

    def __init__(self, seconds: float, at_once: int = AT_ONCE) -> None:
        self.seconds = seconds
        self._places = threading.Semaphore(at_once)
        self._given_up: list[threading.Thread] = []
        self._lock = threading.Lock()  # of that list

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns or raises. TimeoutError: it took too long, or one before it still does."""
        if self._is_busy() or not self._places.acquire(timeout=self.seconds):
            raise TimeoutError
        results: list[T] = []
        faults: list[BaseException] = []

        def work() -> None:
            try:
                results.append(call())
            except BaseException as error:
                faults.append(error)
            finally:
                self._places.release()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if faults:
            raise faults[0]
        if not results:
            with self._lock:
                self._given_up.append(thread)
            raise TimeoutError
        return results[0]

    def _is_busy(self) -> bool:
        """Whether a call that was given up still runs."""
        with self._lock:
            self._given_up = [thread for thread in self._given_up if thread.is_alive()]
            return bool(self._given_up)
