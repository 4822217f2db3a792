"""Large text in a finished figure: everything that is measured in pixels grows, as a browser's zoom would have it."""

import re
from typing import Any

import numpy as np
import plotly.graph_objects as go

SIDES = {"l", "r", "t", "b"}
SHIFTS = {"xshift", "yshift", "ax", "ay", "standoff", "thickness", "xpad", "ypad", "ticklen"}


def larger(figure: go.Figure, scale: float) -> go.Figure:
    """The figure with letters, margins, marks and height `scale` times as large; its width is that of its place."""
    if scale == 1:
        return figure
    return go.Figure(_grown(figure.to_plotly_json(), scale, ""))


def _grown(part: Any, scale: float, name: str) -> Any:
    """One part of a figure, which stands under `name`."""
    if isinstance(part, dict):
        return {key: _grown_in(key, value, scale, name) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_grown(item, scale, name) for item in part]
    return part


def _grown_in(key: str, value: Any, scale: float, name: str) -> Any:
    in_pixels = (
        (key == "size" and (name.endswith("font") or name == "marker"))
        or (key in SIDES and name in ("margin", "pad"))
        or (key == "height" and name == "layout")
        or key in SHIFTS
    )
    if in_pixels and value is not None and not isinstance(value, dict):
        return np.multiply(value, scale).tolist()  # one number, or one for each mark
    if key == "text" and isinstance(value, str):
        return re.sub(r"font-size:(\d+)px", lambda size: f"font-size:{float(size[1]) * scale:.0f}px", value)
    return _grown(value, scale, key)
