"""How weights become colours: the scale, the curve, what the last colour stands for, and how large the text is."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from viz.encoding import SMALLEST_LOG, Curve, scale_table
from viz.theme import COLORSCALE

COLORSCALES = ("Cividis", "Viridis", "Inferno", "Greys")  # each perceptually even and safe for colour-blind readers
DIFFERENCE_SCALE = "PuOr_r"  # purple = less, orange = more: apart for every kind of colour blindness
# The same through no colour at all, so that 0 is the ground of a light and of a dark page.
DIFFERENCES = [
    [0.0, "rgba(94, 60, 153, 1)"],
    [0.25, "rgba(128, 100, 190, 0.75)"],
    [0.5, "rgba(128, 128, 128, 0)"],
    [0.75, "rgba(240, 150, 60, 0.75)"],
    [1.0, "rgba(220, 105, 10, 1)"],
]
# For cells too small to be hatched: lighter from less to more, through a grey, so that grey print keeps the sign.
BY_LIGHTNESS = [[0.0, "rgb(59, 15, 112)"], [0.5, "rgb(150, 150, 150)"], [1.0, "rgb(255, 214, 153)"]]
LEAST_HATCHED = 6  # pixels of a cell whose hatching can be seen
SEEN_FROM = 0.08  # of the limit: nearer to 0 a difference has hardly a colour

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Style:
    """How a map is drawn.

    Attributes:
        colorscale: one of `COLORSCALES`.
        curve: how colours grow with weights.
        maximum: what the last colour stands for.
        quantity: what the numbers are, in the reader's language; "" = attention weight.
        text_scale: 1 = normal text, 1.4 = for the back row.
    """

    colorscale: str = COLORSCALE
    curve: Curve = "linear"
    maximum: float = 1.0
    quantity: str = ""
    text_scale: float = 1.0

    def places(self, weights: npt.NDArray[np.floating]) -> Floats:
        """Where in the scale each weight has its colour, 0…1. NaN stays NaN."""
        share = np.clip(np.asarray(weights, dtype=np.float32) / np.float32(self.maximum), 0, 1)
        if self.curve == "sqrt":
            return np.asarray(np.sqrt(share), dtype=np.float32)
        if self.curve == "log":
            logs = np.log10(np.maximum(share, np.float32(SMALLEST_LOG)))
            return np.asarray(1 - logs / math.log10(SMALLEST_LOG), dtype=np.float32)
        return np.asarray(share, dtype=np.float32)

    def ticks(self) -> list[float]:
        """The weights that a colour bar names."""
        if self.curve == "log":
            return [self.maximum * step for step in (0.001, 0.01, 0.1, 1)]
        return [0, self.maximum / 2, self.maximum]

    def colours(self, weights: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
        """(…) weights → (…, 3) red, green, blue. NaN gets the first colour: draw over it."""
        return scale_colours(self.colorscale, self.places(np.nan_to_num(weights)))


PLAIN = Style()


def signed(limit: float, cell: float = LEAST_HATCHED) -> dict[str, Any]:
    """A heatmap's colours from −limit to limit: purple is less, orange more, and 0 the ground of the page.

    Cells of fewer than `LEAST_HATCHED` pixels (`cell`) tell the sign by lightness as well, and their 0 is grey.
    """
    scale = BY_LIGHTNESS if cell < LEAST_HATCHED else DIFFERENCES
    return {"zmin": -max(limit, 1e-9), "zmax": max(limit, 1e-9), "colorscale": scale}


def is_less(values: npt.NDArray[np.floating], limit: float) -> npt.NDArray[np.bool_]:
    """The cells to hatch, so that the sign is seen without colour: below 0 by enough to have a colour at all."""
    return np.asarray(np.nan_to_num(values) < -SEEN_FROM * max(limit, 1e-9))


def scale_colours(colorscale: str, places: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
    """(…) places 0…1 in a Plotly scale → (…, 3) red, green, blue."""
    return np.asarray(scale_table(colorscale)[np.rint(255 * np.asarray(places)).astype(np.uint8)])


def luminance(rgb: npt.NDArray[np.uint8]) -> float:
    """The relative luminance of red, green and blue, 0 to 1 (WCAG 2.2)."""
    share = np.asarray(rgb, dtype=float) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def nice_maximum(weights: npt.NDArray[np.floating]) -> float:
    """The largest weight, rounded up to two digits; 1 where all are 0."""
    largest = float(np.nan_to_num(weights).max(initial=0))
    if largest <= 0:
        return 1.0
    step = 10.0 ** (math.floor(math.log10(largest)) - 1)
    return round(math.ceil(round(largest / step, 6)) * step, 10)
