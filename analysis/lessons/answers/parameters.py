"""Lesson "Take a model apart": parameters from a config.json alone, by formula and by count of torch's modules."""

from __future__ import annotations

from analysis.blocks.cost import cache_bytes
from analysis.blocks.known_configs import Known, published, taken_apart
from analysis.blocks.ledger import Ledger, ledger
from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import count, percent
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars
from model.errors import HeadworkError, shown

MILLION = 1e6
GROUPS = {
    "embeddings": ("tokens", "positions", "types", "embedding_norm"),
    "attention": ("attention", "qk_norm"),
    "ffn": ("ffn",),
    "rest": ("norms", "final_norm", "pooler"),
}
BFLOAT16 = 2  # bytes


@answers("attention_parameters")
def attention_parameters(setup: Setup, *, config: str) -> Answer:
    """number: millions of parameters in one attention layer: W_q, W_k, W_v, W_o and their biases.

    Says the sizes; then numbers, formula, count, millions.
    """
    known, found = _of(config)
    line = found.line("attention")
    said = {"numbers": line.numbers, "formula": line.formula, "count": count(line.each)}
    sizes = known.config
    queries, keys = (sizes.d_model * heads * sizes.d_k for heads in (sizes.num_heads, sizes.key_heads))
    matrices = {"W_q": queries, "W_k": keys, "W_v": keys, "W_o": queries}
    bars = [Bar(name, size) for name, size in matrices.items()]
    bars.append(Bar("biases" if setup.language == "en" else "偏置", line.each - sum(matrices.values())))
    said["millions"] = _millions(line.each)
    return Answer(line.each / MILLION, said, _given(config, known), picture="bars", shown=Bars(tuple(bars)))


@answers("ffn_to_attention")
def ffn_to_attention(setup: Setup, *, config: str) -> Answer:
    """number: how many times as many parameters the FFN has as the attention of the same block.

    Says the sizes; then ffn, attention, times.
    """
    known, found = _of(config)
    attention, ffn = found.each("attention"), found.each("ffn")
    said = {"ffn": count(ffn), "attention": count(attention), "times": f"{ffn / attention:.1f}"}
    bars = Bar("attention" if setup.language == "en" else "注意力", attention), Bar("FFN", ffn, is_right=True)
    return Answer(ffn / attention, said, _given(config, known), picture="bars", shown=Bars(bars))


@answers("heaviest_part")
def heaviest_part(setup: Setup, *, config: str) -> Answer:
    """choice: which part of a whole model weighs most: "embeddings", "attention", "ffn" or "rest".

    Says the sizes; then embeddings, attention, ffn, rest, and their …_share.
    """
    known, found = _of(config)
    totals = {group: sum(line.total for line in found.lines if line.part in parts) for group, parts in GROUPS.items()}
    said = {group: _millions(total) for group, total in totals.items()}
    said |= {f"{group}_share": percent(total / found.total) for group, total in totals.items()}
    return Answer(max(totals, key=totals.__getitem__), said, _given(config, known), picture="ledger", shown=found)


@answers("all_parameters")
def all_parameters(setup: Setup, *, config: str, pooler: bool = False) -> Answer:
    """number: millions of parameters of a whole model, with BERT's pooler where it is asked for.

    Says the sizes, embeddings, block; then count, millions, pooler.
    """
    known, found = _of(config, pooler=pooler)
    given = {"embeddings": _millions(found.embeddings), "block": _millions(found.block)}
    said = {"count": count(found.total), "millions": _millions(found.total), "pooler": _millions(found.each("pooler"))}
    return Answer(found.total / MILLION, said, _given(config, known) | given, picture="ledger", shown=found)


@answers("embedding_share")
def embedding_share(setup: Setup, *, config: str) -> Answer:
    """number: the share of a model's parameters that are embeddings, in %.

    Says the sizes; then share, embeddings, millions.
    """
    known, found = _of(config)
    share = found.embeddings / found.total
    said = {"share": percent(share), "embeddings": _millions(found.embeddings), "millions": _millions(found.total)}
    return Answer(100 * share, said, _given(config, known), picture="ledger", shown=found)


@answers("cache_saved")
def cache_saved(setup: Setup, *, config: str, tokens: int) -> Answer:
    """number: how many times smaller grouped queries make the key-value cache.

    Says the sizes, tokens; then grouped, every, times.
    """
    known, _ = _of(config)
    grouped, every = (cache_bytes(known.config, tokens, BFLOAT16, grouped=each) for each in (True, False))
    said = {"grouped": _megabytes(grouped), "every": _megabytes(every), "times": f"{every / grouped:g}"}
    given = _given(config, known) | {"tokens": f"{tokens:,}"}
    sizes = {known.config.num_heads: every, known.config.key_heads: grouped}
    bars = tuple(Bar(f"h_kv = {heads}", round(size / MILLION)) for heads, size in sizes.items())
    return Answer(every / grouped, said, given, picture="bars", shown=Bars(bars, unit="MB"))


def _of(name: str, *, pooler: bool = False) -> tuple[Known, Ledger]:
    if name not in published():
        raise HeadworkError("There is no config of {name} in data/model_configs.json.", name=shown(name))
    known = taken_apart(published()[name])
    return known, ledger(known.config, pooler=pooler)


def _given(name: str, known: Known) -> dict[str, str]:
    """The sizes that the question may say."""
    config = known.config
    return {
        "model": name.split("/")[-1],
        "d_model": f"{config.d_model}",
        "layers": f"{config.num_layers}",
        "heads": f"{config.num_heads}",
        "key_heads": f"{config.key_heads}",
        "d_k": f"{config.d_k}",
        "d_ff": f"{config.d_ff:,}",
        "vocabulary": f"{config.vocab_size:,}",
    }


def _millions(count: int) -> str:
    return f"{count / MILLION:,.2f}" if count < 10 * MILLION else f"{count / MILLION:,.1f}"


def _megabytes(size: int) -> str:
    return f"{size / MILLION:,.0f}"
