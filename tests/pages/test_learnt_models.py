"""A model trained in this app on every page: few tokens, few heads, no special tokens, perhaps no FFN and no LayerNorm."""

from functools import cache

import numpy as np
import pytest

from model import learnt
from model.training import Settings, Training
from ui import inside_runs

KINDS = {
    "four heads": {"task": "neighbours"},
    "one head": {"task": "neighbours", "heads": 1},
    "with FFN": {"task": "neighbours", "heads": 2, "ffn": True},
    "two layers, causal": {"task": "induction"},
    "Chinese": {"task": "agreement-zh"},
}


@cache
def trained(kind: str) -> bytes:
    training = Training(Settings.of(**KINDS[kind], steps=60))
    training.step(60)
    return learnt.to_bytes(training)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def opened(app, kind):
    """The link of a model that this session trained, and its size."""
    inside_runs._kept.clear()
    about = learnt.about(trained(kind))
    link = {"model": learnt.remember(trained(kind)), "text": about.sample, "mask": about.settings.mask}

    def open_page(page, **more):
        app.open(**link, **more)
        if page != "attention":
            app.test.switch_page(f"pages/{page}.py")
            for name, value in (link | more).items():
                app.test.query_params[name] = value
            app.run()
        return app, about.settings

    return open_page


@pytest.mark.parametrize("view", ["heads", "numbers", "compare", "take"])
def test_attention(opened, view):
    app, _ = opened("attention", view=view)
    assert not app.errors, app.errors
    assert "words' weight to [CLS]" not in app.words


@pytest.mark.parametrize("tab", ["steps", "future", "padding", "flow"])
def test_masks(opened, tab):
    app, _ = opened("masks", tab=tab)
    assert [e for e in app.errors if "no padding token" not in e] == [], app.errors


@pytest.mark.parametrize("view", ["labour", "sentence", "card", "corpus"])
def test_heads(opened, view):
    app, _ = opened("heads", view=view)
    assert not app.errors, app.errors


@pytest.mark.parametrize("tab", ["steps", "cell", "block", "layers"])
def test_inside(opened, tab):
    app, _ = opened("inside", source="model", tab=tab)
    assert not app.errors, app.errors


@pytest.mark.parametrize("tab", ["parameters", "heads", "growth"])
def test_cost(opened, tab):
    app, _ = opened("cost", tab=tab)
    assert not app.errors, app.errors
