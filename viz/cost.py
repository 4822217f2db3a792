"""Pictures of what a Transformer weighs and costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.blocks.cost import MAP_LIMIT, TABLE_3, Flops, cache_bytes, map_bytes
from analysis.blocks.ledger import Ledger
from analysis.blocks.timing import Timing
from model.transformer import TransformerConfig
from viz.block import BLUE, GREY, PURPLE
from viz.plots import FONT, named_beside, plain_figure, titled
from viz.theme import ACCENT, TEXT, Translate, untranslated

GROUPS = {
    "tokens": "embeddings",
    "positions": "embeddings",
    "types": "embeddings",
    "embedding_norm": "embeddings",
    "attention": "attention",
    "qk_norm": "rest",
    "ffn": "ffn",
    "norms": "rest",
    "final_norm": "rest",
    "output": "embeddings",
    "pooler": "rest",
}
COLOURS = {"embeddings": GREY, "attention": ACCENT, "ffn": BLUE, "rest": PURPLE}


def ledger_figure(
    ledger: Ledger, names: Mapping[str, str], *, height: int = 330, t: Translate = untranslated
) -> go.Figure:
    """How the parameters divide, one bar a part, over all layers."""
    lines = list(ledger.lines)[::-1]
    figure = _figure("", height)
    figure.update_layout(margin_b=6)
    named_beside(figure, [names[line.part] for line in lines], 14)
    shares = [line.total / max(ledger.total, 1) for line in lines]
    figure.add_trace(
        go.Bar(
            x=[line.total for line in lines],
            y=[names[line.part] for line in lines],
            orientation="h",
            marker={"color": [COLOURS[GROUPS[line.part]] for line in lines], "line": {"width": 0}},
            text=[f"{short(line.total)} · {share_text(share)}" for line, share in zip(lines, shares, strict=True)],
            textposition="outside",
            textfont=FONT,
            cliponaxis=False,
            hovertemplate="%{y}: %{x:,}<extra></extra>",
        )
    )
    most = max((line.total for line in lines), default=1)
    figure.update_xaxes(range=[0, 1.9 * most], showticklabels=False, showgrid=False, title=None)
    figure.update_yaxes(tickfont={"size": 14, "color": TEXT})
    return figure


def timing_figure(
    timings: Sequence[Timing], *, chosen: int, height: int = 330, t: Translate = untranslated
) -> go.Figure:
    """Median and quartiles of one call, by the number of heads."""
    figure = _figure("", height, legend=True)
    x = [f"{timing.heads}" for timing in timings]
    for name, spreads, colour, symbol in (
        (t("whole layer, projections too"), [timing.layer for timing in timings], BLUE, "square"),
        (t("scores, softmax and weighted sum"), [timing.core for timing in timings], ACCENT, "circle"),
    ):
        figure.add_trace(
            go.Scatter(
                x=x,
                y=[spread.median for spread in spreads],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [spread.high - spread.median for spread in spreads],
                    "arrayminus": [spread.median - spread.low for spread in spreads],
                    "color": colour,
                },
                mode="markers+lines",
                marker={"size": 10, "symbol": symbol, "color": colour},
                line={"color": colour, "width": 1.5},
                name=name,
                hovertemplate="%{y:.3f} ms<extra></extra>",
            )
        )
    titled(figure, t("heads (chosen: {heads})").format(heads=chosen), t("milliseconds"))
    figure.update_layout(xaxis_type="category", yaxis_rangemode="tozero")
    return figure


def growth_figure(
    lengths: Sequence[int],
    costs: Sequence[Flops],
    crossings: tuple[int, int],
    *,
    height: int = 370,
    t: Translate = untranslated,
) -> go.Figure:
    """FLOPs of one block against N, both axes logarithmic: a slope of 2 beside slopes of 1."""
    figure = _figure("", height, legend=True)
    for name, values, colour, dash in (
        (t("attention over pairs, N²"), [cost.core for cost in costs], ACCENT, "solid"),
        (t("projections, N"), [cost.projections for cost in costs], BLUE, "dash"),
        (t("FFN, N"), [cost.ffn for cost in costs], PURPLE, "dot"),
    ):
        figure.add_trace(
            go.Scatter(
                x=list(lengths),
                y=values,
                mode="lines",
                line={"color": colour, "width": 3, "dash": dash},
                name=name,
                hovertemplate="N = %{x:,}: %{y:.3s}FLOP",
            )
        )
    for at, said in zip(crossings, (t("= projections"), t("= all the rest")), strict=True):
        if lengths[0] <= at <= lengths[-1]:
            figure.add_vline(
                x=at,
                line={"color": GREY, "width": 1, "dash": "dash"},
            )
            left = at == crossings[0]
            figure.add_annotation(_beside(f"N = {at:,}<br>{said}", at, 0.02, left=left))
    titled(figure, t("N, tokens"), t("FLOP"))
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=2, exponentformat="power")
    return figure


def memory_figure(
    config: TransformerConfig, bytes_each: int = 0, *, height: int = 370, t: Translate = untranslated
) -> go.Figure:
    """Memory of all maps of one sentence against N, with the length at which this app cuts.

    `bytes_each` of one number: keys and values are drawn too, as they are and, with grouped queries, without sharing.
    """
    lengths = [2**power for power in range(3, 15)]
    maps = [map_bytes(config.num_layers, config.num_heads, n) for n in lengths]
    curves = [(t("all maps"), maps, ACCENT, "solid", "circle")]
    if bytes_each:
        kept = [cache_bytes(config, n, bytes_each) for n in lengths]
        curves.append((t("keys and values"), kept, BLUE, "dash", "square"))
    if bytes_each and config.key_heads < config.num_heads:
        unshared = [cache_bytes(config, n, bytes_each, grouped=False) for n in lengths]
        said = t("{h} key heads instead of {h_kv}").format(h=config.num_heads, h_kv=config.key_heads)
        curves.append((said, unshared, GREY, "dot", "diamond"))
    figure = _figure("", height, legend=len(curves) > 1)
    for name, sizes, colour, dash, symbol in curves:
        figure.add_trace(
            go.Scatter(
                x=lengths,
                y=[size / 1e6 for size in sizes],
                mode="lines+markers",
                line={"color": colour, "width": 3, "dash": dash},
                marker={"size": 7, "symbol": symbol},
                name=name,
                hovertemplate="N = %{x:,}: %{y:,.3~g} MB<extra></extra>",
            )
        )
    at_limit = map_bytes(config.num_layers, config.num_heads, MAP_LIMIT)
    figure.add_vline(x=MAP_LIMIT, line={"color": GREY, "width": 1, "dash": "dash"})
    said = t("this app cuts at {n}:<br>{size}").format(n=MAP_LIMIT, size=size_text(at_limit))
    figure.add_annotation(_beside(said, MAP_LIMIT, 0.02, left=False))
    titled(figure, t("N, tokens"), "MB")
    figure.update_layout(xaxis={"type": "log", "dtick": 1}, yaxis={"type": "log", "dtick": 1})
    return figure


def table_3_figure(*, height: int = 300, t: Translate = untranslated) -> go.Figure:
    """BLEU by the number of heads, from the paper, with the perplexity on hover and below."""
    figure = _figure(t("Quality by number of heads, same cost"), height)
    figure.add_trace(
        go.Scatter(
            x=[f"h = {row.heads}<br>d_k = {row.d_k}" for row in TABLE_3],
            y=[row.bleu for row in TABLE_3],
            mode="lines+markers+text",
            text=[f"{row.bleu:.1f}" for row in TABLE_3],
            textposition="top center",
            textfont=FONT,
            marker={"size": 11, "color": ACCENT},
            line={"color": ACCENT, "width": 1.5},
            customdata=[row.perplexity for row in TABLE_3],
            cliponaxis=False,
            hovertemplate=t("BLEU {bleu}, perplexity {perplexity}").format(
                bleu="%{y:.1f}", perplexity="%{customdata:.2f}"
            )
            + "<extra></extra>",
        )
    )
    titled(figure, y=t("BLEU, higher is better"))
    figure.update_layout(xaxis_type="category", yaxis={"range": [24.5, 26.2], "dtick": 0.5}, margin_b=44)
    return figure


def short(count: float) -> str:
    """A count as people say it: 2.36 M."""
    for size, letter in ((1e9, " B"), (1e6, " M"), (1e3, " k")):
        if count >= size:
            return f"{count / size:.3g}{letter}" if count < 1000 * size else f"{count / size:,.0f}{letter}"
    return f"{count:.0f}"


def size_text(size: int) -> str:
    """Bytes as people say them: 23 kB."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def _beside(text: str, x: float, y: float, *, left: bool) -> dict[str, Any]:
    """Words beside an upright line at x of a logarithmic axis, whose annotations are placed by the logarithm."""
    place = {"x": math.log10(x), "y": y, "yref": "paper", "yanchor": "bottom", "showarrow": False, "font": FONT}
    side = "right" if left else "left"
    return {"text": text, "xanchor": side, "align": side, "xshift": -6 if left else 6, **place}


def share_text(share: float) -> str:
    """A share in whole percent; what is there is never 0 %."""
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _figure(title: str, height: int, *, legend: bool = False) -> go.Figure:
    return plain_figure(title, height, top=44 if legend else 40 if title else 12, has_legend=legend)


def lengths_for(crossings: tuple[int, int]) -> list[int]:
    """Numbers of tokens to draw, in even steps of the logarithm, from 8 to well beyond both crossings."""
    most = max(4096, 4 * crossings[1])
    return sorted({int(n) for n in np.geomspace(8, most, 60)})
