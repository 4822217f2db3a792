"""A source and a target through the three architectures: encoder only, decoder only, encoder and decoder.

The weights are random and the same wherever two architectures have the same part: what differs is who may see what.
Shape letters: see model.attention; N_q target tokens look at N_k source tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from analysis.blocks.record import Bools, Floats, array, tensor, tensors
from analysis.blocks.steps import Matrix, Stage, StageKey
from model.attention import AttentionSteps
from model.blank import NoInit
from model.blocks import BlockSteps, TransformerBlock
from model.decoder_block import DecoderBlock, DecoderBlockSteps
from model.positions import Embeddings, HashedEmbedding
from model.tokenizers.toy import ToyTokenizer, word_id
from model.training.network import draw_weights

START = "<s>"  # a decoder reads the target after it: each row writes the next token
D_MODEL, N_HEADS, D_FF = 16, 2, 64
MOST_TOKENS = 64  # of each text
AttentionKey = Literal["encoder_only", "decoder_only", "encoder", "decoder", "cross"]


@dataclass(frozen=True, eq=False)
class Look:
    """One attention of an architecture: who looks at whom, and what every head made of it.

    Attributes:
        queries: labels of its N_q rows.
        keys: labels of its N_k columns.
        allowed: (N_q, N_k), True = may attend.
        maps: (h, N_q, N_k).
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: Bools
    maps: Floats


@dataclass(frozen=True, eq=False)
class Pair:
    """One forward of all three architectures, a layer each.

    Attributes:
        looks: the five attentions; those of the decoder read the target.
        block: the decoder block of encoder and decoder.
        steps: every tensor that it made.
        context: the source as the encoder left it, (1, N_k, d_model).
    """

    looks: dict[AttentionKey, Look]
    block: DecoderBlock
    steps: DecoderBlockSteps
    context: Tensor

    @property
    def source(self) -> tuple[str, ...]:
        """N_k labels."""
        return self.looks["cross"].keys

    @property
    def target(self) -> tuple[str, ...]:
        """N_q labels, the start mark first."""
        return self.looks["cross"].queries

    @property
    def nbytes(self) -> int:
        """Bytes it keeps in memory."""
        made = [*tensors(self.steps), *self.block.parameters(), self.context]
        return sum(4 * each.numel() for each in made) + sum(look.maps.nbytes for look in self.looks.values())


@torch.inference_mode()
def run_pair(source: str, target: str, *, seed: int = 0) -> Pair:
    """Both texts, word by word, through blocks of random weights.

    Raises:
        HeadworkError: one of the texts is empty.
    """
    of_source, of_target = (ToyTokenizer().encode(text, limit=MOST_TOKENS) for text in (source, target))
    first, second = of_source.labels, (START, *of_target.labels)
    embed = Embeddings(HashedEmbedding(D_MODEL, seed), D_MODEL, MOST_TOKENS + 1, positions="sinusoidal").eval()
    x, y = (embed(torch.tensor([ids])) for ids in (of_source.ids, (word_id(START), *of_target.ids)))
    all_source, all_pairs = _everything(len(first), len(first)), _everything(len(second), len(first))
    past_of_source, past_of_target = all_source.tril(), _everything(len(second), len(second)).tril()

    generator = torch.Generator().manual_seed(seed)
    with NoInit():
        one_text = draw_weights(TransformerBlock(D_MODEL, N_HEADS, D_FF, norm="pre"), generator)
        block = draw_weights(DecoderBlock(D_MODEL, N_HEADS, D_FF, norm="pre"), generator)
    steps, of_encoder = DecoderBlockSteps(), BlockSteps()
    context, encoder = one_text(x, steps=of_encoder)  # (1, N_k, d_model), (1, h, N_k, N_k)
    _, decoder_only = one_text(x, past_of_source)
    _, decoder, cross = block(y, context, past_of_target, steps=steps)
    looks: dict[AttentionKey, Look] = {
        "encoder_only": Look(first, first, all_source.numpy(), array(encoder)),
        "decoder_only": Look(first, first, past_of_source.numpy(), array(decoder_only)),
        "encoder": Look(first, first, all_source.numpy(), array(encoder)),
        "decoder": Look(second, second, past_of_target.numpy(), array(decoder)),
        "cross": Look(second, first, all_pairs.numpy(), array(cross)),
    }
    return Pair(looks, block, steps, context)


