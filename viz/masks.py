"""The maps of the mask lab, to be set side by side: weights, scores, signed differences, the mask itself, its reach.

They are drawn by `viz.heatmaps`, so that a cell, a token and a masked cell look as they do everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.axes import Frame
from viz.heatmaps import CELL, Masked, color_bar, flat_bar, hatching, map_figure, weight_cells
from viz.maps import Bools, Maps
from viz.style import LEAST_HATCHED, PLAIN, is_less, signed
from viz.theme import ACCENT, HOLE, TEXT, Translate, heading, hover, markup, untranslated

SEEN = "rgba(62, 126, 182, 0.75)"  # a cell of a mask that lets the query look
NEAR_TO_FAR = [[0, "#08306B"], [0.35, "#2171B5"], [1, "#BDD7E7"]]
LEAST_WRITTEN = 15  # pixels: cells at least so large carry their numbers
AROUND = 130  # pixels of a map's height that go to its title, colour bar and token labels, roughly
MAP_HEIGHT = 350
CENTRED = {"len": 0.84, "x": 0.5, "xanchor": "center"}  # a colour bar's last number reaches beyond its end
TOP = 62  # pixels above a map: title and colour bar


@dataclass(frozen=True)
class Panel:
    """One map among several.

    Attributes:
        title: above the map.
        query: index of the token whose row is outlined.
        height: of the figure, in pixels.
        scale: 1 = normal text, 1.4 = for the back row.
    """

    title: str
    query: int | None = None
    height: int = MAP_HEIGHT
    scale: float = 1.0

    @property
    def top(self) -> float:
        """Pixels above a picture: title and colour bar."""
        return TOP * self.scale

    @property
    def cells_height(self) -> float:
        """Pixels that are left for the cells, roughly."""
        return self.height - AROUND * self.scale

    def name(self, left: float) -> dict[str, Any]:
        """The title, above the colour bar; large text begins at the edge of the margin of `left` pixels."""
        size, shift = (15, 0) if self.scale == 1 else (18, 2 - left)
        return heading(f"<b>{markup(self.title)}</b>", yshift=36 * self.scale, xshift=shift, size=size)

    def figure(
        self,
        shown: Maps,
        cells: dict[str, Any],
        bar: dict[str, Any] | None,
        t: Translate,
        notes: Sequence[dict[str, Any]] = (),
        masked: Masked | None = None,
    ) -> go.Figure:
        """Title, colour bar and map under each other, in small print: these maps stand three or four in a row."""
        look: dict[str, Any] = {"showscale": False}
        if bar:
            look = {"colorbar": {**flat_bar(**bar, size=12 * self.scale), "thickness": 7 * self.scale, **CENTRED}}
        frame = Frame(self.height, self.top, largest=12, scale=self.scale, is_titled=False)
        shapes = []
        if self.query is not None:
            row = self.query // shown.step[0]
            box = {"x0": -0.5, "x1": shown.shape[1] - 0.5, "y0": row - 0.5, "y1": row + 0.5}
            shapes = [{"type": "rect", **box, "line": {"color": ACCENT, "width": 2}, "fillcolor": HOLE}]
        figure = map_figure(shown, {**cells, **look}, frame, [*notes], shapes=shapes, masked=masked, t=t)
        figure.layout.annotations = [self.name(figure.layout.margin.l), *figure.layout.annotations]
        return figure


def weight_map(shown: Maps, panel: Panel, *, says_masked: bool = False, t: Translate = untranslated) -> go.Figure:
    """Weights, 0 to 1 as everywhere. NaN cells stay empty; `says_masked` names the hatching above the map."""
    shown = shown.in_blocks()
    named = says_masked and not shown.allowed.all()
    scale = panel.scale
    notes = [heading("▨ " + t("masked"), x=1, xanchor="right", yshift=36 * scale, size=13 * scale)] if named else []
    return panel.figure(shown, weight_cells(shown.visible(), PLAIN, t), color_bar(PLAIN, t), t, notes)


def difference_map(shown: Maps, panel: Panel, *, limit: float, t: Translate = untranslated) -> go.Figure:
    """Signed differences from −limit to limit: purple and hatched less, orange more, 0 without colour.

    Args:
        shown: (N_q, N_k) differences; masked are the cells that neither mask allows.
        panel: what stands around the map.
        limit: end of the colour range; the same for all maps that are compared.
        t: translates the figure's own words.
    """
    shown = shown.in_blocks("farthest")
    cell = panel.cells_height / max(shown.shape)
    cells = {"z": shown.visible(), **signed(limit, cell), "name": t("difference")}
    cells["hovertemplate"] = hover(t(CELL), weight="%{z:+.2f}")
    figure = panel.figure(shown, cells, signed_bar(limit, t("difference"), cell), t)
    queries, keys = shown.shape
    ends = {"x0": -0.5, "x1": keys - 0.5, "y0": -0.5, "y1": queries - 0.5}
    figure.add_shape(type="rect", **ends, line={"color": "#8A9096", "width": 1})  # 0 has the colour of the page
    return with_less_hatched(figure, shown, limit, cell)


def with_less_hatched(figure: go.Figure, shown: Maps, limit: float, cell: float) -> go.Figure:
    """The figure with horizontal lines over what is less, so that the sign is seen in grey print too.

    Where a `cell` has too few pixels for lines, its lightness says the sign.
    """
    less = is_less(shown.visible(), limit)
    return figure.add_trace(hatching(less, "-", TEXT)) if less.any() and cell >= LEAST_HATCHED else figure


def signed_bar(limit: float, name: str, cell: float) -> dict[str, Any]:
    """Ticks of a signed colour bar; ▤ is the hatching of what is less, where a `cell` has the pixels for it."""
    limit = max(limit, 1e-9)
    hatched = "▤ " if cell >= LEAST_HATCHED else ""
    return {"tickvals": [-limit, 0, limit], "ticktext": [f"{hatched}−{limit:.2f}", name, f"+{limit:.2f}"]}


def score_map(shown: Maps, panel: Panel, *, limits: tuple[float, float], t: Translate = untranslated) -> go.Figure:
    """Scores before the softmax, between `limits`, which maps that are compared share."""
    shown, (low, high) = shown.in_blocks(), limits
    cells = {"z": shown.visible(), "zmin": low, "zmax": high, "colorscale": PLAIN.colorscale, "name": t("score")}
    cells["hovertemplate"] = hover(t(CELL), weight="%{z:.2f}")
    return panel.figure(shown, cells, {"tickvals": [low, high], "ticktext": [f"{low:.1f}", f"{high:.1f}"]}, t)


def mask_matrix(
    allowed: Bools,
    labels: Sequence[str],
    panel: Panel,
    *,
    words: tuple[str, str] = ("1", "0"),
    t: Translate = untranslated,
) -> go.Figure:
    """A mask itself: filled where the query may look, hatched where it may not, with `words` written in small ones."""
    shown = Maps(np.zeros(allowed.shape, dtype=np.float32), allowed, labels).in_blocks()
    may, may_not = words
    says = hover(t(CELL), weight=t("may look") + f" ({may})")
    cells = {"z": shown.visible(), "colorscale": [[0, SEEN], [1, SEEN]], "hovertemplate": says, "name": ""}
    figure = panel.figure(shown, cells, None, t)
    if panel.cells_height / len(labels) < LEAST_WRITTEN * panel.scale:
        return figure
    query_at, key_at = np.indices(allowed.shape).reshape(2, -1).astype(np.int16)
    written = {"x": key_at, "y": query_at, "text": [may if cell else may_not for cell in allowed.ravel()]}
    font = {"size": 11 * panel.scale, "color": TEXT}
    return figure.add_trace(go.Scatter(**written, mode="text", textfont=font, hoverinfo="skip", showlegend=False))


def reach_map(
    needed: npt.NDArray[np.integer],
    labels: Sequence[str],
    panel: Panel,
    *,
    n_layers: int,
    t: Translate = untranslated,
) -> go.Figure:
    """The fewest layers after which a query can know of a key; hatched where `n_layers` aren't enough (−1)."""
    shown = Maps(needed.astype(np.float32), needed >= 0, labels).in_blocks("least")
    cells = {"z": shown.visible(), "zmin": 0, "zmax": max(n_layers, 1), "colorscale": NEAR_TO_FAR, "name": ""}
    cells["hovertemplate"] = hover(t("query '{query}' knows of key '{key}' after layer {weight}"), weight="%{z:d}")
    bar = {"tickvals": [0, n_layers / 2, n_layers], "ticktext": ["0", t("layers needed"), str(n_layers)]}
    unknown = Masked(t("out of reach"), hover(t("query '{query}' knows nothing of key '{key}'"), weight=""))
    return panel.figure(shown, cells, bar, t, masked=unknown)
