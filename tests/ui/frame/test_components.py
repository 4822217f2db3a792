"""The components as pages call them."""

import gc
import weakref

import numpy as np

from ui.frame import components
from viz.token_strip import LayerMaps, StripChoice, StripLook


def test_what_the_strip_calls_when_it_changes_holds_no_maps(monkeypatch):
    """A session keeps those functions as long as it lives: the maps of a long text are 75 MB."""
    kept = []
    monkeypatch.setattr(components, "_strip", lambda **message: kept.append(message))
    attention = np.full((2, 3, 3), 1 / 3)
    shown = LayerMaps(attention, np.ones((3, 3), dtype=bool), ("a", "b", "c"), layer=1)
    components.token_strip(shown, StripChoice(), StripLook(), key="strip", on_pinned=print, on_heads=print)
    assert {"on_pinned_change", "on_pair_change", "on_heads_change", "on_direction_change"} <= kept[-1].keys()
    gone = weakref.ref(attention)
    del shown, attention
    gc.collect()
    assert gone() is None
