"""Matrices of one step as Plotly heatmaps: several tiles of one size in one figure, and the reshape in numbers.

Signed numbers use a diverging scale centred on 0; attention weights the one scale of every map, from 0 to 1.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from viz.style import DIFFERENCE_SCALE
from viz.theme import COLORSCALE, MASKED_FILL, TEXT, Translate, hover, layout, tick_text, untranslated
from viz.token_strip import HEAD_COLOURS

MOST_CELLS = 60_000  # of one figure; the rest is cut off, visibly
MOST_NUMBERS = 150  # cells with their number written in them
MOST_NAMED = 16  # row names that stand legibly beside a tile
TOP = 46  # pixels: the colour bar with its numbers
GAP = 0.9  # cells between two tiles
LEAST_ROW = 10  # pixels: a row whose name can be read
NAME_PIXELS = 42  # above a tile for its name and mark
MOST_ACROSS = 12  # cells with numbers in them beside each other

Floats = npt.NDArray[np.float32]
Scale = Literal["signed", "weights"]


def head_colour(head: int) -> str:
    """The fixed colour of a head, by its index. Colours repeat, so the number always stands beside."""
    return str(HEAD_COLOURS[head % len(HEAD_COLOURS)])


def tiles_figure(
    tiles: npt.NDArray[np.floating],
    names: Sequence[str],
    rows: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    scale: Scale = "signed",
    heads: int = 0,
    coloured: bool = True,
    height: int = 400,
    t: Translate = untranslated,
) -> go.Figure:
    """Matrices of one size as tiles of one picture, with the value of every cell on hover.

    Args:
        tiles: (k, R, C). −inf is drawn as masked.
        names: k, above the tiles; markup is escaped.
        rows: R labels.
        columns: C labels; None = numbers from 1.
        scale: of the colours.
        heads: mark the columns of each of so many heads above the tiles; 0 = each tile is a head of its own
            if there are several, so its mark takes that head's colour.
        coloured: draw those marks.
        height: of the figure in pixels.
        t: translates the figure's own words.
    """
    tiles, note = _cut(np.asarray(tiles, dtype=np.float32), t)
    k, n_rows, n_columns = tiles.shape
    rows = [tick_text(label) for label in rows[:n_rows]]
    column_names = [tick_text(label) for label in (columns or [str(i + 1) for i in range(n_columns)])[:n_columns]]
    written = tiles.size <= MOST_NUMBERS
    across = _columns_of_tiles(k, n_rows, n_columns, height, written)
    down = math.ceil(k / across)
    width, room = across * (n_columns + GAP) - GAP, n_rows * _room(down, height)
    depth = down * (n_rows + room)
    row_pixels = (height - TOP) / depth

    figure = go.Figure(layout={**layout("", height=height, top=TOP), "dragmode": False})
    shapes, names_drawn = [], []
    mosaic = np.full((down * (n_rows + 1), across * (n_columns + 1) - 1), np.nan, dtype=np.float32)
    for tile, values in enumerate(tiles):
        row, column = divmod(tile, across)
        mosaic[row * (n_rows + 1) + 1 :, column * (n_columns + 1) :][:n_rows, :n_columns] = values
        left, top = column * (n_columns + GAP), row * (n_rows + room) + room
        shapes += _marks(left, top, room, n_columns, heads, tile if k > 1 and coloured and not heads else None)
        names_drawn.append(_name(names[tile], left, top - 0.34 * room))
    x = np.concatenate([np.arange(n_columns + 1) + i * (n_columns + GAP) for i in range(across)])
    y = np.concatenate(
        [np.r_[i * (n_rows + room), np.arange(n_rows) + i * (n_rows + room) + room] for i in range(down)]
    )
    y = np.r_[y, depth]
    hidden = np.isneginf(mosaic)
    figure.add_trace(_heatmap(np.where(hidden, np.nan, mosaic), x, y, scale, written, t))
    if hidden.any():
        figure.add_trace(_masked(hidden, x, y, written, t))
    middle_x = np.concatenate([np.arange(n_columns) + 0.5 + i * (n_columns + GAP) for i in range(across)])
    middle_y = np.concatenate([np.arange(n_rows) + 0.5 + i * (n_rows + room) + room for i in range(down)])
    axis: dict[str, Any] = {"showgrid": False, "zeroline": False, "ticks": "", "fixedrange": True, "tickmode": "array"}
    font = {"size": 13, "color": TEXT}
    figure.update_xaxes(
        **axis,
        range=[0, width],
        tickvals=middle_x,
        ticktext=list(column_names) * across,
        showticklabels=columns is not None and width <= (26 if max(map(len, column_names)) <= 3 else 18),
        tickangle=0 if max(map(len, column_names)) <= 3 else -45,
        tickfont=font,
        automargin=True,
    )
    figure.update_yaxes(
        **axis,
        range=[depth, 0],
        tickvals=middle_y,
        ticktext=list(rows) * down,
        showticklabels=row_pixels >= LEAST_ROW - 1,
        tickfont={**font, "size": min(13, int(row_pixels))},
        automargin=True,
    )
    figure.update_layout(shapes=shapes, annotations=names_drawn + ([_note(note)] if note else []))
    return figure


def reshape_figure(
    whole: npt.NDArray[np.integer],
    whole_heads: npt.NDArray[np.integer],
    parts: npt.NDArray[np.integer],
    parts_heads: npt.NDArray[np.integer],
    rows: Sequence[str],
    *,
    merged: bool = False,
    height: int = 400,
    t: Translate = untranslated,
) -> go.Figure:
    """The matrix x with its columns coloured by head above, the h matrices below (`merged`: the other way round).

    Every cell has the colour of the head that its column of x belongs to, wherever it stands, and its number.

    Args:
        whole: (N, d_model) numbers of the cells.
        whole_heads: (N, d_model), which head each belongs to.
        parts: (h, N, d_k).
        parts_heads: (h, N, d_k).
        rows: N labels.
        merged: the picture of the concatenation.
        height: in pixels.
        t: translates the figure's own words.
    """
    h, n, d_k = parts.shape
    d_model = h * d_k
    gap = max(0.6, d_model / 24)
    shift = gap * (h - 1) / 2
    upper, lower = (1.4, n + 3.2) if not merged else (n + 3.2, 1.4)
    cells = [
        (shift + column, upper + row, whole_heads[row, column], whole[row, column]) for row, column in _grid(n, d_model)
    ]
    for part in range(h):
        left = part * (d_k + gap)
        cells += [
            (left + column, lower + row, parts_heads[part, row, column], parts[part, row, column])
            for row, column in _grid(n, d_k)
        ]
    figure = go.Figure(layout={**layout("", height=height, top=4), "dragmode": False, "showlegend": True})
    shapes = []
    for x, y, head, _number in cells:
        box = {"type": "rect", "x0": x, "x1": x + 1, "y0": y, "y1": y + 1}
        line = {"color": "rgba(255, 255, 255, 0.75)", "width": 1}
        shapes.append({**box, "layer": "below", "fillcolor": head_colour(int(head)), "line": line})
    xs, ys, owners, numbers = (np.array(column) for column in zip(*cells, strict=True))
    figure.add_trace(
        go.Scatter(
            x=(xs + 0.5).astype(np.float32),
            y=(ys + 0.5).astype(np.float32),
            mode="text",
            text=[f"<b>{number}</b>" for number in numbers],
            textfont={"size": 14 if d_model <= 16 else 11, "color": "#FFFFFF", "shadow": "0 0 3px #000, 0 0 2px #000"},
            customdata=owners + 1,
            hovertemplate=t("number {number}: head {head}").format(number="%{text}", head="%{customdata}")
            + "<extra></extra>",
            showlegend=False,
        )
    )
    for head in range(h):
        figure.add_trace(
            go.Scatter(
                x=[None],
                y=[None],
                mode="markers",
                marker={"symbol": "square", "size": 13, "color": head_colour(head)},
                name=t("columns of head {head}").format(head=head + 1),
            )
        )
    names = [_name(f"({n}, {d_model})", shift, upper - 0.25, size=14)]
    names += [
        _name(
            t("head {head}: ({n}, {d_k})").format(head=part + 1, n=n, d_k=d_k),
            part * (d_k + gap),
            lower - 0.25,
            size=14,
        )
        for part in range(h)
    ]
    axis: dict[str, Any] = {"visible": False, "fixedrange": True}
    figure.update_xaxes(**axis, range=[-0.1, d_model + gap * (h - 1) + 0.1])
    figure.update_yaxes(
        range=[2 * n + 3.4, 0.3],
        fixedrange=True,
        showgrid=False,
        zeroline=False,
        tickvals=np.r_[np.arange(n) + upper + 0.5, np.arange(n) + lower + 0.5],
        ticktext=[tick_text(label) for label in rows] * 2,
        tickfont={"size": 13, "color": TEXT},
        automargin=True,
    )
    figure.update_layout(
        shapes=shapes,
        annotations=names,
        legend={"orientation": "h", "x": 0, "y": -0.02, "yanchor": "top", "font": {"size": 13, "color": TEXT}},
    )
    return figure


def _grid(rows: int, columns: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(rows) for column in range(columns)]


def _cut(tiles: Floats, t: Translate) -> tuple[Floats, str]:
    """At most MOST_CELLS cells: the first columns, then the first rows, of every tile."""
    k, n_rows, n_columns = tiles.shape
    if tiles.size <= MOST_CELLS:
        return tiles, ""
    side = max(1, math.isqrt(MOST_CELLS // k))
    rows = min(n_rows, max(side, MOST_CELLS // (k * n_columns)))
    columns = min(n_columns, max(1, MOST_CELLS // (k * rows)))
    note = t("drawn: the first {rows} of {all_rows} rows and {columns} of {all_columns} columns").format(
        rows=rows, all_rows=n_rows, columns=columns, all_columns=n_columns
    )
    return tiles[:, :rows, :columns], note


def _columns_of_tiles(k: int, n_rows: int, n_columns: int, height: int, written: bool) -> int:
    """How many tiles stand side by side so that the whole is wider than high, and few places stay empty."""
    most = max(1, MOST_ACROSS // (n_columns + 1)) if written else k

    def ratio(across: int) -> float:
        return (across * (n_columns + 1)) / (math.ceil(k / across) * (n_rows + 1.5))

    def fits(across: int) -> bool:
        return math.ceil(k / across) * (NAME_PIXELS + LEAST_ROW * min(n_rows, MOST_NAMED)) <= height - TOP

    choices = range(1, min(k, most) + 1)
    return min(
        [across for across in choices if fits(across)] or choices,
        key=lambda across: abs(math.log(ratio(across) / 2.2)) + (-k % across) / k,
    )


def _room(down: int, height: int) -> float:
    """Space above a tile in units of the tile's height: NAME_PIXELS of the figure."""
    share = min(0.5, NAME_PIXELS * down / (height - TOP))
    return share / (1 - share)


