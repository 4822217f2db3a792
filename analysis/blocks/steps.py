"""Attention of a recorded layer told step by step: names, formulas, shapes and numbers of every intermediate tensor.

Shape letters: see model.attention; h_kv key heads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from analysis.blocks.record import Floats, Record, array, tensor

_SYMBOLS = {
    "products": "QKᵀ",
    "scores": "QKᵀ / √d_k",
    "biased_scores": "QKᵀ / √d_k + B",
    "masked_scores": "QKᵀ / √d_k + M",
    "masked_biased_scores": "QKᵀ / √d_k + B + M",
    "head": "A V",
}
StageKey = Literal[
    "input",
    "project",
    "split",
    "qk_norm",
    "rotate",
    "scores",
    "scale",
    "bias",
    "mask",
    "softmax",
    "mix",
    "concat",
    "output",
    "next",
]


@dataclass(frozen=True, eq=False)
class Matrix:
    """A tensor as it is shown: its symbol, its full shape and its numbers without the batch."""

    symbol: str
    shape: tuple[int, ...]
    values: Floats  # (N, columns), or (h, N, columns) where heads are apart


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of multi-head attention. `formula` is LaTeX, in the notation of Vaswani et al. 2017, section 3.2."""

    key: StageKey
    formula: str
    shapes: str
    matrices: tuple[Matrix, ...]


def attention_stages(record: Record) -> tuple[Stage, ...]:
    """Multi-head attention of the recorded layer, from its input to its output, with the steps that the model has.

    Where a model predicts the next token, the last stage is that: it has no matrix of its own here
    (see analysis.blocks.next_token).
    """
    made = _tensors(record)
    stages = [*_before_the_product(record), *_from_the_product_on(record)]
    model = record.stack.transformer
    if model is not None and model.config.output != "none":
        whole, n_vocabulary = (1, record.n_tokens, record.d_model), model.config.vocab_size
        shapes = f"x_L {whole} → norm {whole} · W {(record.d_model, n_vocabulary)} → "
        formula = r"\ell = \mathrm{norm}(x_L)\,W^{out}, \qquad p = \mathrm{softmax}(\ell)"
        stages.append(("next", formula, shapes + f"logits {(1, record.n_tokens, n_vocabulary)}"))
    return tuple(
        Stage(
            key,
            formula,
            shapes,
            tuple(
                Matrix(_SYMBOLS.get(name, name), tuple(each.shape), array(each))
                for name, each in made.get(key, {}).items()
            ),
        )
        for key, formula, shapes in stages
    )


Told = tuple[StageKey, str, str]  # its formula and its shapes


def _before_the_product(record: Record) -> list[Told]:
    n, d_model, h, h_kv, d_k = record.n_tokens, record.d_model, record.n_heads, record.n_key_heads, record.d_k
    x, all_q, all_k = (1, n, d_model), (1, n, h * d_k), (1, n, h_kv * d_k)
    q, k = (1, h, n, d_k), (1, h_kv, n, d_k)
    is_split = record.width == d_model
    to_q, to_k = f"W {(d_model, h * d_k)}", f"W {(d_model, h_kv * d_k)}"
    projected, dealt = f"x {x} · {to_q} → Q, K, V: {all_q}", f"{all_q} → view {(1, n, h, d_k)} → transpose {q}"
    letters = r"Q \to Q_1, \dots, Q_h"
    if h_kv < h:
        projected = f"x {x} · {to_q} → Q {all_q}\nx {x} · {to_k} → K, V: {all_k}"
        dealt = f"Q {dealt}\nK, V {all_k} → view {(1, n, h_kv, d_k)} → transpose {k}"
        letters += r", \quad K \to K_1, \dots, K_{h_{kv}}"
    width = rf"d_k = d_{{model}} / h = {d_model} / {h} = {d_k}" if is_split else f"d_k = {d_k}"
    told: list[Told] = [
        ("input", r"x \in \mathbb{R}^{N \times d_{model}}", f"x {x}"),
        ("project", r"Q = xW^Q, \quad K = xW^K, \quad V = xW^V", projected),
        ("split", rf"\begin{{gathered}} {letters} \\ {width} \end{{gathered}}", dealt),
    ]
    both = f"Q {q} → {q}, K {k} → {k}"
    if record.block.attention.has_qk_norm:
        formula = r"q \leftarrow \frac{q}{\sqrt{\tfrac{1}{d_k} \sum_c q_c^2 + \varepsilon}} \odot \gamma_q"
        told.append(("qk_norm", formula, both))
    if record.rotation is not None:
        half = "w / 2" if record.rotation[0].size(-1) < d_k else "d_k / 2"
        formula = (
            r"\begin{gathered} q_c \leftarrow q_c \cos m\theta_c - q_{c'} \sin m\theta_c \\ "
            r"q_{c'} \leftarrow q_c \sin m\theta_c + q_{c'} \cos m\theta_c \\ "
            rf"c' = c + {half} \end{{gathered}}"
        )
        told.append(("rotate", formula, both))
    return told


