"""The tabs of "Parameters and cost"."""

from dataclasses import replace
from threading import Lock

import pandas as pd
import streamlit as st
import torch

from analysis.blocks.cost import TABLE_3, Ledger, core_multiplications, counted_flops, crossings, flops, ledger
from analysis.blocks.timing import Timing, time_heads
from model import HeadworkError, TransformerConfig, settings
from ui.cost.controls import whole
from ui.frame.captions import CHART, small, titled
from ui.frame.languages import _, explain, plain
from viz.cost import growth_figure, ledger_figure, lengths_for, memory_figure, short, table_3_figure, timing_figure

PARTS = {
    "tokens": "token embeddings",
    "positions": "position embeddings",
    "types": "token type embeddings",
    "embedding_norm": "LayerNorm of the embeddings",
    "attention": "multi-head attention",
    "ffn": "FFN",
    "norms": "LayerNorms of a block",
    "final_norm": "last LayerNorm",
    "pooler": "pooler",
}
LONGEST_COUNT = 100_000  # tokens for which FLOPs are counted


def headline(config: TransformerConfig, pooler: bool) -> Ledger:
    """The five numbers that the page is about."""
    found = ledger(config, pooler=pooler)
    numbers = {
        _("attention, one block"): found.each("attention"),
        _("FFN, one block"): found.each("ffn"),
        _("one block"): found.block,
        _("embeddings"): found.embeddings,
        _("all parameters"): found.total,
    }
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for name, count in numbers.items():
            st.metric(name, short(count), help=f"{count:,}", width="content")
    return found


def parameters(found: Ledger, config: TransformerConfig) -> None:
    """The ledger as a picture and as a table: formula, numbers, and the count of the real modules."""
    names = {part: _(name) for part, name in PARTS.items()}
    shown: dict[str, str] = {
        line.part: f"{config.num_layers} × {names[line.part]}" if line.times > 1 else names[line.part]
        for line in found.lines
    }
    st.plotly_chart(ledger_figure(found, shown, height=60 + 34 * len(found.lines), t=_), key="ledger", config=CHART)
    columns = [
        _("part"),
        _("formula"),
        _("with numbers"),
        _("by formula"),
        _("counted"),
        "×",
        _("total"),
    ]
    rows: list[tuple[object, ...]] = [
        (names[line.part], line.formula, line.numbers, line.each, line.counted, line.times, line.total)
        for line in found.lines
    ]
    rows.append((_("all"), "", "", found.total, found.counted, 1, found.total))
    table = pd.DataFrame(rows, columns=columns)
    number = st.column_config.NumberColumn(format="localized", width=95)
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={
            **dict.fromkeys((columns[3], columns[4], columns[6]), number),
            columns[0]: st.column_config.TextColumn(width=190),
            columns[1]: st.column_config.TextColumn(width=205),
            columns[2]: st.column_config.TextColumn(width=180),
            columns[5]: st.column_config.NumberColumn(width=40),
        },
    )
    agree = found.total == found.counted
    said = (
        _("Formula and count agree to the last parameter: {total}.")
        if agree
        else _("Formula and count differ: {total} and {counted}.")
    )
    st.markdown(plain(said.format(total=f"{found.total:,}", counted=f"{found.counted:,}")))
    small(_("Counted on this app's own torch modules, built in these sizes without weights."))


def heads(config: TransformerConfig) -> None:
    """Why h heads cost what one costs: a proof, a count, a measurement."""
    h, d = config.num_heads, config.d_model
    with st.container(horizontal=True, vertical_alignment="bottom"):
        n = whole("n", _("N, tokens"), 64)
        if st.button(_("Measure again"), help=_("Times are of this server, now; other work on it affects them.")):
            st.session_state["cost_again"] = st.session_state.get("cost_again", 0) + 1
    if not 1 <= n <= LONGEST_COUNT:
        error = HeadworkError(
            "{name} is {value}: it must be a whole number from {least} to {most}.",
            name="N",
            value=n,
            least=1,
            most=LONGEST_COUNT,
        )
        st.error(explain(error), icon="✋")
        n = 64
    left, right = st.columns([12, 10], gap="medium")
    with left:
        st.subheader(_("The proof"), anchor=False)
        st.latex(
            r"\begin{aligned} h \cdot N^2 \cdot d_k &= h \cdot N^2 \cdot \frac{d_{model}}{h} \\"
            r" &= N^2 \cdot d_{model} \end{aligned}"
        )
        several, one = core_multiplications(n, d, h), core_multiplications(n, d, 1)
        st.latex(
            rf"\begin{{gathered}} {h} \cdot {n}^2 \cdot {d // h} = {_tex(several)} \\"
            rf"1 \cdot {n}^2 \cdot {d} = {_tex(one)} \end{{gathered}}"
        )
        st.markdown(
            plain(
                _(
                    "More heads are more maps, and each is cheaper by as much: h maps of N² cells, d_k multiplications "
                    "per cell. The projections are the same four d_model × d_model matrices; h only says how their "
                    "columns are grouped."
                )
            )
        )
        st.subheader(_("The count"), anchor=False)
        _count(config, n)
    with right:
        st.subheader(_("The measurement"), anchor=False)
        _measured(d, h, n)


