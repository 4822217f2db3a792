"""Independent pieces of work in a few threads: torch leaves Python free while it multiplies, so they run together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def side_by_side(
    work: Callable[[int], T], pieces: Iterable[int], workers: int, stop: threading.Event
) -> Generator[tuple[int, T]]:
    """Each piece and what `work` makes of it, as they are finished; they begin in their own order.

    Args:
        work: called in another thread; it ends early once `stop` is set.
        pieces: numbers of the pieces.
        workers: threads.
        stop: set where an error ends the work, or whoever takes the results closes the generator before its end.
    """
    with ThreadPoolExecutor(max(1, workers), thread_name_prefix="effects") as pool:
        piece_of = {pool.submit(work, piece): piece for piece in pieces}
        waiting = set(piece_of)
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield piece_of[future], future.result()
        finally:
            if waiting:
                stop.set()
            for future in waiting:
                future.cancel()
