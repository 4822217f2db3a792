"""The forwards behind "Inside a block": what is kept of them."""

import weakref

from model import Mask
from ui.frame import loading
from ui.inside import runs

TOY = "toy:d_model=64,heads=4,layers=2,seed=7"
TEXT = "one two three"


def test_what_is_kept_of_a_run_keeps_no_model():
    loaded = loading.load_model(TOY)
    gone, output = weakref.ref(loaded.transformer), weakref.ref(loaded)
    first = runs.trained(TEXT, TOY, Mask.causal(), 0)
    assert first.stack.transformer is loaded.transformer
    maps = first.steps.attention.attention
    del loaded, first
    loading.models().clear()
    loading.trace_cache().clear()
    assert gone() is None and output() is None
    again = runs.trained(TEXT, TOY, Mask.causal(), 0)  # the model is loaded again, the run is the kept one
    assert again.steps.attention.attention is maps
    assert runs.trained(TEXT, TOY, Mask.causal(), 1).n_layers == 2