def _marks(left: float, top: float, room: float, n_columns: int, heads: int, tile: int | None) -> list[dict[str, Any]]:
    """A coloured strip above the columns of each head."""
    strip = {"type": "rect", "y0": top - 0.3 * room, "y1": top - 0.08 * room, "line": {"width": 0}}
    if tile is not None:
        return [{**strip, "x0": left, "x1": left + n_columns, "fillcolor": head_colour(tile)}]
    if not heads:
        return []
    d_k = n_columns / heads
    return [
        {**strip, "x0": left + head * d_k, "x1": left + (head + 1) * d_k, "fillcolor": head_colour(head)}
        for head in range(heads)
    ]


def _heatmap(z: Floats, x: Floats, y: Floats, scale: Scale, written: bool, t: Translate) -> go.Heatmap:
    most = 1.0 if scale == "weights" else float(np.nanmax(np.abs(z), initial=0.0)) or 1.0
    return go.Heatmap(
        z=z.astype(np.float32),
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        zmin=0 if scale == "weights" else -most,
        zmax=most,
        colorscale=COLORSCALE if scale == "weights" else DIFFERENCE_SCALE,
        hoverongaps=False,
        texttemplate="%{z:.2f}" if written else None,
        textfont={"size": 14},
        name="",
        hovertemplate=hover(t("row '{query}', column {key}: {value}"), value="%{z:.4f}"),
        colorbar={
            "orientation": "h",
            "thickness": 8,
            "len": 0.3,
            "x": 1,
            "xanchor": "right",
            "y": 1,
            "yanchor": "bottom",
            "ypad": 8,
            "tickvals": [0, 0.5, 1] if scale == "weights" else [-most, 0, most],
            "ticktext": ["0", "0.5", "1"] if scale == "weights" else [f"−{most:.2f}", "0", f"{most:.2f}"],
            "tickfont": {"size": 12, "color": TEXT},
            "outlinewidth": 0,
        },
    )


def _masked(hidden: npt.NDArray[np.bool_], x: Floats, y: Floats, written: bool, t: Translate) -> go.Heatmap:
    return go.Heatmap(
        z=np.where(hidden, 1, np.nan).astype(np.float32),
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        zmin=0,
        zmax=1,
        colorscale=[[0, MASKED_FILL], [1, MASKED_FILL]],
        showscale=False,
        hoverongaps=False,
        text=np.where(hidden, "−∞", "").tolist() if written else None,
        texttemplate="%{text}" if written else None,
        textfont={"size": 14, "color": TEXT},
        name="",
        hovertemplate=hover(t("row '{query}', column {key}: −∞, masked")),
    )


def _name(text: str, x: float, y: float, *, size: int = 14) -> dict[str, Any]:
    font = {"size": size, "color": TEXT}
    return {"text": text, "x": x, "y": y, "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": font}


def _note(text: str) -> dict[str, Any]:
    font = {"size": 12, "color": TEXT}
    place = {"x": 0, "xref": "paper", "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": "left", "yshift": 6}
    return {"text": text, "showarrow": False, "font": font, **place}
