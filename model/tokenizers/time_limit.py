"""A call that may go on for hours, given up after some seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TimeLimit(Generic[T]):
    """Runs calls in threads of their own, each for so many seconds at most.

    Nothing can stop a thread, so one that was given up goes on, and keeps a processor busy; until it ends, further
    calls are refused at once. The call has to let go of Python's lock, or nobody else gets to run, the clock neither.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._given_up: threading.Thread | None = None

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns or raises. TimeoutError: it took too long, or one before it still does."""
        if self._given_up is not None and self._given_up.is_alive():
            raise TimeoutError
        results: list[T] = []
        faults: list[BaseException] = []

        def work() -> None:
            try:
                results.append(call())
            except BaseException as error:
                faults.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if faults:
            raise faults[0]
        if not results:
            self._given_up = thread
            raise TimeoutError
        return results[0]