def _count(config: TransformerConfig, n: int) -> None:
    single, several = (counted_flops(replace(config, num_heads=heads), n) for heads in (1, config.num_heads))
    formula = flops(config, n)
    columns = [_("FLOP"), _("formula"), _("by formula"), "h = 1", f"h = {config.num_heads}"]
    gates = 6 if config.activation == "swiglu" else 4
    rows = [
        (_("projections"), "8·N·d_model²", formula.projections, single.projections, several.projections),
        (_("Q Kᵀ and A V"), "4·N²·d_model", formula.core, single.core, several.core),
        (_("FFN"), f"{gates}·N·d_model·d_ff", formula.ffn, single.ffn, several.ffn),
        (_("all"), "", formula.total, single.total, several.total),
    ]
    number = st.column_config.NumberColumn(format="localized", width=95)
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        height="content",
        column_config={
            columns[0]: st.column_config.TextColumn(width=95),
            columns[1]: st.column_config.TextColumn(width=118),
            **dict.fromkeys(columns[2:], number),
        },
    )
    small(
        _(
            "One block. Columns h = … are counted by torch's FlopCounterMode while this app's block runs. "
            "A multiplication and an addition: 2."
        )
    )


def _measured(d_model: int, n_heads: int, n: int) -> None:
    again = st.session_state.get("cost_again", 0)
    try:
        with st.spinner(_("Measuring…")):
            timings = measure(d_model, n_heads, n, again)
    except HeadworkError as error:
        st.info(explain(error))
        return
    titled(_("Time of one call, by number of heads"), timing_figure(timings, chosen=n_heads, t=_), "timing")
    by_heads = {timing.heads: timing for timing in timings}
    one, several = by_heads[1], by_heads[n_heads]
    st.markdown(plain(times(one, several, n_heads)))
    st.markdown(plain(softmax_cells(n_heads, n)))


def times(one: Timing, several: Timing, heads: int) -> str:
    """What was measured with one head and with several, where these are two."""
    said = _("One head: {one} ms for the layer, {one_core} ms of it between the projections. Medians of {calls} calls.")
    if heads > 1:
        said = _(
            "One head: {one} ms for the layer, {one_core} ms of it between the projections. {h} heads: {several} ms "
            "and {several_core} ms. Medians of {calls} calls; bars are quartiles."
        )
    return said.format(
        one=f"{one.layer.median:.2f}",
        one_core=f"{one.core.median:.2f}",
        h=heads,
        several=f"{several.layer.median:.2f}",
        several_core=f"{several.core.median:.2f}",
        calls=one.calls,
    )


def softmax_cells(heads: int, n: int) -> str:
    """What the formula leaves out and grows with the number of heads."""
    said = _("The formula leaves softmax out. It grows with h: h·N² cells, {one} with one head.")
    if heads > 1:
        said = _(
            "What the formula leaves out does grow with h: softmax runs over h·N² cells, {one} with one head and "
            "{several} with {h}, and each map is written to memory and read again."
        )
    return said.format(one=f"{n * n:,}", several=f"{heads * n * n:,}", h=heads)


_one_at_a_time = Lock()  # two measurements at once would measure each other


@st.cache_data(max_entries=64, ttl=3600, show_spinner=False)
def measure(d_model: int, n_heads: int, n_tokens: int, again: int) -> tuple[Timing, ...]:
    """One measurement for everybody who asks for these sizes; `again` asks for another."""
    with _one_at_a_time:
        torch.set_num_threads(settings.threads())
        return time_heads(d_model, n_heads, n_tokens)


def growth(config: TransformerConfig) -> None:
    """How cost grows with N, where the parts cross, and what the maps take."""
    at = crossings(config)
    lengths = lengths_for(at)
    left, right = st.columns(2, gap="medium")
    figure = growth_figure(lengths, [flops(config, n) for n in lengths], at, t=_)
    with left:
        titled(_("FLOP of one block, by number of tokens"), figure, "growth")
    said = _(
        "Twice the tokens: twice the projections and FFN, four times the attention over pairs. It overtakes the "
        "projections at N = 2·d_model = {first}, and all the rest at N = {second}."
    )
    left.markdown(plain(said.format(first=f"{at[0]:,}", second=f"{at[1]:,}")))
    figure = memory_figure(config.num_layers, config.num_heads, t=_)
    with right:
        maps = config.num_layers * config.num_heads
        titled(_("Memory of all {maps} maps of a sentence").format(maps=maps), figure, "memory")
    right.markdown(plain(maps_in_memory(config.num_heads)))


def maps_in_memory(heads: int) -> str:
    """What the number of heads means for memory."""
    if heads == 1:
        return _("Every map kept: L·h·N²·4 bytes. With one head that is one map per layer.")
    said = _(
        "Every map kept: L·h·N²·4 bytes. Here h does count: {h} heads keep {h} maps per layer where one keeps one."
    )
    return said.format(h=heads)


def paper() -> None:
    """The paper's own evidence on the number of heads."""
    left, right = st.columns([3, 2], gap="medium")
    left.plotly_chart(table_3_figure(t=_), key="table_3", config=CHART)
    columns = ["h", "d_k", _("perplexity"), "BLEU"]
    rows = [(row.heads, row.d_k, f"{row.perplexity:.2f}", f"{row.bleu:.1f}") for row in TABLE_3]
    right.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, height="content")
    st.markdown(
        plain(
            _(
                "At the same cost, one head is 0.9 BLEU worse than the best, and too many heads lose as well: with "
                "h = 32 each head has only 16 columns. "
                "One model per row, English to German, development set newstest2013."
            )
        )
    )
    small(_("Source: Vaswani et al. 2017, Attention Is All You Need, Table 3, rows (A) and base."))


def _tex(number: int) -> str:
    return f"{number:,}".replace(",", r"{,}")
