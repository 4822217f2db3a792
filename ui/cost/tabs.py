"""The tabs of "Parameters and cost" that need no measurement: the ledger, and what the paper found."""

import pandas as pd
import streamlit as st

from analysis.blocks.cost import TABLE_3, cache_bytes
from analysis.blocks.ledger import Ledger, ledger
from model import TransformerConfig
from ui.cost.growth import number_bytes
from ui.frame.captions import chart, small
from ui.frame.languages import _, plain
from viz.cost import ledger_figure, short, size_text, table_3_figure

PARTS = {
    "tokens": "token embeddings",
    "positions": "position embeddings",
    "types": "token type embeddings",
    "embedding_norm": "LayerNorm of the embeddings",
    "attention": "multi-head attention",
    "qk_norm": "norms of q and k",
    "ffn": "FFN",
    "norms": "LayerNorms of a block",
    "final_norm": "last LayerNorm",
    "output": "output matrix",
    "pooler": "pooler",
}
RMS_PARTS = {"norms": "RMSNorms of a block", "final_norm": "last RMSNorm"}


def headline(config: TransformerConfig, pooler: bool) -> Ledger:
    """The numbers that the page is about."""
    found = ledger(config, pooler=pooler)
    numbers = {
        _("attention, one block"): found.each("attention") + found.each("qk_norm"),
        _("FFN, one block"): found.each("ffn"),
        _("one block"): found.block,
        _("embeddings"): found.embeddings,
        _("all parameters"): found.total,
    }
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for name, count in numbers.items():
            st.metric(name, short(count), help=f"{count:,}", width="content")
        if config.output != "none":
            size = cache_bytes(config, 1, number_bytes())
            st.metric(
                _("keys and values, a token"),
                size_text(size),
                help=plain(_("2·L·h_kv·d_k numbers, kept for every token while a decoder writes")),
                width="content",
            )
    return found


def parameters(found: Ledger, config: TransformerConfig) -> None:
    """The ledger as a picture and as a table: formula, numbers, and the count of the real modules."""
    names = {part: _(name) for part, name in (PARTS | (RMS_PARTS if config.norm_kind == "rms" else {})).items()}
    shown: dict[str, str] = {
        line.part: f"{config.num_layers} × {names[line.part]}" if line.times > 1 else names[line.part]
        for line in found.lines
    }
    chart(ledger_figure(found, shown, height=60 + 34 * len(found.lines), t=_), "ledger")
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
        (names[line.part], _(line.formula), line.numbers, line.each, line.counted, line.times, line.total)
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


def paper() -> None:
    """The paper's own evidence on the number of heads."""
    left, right = st.columns([3, 2], gap="medium")
    chart(table_3_figure(t=_), "table_3", left)
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
