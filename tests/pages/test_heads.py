"""The page of heads: every control, what is claimed on screen, links, one's own sentence and corpus, and broken input."""

import base64
import json

import numpy as np
import pytest

from analysis.parsing import NoParser, is_there
from analysis.records import shipped
from ui import heads_corpus, heads_data, heads_own

OBJ = "3-1: 75 % [71, 79] of 596 objects; looking two words back gets 38 %"


@pytest.fixture
def heads(app):
    """Opens the page with a link."""

    def open_with(**link: str):
        app.open(**link)
        app.test.switch_page("pages/heads.py")
        return app.run()

    return open_with


def decoded(z):
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def grid(app, number=0):
    """(coloured cells, grey cells) of a figure of scores; NaN elsewhere."""
    figure = app.figures()[number]
    return decoded(figure["data"][1]["z"]), decoded(figure["data"][0]["z"])


def claims(app):
    return [button.label.replace("\\", "") for button in app.test.button if (button.key or "").startswith("heads_pick")]


def test_opens_on_objects_with_the_head_that_follows_them_and_its_baseline(heads):
    app = heads()
    assert OBJ in claims(app)[0]
    assert "Head 3-1 gets 75 % [71, 79] of 596 objects; looking two words back gets 38" in app.words
    assert "+37 [32, 42] points better" in app.words
    assert "MiniLM-L6 (built in) · Real text: EWT + GUM · 869 sentences" in app.words
    assert "no head clearly beats position for: amod" in app.words


def test_cells_that_dont_beat_the_baseline_are_grey_and_only_those(heads):
    coloured, grey = grid(heads())
    table = shipped("ud").table("obj", "dep>head")
    np.testing.assert_array_equal(~np.isnan(coloured), table.beats)
    np.testing.assert_array_equal(np.isnan(grey), table.beats)
    np.testing.assert_allclose(coloured[table.beats], table.accuracy[table.beats], atol=1e-6)


def test_gain_shows_what_is_left_over_the_guess(heads):
    app = heads().pick("heads_show", "gain")
    coloured, _grey = grid(app)
    table = shipped("ud").table("obj", "dep>head")
    np.testing.assert_allclose(coloured[2, 0], table.accuracy[2, 0] - table.baseline, atol=1e-6)
    assert app.link["show"] == "gain"