def _everything(n_queries: int, n_keys: int) -> Tensor:
    return torch.ones(n_queries, n_keys, dtype=torch.bool)


def cross_stages(pair: Pair) -> tuple[Stage, ...]:
    """Cross-attention of the decoder block step by step: formula, shapes that ran, and the matrices."""
    steps, merge = pair.steps.cross, pair.block.cross_attention.merge_heads
    told = _told(len(pair.target), len(pair.source), pair.block.cross_attention.d_k)
    made = _made(pair, steps, merge)
    return tuple(
        Stage(key, formula, shapes, tuple(Matrix(name, tuple(t.shape), array(t)) for name, t in made[key].items()))
        for key, (formula, shapes) in told.items()
    )


def _made(pair: Pair, steps: AttentionSteps, merge) -> dict[StageKey, dict[str, Tensor]]:  # type: ignore[no-untyped-def]
    q, k, v = tensor(steps.queries), tensor(steps.keys), tensor(steps.values)
    return {
        "input": {"x": tensor(pair.steps.cross_input), "c": pair.context},
        "project": {"Q": merge(q), "K": merge(k), "V": merge(v)},
        "split": {"Q": q, "K": k, "V": v},
        "scores": {"QKᵀ": tensor(steps.products)},
        "scale": {"QKᵀ / √d_k": tensor(steps.scores)},
        "softmax": {"A": tensor(steps.attention)},
        "mix": {"A V": tensor(steps.head_outputs)},
        "concat": {"concat": tensor(steps.concatenated)},
        "output": {"output": tensor(steps.output)},
    }


def _told(n_q: int, n_k: int, d_k: int) -> dict[StageKey, tuple[str, str]]:
    """Of each step its formula and its shapes."""
    h, x, c = N_HEADS, (1, n_q, D_MODEL), (1, n_k, D_MODEL)
    q, k, maps, w = (1, N_HEADS, n_q, d_k), (1, N_HEADS, n_k, d_k), (1, N_HEADS, n_q, n_k), (D_MODEL, D_MODEL)
    return {
        "input": (
            r"x \in \mathbb{R}^{N_q \times d_{model}}, \quad c \in \mathbb{R}^{N_k \times d_{model}}",
            f"x {x}, c {c}",
        ),
        "project": (
            r"Q = xW^Q, \quad K = cW^K, \quad V = cW^V",
            f"x {x} · W {w} → Q {x}\nc {c} · W {w} → K, V: {c}",
        ),
        "split": (
            rf"d_k = d_{{model}} / h = {D_MODEL} / {h} = {d_k}",
            f"Q {x} → view {(1, n_q, h, d_k)} → transpose {q}\nK, V {c} → view {(1, n_k, h, d_k)} → transpose {k}",
        ),
        "scores": (r"Q_i K_i^\top", f"{q} · {(1, h, d_k, n_k)} → {maps}"),
        "scale": (
            rf"\frac{{Q_i K_i^\top}}{{\sqrt{{d_k}}}}, \qquad \sqrt{{d_k}} = \sqrt{{{d_k}}} = {math.sqrt(d_k):.2f}",
            f"{maps} → {maps}",
        ),
        "softmax": (r"A_i = \mathrm{softmax}\left(\frac{Q_i K_i^\top}{\sqrt{d_k}}\right)", f"{maps} → {maps}"),
        "mix": (r"\mathrm{head}_i = A_i V_i", f"{maps} · {k} → {q}"),
        "concat": (
            r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)",
            f"{q} → transpose {(1, n_q, h, d_k)} → {x}",
        ),
        "output": (r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O", f"{x} · W {w} → {x}"),
    }
