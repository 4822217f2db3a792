"""Setups whose maps a test writes by hand: the toy's tokens, and any weights."""

import numpy as np
from numpy.typing import ArrayLike

from analysis.lessons.setup import DIRECT, Setup, Source
from model import Mask
from tests.models import load


def made_setup(text: str, attention: ArrayLike, mask: str = "bidirectional") -> Setup:
    """The toy reading a text, with these maps (L, h, N, N)."""
    model = load("toy")
    maps = np.array(attention, dtype=np.float32)
    n = maps.shape[-1]

    def trace(of: str, model_id: str, of_mask: Mask):  # type: ignore[no-untyped-def]
        return model.as_trace(model.tokens(of, of_mask), of_mask, maps, np.zeros((n, 32), dtype=np.float32))

    return Setup(text, "toy", mask, source=Source(load, trace))


def setup(text: str, model_id: str = "toy", mask: str | None = None) -> Setup:
    """A real model reading a text."""
    return Setup(text, model_id, mask, source=Source(load, DIRECT.trace))
