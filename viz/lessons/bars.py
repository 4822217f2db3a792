"""Pictures of lessons that are bars: counts, scores with their intervals, and what a decoder expects next."""

import math
import re
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.lessons.answer import Answer
from analysis.lessons.shown import Bar, Bars, Expected
from viz.block import BLUE
from viz.cost import short
from viz.lessons.pictures import picture
from viz.plots import FONT, named_beside, plain_figure
from viz.theme import ACCENT, TEXT, Translate, columns, markup, percent, tick_text

ROW, LEAST_ROW, AROUND = 34, 13, 44  # pixels of a bar with its gap, and above and below all of them
TALLEST = 400  # pixels of all bars; more of them are thinner
SMALL = 20  # pixels of a row that takes letters of full size
NOTE = 68  # columns of a line of the note


@picture("bars")
def bars(answer: Answer, t: Translate) -> go.Figure:
    """Bars beside their names, the right one in the accent colour and marked ●, with a line for the baseline."""
    shown: Bars = answer.shown
    figure = _beside(shown.bars, shown.unit)
    if shown.baseline is not None:
        figure.add_vline(x=shown.baseline, line={"color": TEXT, "width": 1.5, "dash": "dash"})
        said = f"{shown.baseline_name.get('said') or t('baseline')} {value_text(shown.baseline, shown.unit)}"
        figure.add_annotation(
            **{"x": shown.baseline, "y": 1, "yref": "paper", "yanchor": "bottom", "xanchor": "left"},
            **{"text": markup(said), "showarrow": False, "font": FONT},
        )
        figure.update_layout(margin_t=30)
    if lines := _lines(shown.note.get("said", "")):
        figure.add_annotation(
            **{"x": 0, "xref": "paper", "xanchor": "left", "y": 0, "yref": "paper", "yanchor": "top", "yshift": -4},
            **{"text": "<br>".join(map(markup, lines)), "showarrow": False, "font": FONT, "align": "left"},
        )
        figure.update_layout(margin_b=16 + 18 * len(lines), height=figure.layout.height + 18 * (len(lines) - 1))
    return figure


@picture("next_tokens")
def next_tokens(answer: Answer, t: Translate) -> go.Figure:
    """The most probable next tokens, or with `surprise` how little each token of the text was expected."""
    shown: Expected = answer.shown
    if shown.surprise is not None:
        named = zip(shown.trace.tokens, shown.surprise.tolist(), strict=True)
        found = [Bar(label, value) for label, value in named if not math.isnan(value)]
        most = max((bar.value for bar in found), default=0.0)
        return _beside([Bar(bar.name, bar.value, is_right=bar.value == most) for bar in found], "nat")
    listed = [Bar(text, p, is_right=not at) for at, (text, p) in enumerate(shown.candidates)]
    return _beside(listed, "weight")


def value_text(value: float, unit: str) -> str:
    """A number as a bar says it."""
    if unit == "%":
        return percent(value)
    if unit == "weight":
        return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.3f}"
    if unit == "nat":
        return f"{value:.1f}"
    if unit == "logit":
        return f"{value + 0.0:+.2f}".replace("-", "−")
    plain = (
        f"{value:,.0f}"
        if value >= 100 and float(value).is_integer()
        else short(value)
        if value >= 1e5
        else f"{value:.3g}"
    )
    return f"{plain} {unit}".rstrip()


def _beside(listed: Sequence[Bar], unit: str) -> go.Figure:
    """Bars from left to right, the first on top; each with its value, and its interval where it has one."""
    rows = list(listed)[::-1]
    names = [("● " if bar.is_right else "") + tick_text(str(bar.name)) for bar in rows]
    row = min(ROW, max(LEAST_ROW, TALLEST // max(len(rows), 1)))
    size = 14 if row >= SMALL else 11
    figure = plain_figure("", AROUND + row * len(rows), top=10)
    named_beside(figure, names or [""], 14)
    values = [bar.value for bar in rows]
    highs = [bar.value if bar.high is None else bar.high for bar in rows]
    lows = [bar.value if bar.low is None else bar.low for bar in rows]
    has_interval = any(bar.low is not None for bar in rows)
    figure.add_trace(
        go.Bar(
            x=values,
            y=list(range(len(rows))),
            orientation="h",
            width=0.62,
            marker={"color": [ACCENT if bar.is_right else BLUE for bar in rows], "line": {"width": 0}},
            error_x=_whiskers(values, lows, highs) if has_interval else None,
            text=["" if has_interval else value_text(value, unit) for value in values],
            textposition="outside",
            textfont={**FONT, "size": size},
            cliponaxis=False,
            customdata=[value_text(value, unit) for value in values],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    ends = [max(high, 0.0) for high in highs]
    if has_interval:  # beyond the end of its line
        figure.add_scatter(
            **{"x": ends, "y": list(range(len(rows))), "mode": "text", "textposition": "middle right"},
            **{"text": [_with_interval(bar, unit) for bar in rows], "textfont": FONT, "hoverinfo": "skip"},
            **{"cliponaxis": False, "showlegend": False},
        )
    low, high = min([0.0, *lows]), max([*ends, 1e-9])
    room = (high - low) * (0.75 if has_interval else 0.3)  # for the numbers beside the bars
    figure.update_xaxes(range=[1.02 * low, high + room], showticklabels=False, showgrid=False)
    figure.update_yaxes(
        **{"tickvals": list(range(len(rows))), "ticktext": names, "tickfont": {"size": size, "color": TEXT}},
        **{"range": [-0.6, len(rows) - 0.4], "showgrid": False},
    )
    return figure


def _whiskers(values: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> dict[str, Any]:
    up = [high - value for value, high in zip(values, highs, strict=True)]
    down = [value - low for value, low in zip(values, lows, strict=True)]
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "color": TEXT}


def _lines(note: str) -> list[str]:
    """A note in lines of so many columns, parted at spaces, or anywhere in Chinese."""
    lines = [""]
    for part in re.findall(r"[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+", note):
        if lines[-1] and columns(lines[-1] + part.rstrip()) > NOTE:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines if line.strip()]


def _with_interval(bar: Bar, unit: str) -> str:
    said = value_text(bar.value, unit)
    if bar.low is None or bar.high is None:
        return said
    ends = [value_text(end, unit).replace(" %", "") for end in (bar.low, bar.high)]
    return f" {said} [{ends[0]}, {ends[1]}]"
