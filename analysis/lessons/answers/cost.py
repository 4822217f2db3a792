"""Lesson "Eight heads for the price of one": what h heads multiply, weigh and keep beside one, and what that buys."""

from __future__ import annotations

import torch

from analysis.blocks.cost import TABLE_3, core_multiplications
from analysis.lessons.answer import Answer, answers
from analysis.lessons.numbers import count
from analysis.lessons.setup import Setup
from analysis.lessons.shown import Bar, Bars
from model import HeadworkError
from model.attention import MultiHeadAttention, check_heads

COUNTS = (1, 2, 4, 8, 16)  # heads that a picture sets side by side


@answers("head_width")
def head_width(setup: Setup, *, d_model: int, heads: int) -> Answer:
    """number: d_k = d_model / h.

    Says d_model, heads; then d_k.
    """
    check_heads(d_model, heads)
    widths = {h: d_model // h for h in COUNTS if d_model % h == 0}
    given = {"d_model": f"{d_model}", "heads": f"{heads}"}
    return Answer(
        d_model // heads, {"d_k": f"{d_model // heads}"}, given, picture="bars", shown=_by_heads(widths, heads)
    )


@answers("multiplications")
def multiplications(setup: Setup, *, d_model: int, heads: int) -> Answer:
    """choice: multiplications in Q Kᵀ with h heads beside one head, for the tokens of the text: more, same or less.

    Says d_model, heads, n, d_k; then one, many, each.
    """
    n = setup.trace.n_tokens
    check_heads(d_model, heads)
    counts = {h: core_multiplications(n, n, h, d_model // h) for h in COUNTS if d_model % h == 0}
    many = core_multiplications(n, n, heads, d_model // heads)
    said = {"one": count(counts[1]), "many": count(many), "each": count(many // heads)}
    given = {"d_model": f"{d_model}", "heads": f"{heads}", "n": f"{n}", "d_k": f"{d_model // heads}"}
    return _against_one(many, counts, heads, said, given)


@answers("projections")
def projections(setup: Setup, *, d_model: int, heads: int) -> Answer:
    """choice: parameters of W_q, W_k, W_v and W_o with h heads beside one head, counted off torch's modules.

    Says d_model, heads; then one, many.
    """
    counts = {h: _n_parameters(d_model, h) for h in sorted({*COUNTS, heads}) if d_model % h == 0}
    said = {"one": count(counts[1]), "many": count(counts[heads])}
    return _against_one(counts[heads], counts, heads, said, {"d_model": f"{d_model}", "heads": f"{heads}"})


@answers("weights_of_maps")
def weights_of_maps(setup: Setup, *, heads: int) -> Answer:
    """choice: how many attention weights h heads make of the text: h·N², where one head makes N².

    Says heads, n; then one, many.
    """
    n = setup.trace.n_tokens
    counts = {h: h * n * n for h in sorted({*COUNTS, heads})}
    said = {"one": count(n * n), "many": count(counts[heads])}
    given = {"heads": f"{heads}", "n": f"{n}"}
    return _against_one(counts[heads], counts, heads, said, given)


@answers("best_heads")
def best_heads(setup: Setup) -> Answer:
    """choice: the numbers of heads with the highest BLEU in Vaswani et al. 2017, Table 3 (A), joined by "-".

    Says bleu_1, bleu_4 …, best.
    """
    most = max(row.bleu for row in TABLE_3)
    best = [row.heads for row in TABLE_3 if row.bleu == most]
    said = {f"bleu_{row.heads}": f"{row.bleu:.1f}" for row in TABLE_3} | {"best": f"{most:.1f}"}
    return Answer("-".join(map(str, best)), said, picture="table_3", shown=TABLE_3)


@answers("bleu_lost")
def bleu_lost(setup: Setup, *, heads: int) -> Answer:
    """number: how many BLEU the base model loses with so many heads, against the best row of Table 3 (A).

    Says heads, best; then lost, bleu.
    """
    row = next((row for row in TABLE_3 if row.heads == heads), None)
    if row is None:
        raise HeadworkError(
            "Table 3 has no model with {heads} heads: it has {known}.",
            heads=heads,
            known=", ".join(str(each.heads) for each in TABLE_3),
        )
    best = max(row.bleu for row in TABLE_3)
    said = {"lost": f"{best - row.bleu:.1f}", "bleu": f"{row.bleu:.1f}", "best": f"{best:.1f}"}
    given = {"heads": f"{heads}", "best": f"{best:.1f}"}
    return Answer(round(best - row.bleu, 1), said, given, picture="table_3", shown=TABLE_3)


def _against_one(many: int, counts: dict[int, int], heads: int, said: dict[str, str], given: dict[str, str]) -> Answer:
    one = counts[1]
    right = "same" if many == one else "more" if many > one else "less"
    return Answer(right, said, given, picture="bars", shown=_by_heads(counts, heads))


def _by_heads(counts: dict[int, int], heads: int) -> Bars:
    return Bars(tuple(Bar(f"h = {h}", number, is_right=h == heads) for h, number in counts.items()))


def _n_parameters(d_model: int, heads: int) -> int:
    with torch.device("meta"):
        module = MultiHeadAttention(d_model, heads)
    return sum(parameter.numel() for parameter in module.parameters())
