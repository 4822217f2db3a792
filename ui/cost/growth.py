"""Longer sentences on "Parameters and cost": where the costs cross, and what maps, keys and values take in memory."""

import streamlit as st

from analysis.blocks.cost import cache_bytes, crossings, flops
from model import TransformerConfig
from ui.frame.captions import titled
from ui.frame.choose import choose
from ui.frame.languages import _, plain
from viz.cost import growth_figure, lengths_for, memory_figure, short

BYTES = {4: "float32", 2: "float16, bfloat16", 1: "int8"}
ONE_MORE = 1_000  # tokens before the one of which the sentence tells


def number_bytes() -> int:
    """Bytes of one number of the cache, as chosen or as the config says."""
    return int(st.session_state.get("cost_bytes") or 2)


def growth(config: TransformerConfig) -> None:
    """How cost grows with N, where the parts cross, and what is kept in memory."""
    at = crossings(config)
    lengths = lengths_for(at)
    left, right = st.columns(2, gap="medium")
    figure = growth_figure(lengths, [flops(config, n) for n in lengths], at, t=_)
    with left:
        titled(_("FLOP of one block, by number of tokens"), figure, "growth")
        st.markdown(plain(overtakes(config)))
    with right:
        _memory(config)


def overtakes(config: TransformerConfig) -> str:
    """From how many tokens on attention over pairs costs most."""
    first, second = crossings(config)
    said = _(
        "Twice the tokens: twice the projections and FFN, four times the attention over pairs. It overtakes the "
        "projections at N = {formula} = {first}, and all the rest at N = {second}."
    )
    formula = "2·d_model" if config.key_heads == config.num_heads else "d_model·(1 + h_kv / h)"
    return said.format(formula=formula, first=f"{first:,}", second=f"{second:,}")


def _memory(config: TransformerConfig) -> None:
    maps = config.num_layers * config.num_heads
    if config.output == "none":
        titled(_("Memory of all {maps} maps of a sentence").format(maps=maps), memory_figure(config, t=_), "memory")
        st.markdown(plain(maps_in_memory(config.num_heads)))
        return
    titled(
        _("Memory of all {maps} maps, and of keys and values").format(maps=maps),
        memory_figure(config, number_bytes(), t=_),
        "memory",
    )
    choose(_("Numbers of keys and values"), "bytes", BYTES, 2, key="cost_bytes", wide=True)
    for said in (kept_a_token(config, number_bytes()), one_more_token(config)):
        st.markdown(plain(said))


def maps_in_memory(heads: int) -> str:
    """What the number of heads means for memory."""
    if heads == 1:
        return _("Every map kept: L·h·N²·4 bytes. With one head that is one map per layer.")
    said = _(
        "Every map kept: L·h·N²·4 bytes. Here h does count: {h} heads keep {h} maps per layer where one keeps one."
    )
    return said.format(h=heads)


def kept_a_token(config: TransformerConfig, bytes_each: int) -> str:
    """Bytes of the key-value cache per token, and what they would be if no heads shared their keys."""
    h_kv, size = config.key_heads, cache_bytes(config, 1, bytes_each)
    said = _(
        "A decoder that writes keeps the keys and values of every token: 2·L·h_kv·d_k·{bytes} bytes = "
        "2·{layers}·{h_kv}·{d_k}·{bytes} = {size} bytes a token."
    ).format(bytes=bytes_each, layers=config.num_layers, h_kv=h_kv, d_k=config.d_k, size=f"{size:,}")
    if h_kv < config.num_heads:
        said += " " + _("With a key head for each of the {h} query heads: {size}, {times} times as much.").format(
            h=config.num_heads,
            size=f"{cache_bytes(config, 1, bytes_each, grouped=False):,}",
            times=f"{config.num_heads / h_kv:g}",
        )
    windows = [window for window in config.windows if window]
    if windows:
        said += " " + _(
            "In {n} of {layers} layers only the last {window} tokens are kept: no later query sees more."
        ).format(n=len(windows), layers=config.num_layers, window=f"{max(windows):,}")
    return said


def one_more_token(config: TransformerConfig) -> str:
    """What the cache saves: the FLOPs of one block for one more token, with it and without."""
    with_it, without = flops(config, 1, ONE_MORE + 1).total, flops(config, ONE_MORE + 1).total
    said = _("One more token after {n}: {one} FLOP per block with them, {all} without, when all tokens run again.")
    return said.format(n=f"{ONE_MORE:,}", one=short(with_it), all=short(without))
