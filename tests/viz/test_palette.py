"""Twelve head colours that stay apart, on both grounds and for every common kind of colour blindness."""

import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from viz.style import luminance
from viz.theme import ACCENT
from viz.token_strip import HEAD_COLOURS

THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit/config.toml").read_text())["theme"]
SRGB = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
SEEN_BY = {  # linear RGB as the eye has it, severity 1 (Machado, Oliveira & Fernandes 2009, table 1)
    "most": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def lab(colour, eye):
    share = rgb(colour) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    x, y, z = np.clip(SEEN_BY[eye] @ linear, 0, 1) @ SRGB.T / [0.95047, 1, 1.08883]
    x, y, z = (math.cbrt(v) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(first, second):
    """CIEDE2000 (Sharma, Wu & Dalal 2005, equations 2 to 22)."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    seven = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    g = 1.5 - 0.5 * math.sqrt(seven / (seven + 25**7))
    c1, c2 = math.hypot(g * a1, b1), math.hypot(g * a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    mean_l, mean_c, mean_h = (l1 + l2) / 2, (c1 + c2) / 2, (h1 + turn / 2) % 360
    t = 1 - 0.17 * cos(mean_h - 30) + 0.24 * cos(2 * mean_h) + 0.32 * cos(3 * mean_h + 6) - 0.2 * cos(4 * mean_h - 63)
    light = (l2 - l1) / (1 + 0.015 * (mean_l - 50) ** 2 / math.sqrt(20 + (mean_l - 50) ** 2))
    chroma = (c2 - c1) / (1 + 0.045 * mean_c)
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * mean_c * t)
    around = 60 * math.exp(-(((mean_h - 275) / 25) ** 2))
    bend = -math.sin(math.radians(around)) * 2 * math.sqrt(mean_c**7 / (mean_c**7 + 25**7))
    return math.sqrt(light**2 + chroma**2 + hue**2 + bend * chroma * hue)


def cos(degrees):
    return math.cos(math.radians(degrees))


def test_the_difference_is_that_of_the_published_examples():  # Sharma, Wu & Dalal 2005, table 1
    assert difference((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert difference((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619)) == pytest.approx(2.0373, abs=1e-4)


@pytest.mark.parametrize("eye", SEEN_BY)
def test_any_two_heads_are_told_apart_by_colour(eye):
    seen = [lab(colour, eye) for colour in HEAD_COLOURS]
    assert len(seen) == 12
    assert min(difference(a, b) for a, b in itertools.combinations(seen, 2)) >= 10


@pytest.mark.parametrize("kind", ["light", "dark"])
def test_the_browser_leaves_the_colours_as_they_are(kind):
    """It moves a colour towards the ink until it is 3 : 1 on the ground, which made heads 3 and 10 one."""
    ground = luminance(rgb(THEME[kind]["backgroundColor"]))
    for colour in HEAD_COLOURS:
        here = luminance(rgb(colour))
        assert (max(ground, here) + 0.05) / (min(ground, here) + 0.05) >= 3, colour


def test_no_head_has_the_accent():
    assert min(difference(lab(colour, "most"), lab(ACCENT, "most")) for colour in HEAD_COLOURS) >= 8
