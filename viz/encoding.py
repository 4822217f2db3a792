"""How maps travel to the browser components: small integers, compressed, with the colours that stand for them.

A weight w of at most `maximum` becomes the whole number nearest to w / maximum × top. The number above top says that
the cell holds no weight: its query may not attend to its key.
"""

import base64
import hashlib
import json
import math
import zlib
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from plotly.colors import sample_colorscale, unlabel_rgb

from viz import pooling
from viz.theme import COLORSCALE

Curve = Literal["linear", "sqrt", "log"]

TOP = {8: 254, 16: 65534}  # the code of the largest weight; one more is the code of a masked cell
SMALLEST_LOG = 1e-3  # the share of the maximum at which the logarithmic colours begin

Floats = npt.NDArray[np.floating]
Codes = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


def encode(weights: Floats, allowed: npt.NDArray[np.bool_], *, bits: Literal[8, 16], maximum: float = 1.0) -> Codes:
    """(…, N_q, N_k) weights as codes. What isn't allowed, or isn't a number, gets the code of a masked cell.

    Args:
        weights: (…, N_q, N_k), query × key.
        allowed: (N_q, N_k) or of the shape of weights; True = the query may attend to the key.
        bits: 8 keeps a weight to 0.002 of the maximum, 16 to 0.00001.
        maximum: what the last colour stands for; larger weights are shown as the maximum.
    """
    if maximum <= 0:
        raise ValueError(f"The largest weight of a map must be above 0, not {maximum}.")
    top = TOP[bits]
    visible = np.broadcast_to(allowed, weights.shape) & np.isfinite(weights)
    scaled = np.multiply(weights, top / maximum, dtype=np.float32)
    np.rint(np.clip(scaled, 0, top, out=scaled), out=scaled)
    scaled[~visible] = top + 1
    return scaled.astype(np.uint8) if bits == 8 else scaled.astype(np.uint16)


def coarsen(codes: Codes, step: tuple[int, int]) -> Codes:
    """(…, N_q, N_k) codes → (…, rows, columns): the largest of each block, masked only where all of it is.

    `step` is how many queries and keys a block spans.
    """
    if step == (1, 1):
        return codes
    one = codes.dtype.type(1)  # one up, and the code of a masked cell, the largest of its type, falls to 0
    return np.subtract(pooling.coarsen(codes + one, step), one)


def pack(codes: Codes) -> str:
    """Codes as text: high bytes before low bytes (alike bytes side by side compress well), zlib, base64."""
    planes = codes.tobytes() if codes.dtype == np.uint8 else _planes(codes)
    return base64.b64encode(zlib.compress(planes, 6)).decode("ascii")


def message(codes: Codes, *, maximum: float, **more: Any) -> dict[str, Any]:
    """The part of a component's data that holds maps. `id` names its content: equal maps, equal id."""
    bits = 8 if codes.dtype == np.uint8 else 16
    body = {
        "part": "maps",
        "bytes": pack(codes),
        "bits": bits,
        "top": TOP[bits],
        "shape": list(codes.shape),
        "maximum": maximum,
        **more,
    }
    return {**body, "id": digest(body)}


def digest(body: Any) -> str:
    """A short name for JSON-able content."""
    return hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=9).hexdigest()


@cache
def scale_table(colorscale: str) -> npt.NDArray[np.uint8]:
    """(256, 3): red, green and blue of a Plotly scale at even steps. Read only: all share it."""
    steps = sample_colorscale(colorscale, [i / 255 for i in range(256)])
    table: npt.NDArray[np.uint8] = np.rint([unlabel_rgb(step) for step in steps]).astype(np.uint8)
    table.setflags(write=False)
    return table


@cache
def colours(colorscale: str = COLORSCALE) -> str:
    """A Plotly scale as 256 × (red, green, blue), base64."""
    return base64.b64encode(scale_table(colorscale).tobytes()).decode("ascii")


@cache
def curve(name: Curve) -> str:
    """For the weights 0…254 (of 254) the place of their colour in the scale, 0…255, base64.

    `sqrt` and `log` pull small weights apart; `log` begins at a thousandth of the maximum.
    """
    share = np.arange(TOP[8] + 1) / TOP[8]
    places = {
        "linear": share,
        "sqrt": np.sqrt(share),
        "log": 1 - np.log10(np.maximum(share, SMALLEST_LOG)) / math.log10(SMALLEST_LOG),
    }
    return base64.b64encode(np.rint(places[name] * 255).astype(np.uint8).tobytes()).decode("ascii")


def _planes(codes: Codes) -> bytes:
    return (codes >> 8).astype(np.uint8).tobytes() + (codes & 255).astype(np.uint8).tobytes()
