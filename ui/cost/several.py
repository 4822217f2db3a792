"""One head or several on "Parameters and cost": a proof, a count and a measurement."""

from dataclasses import replace
from threading import Lock

import pandas as pd
import streamlit as st
import torch

from analysis.blocks.cost import core_multiplications, counted_flops, flops, output_flops
from analysis.blocks.ledger import n_matrices
from analysis.blocks.timing import Timing, time_heads
from model import HeadworkError, TransformerConfig, settings
from ui.cost.controls import whole
from ui.frame.captions import small, titled
from ui.frame.languages import _, explain, plain
from viz.cost import short, timing_figure

LONGEST_COUNT = 100_000  # tokens for which FLOPs are counted


def heads(config: TransformerConfig) -> None:
    """Why h heads cost what one costs: a proof, a count, a measurement."""
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
        _proof(config, n)
    with right:
        st.subheader(_("The measurement"), anchor=False)
        _measured(config, n)
    with left if config.key_heads == config.num_heads else st.container():  # grouped queries take one column more
        st.subheader(_("The count"), anchor=False)
        _count(config, n)


def _proof(config: TransformerConfig, n: int) -> None:
    h, d_k = config.num_heads, config.d_k
    width = h * d_k
    is_split = width == config.d_model
    all_heads, each = (r"d_{model}", r"\frac{d_{model}}{h}") if is_split else (r"(h \cdot d_k)", "d_k")
    steps = rf"h \cdot N^2 \cdot {each} \\ &= N^2 \cdot {all_heads}" if is_split else rf"N^2 \cdot {all_heads}"
    st.latex(rf"\begin{{aligned}} h \cdot N^2 \cdot d_k &= {steps} \end{{aligned}}")
    several, one = core_multiplications(n, n, h, d_k), core_multiplications(n, n, 1, width)
    st.latex(
        rf"\begin{{gathered}} {h} \cdot {n}^2 \cdot {d_k} = {_tex(several)} \\"
        rf"1 \cdot {n}^2 \cdot {width} = {_tex(one)} \end{{gathered}}"
    )
    st.markdown(
        plain(
            _(
                "More heads are more maps, and each is cheaper by as much: h maps of N² cells, d_k multiplications "
                "per cell."
            )
            + " "
            + projections(config)
        )
    )


def projections(config: TransformerConfig) -> str:
    """What the number of heads means for the four matrices."""
    h, h_kv, width = config.num_heads, config.key_heads, config.num_heads * config.d_k
    if h_kv < h:
        return _(
            "W_q and W_o are as large for any h: d_model × {width}. Grouped queries shrink W_k and W_v to d_model × "
            "{narrow}, with {h_kv} key heads for {h} query heads; the maps and their products stay as many."
        ).format(width=width, narrow=h_kv * config.d_k, h_kv=h_kv, h=h)
    if width != config.d_model:
        return _(
            "The projections are four matrices of d_model × {width} numbers for any h; h only says how their columns "
            "are grouped."
        ).format(width=width)
    return _("The projections are the same four d_model × d_model matrices; h only says how their columns are grouped.")


def _count(config: TransformerConfig, n: int) -> None:
    h, h_kv, formula = config.num_heads, config.key_heads, flops(config, n)
    own_keys = replace(config, num_key_heads=0)
    counts = {
        "h = 1": counted_flops(replace(own_keys, num_heads=1, head_width=h * config.d_k), n),
        f"h = {h}": counted_flops(own_keys, n),
    }
    if h_kv < h:
        counts[f"h = {h}, h_kv = {h_kv}"] = counted_flops(config, n)
    all_counts = [formula, *counts.values()]
    is_split = h_kv == h and h * config.d_k == config.d_model
    of_projections = "8·N·d_model²" if is_split else "4·N·d_model·d_k·(h + h_kv)"
    of_core = "4·N²·d_model" if is_split else "4·N²·h·d_k"
    rows = [
        (_("projections"), of_projections, *(count.projections for count in all_counts)),
        (_("Q Kᵀ and A V"), of_core, *(count.core for count in all_counts)),
        (_("FFN"), f"{2 * n_matrices(config)}·N·d_model·d_ff", *(count.ffn for count in all_counts)),
        (_("all"), "", *(count.total for count in all_counts)),
    ]
    columns = [_("FLOP"), _("formula"), _("by formula"), *counts]
    number = st.column_config.NumberColumn(format="localized", width=95)
    wide = st.column_config.NumberColumn(format="localized", width=140)
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        height="content",
        column_config={
            columns[0]: st.column_config.TextColumn(width=95),
            columns[1]: st.column_config.TextColumn(width=118 if is_split else 205),
            **dict.fromkeys(columns[2:5], number),
            **dict.fromkeys(columns[5:], wide),
        },
    )
    small(
        _(
            "One block. Columns h = … are counted by torch's FlopCounterMode while this app's block runs. "
            "A multiplication and an addition: 2."
        )
    )
    if config.output != "none":
        said = _("The output matrix adds 2·N·V·d_model = {flop} FLOP, once, after the last block.")
        small(said.format(flop=short(output_flops(config, n))))


def _measured(config: TransformerConfig, n: int) -> None:
    n_heads = config.num_heads
    again = st.session_state.get("cost_again", 0)
    try:
        with st.spinner(_("Measuring…")):
            timings = measure(config.d_model, n_heads, n, config.head_width, again)
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
def measure(d_model: int, n_heads: int, n_tokens: int, d_k: int, again: int) -> tuple[Timing, ...]:
    """One measurement for everybody who asks for these sizes; `again` asks for another."""
    with _one_at_a_time:
        torch.set_num_threads(settings.threads())
        return time_heads(d_model, n_heads, n_tokens, d_k)


def _tex(number: int) -> str:
    return f"{number:,}".replace(",", r"{,}")