def _from_the_product_on(record: Record) -> list[Told]:
    n, h, d_k, width = record.n_tokens, record.n_heads, record.d_k, record.width
    whole, heads, maps = (1, n, width), (1, h, n, d_k), (1, h, n, n)
    shared = f"K {(1, record.n_key_heads, n, d_k)} → each for {record.group} query heads {heads}\n"
    key = "i" if record.group == 1 else r"{g(i)}"
    groups = rf", \quad g(i) = \lceil i / {record.group} \rceil" if record.group > 1 else ""
    biased = rf"\frac{{Q_i K_{key}^\top}}{{\sqrt{{d_k}}}} + B_i"
    added: list[Told] = []
    if record.steps.attention.biased_scores is not None:
        added = [("bias", biased, f"{maps} + {(h, n, n)} → {maps}")]
    score = biased if added else rf"\frac{{Q_i K_{key}^\top}}{{\sqrt{{d_k}}}}"
    return [
        (
            "scores",
            rf"Q_i K_{key}^\top{groups}",
            (shared if record.group > 1 else "") + f"{heads} · {(1, h, d_k, n)} → {maps}",
        ),
        (
            "scale",
            rf"\frac{{Q_i K_{key}^\top}}{{\sqrt{{d_k}}}}, \qquad \sqrt{{d_k}} = \sqrt{{{d_k}}} = {math.sqrt(d_k):.2f}",
            f"{maps} → {maps}",
        ),
        *added,
        (
            "mask",
            rf"{score} + M, \qquad M \in \{{0, -\infty\}}",
            f"{maps} + {(n, n)} → {maps}",
        ),
        (
            "softmax",
            rf"A_i = \mathrm{{softmax}}\left({score} + M\right)",
            f"{maps} → {maps}",
        ),
        ("mix", rf"\mathrm{{head}}_i = A_i V_{key}", f"{maps} · {heads} → {heads}"),
        (
            "concat",
            r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)",
            f"{heads} → transpose {(1, n, h, d_k)} → {whole}",
        ),
        (
            "output",
            r"\begin{gathered} \mathrm{MultiHead}(Q, K, V) = \\ "
            r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O \end{gathered}",
            f"{whole} · W {(width, record.d_model)} → {(1, n, record.d_model)}",
        ),
    ]


def _tensors(record: Record) -> dict[StageKey, dict[str, Tensor]]:
    """What each stage made, as recorded. Keys and values stand once for each key head until the product."""
    steps, merge = record.steps.attention, record.block.attention.merge_heads
    values = tensor(steps.values)[:, :: record.group]
    split = {"Q": tensor(steps.projected_queries), "K": tensor(steps.projected_keys), "V": values}
    turned = {"Q": tensor(steps.queries), "K": tensor(steps.keys)[:, :: record.group]}
    made: dict[StageKey, dict[str, Tensor]] = {
        "input": {"x": tensor(record.steps.attention_input)},
        "project": {letter: merge(each) for letter, each in split.items()},
        "split": split,
        "scores": {"products": tensor(steps.products)},
        "scale": {"scores": tensor(steps.scores)},
        "mask": {"masked_scores": tensor(steps.masked_scores)},
        "softmax": {"A": tensor(steps.attention)},
        "mix": {"head": tensor(steps.head_outputs)},
        "concat": {"concat": tensor(steps.concatenated)},
        "output": {"output": tensor(steps.output)},
        "rotate": turned,
    }
    if steps.biased_scores is not None:
        made["bias"] = {"biased_scores": steps.biased_scores}
        made["mask"] = {"masked_biased_scores": tensor(steps.masked_scores)}
    if steps.normed_queries is not None and steps.normed_keys is not None:
        made["qk_norm"] = {"Q": steps.normed_queries, "K": steps.normed_keys}
    return made


def before(record: Record, key: StageKey) -> tuple[Floats, Floats]:
    """Q (h, N, d_k) and K (h_kv, N, d_k) as they enter the norm of q and k, or the rotation."""
    steps = record.steps.attention
    if key == "rotate" and steps.normed_queries is not None:
        return array(tensor(steps.normed_queries)), array(tensor(steps.normed_keys))
    return array(tensor(steps.projected_queries)), array(tensor(steps.projected_keys))
