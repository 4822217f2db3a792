"""What several steps about one sentence share, kept so that a model runs once for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from analysis.lessons.setup import Setup

MOST = 8  # results: a layer's scores of 300 tokens take 4 MB
T = TypeVar("T")

_results: OrderedDict[Hashable, Any] = OrderedDict()
_lock = Lock()


def kept(setup: Setup, what: Hashable, make: Callable[[], T]) -> T:
    """The result of `make`, made once for a model, a text, a mask and `what`. It must not hold the model."""
    key = setup.model_id, setup.text, str(setup.mask), what
    with _lock:
        if key in _results:
            _results.move_to_end(key)
            return _results[key]  # type: ignore[no-any-return]
    made = make()  # outside the lock: two who ask at once both compute
    with _lock:
        _results[key] = made
        while len(_results) > MOST:
            _results.popitem(last=False)
    return made
